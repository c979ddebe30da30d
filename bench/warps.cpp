// bench_warps: kernels of warp operations beside GLSL that does the same through shared memory, as
// it has to where nothing is known of a device's subgroups.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/main.hpp"
#include "bench/median.hpp"
#include "bench/raw_vulkan.hpp"
#include "ptx2spv/runtime.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

constexpr Option kOptions[] = {
    device_option(opt_device),
    rounds_option("medians of N rounds, in which the sides take turns; 15 when not given"),
    folder_option(opt_folder, "where warps.ptx and the shaders are: kernels/ beside the program"),
};
constexpr Tool kTool = {
    "bench_warps",
    "[OPTION...]",
    "times kernels of warp operations against GLSL without subgroups",
    "A scan, a sum and a compaction of 2^18 words, by blocks of 256 threads. Times are the host's, "
    "from submission to completion.",
    kOptions,
    kComparedExits};

constexpr std::uint32_t kWords = 1u << 18, kThreads = 256;

int fail(const std::string& text) {
  std::fprintf(stderr, "bench_warps: error: %s\n", text.c_str());
  return 2;
}

/// Everything that is timed on one device.
struct Sides {
  Device& device;
  const Module& module;
  RawVulkan& raw;
  const Buffer& from;
  const RawVulkan::Buffer& raw_from;
  std::string folder;
  unsigned rounds;
};

int measure(const Sides& sides, const std::string& name) {
  auto kernel = sides.module.kernel(name);
  if (!kernel) return fail(kernel.error().text);
  std::string error;
  const RawVulkan::Words shader = read_shader(sides.folder, "warp_" + name, error);
  if (!error.empty()) return fail(error);
  auto to = Buffer::create(sides.device, 4ull * kWords);
  if (!to) return fail(to.error().text);
  RawVulkan::Buffer raw_to = sides.raw.buffer(4ull * kWords);
  std::vector<std::uint32_t> ours(kWords), theirs(kWords);
  if (auto put = to->upload(0, std::as_bytes(std::span(ours))); !put) return fail(put.error().text);
  sides.raw.fill(raw_to, 0);
  const std::uint32_t groups[3] = {kWords / kThreads, 1, 1};
  std::int32_t push[5] = {kWords};
  RawVulkan::Work work =
      sides.raw.prepare(std::span(&shader, 1), sides.raw_from, raw_to, push, groups);
  LaunchConfig config;
  config.grid = {groups[0], 1, 1};
  config.block = {kThreads, 1, 1};
  std::vector<double> times[2];
  for (unsigned round = 0; round <= sides.rounds; ++round) {
    const double glsl = sides.raw.run(work);
    auto timing = kernel->launch(config, Args().buffer(sides.from).buffer(*to).value(kWords));
    if (!timing) return fail(timing.error().text);
    if (round == 0) continue;  // the first one translates
    times[0].push_back(glsl);
    times[1].push_back(timing->wall_ms);
  }
  sides.raw.download(raw_to, std::as_writable_bytes(std::span(theirs)));
  sides.raw.destroy(work);
  sides.raw.destroy(raw_to);
  if (auto got = to->download(0, std::as_writable_bytes(std::span(ours))); !got)
    return fail(got.error().text);
  const double glsl = median(times[0]), mine = median(times[1]);
  const bool equal = ours == theirs;
  std::printf("| %s | %.3f | %.3f | %.2f |%s\n", name.c_str(), glsl, mine, mine / glsl,
              equal ? "" : " results differ");
  return equal ? 0 : 1;
}

int run(const ParsedCommand& command) {
  const DeviceRun asked(command);
  DeviceOptions options;
  options.select = asked.device;
  auto device = Device::open(options);
  if (!device) return fail(device.error().text);
  auto module = Module::load_file(*device, asked.folder + "/warps.ptx");
  if (!module) return fail(module.error().text);
  RawVulkan raw;
  if (!raw.open(loader_of(options), device->info().name))
    return fail("the device cannot be opened a second time");
  std::vector<std::uint32_t> words(kWords);
  for (std::uint32_t i = 0; i < kWords; ++i) words[i] = i * 2654435761u;
  auto from = Buffer::create(*device, 4ull * kWords);
  if (!from) return fail(from.error().text);
  if (auto put = from->upload(0, std::as_bytes(std::span(words))); !put)
    return fail(put.error().text);
  RawVulkan::Buffer raw_from = raw.buffer(4ull * kWords);
  raw.upload(raw_from, std::as_bytes(std::span(words)));
  std::printf("%s\n\n| kernel | GLSL, ms | warp operations, ms | ratio |\n|---|---|---|---|\n",
              device->info().name.c_str());
  const Sides sides{*device, *module, raw, *from, raw_from, asked.folder, asked.rounds};
  int exit = 0;
  for (const char* kernel : {"scan", "reduce", "compact"}) {
    const int one = measure(sides, kernel);
    if (one == 2) return one;
    exit = std::max(exit, one);
  }
  raw.destroy(raw_from);
  return exit;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
