// Launches that the interpreter runs instead of the device, wholly or in part.
#include <atomic>
#include <cfenv>
#include <chrono>
#include <future>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

bool interprets(const Device& device) { return device.info().kind == DeviceKind::cpu; }

/// Each thread counts its block's runs, and its own result of a long row of operations. Every
/// operation depends on the last, and no two constants are the same.
constexpr std::uint32_t kTurns = 60;
std::string long_kernel(int operations, const std::string& name = "k") {
  std::string text =
      ".visible .entry " + name +
      "(.param .u64 to) {\n.reg .pred %p<2>;\n.reg .b32 %r<12>;\n"
      ".reg .b64 %d<4>;\nld.param.u64 %d0, [to];\nmov.u32 %r0, %tid.x;\n"
      "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %nctaid.x;\n"
      "mad.lo.u32 %r1, %r2, %r3, %r1;\nmov.u32 %r2, %ctaid.z;\nmov.u32 %r4, %nctaid.y;\n"
      "mul.lo.u32 %r3, %r3, %r4;\nmad.lo.u32 %r1, %r2, %r3, %r1;\nmov.u32 %r4, %ntid.x;\n"
      "mad.lo.u32 %r5, %r1, %r4, %r0;\nmov.u32 %r6, %r5;\nmov.u32 %r7, 0;\nLOOP:\n";
  for (int i = 0; i < operations; ++i)
    text += "mad.lo.u32 %r6, %r6, " + std::to_string(2 * i + 3) + ", " + std::to_string(i * i) +
            ";\nxor.b32 %r6, %r6, " + std::to_string(i * 77 + 5) + ";\n";
  return text + "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p0, %r7, " + std::to_string(kTurns) +
         ";\n@%p0 bra LOOP;\nmul.wide.u32 %d1, %r5, 8;\nadd.u64 %d2, %d0, %d1;\n"
         "atom.global.add.u32 %r8, [%d2], 1;\nst.global.u32 [%d2+4], %r6;\nret;\n}\n";
}

std::uint32_t result_of(std::uint32_t thread, int operations) {
  std::uint32_t value = thread;
  for (std::uint32_t turn = 0; turn < kTurns; ++turn)
    for (int i = 0; i < operations; ++i) {
      const auto k = static_cast<std::uint32_t>(i);
      value = (value * (2 * k + 3) + k * k) ^ (k * 77 + 5);
    }
  return value;
}

/// Launches the long kernel until the device has so many pipelines, and once more: every thread has
/// to have run once each time.
void expect_each_block_once(Device& device, const Dim3& grid, int operations,
                            std::uint64_t pipelines) {
  const std::uint32_t threads = 64, count = grid.x * grid.y * grid.z * threads;
  const Module module = load_on(device, long_kernel(operations));
  const Kernel kernel = must(module.kernel("k"));
  Buffer to = must(Buffer::create(device, std::uint64_t{count} * 8));
  must(to.upload(0, bytes_of(std::vector<std::uint32_t>(count * 2))));
  LaunchConfig config;
  config.grid = grid;
  config.block = {threads, 1, 1};
  std::uint32_t launches = 0;
  while (device.statistics().pipelines < pipelines && launches < 1000) {
    must(kernel.launch(config, Args().buffer(to)));
    ++launches;
  }
  must(kernel.launch(config, Args().buffer(to)));
  ++launches;
  EXPECT_EQ(device.statistics().pipelines, pipelines);
  EXPECT_EQ(device.statistics().launches, launches);
  const auto words = read_buffer<std::uint32_t>(to, std::size_t{count} * 2);
  std::uint32_t wrong_counts = 0, wrong_results = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    wrong_counts += words[2 * i] != launches;
    if (i % 97 == 0) wrong_results += words[2 * i + 1] != result_of(i, operations);
  }
  EXPECT_EQ(wrong_counts, 0u);
  EXPECT_EQ(wrong_results, 0u);
}

TEST(Interpreter, AndTheDeviceShareALaunchWithoutLosingABlock) {
  Device device = device_by(ExecutorPolicy::automatic);
  if (!interprets(device)) GTEST_SKIP() << "the interpreter works on CPU devices alone";
  // Some 200 KB of SPIR-V: the interpreter runs for as long as compiling that may take, and has not
  // run all by then. Rows and planes are not powers of two.
  expect_each_block_once(device, {13, 5, 7}, 2000, 1);
}

