#include "tests/random/runner.hpp"

#include <fmt/format.h>

#include "tests/support/runtime.hpp"

namespace ptx2spv::test {

namespace {

constexpr std::uint64_t kMostThreads = 2048;

}  // namespace

std::string Variant::text() const {
  return fmt::format("profile {}, -O{}, {}", profile.empty() ? "of the device" : profile, optimize,
                     !threads                           ? "any thread model"
                     : *threads == ThreadModel::regions ? "regions"
                                                        : "flat");
}

Runner::Runner(const std::string& profile, const std::vector<std::uint32_t>& input) {
  DeviceOptions options;
  options.profile = profile;
  options.cache = false;
  Result<Device> device = Device::open(options);
  if (!device) {
    problem_ = text_of(device.error());
    return;
  }
  device_ = std::move(*device);
  const auto buffer = [&](std::uint64_t bytes) -> std::optional<Buffer> {
    Result<Buffer> made = Buffer::create(*device_, bytes);
    if (made) return std::move(*made);
    problem_ = text_of(made.error());
    return std::nullopt;
  };
  input_ = buffer(input.size() * 4);
  threads_ = buffer(kMostThreads * RandomKernel::kThreadBytes);
  counters_ = buffer(RandomKernel::kCounterBytes);
  if (!problem_.empty()) return;
  if (const Status done = input_->upload(0, bytes_of(input)); !done)
    problem_ = text_of(done.error());
}

std::vector<Runner::Run> Runner::run(const std::vector<const RandomKernel*>& kernels,
                                     const Variant& variant) {
  std::string text = kModuleHead;
  for (const RandomKernel* kernel : kernels) text += kernel->ptx();
  std::vector<Run> runs(kernels.size());
  ModuleOptions options;
  options.optimize = variant.optimize;
  const Result<Module> module = Module::load(*device_, text, "random.ptx", options);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (module)
      runs[i] = launch(*module, *kernels[i], variant);
    else
      runs[i].error = text_of(module.error());
  return runs;
}

Runner::Run Runner::launch(const Module& module, const RandomKernel& kernel,
                           const Variant& variant) {
  Run run;
  run.outputs = initial_outputs(kernel);
  Outputs& out = run.outputs;
  ArrayDesc desc;
  desc.width = RandomKernel::kRowBytes / 4;
  desc.height = kernel.threads();
  // One after the other, up to the first that fails.
  const auto check = [&](const auto& result) {
    if (!result) run.error = text_of(result.error());
    return static_cast<bool>(result);
  };
  const auto entry = module.kernel(kernel.name);
  if (!check(entry)) return run;
  auto array = Array::create(*device_, desc);
  if (!check(array) || !check(array->upload(bytes_of(out.surface)))) return run;
  const auto surface = Surface::create(*array);
  if (!check(surface) || !check(threads_->upload(0, bytes_of(out.threads))) ||
      !check(counters_->upload(0, bytes_of(out.counters))))
    return run;
  LaunchConfig config;
  config.grid = {kernel.grid, 1, 1};
  config.block = {kernel.block[0], kernel.block[1], 1};
  config.threads = variant.threads;
  Args args;
  args.buffer(*input_).buffer(*threads_).buffer(*counters_).surface(*surface).value(kernel.n);
  if (!check(entry->launch(config, args))) return run;
  check(threads_->download(0, std::as_writable_bytes(std::span(out.threads))));
  check(counters_->download(0, std::as_writable_bytes(std::span(out.counters))));
  check(array->download(std::as_writable_bytes(std::span(out.surface))));
  return run;
}

std::string difference(const Outputs& expected, const Outputs& got) {
  const auto in = [](const char* what, const std::vector<std::uint8_t>& a,
                     const std::vector<std::uint8_t>& b, std::size_t row) -> std::string {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i])
        return fmt::format("{} {}, byte {}: {:#04x} expected, {:#04x} found", what, i / row,
                           i % row, a[i], b[i]);
    return {};
  };
  std::string text = in("thread", expected.threads, got.threads, RandomKernel::kThreadBytes);
  if (text.empty()) text = in("counter", expected.counters, got.counters, 4);
  if (text.empty())
    text = in("surface row", expected.surface, got.surface, RandomKernel::kRowBytes);
  return text;
}

}  // namespace ptx2spv::test
