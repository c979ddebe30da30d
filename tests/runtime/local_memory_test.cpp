// Local memory up to what a driver takes, and past it, where it lies in a buffer: drivers of CPUs
// would end the process.
#include <fmt/format.h>

#include <algorithm>

#include "src/device/local_memory.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kThreads = 64;

/// Writes two words far apart in an array of `bytes`, one at a place that the thread's number
/// gives, meets a barrier and stores their sum where its number in the grid says; `more` comes
/// before that.
Module with_local(const Device& device, std::uint32_t bytes,
                  const std::string& meet = "bar.sync 0;", const std::string& more = {}) {
  return load_on(
      device,
      fmt::format(
          ".visible .entry k(.param .u64 to) {{\n"
          "  .local .align 4 .b8 own[{0}];\n  .reg .b32 %r<9>;\n  .reg .b64 %d<5>;\n"
          "  ld.param.u64 %d0, [to];\n  mov.u32 %r0, %tid.x;\n  mov.u64 %d1, own;\n"
          "  mul.wide.u32 %d2, %r0, 4;\n  add.u64 %d3, %d1, %d2;\n"
          "  mov.u32 %r5, %ctaid.x;\n  mov.u32 %r6, %ntid.x;\n  mad.lo.u32 %r4, %r5, %r6, %r0;\n"
          "  add.u32 %r1, %r4, 1000;\n"
          "  st.local.u32 [%d3], %r4;\n  st.local.u32 [own+{1}], %r1;\n  {2}\n"
          "  ld.local.u32 %r2, [%d3];\n  ld.local.u32 %r3, [own+{1}];\n  add.u32 %r2, %r2, %r3;\n"
          "  {3}\n  mul.wide.u32 %d2, %r4, 4;\n"
          "  add.u64 %d4, %d0, %d2;\n  st.global.u32 [%d4], %r2;\n  ret;\n}}\n",
          bytes, bytes - 4, meet, more));
}

Result<LaunchTiming> launch(const Module& module, Buffer& to, LaunchConfig config = {}) {
  if (config.block.x == 1) config.block = {kThreads, 1, 1};
  return must(module.kernel("k")).launch(config, Args().buffer(to));
}

void expect_sums(const Buffer& to, std::uint32_t threads = kThreads) {
  const auto got = read_buffer<std::uint32_t>(to, threads);
  for (std::uint32_t t = 0; t < threads; ++t) ASSERT_EQ(got[t], 2 * t + 1000) << t;
}

TEST(LocalMemory, ManyKilobytesWork) {
  const std::uint32_t most = runtime::most_local_bytes(test_device().state()->traits);
  Buffer to = must(Buffer::create(test_device(), 4 * kThreads));
  must(launch(with_local(test_device(), std::min(100 * 1024u, most == 0 ? 15 * 1024u : most)), to));
  expect_sums(to);
}

// Word 31 - tid of an array, whose address is a sum with negative terms.
TEST(LocalMemory, TermsOfAnAddressMayBeNegative) {
  constexpr std::uint32_t kWords = 32;
  for (const char* rest : {"", "add.s32 %r5, %r5, 2;\n  and.b32 %r5, %r5, -4;"}) {
    const Module module = load(fmt::format(R"(
.visible .entry k(.param .u64 to) {{
  .local .align 4 .b8 own[128];
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<3>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, own;
  mov.u32 %r2, 0;
fill:
  mad.lo.u32 %r3, %r2, 40503, %r0;
  shl.b32 %r4, %r2, 2;
  add.u32 %r4, %r4, %r1;
  st.local.u32 [%r4], %r3;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p, %r2, 32;
  @%p bra fill;
  mul.lo.s32 %r5, %r0, -4;
  {}
  add.s32 %r5, %r5, %r1;
  ld.local.u32 %r6, [%r5+124];
  ld.param.u64 %d0, [to];
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d0, %d0, %d1;
  st.global.u32 [%d0], %r6;
  ret;
}}
)",
                                           rest));
    Buffer to = must(Buffer::create(test_device(), 4 * kWords));
    LaunchConfig config;
    config.block = {kWords, 1, 1};
    must(launch(module, to, config));
    const auto got = read_buffer<std::uint32_t>(to, kWords);
    for (std::uint32_t t = 0; t < kWords; ++t)
      EXPECT_EQ(got[t], (kWords - 1 - t) * 40503 + t) << "thread " << t << ", " << rest;
  }
}

/// Launches that the device runs itself, with as much as CUDA gives a thread.
class LocalMemoryPastTheDriversLimit : public testing::Test {
 protected:
  static constexpr std::uint32_t kBytes = 512 * 1024;
  void SetUp() override {
    if (runtime::most_local_bytes(device.state()->traits) == 0)
      GTEST_SKIP() << "no limit of this device is known";
  }
  void expect_work(const Module& module, const LaunchConfig& config) {
    const std::uint32_t threads = config.grid.x * config.block.x;
    Buffer to = must(Buffer::create(device, 4 * threads));
    must(launch(module, to, config));
    expect_sums(to, threads);
  }
  Device device = device_by(ExecutorPolicy::device);
};

// More than two GiB.
TEST_F(LocalMemoryPastTheDriversLimit, BlocksTakeTurns) {
  LaunchConfig config;
  config.grid = {70, 1, 1};
  config.block = {kThreads, 1, 1};
  expect_work(with_local(device, kBytes), config);
}

