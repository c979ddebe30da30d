#include "bench/measure.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace ptx2spv::bench {
namespace {

std::span<std::byte> bytes_of(std::vector<std::uint32_t>& words) {
  return std::as_writable_bytes(std::span(words));
}

/// A translated kernel and its surfaces.
struct Ours {
  std::optional<Array> from, to;
  std::optional<Surface> from_surface, to_surface;
  Args args;

  bool open(const Bench& bench, const Job& job, std::string& error) {
    const auto fail = [&error](const Error& reason) {
      error = reason.text;
      return false;
    };
    if (job.form.input != Input::none) {
      auto array = Array::create(bench.device, job.from);
      if (!array) return fail(array.error());
      from = *array;
      if (Status status = from->upload(std::as_bytes(std::span(job.input))); !status)
        return fail(status.error());
      auto surface = Surface::create(*from);
      if (!surface) return fail(surface.error());
      from_surface = *surface;
      args.surface(*from_surface);
    }
    auto array = Array::create(bench.device, job.to);
    if (!array) return fail(array.error());
    to = *array;
    auto surface = Surface::create(*to);
    if (!surface) return fail(surface.error());
    to_surface = *surface;
    args.surface(*to_surface);
    if (std::string(job.form.name) == "mandelbrot")
      args.value(job.push.iterations).value(job.push.scale);
    return true;
  }
};

}  // namespace

std::vector<std::uint32_t> read_shader(const std::string& folder, const std::string& name,
                                       std::string& error) {
  const std::string path = folder + "/" + name + ".spv";
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  if (bytes.empty()) error = path + " cannot be read";
  std::vector<std::uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

std::optional<KernelResult> measure_kernel(Bench& bench, const Case& form, std::string& error) {
  Job job = make_job(form, bench.size, true);
  job.config.time = bench.device_times;
  job.from.backing = job.to.backing = bench.backing;
  KernelResult result;
  result.kernel = form.name;
  result.extent = job.extent;

  Ours ours;
  if (!ours.open(bench, job, error)) return std::nullopt;
  std::vector<Kernel> kernels;
  for (const Module* module : {&bench.fast, &bench.exact}) {
    auto kernel = module->kernel(form.name);
    if (!kernel) return error = kernel.error().text, std::nullopt;
    kernels.push_back(*kernel);
  }

  RawVulkan& raw = bench.raw;
  std::vector<RawVulkan::Words> passes;
  std::vector<std::string> names;
  const bool native64 = form.channels == 2 && raw.has_int64_atomics();
  if (form.channels == 2)
    result.note = native64 ? "64-bit atomics" : "two passes of 32-bit atomics";
  for (const char* name : form.shaders)
    if (name) names.emplace_back(name);
  if (native64) names = {"zbuffer64"};
  for (const std::string& name : names) {
    passes.push_back(read_shader(bench.folder, name, error));
    if (passes.back().empty()) return std::nullopt;
  }
  RawVulkan::Buffer raw_from = raw.buffer(std::max<std::uint64_t>(4, job.input.size() * 4));
  RawVulkan::Buffer raw_to = raw.buffer(job.to_bytes);
  if (!job.input.empty()) raw.upload(raw_from, std::as_bytes(std::span(job.input)));
  const Dim3 grid = job.config.grid;
  RawVulkan::Work work = raw.prepare(passes, raw_from, raw_to, &job.push, {grid.x, grid.y, grid.z});

  const auto run_ours = [&](std::size_t side, double& milliseconds) {
    if (form.accumulates)
      if (Status status = ours.to->fill(form.initial, 4); !status)
        return error = status.error().text, false;
    auto timing = kernels[side].launch(job.config, ours.args);
    if (!timing) return error = timing.error().text, false;
    milliseconds = bench.device_times ? timing->device_ms : timing->wall_ms;
    return true;
  };
  const auto run_raw = [&] {
    if (form.accumulates) raw.fill(raw_to, form.initial);
    const double wall = raw.run(work);
    return bench.device_times ? raw.device_ms() : wall;
  };

  // Equal results first: every side starts from the same words, other than what the kernel writes.
  std::vector<std::uint32_t> expected(job.to_bytes / 4), actual(expected.size());
  raw.fill(raw_to, form.initial);
  raw.run(work);
  raw.download(raw_to, bytes_of(expected));
  const auto compare = [&](const char* side) {
    if (actual == expected) return;
    const auto at =
        std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin();
    result.equal = false;
    result.difference += (result.difference.empty() ? "" : ", ") + std::string(side) +
                         " differs at word " + std::to_string(at);
  };
  const auto finish = [&] {
    raw.destroy(work);
    raw.destroy(raw_from);
    raw.destroy(raw_to);
  };
  double ignored = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    if (!ours.to->fill(form.initial, 4).ok() || !run_ours(side, ignored) ||
        !ours.to->download(bytes_of(actual)).ok()) {
      if (error.empty()) error = "a copy failed";
      return finish(), std::nullopt;
    }
    compare(side ? "exact" : "fast");
  }
  if (bench.cuda) {
    NativeCuda& cuda = *bench.cuda;
    if (!cuda.prepare(job) || cuda.run() < 0 || !cuda.download(bytes_of(actual)))
      return error = "CUDA: " + cuda.error(), finish(), std::nullopt;
    compare("cuda");
  }

  std::vector<double> times[4];
  constexpr int kWarm = 2;
  for (int round = -kWarm; round < bench.rounds; ++round) {
    double values[4] = {run_raw(), -1, -1, -1};
    if (!run_ours(0, values[1]) || !run_ours(1, values[2])) return finish(), std::nullopt;
    if (bench.cuda) {
      if (form.accumulates) bench.cuda->reset();
      values[3] = bench.cuda->run();
    }
    for (std::size_t k = 0; k < 4; ++k)
      if (round >= 0 && values[k] >= 0) times[k].push_back(values[k]);
  }
  result.glsl_ms = median(times[0]);
  result.fast_ms = median(times[1]);
  result.exact_ms = median(times[2]);
  result.cuda_ms = median(times[3]);
  finish();
  return result;
}

}  // namespace ptx2spv::bench