// lavapipe compares each access to an array on the stack with every other one: a module of 60 KB
// took it seconds, as kernels do that nvcc -G made.
TEST(Interpreter, RunsKernelsOfManyLocalAccessesFirst) {
  Device device = device_by(ExecutorPolicy::automatic);
  if (device.info().name.find("llvmpipe") == std::string::npos)
    GTEST_SKIP() << "only lavapipe takes long for these";
  constexpr std::uint32_t kRounds = 400, kWords = 64, kThreads = 32;
  std::string text =
      ".visible .entry k(.param .u64 to) {\n.local .align 4 .b8 stack[256];\n"
      ".reg .b32 %r<12>;\n.reg .b64 %d<4>;\nld.param.u64 %d0, [to];\nmov.u32 %r0, %tid.x;\n"
      "mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\nmov.u32 %r1, stack;\n"
      "mov.u32 %r3, %r0;\n";
  for (std::uint32_t i = 0; i < kWords; ++i)
    text += "st.local.u32 [stack+" + std::to_string(4 * i) + "], " + std::to_string(i * 7) + ";\n";
  for (std::uint32_t i = 0; i < kRounds; ++i)
    text +=
        "and.b32 %r4, %r3, 63;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r4, %r1;\n"
        "ld.local.u32 %r5, [stack+" +
        std::to_string(i * 5 % kWords * 4) +
        "];\nmad.lo.u32 %r3, %r3, 3, %r5;\nst.local.u32 [%r4], %r3;\n";
  const Module module = load_on(device, text + "st.global.u32 [%d0], %r3;\nret;\n}\n");
  Buffer to = must(Buffer::create(device, kThreads * 4));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  must(must(module.kernel("k")).launch(config, Args().buffer(to)));
  EXPECT_EQ(device.statistics().interpreted_launches, 1u);
  EXPECT_EQ(device.statistics().pipelines, 0u);
  const auto words = read_buffer<std::uint32_t>(to, kThreads);
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    std::uint32_t stack[kWords], value = thread;
    for (std::uint32_t i = 0; i < kWords; ++i) stack[i] = i * 7;
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      const std::uint32_t at = value & 63;
      value = value * 3 + stack[i * 5 % kWords];
      stack[at] = value;
    }
    EXPECT_EQ(words[thread], value) << thread;
  }
}

TEST(Interpreter, RunsLaunchesThatNeedNoPipeline) {
  Device device = device_by(ExecutorPolicy::host);
  if (!interprets(device)) GTEST_SKIP() << "the interpreter works on CPU devices alone";
  expect_each_block_once(device, {5, 3, 2}, 20, 0);
}

TEST(Interpreter, IsNotAskedWhereItIsOff) {
  Device device = device_by(ExecutorPolicy::device);
  expect_each_block_once(device, {5, 3, 2}, 20, 1);
}

TEST(Interpreter, StopsAfterTheTimeLimitAndTheDeviceGoesOn) {
  DeviceOptions options;
  options.timeout = 0.5;
  Device device = device_by(ExecutorPolicy::host, options);
  if (!interprets(device)) GTEST_SKIP() << "the interpreter works on CPU devices alone";
  const Module module = load_on(device,
                                ".visible .entry k(.param .u64 to) {\n.reg .b32 %r<4>;\n"
                                ".reg .b64 %d<2>;\nld.param.u64 %d0, [to];\nLOOP:\n"
                                "atom.global.add.u32 %r0, [%d0], 1;\nbra LOOP;\n}\n" +
                                    long_kernel(1, "after"));
  Buffer to = must(Buffer::create(device, 64));
  LaunchConfig config;
  config.block = {1, 1, 1};
  const auto late = must(module.kernel("k")).launch(config, Args().buffer(to));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::timed_out);
  EXPECT_EQ(late.error().text, "kernel 'k' did not end within 0.5 seconds");
  must(must(module.kernel("after")).launch(config, Args().buffer(to)));
}

// 1 + 2^-30 is 1, and the smallest denormal times 1 is itself: also where the calling thread rounds
// upwards, as it may for arithmetic of intervals.
TEST(Interpreter, RoundsToNearestEvenWhateverTheCallerDoes) {
  Device device = device_by(ExecutorPolicy::host);
  if (!interprets(device)) GTEST_SKIP() << "the interpreter works on CPU devices alone";
  const Module module =
      load_on(device,
              ".visible .entry k(.param .u64 to) {\n.reg .f32 %f<4>;\n.reg .b64 %d;\n"
              "ld.param.u64 %d, [to];\nld.global.f32 %f0, [%d];\nld.global.f32 %f1, [%d+4];\n"
              "ld.global.f32 %f2, [%d+8];\nadd.rn.f32 %f1, %f0, %f1;\nmul.rn.f32 %f2, %f0, %f2;\n"
              "st.global.f32 [%d+12], %f1;\nst.global.f32 [%d+16], %f2;\nret;\n}\n");
  Buffer to = must(Buffer::create(device, 64));
  must(to.upload(0, bytes_of(std::vector<std::uint32_t>{0x3f800000, 0x30800000, 1, 0, 0})));
  LaunchConfig config;
  config.block = {32, 1, 1};
  const int rounding = std::fegetround();
  std::fesetround(FE_UPWARD);
  const auto launched = must(module.kernel("k")).launch(config, Args().buffer(to));
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(rounding);
  ASSERT_TRUE(launched) << launched.error().text;
  const auto words = read_buffer<std::uint32_t>(to, 5);
  EXPECT_EQ(words[3], 0x3f800000u);
  EXPECT_EQ(words[4], 1u);
}

