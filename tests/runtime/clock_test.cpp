// Clocks are real: kernels that wait for one take as long as they say, on the device and in the
// interpreter. What has no clock counts readings.
#include <algorithm>
#include <chrono>

#include "src/device/device.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

using HostClock = std::chrono::steady_clock;

/// Waits for so many ticks of a clock; then stores how many they were, and when it was.
std::string waiting(const std::string& name, const std::string& clock) {
  return ".visible .entry " + name + R"((.param .u64 to, .param .u64 ticks) {
  .reg .b64 %d<8>; .reg .b32 %r<4>; .reg .pred %p<3>;
  ld.param.u64 %d0, [to];
  ld.param.u64 %d1, [ticks];
  mov.u64 %d2, )" +
         clock + R"(;
again:
  mov.u64 %d3, )" +
         clock + R"(;
  sub.u64 %d4, %d3, %d2;
  setp.lt.u64 %p1, %d4, %d1;
  @%p1 bra again;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  or.b32 %r0, %r0, %r1;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra out;
  st.global.v2.u64 [%d0], {%d4, %d3};
out:
  ret;
}
)";
}

std::string kernels() {
  return waiting("cycles", "%clock64") + waiting("time", "%globaltimer") + R"(
.visible .entry parts(.param .u64 to) {
  .reg .b64 %d<8>; .reg .b32 %r<8>;
  ld.param.u64 %d0, [to];
  mov.u64 %d1, %clock64;
  mov.u32 %r1, %clock;
  mov.u32 %r2, %clock_hi;
  mov.u64 %d2, %clock64;
  mov.u64 %d3, %globaltimer;
  mov.u32 %r3, %globaltimer_lo;
  mov.u32 %r4, %globaltimer_hi;
  mov.u64 %d4, %globaltimer;
  st.global.u64 [%d0], %d1;
  st.global.v2.u32 [%d0+8], {%r1, %r2};
  st.global.u64 [%d0+16], %d2;
  st.global.u64 [%d0+24], %d3;
  st.global.v2.u32 [%d0+32], {%r3, %r4};
  st.global.u64 [%d0+40], %d4;
  ret;
}
// Nobody raises the flag: it gives up by the clock.
.visible .entry gives_up(.param .u64 to, .param .u64 ticks) {
  .reg .b64 %d<8>; .reg .b32 %r<4>; .reg .pred %p<3>;
  ld.param.u64 %d0, [to];
  ld.param.u64 %d1, [ticks];
  mov.u64 %d2, %globaltimer;
again:
  ld.volatile.global.u32 %r0, [%d0+8];
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra out;
  mov.u64 %d3, %globaltimer;
  sub.u64 %d4, %d3, %d2;
  setp.lt.u64 %p2, %d4, %d1;
  @%p2 bra again;
  st.global.u64 [%d0], %d4;
out:
  ret;
}
)";
}

bool has_clock(const Device& device) {
  const Features& has = device.profile().features;
  return has.shader_clock || has.device_clock;
}

/// Whether a kernel that waits for a clock gets a real one.
bool waits_really(const Device& device) {
  return has_clock(device) || device.state()->executor != ExecutorPolicy::device;
}

struct Outcome {
  std::vector<std::uint64_t> words;
  double milliseconds = 0;
};

Outcome run(const Device& device, const char* name, std::uint64_t ticks, std::uint32_t blocks = 1,
            std::uint32_t threads = 1) {
  const Module module = load_on(device, kernels());
  auto kernel = must(module.kernel(name));
  Buffer to = must(Buffer::create(device, 64));
  must(to.upload(0, bytes_of(std::vector<std::uint64_t>(8))));
  Args args;
  args.buffer(to);
  if (std::string_view(name) != "parts") args.value(ticks);
  LaunchConfig config;
  config.grid.x = blocks;
  config.block.x = threads;
  must(kernel.launch(config, args));  // translates, and measures the clocks
  const auto start = HostClock::now();
  must(kernel.launch(config, args));
  const std::chrono::duration<double, std::milli> took = HostClock::now() - start;
  return {read_buffer<std::uint64_t>(to, 8), took.count()};
}

