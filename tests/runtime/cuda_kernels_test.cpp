// Kernels as nvcc compiles them out of CUDA's own headers (async_kernels.cu): barriers, pipelines,
// groups, malloc. For compute capability 7.5 the headers make barriers of atomics, for 9.0 of
// mbarrier objects.
#include <filesystem>

#include "tests/runtime/fixture.hpp"
#include "tests/support/process.hpp"
#include "tests/support/share.hpp"

namespace ptx2spv {
namespace {

using Ints = std::vector<std::int32_t>;

class CudaKernels : public testing::Test {
 protected:
  // The text that nvcc makes for an architecture; empty and a reason where there is none.
  static std::string compiled(const std::string& arch, std::string& reason) {
    const test::TemporaryFolder folder;
    const std::string out = folder.file("out.ptx");
    for (const char* nvcc : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"}) {
      if (!std::filesystem::exists(nvcc)) continue;
      const auto result =
          test::run_process({nvcc, "-std=c++17", "-arch=" + arch, "-ptx", "-diag-suppress", "20054",
                             "-o", out, PTX2SPV_SOURCE_DIR "/tests/runtime/async_kernels.cu"});
      if (result.exit_code == 0) return test::read_whole(out);
      reason = "this nvcc does not compile them: " + result.error + result.out;
      return {};
    }
    reason = "nvcc is not installed";
    return {};
  }

  void run(const Module& module, const char* kernel, std::uint32_t threads, const Ints& in,
           const Ints& right) {
    SCOPED_TRACE(kernel);
    Buffer from = must(Buffer::create(test_device(), in.size() * 4)),
           to = must(Buffer::create(test_device(), threads * 4));
    must(from.upload(0, bytes_of(in)));
    LaunchConfig config;
    config.block = {threads, 1, 1};
    Args args;
    if (kernel != std::string("meet")) args.buffer(from);
    args.buffer(to);
    if (kernel == std::string("pipeline")) args.value(std::int32_t(in.size() / threads));
    const auto timing = must(module.kernel(kernel)).launch(config, args);
    ASSERT_TRUE(timing) << text_of(timing.error());
    EXPECT_EQ(read_buffer<std::int32_t>(to, threads), right);
  }

  void run_all(const std::string& arch) {
    std::string reason;
    const std::string text = compiled(arch, reason);
    if (text.empty()) GTEST_SKIP() << reason;
    const Module module = must(Module::load(test_device(), text, "async_kernels.ptx"));
    for (const std::uint32_t threads : {64u, 256u}) {
      SCOPED_TRACE(threads);
      const auto n = std::int32_t(threads);
      Ints in(threads * 7), meet, pipeline, groups, blocks;
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::int32_t(i * 2654435761u >> 20);
      std::int32_t sum = 5;
      for (std::int32_t t = 0; t < n; ++t) {
        const std::int32_t next = (t + 1) % n;
        meet.push_back((n - 1 - next) * 3 + next);
        std::int32_t total = 0, warp = 0;
        for (std::int32_t i = 1; i <= 7; ++i) total += i * in[(i - 1) * n + n - 1 - t];
        for (std::int32_t lane = 0; lane < 32; ++lane) warp += in[t / 32 * 32 + lane];
        pipeline.push_back(total);
        groups.push_back(warp);
        blocks.push_back(sum += in[t]);
      }
      run(module, "meet", threads, in, meet);
      run(module, "pipeline", threads, in, pipeline);
      run(module, "groups", threads, in, groups);
      run(module, "blocks", threads, in, blocks);
    }
  }
};

// Compiling takes seconds: each device takes one by itself.
TEST_F(CudaKernels, OfMbarriers) {
  if (!test::exhaustive() && test::share_of_device(2) != 0)
    GTEST_SKIP() << "the other device takes it, PTX2SPV_EXHAUSTIVE both";
  run_all("compute_90");
}

TEST_F(CudaKernels, OfAtomics) {
  if (!test::exhaustive() && test::share_of_device(2) != 1)
    GTEST_SKIP() << "the other device takes it, PTX2SPV_EXHAUSTIVE both";
  run_all("compute_75");
}

}  // namespace
}  // namespace ptx2spv