// A kernel says that it runs and waits for the program, whose other thread waits for the device.
TEST(Interpreter, IsWaitedForByOtherThreads) {
  Device device = device_by(ExecutorPolicy::host);
  if (!interprets(device)) GTEST_SKIP() << "the interpreter works on CPU devices alone";
  const Module module =
      load_on(device,
              ".visible .entry k(.param .u64 to) {\n.reg .pred %p;\n.reg .b32 %r;\n.reg .b64 %d;\n"
              "ld.param.u64 %d, [to];\nst.volatile.global.u32 [%d], 1;\n"
              "AGAIN:\nld.volatile.global.u32 %r, [%d+4];\nsetp.eq.u32 %p, %r, 0;\n@%p bra AGAIN;\n"
              "st.volatile.global.u32 [%d+8], 1;\nret;\n}\n");
  const Kernel kernel = must(module.kernel("k"));
  Buffer to = must(Buffer::create(device, 16, BufferMemory::host));
  auto* words = reinterpret_cast<std::atomic<std::uint32_t>*>(to.mapped());
  for (int i = 0; i < 3; ++i) words[i] = 0;
  LaunchConfig config;
  config.block = {1, 1, 1};
  auto launched =
      std::async(std::launch::async, [&] { return kernel.launch(config, Args().buffer(to)); });
  while (!words[0] && launched.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
    continue;
  auto waited = std::async(std::launch::async, [&] {
    const Status status = device.synchronize();
    return std::pair(bool(status), words[2].load());
  });
  EXPECT_EQ(waited.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  words[1] = 1;
  EXPECT_EQ(waited.get(), std::pair(true, 1u));
  must(launched.get());
}

TEST(Interpreter, SaysWhichBlockWaitsAtABarrierForEver) {
  Device device = device_by(ExecutorPolicy::host);
  if (!interprets(device)) GTEST_SKIP() << "the interpreter works on CPU devices alone";
  // 64 threads are expected, and 32 come.
  const Module module = load_on(device,
                                ".visible .entry k() {\n.reg .pred %p;\n.reg .b32 %r;\n"
                                "mov.u32 %r, %tid.x;\nsetp.ge.u32 %p, %r, 32;\n@%p bra END;\n"
                                "bar.sync 1, 64;\nEND:\nret;\n}\n");
  LaunchConfig config;
  config.block = {64, 1, 1};
  const auto stuck = must(module.kernel("k")).launch(config, Args());
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().text,
            "kernel 'k', which the interpreter ran: threads of block (0, 0, 0) wait at a barrier "
            "that others never reach");
}

// A block waits for a word that no thread writes, while others end.
TEST(Interpreter, SaysWhichBlockWaitsInALoopForEver) {
  Device device = device_by(ExecutorPolicy::host);
  if (!interprets(device)) GTEST_SKIP() << "the interpreter works on CPU devices alone";
  const Module module = load_on(
      device,
      ".visible .entry k(.param .u64 to) {\n.reg .pred %p;\n.reg .b32 %r;\n.reg .b64 %d;\n"
      "ld.param.u64 %d, [to];\nmov.u32 %r, %ctaid.x;\nsetp.ne.u32 %p, %r, 2;\n@%p bra END;\n"
      "AGAIN:\natom.global.cas.b32 %r, [%d], 7, 8;\nsetp.ne.u32 %p, %r, 7;\n@%p bra AGAIN;\n"
      "END:\nret;\n}\n");
  Buffer to = must(Buffer::create(device, 64));
  must(to.upload(0, bytes_of(std::vector<std::uint32_t>(16))));
  LaunchConfig config;
  config.grid = {4, 1, 1};
  config.block = {32, 1, 1};
  const auto waiting = must(module.kernel("k")).launch(config, Args().buffer(to));
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().text,
            "kernel 'k', which the interpreter ran: threads of block (2, 0, 0) wait in loops for "
            "what no thread does");
}

}  // namespace
}  // namespace ptx2spv