constexpr std::uint64_t kMillisecond = 1'000'000;  // ticks: clockRate is 1 GHz

TEST(Clock, AWaitTakesAsLongAsItSays) {
  if (!waits_really(test_device())) GTEST_SKIP() << "neither the device nor an interpreter has one";
  for (const char* name : {"cycles", "time"}) {
    const Outcome outcome = run(test_device(), name, 50 * kMillisecond);
    EXPECT_GE(outcome.words[0], 50 * kMillisecond) << name;
    // The rates of a device's clocks are measured.
    EXPECT_GT(outcome.milliseconds, 49) << name;
    EXPECT_LT(outcome.milliseconds, 1000) << name;
  }
}

TEST(Clock, TheInterpretersAreRealToo) {
  const Device device = device_by(ExecutorPolicy::host);
  if (device.state()->executor == ExecutorPolicy::device)
    GTEST_SKIP() << "the interpreter does not run on this device";
  for (const char* name : {"cycles", "time"})
    EXPECT_GT(run(device, name, 50 * kMillisecond).milliseconds, 49.9) << name;
}

// One after the other, the warps of these blocks would take 128 x 8 x 20 ms.
TEST(Clock, WarpsAndBlocksWaitSideBySide) {
  if (!waits_really(test_device())) GTEST_SKIP() << "neither the device nor an interpreter has one";
  const Outcome outcome = run(test_device(), "cycles", 20 * kMillisecond, 128, 256);
  EXPECT_GT(outcome.milliseconds, 19);
  EXPECT_LT(outcome.milliseconds, 5000);
}

// The interpreter ends what waits for other threads in vain after 2 seconds, but not what a clock
// ends.
TEST(Clock, AWaitForNobodyEndsByItsClock) {
  if (!waits_really(test_device())) GTEST_SKIP() << "neither the device nor an interpreter has one";
  const Outcome outcome = run(test_device(), "gives_up", 2300 * kMillisecond);
  EXPECT_GE(outcome.words[0], 2300 * kMillisecond);
  EXPECT_GT(outcome.milliseconds, 2290);
}

TEST(Clock, PartsAreOfOneClockThatGoesOn) {
  const auto words = run(test_device(), "parts", 0).words;
  EXPECT_TRUE(std::is_sorted(words.begin(), words.begin() + 3)) << words[0] << " " << words[1];
  EXPECT_TRUE(std::is_sorted(words.begin() + 3, words.begin() + 6)) << words[3] << " " << words[4];
  EXPECT_GT(words[2], words[0]);
  if (!waits_really(test_device())) return;
  // Later launches are later, and the timer is the time of day, as on an H100.
  const std::uint64_t before = words[5];
  EXPECT_GT(run(test_device(), "parts", 0).words[3], before);
  const auto today = static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                             std::chrono::system_clock::now().time_since_epoch())
                                             .count());
  EXPECT_NEAR(static_cast<double>(before), today, 60e9);
}

TEST(Clock, WithoutOneReadingsAreCounted) {
  const Device device =
      device_by(ExecutorPolicy::device, {.disable = {"shader_clock", "device_clock"}});
  EXPECT_FALSE(has_clock(device));
  const auto words = run(device, "parts", 0).words;
  EXPECT_EQ(words, (std::vector<std::uint64_t>{100'000, 200'000, 400'000, 500'000, 600'000, 800'000,
                                               0, 0}));
  const Outcome outcome = run(device, "cycles", 1000 * kMillisecond);
  EXPECT_EQ(outcome.words[0], 1000 * kMillisecond);
  EXPECT_LT(outcome.milliseconds, 1000) << "10,000 readings";
}

}  // namespace
}  // namespace ptx2spv
