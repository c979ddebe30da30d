#include "src/probe/asker.hpp"
#include "ptx2spv/debug_setting.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ptx2spv/interpreter.hpp"
#include "src/device/ask.hpp"
#include "src/device/calibrate.hpp"
#include "src/device/device.hpp"
#include "src/probe/questions.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::uint32_t kSurfaceSide = 64;

/// Of all threads of this process, those of a driver too.
double processor_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

std::string text_of(const ProbeKernel& kernel) {
  std::string text = ".version 8.3\n.target sm_80\n.address_size 64\n" +
                     std::string(kernel.module) +
                     ".visible .entry k(.param .u64 from, .param .u64 to, .param .u64 surface) {\n"
                     ".reg .b32 %r<32>;\n.reg .b64 %d<16>;\n.reg .f32 %f<16>;\n.reg .f64 %g<16>;\n"
                     ".reg .pred %p<8>;\n.reg .b16 %h<4>;\n"
                     "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to];\n"
                     "mov.u32 %r0, %ctaid.x;\nmov.u32 %r6, %ntid.x;\nmov.u32 %r7, %tid.x;\n"
                     "mad.lo.u32 %r0, %r0, %r6, %r7;\n"
                     "ld.global.u32 %r5, [%d0];\n";
  if (kernel.in) {
    text += fmt::format("mul.wide.u32 %d2, %r0, {};\nadd.u64 %d2, %d2, %d0;\n", 4 * kernel.in);
    for (unsigned i = 0; i < kernel.in; ++i)
      text += fmt::format("ld.global.u32 %r{}, [%d2+{}];\n", i + 1, 4 * (kernel.zeros + i));
  }
  text += fmt::format("mul.wide.u32 %d2, %r0, {};\nadd.u64 %d1, %d1, %d2;\n", 4 * kernel.out);
  text += kernel.body;
  return text + "\nret;\n}\n";
}

std::vector<std::uint32_t> input_of(const ProbeKernel& kernel,
                                    std::span<const std::uint32_t> input) {
  std::vector<std::uint32_t> words(kernel.zeros);
  words.insert(words.end(), input.begin(), input.end());
  return words;
}

std::uint64_t address_of(std::vector<std::uint32_t>& words) {
  return reinterpret_cast<std::uint64_t>(words.data());
}

InterpretedKernel::Memory memory_of(std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<std::byte*>(words.data()), words.size() * 4};
}

std::string first_of(const std::vector<Message>& messages) {
  return messages.empty() ? std::string("no translation") : messages.front().text;
}

/// What NVIDIA's hardware gives for a question's kernel: the interpreter's words, which tests/probe
/// compares with those of an H100.
struct Reference {
  std::vector<std::uint32_t> words;
  std::string error;  ///< why there are none; empty: there are
};
/// Runs the entry `k` of a module, whose parameters are the addresses of `input`, of so many
/// `words` that are 0, and a surface that it leaves alone.
Reference reference(const std::string& text, std::uint32_t blocks, std::uint32_t block,
                    std::vector<std::uint32_t> input, std::size_t words) {
  Reference out;
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "probe.ptx"}}, messages);
  if (!module) return {{}, first_of(messages)};
  TranslateOptions options;
  options.entry = "k";
  const auto kernel = InterpretedKernel::make(*module, options, messages);
  if (!kernel) return {{}, first_of(messages)};
  out.words.resize(words);
  std::vector<std::uint32_t> params((kernel->entry().param_buffer_bytes + 3) / 4 + 6);
  const std::uint64_t addresses[] = {address_of(input), address_of(out.words)};
  std::memcpy(params.data(), addresses, sizeof addresses);
  std::vector<std::uint32_t> trap(abi::kTrapWords), locks(abi::kLockWords), none(64);
  std::vector<std::uint32_t> push(abi::kPushWords);
  push[abi::grid_x] = blocks;
  push[abi::block_x] = block;
  push[abi::grid_y] = push[abi::grid_z] = push[abi::block_y] = push[abi::block_z] = 1;
  InterpretedKernel::Launch launch;
  launch.grid[0] = blocks;
  launch.block[0] = block;
  for (auto& each : launch.bindings) each = memory_of(none);
  launch.bindings[abi::params] = memory_of(params);
  launch.bindings[abi::trap] = memory_of(trap);
  launch.bindings[abi::locks] = memory_of(locks);
  launch.push = push;
  out.error = kernel->run(launch).problem;
  if (out.error.empty() && trap[0]) out.error = "a trap";
  return out;
}

}  // namespace

