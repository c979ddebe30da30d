// Local memory up to what a driver takes, and past it: drivers of CPUs end the process there.
#include <fmt/format.h>

#include <algorithm>

#include "src/device/local_memory.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kThreads = 64;

/// Writes two words far apart in an array of `bytes`, one at a place that the thread's number
/// gives, meets a barrier and stores their sum.
Module with_local(const Device& device, std::uint32_t bytes) {
  return load_on(
      device,
      fmt::format(
          ".visible .entry k(.param .u64 to) {{\n"
          "  .local .align 4 .b8 own[{0}];\n  .reg .b32 %r<5>;\n  .reg .b64 %d<5>;\n"
          "  ld.param.u64 %d0, [to];\n  mov.u32 %r0, %tid.x;\n  mov.u64 %d1, own;\n"
          "  mul.wide.u32 %d2, %r0, 4;\n  add.u64 %d3, %d1, %d2;\n  add.u32 %r1, %r0, 1000;\n"
          "  st.local.u32 [%d3], %r0;\n  st.local.u32 [own+{1}], %r1;\n  bar.sync 0;\n"
          "  ld.local.u32 %r2, [%d3];\n  ld.local.u32 %r3, [own+{1}];\n  add.u32 %r2, %r2, %r3;\n"
          "  add.u64 %d4, %d0, %d2;\n  st.global.u32 [%d4], %r2;\n  ret;\n}}\n",
          bytes, bytes - 4));
}

Result<LaunchTiming> launch(const Module& module, Buffer& to) {
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  return must(module.kernel("k")).launch(config, Args().buffer(to));
}

TEST(LocalMemory, ManyKilobytesWork) {
  const std::uint32_t most = runtime::most_local_bytes(test_device().state()->traits);
  Buffer to = must(Buffer::create(test_device(), 4 * kThreads));
  must(launch(with_local(test_device(), std::min(100 * 1024u, most == 0 ? 15 * 1024u : most)), to));
  const auto got = read_buffer<std::uint32_t>(to, kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) EXPECT_EQ(got[t], 2 * t + 1000) << t;
}

TEST(LocalMemory, PastTheDriversLimitIsRefusedByName) {
  Device device = device_by(ExecutorPolicy::device);
  const std::uint32_t most = runtime::most_local_bytes(device.state()->traits);
  if (most == 0) GTEST_SKIP() << "no limit of this device is known";
  Buffer to = must(Buffer::create(device, 4 * kThreads));
  const auto refused = launch(with_local(device, 512 * 1024), to);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().text.find("524288 bytes of local memory for a thread"),
            std::string::npos)
      << refused.error().text;
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
  const auto got = read_buffer<std::uint32_t>(to, kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) EXPECT_EQ(got[t], 2 * t + 1000) << t;
}

}  // namespace
}  // namespace ptx2spv