TEST_F(LocalMemoryPastTheDriversLimit, ThreadsOfOneInvocationHaveTheirOwn) {
  LaunchConfig config;
  config.grid = {2, 1, 1};
  config.block = {1024, 1, 1};
  expect_work(with_local(device, kBytes), config);
  config.threads = ThreadModel::regions;
  config.block = {100, 1, 1};
  expect_work(with_local(device, kBytes), config);
}

TEST_F(LocalMemoryPastTheDriversLimit, ThreadsAreNumberedThroughTheGrid) {
  LaunchConfig config;
  config.grid = {50, 1, 1};
  config.block = {100, 1, 1};
  config.threads = ThreadModel::flat;
  expect_work(with_local(device, kBytes, ""), config);
}

TEST_F(LocalMemoryPastTheDriversLimit, SharedMemoryLiesBehindIt) {
  LaunchConfig config;
  config.grid = {3, 1, 1};
  config.block = {kThreads, 1, 1};
  // Each thread takes its neighbour's number and gives it back.
  const std::string meet =
      ".shared .align 16 .b8 block[102400];\n  mov.u32 %r7, block;\n"
      "  mad.lo.u32 %r7, %r0, 4, %r7;\n  add.u32 %r7, %r7, 90000;\n  st.shared.u32 [%r7], %r4;\n"
      "  bar.sync 0;\n  xor.b32 %r8, %r7, 4;\n  ld.shared.u32 %r8, [%r8];\n"
      "  xor.b32 %r8, %r8, 1;\n  st.local.u32 [%d3], %r8;";
  expect_work(with_local(device, kBytes, meet), config);
}

// A loop fills it by bytes and halves and sums them up.
TEST_F(LocalMemoryPastTheDriversLimit, BytesAndHalvesKeepTheirNeighbours) {
  for (const bool narrow : {true, false}) {
    DeviceOptions options;
    if (!narrow) options.disable = {"storage8", "storage16"};
    device = device_by(ExecutorPolicy::device, options);
    const std::string more =
        "mov.u32 %r7, 0;\nfill:\n  and.b32 %r8, %r7, 60;\n  mul.wide.u32 %d4, %r8, 1024;\n"
        "  add.u64 %d4, %d4, %d1;\n  st.local.u32 [%d4+256], -1;\n  st.local.u8 [%d4+257], %r0;\n"
        "  st.local.u16 [%d4+258], %r7;\n  ld.local.u32 %r8, [%d4+256];\n"
        "  shl.b32 %r3, %r7, 16;\n  or.b32 %r3, %r3, 255;\n  shl.b32 %r1, %r0, 8;\n"
        "  or.b32 %r3, %r3, %r1;\n  sub.u32 %r8, %r8, %r3;\n  add.u32 %r2, %r2, %r8;\n"
        "  add.u32 %r7, %r7, 1;\n  setp.lt.u32 %p, %r7, 64;\n  @%p bra fill;";
    LaunchConfig config;
    config.block = {kThreads, 1, 1};
    expect_work(with_local(device, kBytes, "bar.sync 0;\n  .reg .pred %p;", more), config);
  }
}

TEST_F(LocalMemoryPastTheDriversLimit, TheSanitizerKnowsWhatNobodyWrote) {
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  config.checks = check_init | check_memory;
  expect_work(with_local(device, kBytes), config);
  // The sanitizer's own bits go past the limit.
  const std::uint32_t most = runtime::most_local_bytes(device.state()->traits);
  expect_work(with_local(device, most - 1024), config);
  EXPECT_TRUE(device.sanitizer_report().findings.empty());
  DeviceOptions options;
  options.report = [](std::string_view) {};
  const auto reads = [&](const char* place) {
    const Device checked = device_by(ExecutorPolicy::device, options);
    Buffer there = must(Buffer::create(checked, 4 * kThreads));
    must(launch(with_local(checked, kBytes, fmt::format("ld.local.u32 %r7, [{}];", place),
                           "add.u32 %r2, %r2, %r7;"),
                there, config));
    const auto found = checked.sanitizer_report().findings;
    return found.empty() ? std::string("nothing") : std::string(to_string(found[0].kind));
  };
  EXPECT_EQ(reads("own+400000"), to_string(FindingKind::uninitialised));
  EXPECT_EQ(reads("%d3+524288"), to_string(FindingKind::out_of_bounds));
}

// A block of it would take as much memory as the machine has.
TEST(LocalMemory, PastTheHardwaresLimitIsRefusedByName) {
  Device device = device_by(ExecutorPolicy::automatic);
  const std::uint32_t most = runtime::most_local_bytes(device.state()->traits);
  if (most == 0) GTEST_SKIP() << "no limit of this device is known";
  Buffer to = must(Buffer::create(device, 4 * kThreads));
  const auto refused = launch(with_local(device, 64u << 20), to);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("67108864 bytes of local memory for a thread"),
            std::string::npos)
      << refused.error().text;
}

TEST(LocalMemory, PastTheDriversLimitTheInterpreterHasIt) {
  Device device = device_by(ExecutorPolicy::automatic);
  if (device.info().kind != DeviceKind::cpu)
    GTEST_SKIP() << "the interpreter works on CPU devices alone";
  Buffer to = must(Buffer::create(device, 4 * kThreads));
  must(launch(with_local(device, 512 * 1024), to));
  expect_sums(to);
}

}  // namespace
}  // namespace ptx2spv
