// Loops that iterate more often than a driver carries out (lavapipe: 65,535 iterations of all loops
// of a group of lanes): the host runs them. By the driver results are right, or the launch ends
// with an error that names a loop.
#include <functional>

#include "tests/runtime/fixture.hpp"
#include "tests/support/environment.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kThreads = 64;

// Counts %r4 iterations of an addition in %r5, in a loop of its own.
std::string count(const std::string& label) {
  return "  mov.u32 %r6, 0;\n" + label + ":\n  setp.ge.u32 %p1, %r6, %r4;\n  @%p1 bra " + label +
         "_out;\n  mad.lo.u32 %r5, %r5, 3, %r6;\n  add.u32 %r6, %r6, 1;\n  bra " + label + ";\n" +
         label + "_out:\n";
}

std::uint32_t counted(std::uint32_t start, std::uint32_t iterations) {
  for (std::uint32_t i = 0; i < iterations; ++i) start = start * 3 + i;
  return start;
}

struct Outcome {
  Status status;
  std::vector<std::uint32_t> words;
};

std::string kernel_of(const std::string& body) {
  return ".visible .entry k(.param .u64 to, .param .u32 iterations) {\n"
         "  .reg .pred %p<6>;\n  .reg .b32 %r<12>;\n  .reg .b64 %d<4>;\n"
         "  ld.param.u64 %d0, [to];\n  ld.param.u32 %r4, [iterations];\n  mov.u32 %r0, %tid.x;\n"
         "  mul.wide.u32 %d1, %r0, 4;\n  add.u64 %d1, %d0, %d1;\n  mov.u32 %r5, %r0;\n" +
         body + "  st.global.u32 [%d1], %r5;\n  ret;\n}\n";
}

Outcome launch(const Kernel& kernel, Buffer& to, std::uint32_t iterations) {
  must(to.upload(0, bytes_of(std::vector<std::uint32_t>(kThreads))));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  auto launched = kernel.launch(config, Args().buffer(to).value(iterations));
  Outcome outcome;
  if (!launched) outcome.status = launched.error();
  outcome.words = read_buffer<std::uint32_t>(to, kThreads);
  return outcome;
}

Outcome run(const Device& device, const std::string& body, std::uint32_t iterations) {
  const Module module = load_on(device, kernel_of(body));
  Buffer to = must(Buffer::create(device, kThreads * 4));
  return launch(must(module.kernel("k")), to, iterations);
}

/// What compiled code gives, whatever its loops do.
Device& without_interpreter() {
  static Device device = device_by(ExecutorPolicy::device);
  return device;
}

using Expected = std::function<std::uint32_t(std::uint32_t)>;

void expect_right(const Outcome& outcome, const Expected& expected) {
  ASSERT_TRUE(outcome.status) << outcome.status.error().text;
  for (std::uint32_t t = 0; t < kThreads; ++t) ASSERT_EQ(outcome.words[t], expected(t)) << t;
}
/// Where the device has no limit, or `within` it: right. Else: an error at one of the loops.
void expect_right_or_reported(const Outcome& outcome, bool within, const Expected& expected) {
  const std::uint32_t limit = test_device().info().profile.max_loop_iterations;
  if (within || limit == 0) return expect_right(outcome, expected);
  ASSERT_FALSE(outcome.status);
  ASSERT_TRUE(outcome.status.error().trap) << outcome.status.error().text;
  const TrapReport& report = *outcome.status.error().trap;
  EXPECT_EQ(report.kind, abi::TrapKind::loop_limit) << report.to_string();
  EXPECT_GT(report.line, 10u) << report.to_string();
  EXPECT_FALSE(report.instruction.empty()) << report.to_string();
  EXPECT_GE(report.trapped_threads, 1u);
  EXPECT_LE(report.trapped_threads, kThreads);
}

/// The host, where it runs launches.
Device& host() {
  static Device device = device_by(ExecutorPolicy::host);
  return device;
}

/// Both ways.
void expect_both(const std::string& body, std::uint32_t iterations, bool within,
                 const Expected& expected) {
  expect_right(run(host(), body, iterations), expected);
  expect_right_or_reported(run(without_interpreter(), body, iterations), within, expected);
}

TEST(LoopLimit, OfOneLoop) {
  const auto expected = [](std::uint32_t iterations) {
    return [iterations](std::uint32_t t) { return counted(t, iterations); };
  };
  expect_both(count("a"), 65000, true, expected(65000));
  expect_both(count("a"), 66000, false, expected(66000));
}

// The same kernel with a bound that needs no guard, with one that does, and with one again; as a
// signed number, a bound below zero.
TEST(LoopLimit, OfABoundThatChanges) {
  const std::string body =
      "  mov.u32 %r6, 0;\n  setp.lt.s32 %p1, %r4, 1;\n  @%p1 bra out;\n"
      "a:\n  mad.lo.u32 %r5, %r5, 3, %r6;\n  add.s32 %r6, %r6, 1;\n  setp.lt.s32 %p1, %r6, %r4;\n"
      "  @%p1 bra a;\nout:\n";
  for (Device* device : {&host(), &without_interpreter()}) {
    const Module module = load_on(*device, kernel_of(body));
    Buffer to = must(Buffer::create(*device, kThreads * 4));
    const Kernel kernel = must(module.kernel("k"));
    for (const std::uint32_t iterations :
         {10u, 61000u, 61500u, 66000u, 64000u, 0u, 0xfffffff0u, 7u}) {
      const std::uint32_t done = iterations >> 31 ? 0 : iterations;
      expect_right_or_reported(launch(kernel, to, iterations), done <= 65000 || device == &host(),
                               [&](std::uint32_t t) { return counted(t, done); });
    }
  }
}