Asker::Asker(Device device, DeviceIdentity identity, ExecutorPolicy by)
    : device_(std::move(device)),
      by_(by),
      identity_(std::move(identity)),
      profile_(device_.info().profile) {
  Answers safe;
  for (const std::string_view row : Answers::rows()) safe.set(row, safe_answer(row));
  for (const Capability& each : capabilities())
    if (each.group == Capability::Group::cost) safe.set(each.name, each.named[0]);
  safe.apply(profile_);
  // A question that Vulkan's report answers for a device is asked of the interpreter all the same.
  if (interpreted())
    profile_.features.int64 = profile_.features.float16 = profile_.features.float64 =
        profile_.features.subgroup_ops = profile_.features.matrices_f16 =
            profile_.features.matrices_bf16 = profile_.features.matrices_s8 = true;
}

Result<Asker> Asker::open(const DeviceOptions& options, ExecutorPolicy by) {
  DeviceOptions own;
  own.select = options.select;
  own.cache = false;
  own.executor = by;
  // The library reads it once per look-up; a question about a question would never end.
  if (debug_setting("probe") != "off")
    ::setenv("PTX2SPV_DEBUG", debug_settings_and("probe=off").c_str(), 1);
  auto device = Device::open(own);
  if (!device) return device.error();
  DeviceState& state = *device->state();
  // Whatever the environment asks of other programs.
  state.checks = no_checks;
  DeviceIdentity identity = identity_of(state.traits, state.info);
  return Asker(std::move(*device), std::move(identity), by);
}

void Asker::answer(std::string_view row, std::uint32_t value) {
  Answers answers;
  answers.set(row, value);
  answers.apply(profile_);
}

Asker::Outcome Asker::run(const Profile& profile, const ProbeKernel& kernel, std::uint32_t blocks,
                          std::uint32_t block, std::span<const std::uint32_t> input,
                          unsigned repeats) {
  Outcome outcome;
  const auto failed = [&outcome](const Error& error) {
    outcome.error = error.to_string();
    return outcome;
  };
  DeviceState& state = *device_.state();
  state.profile = profile;
  // A question that went wrong may have left a lock taken.
  std::memset(state.locks.mapped(), 0, abi::kLockWords * 4);
  const auto module = Module::load(device_, text_of(kernel), "probe.ptx");
  if (!module) return failed(module.error());
  const auto entry = module->kernel("k");
  if (!entry) return failed(entry.error());
  const std::vector<std::uint32_t> words = input_of(kernel, input);
  auto from = Buffer::create(device_, words.size() * 4);
  if (!from) return failed(from.error());
  outcome.words.resize(std::size_t{blocks} * block * kernel.out);
  const std::uint64_t bytes = std::max<std::uint64_t>(outcome.words.size() * 4, 4);
  auto to = Buffer::create(device_, bytes);
  if (!to) return failed(to.error());
  if (Status status = from->upload(0, std::as_bytes(std::span(words))); !status)
    return failed(status.error());
  if (Status status = to->fill(0, bytes, 0); !status) return failed(status.error());
  ArrayDesc desc;
  desc.width = desc.height = kSurfaceSide;
  desc.backing = ArrayBacking::linear;
  const auto array = Array::create(device_, desc);
  if (!array) return failed(array.error());
  const auto surface = Surface::create(*array);
  if (!surface) return failed(surface.error());
  LaunchConfig config;
  config.grid.x = blocks;
  config.block.x = block;
  config.threads = kernel.threads;
  config.time = repeats > 1 && device_.info().kind != DeviceKind::cpu;
  Args args;
  args.buffer(*from).buffer(*to).surface(*surface);
  for (unsigned i = 0; i < repeats; ++i) {
    const double before = processor_ms();
    const auto timing = entry->launch(config, args);
    if (!timing) return failed(timing.error());
    const double took = timing->device_ms >= 0 ? timing->device_ms : timing->wall_ms;
    // What the first launch compiles, some drivers compile when it runs.
    if (i == 0) {
      outcome.prepare_ms = processor_ms() - before;
      outcome.run_ms = took;
    }
    outcome.run_ms = std::min(outcome.run_ms, took);
  }
  if (Status status = to->download(0, std::as_writable_bytes(std::span(outcome.words))); !status)
    return failed(status.error());
  return outcome;
}

std::string Asker::wrong(const Profile& profile, const ProbeKernel& kernel, std::uint32_t blocks,
                         std::uint32_t block, std::span<const std::uint32_t> input) {
  const Outcome outcome = run(profile, kernel, blocks, block, input);
  if (!outcome.error.empty()) return outcome.error;
  ProbeProgram program{text_of(kernel), blocks, block, input_of(kernel, input), {}};
  Reference want = reference(program.text, blocks, block, program.input, outcome.words.size());
  if (!want.error.empty()) return "the interpreter: " + want.error;
  program.words = std::move(want.words);
  if (observer) observer(program);
  return differences(program.words, outcome.words);
}

}  // namespace ptx2spv::runtime
