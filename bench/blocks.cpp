// bench_blocks: the same work by blocks of 256 and of 1,024 threads, with barriers. A device with
// smaller workgroups runs several threads of the larger ones in one invocation.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/main.hpp"
#include "bench/median.hpp"
#include "ptx2spv/runtime.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

constexpr Option kOptions[] = {
    device_option(opt_device),
    rounds_option("medians of N rounds, in which the sizes take turns; 15 when not given"),
    folder_option(opt_folder, "where blocks.ptx is: kernels/ beside the program"),
};
constexpr Tool kTool = {
    "bench_blocks",
    "[OPTION...]",
    "times the same work by blocks of 256 and of 1,024 threads",
    "A sum by a tree, a transposition and a blur in shared memory, 1,024 words to a block. "
    "Times are the host's, from submission to completion.",
    kOptions,
    kComparedExits};

constexpr std::uint32_t kBlocks = 1024, kWords = kBlocks * 1024, kSide = 1024;
constexpr std::uint32_t kSizes[] = {256, 1024};

int fail(const Error& error) {
  std::fprintf(stderr, "bench_blocks: error: %s\n", error.text.c_str());
  return 2;
}

int measure(const Module& module, const Buffer& from, Device& device, const char* name,
            unsigned rounds) {
  auto kernel = module.kernel(name);
  if (!kernel) return fail(kernel.error());
  std::vector<double> times[2];
  std::vector<std::uint32_t> results[2];
  for (unsigned round = 0; round <= rounds; ++round)
    for (int side = 0; side < 2; ++side) {
      auto to = Buffer::create(device, 4ull * kWords);
      if (!to) return fail(to.error());
      std::vector<std::uint32_t>& words = results[side];
      words.assign(kWords, 0);
      if (auto put = to->upload(0, std::as_bytes(std::span(words))); !put) return fail(put.error());
      LaunchConfig config;
      config.grid = {kBlocks, 1, 1};
      config.block = {kSizes[side], 1, 1};
      auto timing = kernel->launch(config, Args().buffer(from).buffer(*to).value(kSide));
      if (!timing) return fail(timing.error());
      if (round > 0) times[side].push_back(timing->wall_ms);  // the first one translates
      if (auto got = to->download(0, std::as_writable_bytes(std::span(words))); !got)
        return fail(got.error());
    }
  const double small = median(times[0]), large = median(times[1]);
  const bool equal = results[0] == results[1];
  std::printf("| %s | %.3f | %.3f | %.2f |%s\n", name, small, large, large / small,
              equal ? "" : " results differ");
  return equal ? 0 : 1;
}

int run(const ParsedCommand& command) {
  const DeviceRun asked(command);
  DeviceOptions options;
  options.select = asked.device;
  auto device = Device::open(options);
  if (!device) return fail(device.error());
  auto module = Module::load_file(*device, asked.folder + "/blocks.ptx");
  if (!module) return fail(module.error());
  auto from = Buffer::create(*device, 4ull * kWords);
  if (!from) return fail(from.error());
  std::vector<std::uint32_t> words(kWords);
  for (std::uint32_t i = 0; i < kWords; ++i) words[i] = i * 2654435761u;
  if (auto put = from->upload(0, std::as_bytes(std::span(words))); !put) return fail(put.error());
  std::printf("%s\n\n| kernel | 256 threads, ms | 1,024 threads, ms | ratio |\n|---|---|---|---|\n",
              device->info().name.c_str());
  int exit = 0;
  for (const char* kernel : {"reduce", "transpose", "blur"}) {
    const int one = measure(*module, *from, *device, kernel, asked.rounds);
    if (one == 2) return one;
    exit = std::max(exit, one);
  }
  return exit;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