// Lanes of one group iterate in different loops, each less often than the limit.
TEST(LoopLimit, OfUnlikeLoops) {
  const std::string body =
      "  and.b32 %r1, %r0, 1;\n  setp.eq.u32 %p0, %r1, 0;\n  @%p0 bra even;\n" + count("odd_loop") +
      "  bra join;\neven:\n" + count("even_loop") + "join:\n";
  const auto expected = [](std::uint32_t iterations) {
    return [iterations](std::uint32_t t) { return counted(t, iterations); };
  };
  expect_both(body, 30000, true, expected(30000));
  expect_both(body, 40000, false, expected(40000));
}

// One loop, in which the lanes of a group iterate at different times.
TEST(LoopLimit, OfOneLoopEnteredInTurn) {
  const std::string body =
      "  mov.u32 %r7, 0;\n  and.b32 %r8, %r0, 3;\nround:\n"
      "  setp.ne.u32 %p2, %r7, %r8;\n  @%p2 bra skip;\n" +
      count("a") + "skip:\n  add.u32 %r7, %r7, 1;\n  setp.lt.u32 %p3, %r7, 4;\n  @%p3 bra round;\n";
  const auto expected = [](std::uint32_t iterations) {
    return [iterations](std::uint32_t t) { return counted(t, iterations); };
  };
  expect_both(body, 16000, true, expected(16000));
  expect_both(body, 20000, false, expected(20000));
}

TEST(LoopLimit, OfNestedLoops) {
  const std::string body = "  mov.u32 %r7, 0;\nouter:\n" + count("inner") +
                           "  add.u32 %r7, %r7, 1;\n  setp.lt.u32 %p3, %r7, 100;\n"
                           "  @%p3 bra outer;\n";
  const auto expected = [](std::uint32_t iterations) {
    return [iterations](std::uint32_t t) {
      for (int i = 0; i < 100; ++i) t = counted(t, iterations);
      return t;
    };
  };
  expect_both(body, 600, true, expected(600));
  expect_both(body, 700, false, expected(700));
}

// A barrier behind the loop: the threads that were cut off do not keep the others waiting.
TEST(LoopLimit, BeforeABarrier) {
  const std::string body = "  setp.lt.u32 %p0, %r0, 16;\n  @%p0 bra few;\n" + count("a") +
                           "few:\n  bar.sync 0;\n  add.u32 %r5, %r5, 1;\n";
  const auto expected = [](std::uint32_t iterations) {
    return [iterations](std::uint32_t t) { return (t < 16 ? t : counted(t, iterations)) + 1; };
  };
  expect_both(body, 65000, true, expected(65000));
  expect_both(body, 66000, false, expected(66000));
}

// Warp operations: an invocation's own loops run its threads from one to the next.
TEST(LoopLimit, WithWarpOperations) {
  const std::string body = count("a") + "  shfl.sync.idx.b32 %r5, %r5, 5, 31, -1;\n";
  const auto expected = [](std::uint32_t iterations) {
    return [iterations](std::uint32_t t) { return counted(t / 32 * 32 + 5, iterations); };
  };
  expect_both(body, 60000, true, expected(60000));
  expect_both(body, 66000, false, expected(66000));
}

TEST(LoopLimit, OfALoopWithoutAnEnd) {
  if (test_device().info().profile.max_loop_iterations == 0)
    GTEST_SKIP() << test_device().info().name << " has no limit: such a loop runs for ever";
  const Outcome outcome = run(without_interpreter(),
                              "  setp.ne.u32 %p0, %r0, 33;\n  @%p0 bra done;\nagain:\n"
                              "  add.u32 %r5, %r5, 1;\n  bra again;\ndone:\n",
                              0);
  expect_right_or_reported(outcome, false, [](std::uint32_t t) { return t; });
  EXPECT_EQ(outcome.status.error().trap->trapped_threads, 1u);
  for (std::uint32_t t = 40; t < kThreads; ++t) EXPECT_EQ(outcome.words[t], t);
}

// A thread that was cut off does not finish what it began, and may trap over it: the report is of
// the loop all the same.
TEST(LoopLimit, ComesBeforeTheTrapsThatItCauses) {
  const std::string body =
      count("a") + "  setp.eq.u32 %p2, %r6, %r4;\n  @%p2 bra fine;\n  trap;\nfine:\n";
  expect_both(body, 66000, false, [](std::uint32_t t) { return counted(t, 66000); });
}

// The host makes no machine code of so large a kernel, and interprets it.
TEST(LoopLimit, OfAKernelThatIsTooLargeToCompile) {
  constexpr std::uint32_t kSteps = 30000, kIterations = 66000;
  std::string body;
  for (std::uint32_t i = 0; i < kSteps; ++i)
    body += i % 2 ? "  add.u32 %r5, %r5, %r4;\n"
                  : "  xor.b32 %r5, %r5, " + std::to_string(i * 7919) + ";\n";
  const test::DebugSettings automatic("tier=auto");  // tests ask drivers first
  Device device = device_by(ExecutorPolicy::automatic);
  expect_right(run(device, body + count("a"), kIterations), [](std::uint32_t t) {
    for (std::uint32_t i = 0; i < kSteps; ++i) t = i % 2 ? t + kIterations : t ^ (i * 7919);
    return counted(t, kIterations);
  });
  if (device.info().profile.max_loop_iterations != 0) {
    EXPECT_EQ(device.statistics().interpreted_launches, 1u);
  }
}

}  // namespace
}  // namespace ptx2spv
