// Threads that wait for other threads: those of a block on every device. Where a device does not
// run threads independently and what a block waits for is another block's to do, the launch ends
// with an error that names the loop, and soon.
#include <chrono>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

using Clock = std::chrono::steady_clock;

std::string kernel(const std::string& body) {
  return ".visible .entry k(.param .u64 to) {\n"
         "  .reg .pred %p<6>;\n  .reg .b32 %r<12>;\n  .reg .b64 %d<4>;\n"
         "  ld.param.u64 %d0, [to];\n  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n" +
         body + "  ret;\n}\n";
}

struct Outcome {
  Status status;
  std::vector<std::uint32_t> words;
  double seconds = 0;
};

Outcome run(const std::string& body, std::uint32_t blocks, std::uint32_t threads,
            std::optional<ThreadModel> model = {}) {
  Module module = load(".shared .align 16 .b8 words[64];\n" + kernel(body));
  Buffer to = must(Buffer::create(test_device(), 64));
  must(to.upload(0, bytes_of(std::vector<std::uint32_t>(16))));
  LaunchConfig config;
  config.threads = model;
  config.grid = {blocks, 1, 1};
  config.block = {threads, 1, 1};
  const auto start = Clock::now();
  auto launched = must(module.kernel("k")).launch(config, Args().buffer(to));
  Outcome outcome;
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!launched) outcome.status = launched.error();
  outcome.words = read_buffer<std::uint32_t>(to, 16);
  return outcome;
}

constexpr const char* kNeverEnds =
    "threads of this device advance independently, so that waits are not bounded: the kernel might "
    "wait for ever";

// What docs/user/limits.md promises, on a machine that others use as well.
constexpr double kSeconds = 60;

void expect_stopped(const Outcome& outcome, const std::string& instruction) {
  ASSERT_FALSE(outcome.status);
  ASSERT_TRUE(outcome.status.error().trap) << outcome.status.error().text;
  const TrapReport& report = *outcome.status.error().trap;
  EXPECT_TRUE(report.kind == abi::TrapKind::no_progress ||
              report.kind == abi::TrapKind::loop_limit);
  EXPECT_EQ(report.kernel, "k");
  EXPECT_GT(report.line, 8u) << report.to_string();
  if (report.kind == abi::TrapKind::no_progress) {
    EXPECT_NE(report.instruction.find(instruction), std::string::npos) << report.instruction;
  }
  EXPECT_LT(outcome.seconds, kSeconds);
}

bool threads_are_independent() {
  return test_device().info().profile.exactness.independent_threads;
}

/// Waits of a block's threads for one another, with what word 1 of the buffer holds then for a
/// number of threads.
struct BlockWait {
  const char* name;
  std::string body;
  std::uint32_t (*right)(std::uint32_t threads);
};
void PrintTo(const BlockWait& wait, std::ostream* out) { *out << wait.name; }

std::uint32_t sum_of_numbers(std::uint32_t threads) { return threads * (threads - 1) / 2; }

/// The sum of the threads' numbers, each added between `lock` and `unlock`, to word 0 of `words`;
/// words 1 to 3 belong to the lock.
std::string locked(const std::string& lock, const std::string& unlock) {
  return R"(
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra cleared;
  st.shared.v4.u32 [words], {0, 0, 0, 0};
cleared:
  bar.sync 0;
)" + lock +
         R"(
  membar.cta;
  ld.shared.u32 %r2, [words];
  add.u32 %r2, %r2, %r0;
  st.shared.u32 [words], %r2;
  membar.cta;
)" + unlock +
         R"(
  bar.sync 0;
  @%p0 bra done;
  ld.shared.u32 %r2, [words];
  st.global.u32 [%d0+4], %r2;
done:
)";
}

const BlockWait kBlockWaits[] = {
    {"AnotherWarpsStore", R"(
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra store;
again:
  ld.volatile.global.u32 %r2, [%d0];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra again;
  st.global.u32 [%d0+4], %r2;
store:
  mov.u32 %r3, %ntid.x;
  sub.u32 %r3, %r3, 1;
  setp.ne.u32 %p2, %r0, %r3;
  @%p2 bra done;
  st.volatile.global.u32 [%d0], 7;
done:
)",
     [](std::uint32_t) { return 7u; }},
    {"ALockByCompareAndSwap",
     locked("again:\n  atom.shared.cas.b32 %r4, [words+4], 0, 1;\n  setp.ne.u32 %p1, %r4, 0;\n"
            "  @%p1 bra again;\n",
            "  atom.shared.exch.b32 %r4, [words+4], 0;\n"),
     sum_of_numbers},
    {"ALockByExchange",
     locked("again:\n  atom.shared.exch.b32 %r4, [words+4], 1;\n  setp.ne.u32 %p1, %r4, 0;\n"
            "  @%p1 bra again;\n",
            "  st.volatile.shared.u32 [words+4], 0;\n"),
     sum_of_numbers},
    {"ALockThatIsTestedFirst",
     locked("again:\n  ld.volatile.shared.u32 %r4, [words+4];\n  setp.ne.u32 %p1, %r4, 0;\n"
            "  @%p1 bra again;\n  atom.shared.exch.b32 %r4, [words+4], 1;\n"
            "  setp.ne.u32 %p1, %r4, 0;\n  @%p1 bra again;\n",
            "  st.volatile.shared.u32 [words+4], 0;\n"),
     sum_of_numbers},
    {"ALockWithAPause",
     locked("  mov.u32 %r6, 8;\nagain:\n  atom.shared.cas.b32 %r4, [words+4], 0, 1;\n"
            "  setp.eq.u32 %p1, %r4, 0;\n  @%p1 bra taken;\n  nanosleep.u32 %r6;\n"
            "  shl.b32 %r6, %r6, 1;\n  min.u32 %r6, %r6, 256;\n  bra again;\ntaken:\n",
            "  atom.shared.exch.b32 %r4, [words+4], 0;\n"),
     sum_of_numbers},
    {"ATicket",
     locked("  atom.shared.add.u32 %r5, [words+4], 1;\nagain:\n"
            "  ld.acquire.cta.shared.u32 %r4, [words+8];\n  setp.ne.u32 %p1, %r4, %r5;\n"
            "  @%p1 bra again;\n",
            "  add.u32 %r5, %r5, 1;\n  st.release.cta.shared.u32 [words+8], %r5;\n"),
     sum_of_numbers},
    {"AnAtomicRead",
     locked("  atom.shared.add.u32 %r5, [words+4], 1;\nagain:\n"
            "  atom.shared.add.u32 %r4, [words+8], 0;\n  setp.ne.u32 %p1, %r4, %r5;\n"
            "  @%p1 bra again;\n",
            "  atom.shared.inc.u32 %r5, [words+8], 0xffffffff;\n"),
     sum_of_numbers},
    {"AGenericAddress",
     locked("  cvta.shared.u64 %d1, words;\n  setp.eq.u64 %p3, %d0, 0;\n"
            "  selp.b64 %d1, %d0, %d1, %p3;\nagain:\n  atom.cas.b32 %r4, [%d1+4], 0, 1;\n"
            "  setp.ne.u32 %p1, %r4, 0;\n  @%p1 bra again;\n",
            "  atom.exch.b32 %r4, [%d1+4], 0;\n"),
     sum_of_numbers},
    // Each thread passes the turn on 40 times.
    {"ARelay", R"(
  mov.u32 %r5, %ntid.x;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra cleared;
  st.shared.v2.u32 [words], {0, 0};
cleared:
  bar.sync 0;
  mov.u32 %r3, 0;
  mov.u32 %r6, %r0;
round:
again:
  ld.volatile.shared.u32 %r2, [words];
  setp.ne.u32 %p1, %r2, %r6;
  @%p1 bra again;
  ld.shared.u32 %r7, [words+4];
  mad.lo.u32 %r7, %r7, 31, %r0;
  st.shared.u32 [words+4], %r7;
  membar.cta;
  add.u32 %r2, %r2, 1;
  st.volatile.shared.u32 [words], %r2;
  add.u32 %r6, %r6, %r5;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p2, %r3, 40;
  @%p2 bra round;
  bar.sync 0;
  @%p0 bra done;
  ld.shared.u32 %r2, [words+4];
  st.global.u32 [%d0+4], %r2;
done:
)",
     [](std::uint32_t threads) {
       std::uint32_t value = 0;
       for (std::uint32_t turn = 0; turn < 40 * threads; ++turn)
         value = value * 31 + turn % threads;
       return value;
     }},
};

class WaitsInABlock : public testing::TestWithParam<BlockWait> {};

TEST_P(WaitsInABlock, EndAsTheOtherThreadGetsThere) {
  for (const std::uint32_t threads : {2u, 33u, 128u, 300u})
    for (const std::optional<ThreadModel> model :
         {std::optional<ThreadModel>(), std::optional(ThreadModel::regions)}) {
      SCOPED_TRACE(threads);
      const Outcome outcome = run(GetParam().body, 1, threads, model);
      ASSERT_TRUE(outcome.status) << outcome.status.error().text;
      EXPECT_EQ(outcome.words[1], GetParam().right(threads));
    }
}

INSTANTIATE_TEST_SUITE_P(All, WaitsInABlock, testing::ValuesIn(kBlockWaits),
                         [](const auto& wait) { return std::string(wait.param.name); });

// The first block reads before the second one stores, so that its reads have to leave its cache.
TEST(Waits, ForAnotherBlocksStoreEnds) {
  if (!threads_are_independent()) GTEST_SKIP() << "blocks of this device may run in turn";
  for (const std::string load : {"ld.volatile.global.u32", "ld.relaxed.gpu.global.u32",
                                 "ld.acquire.gpu.global.u32", "ld.relaxed.sys.global.u32"}) {
    const Outcome outcome = run(R"(
  mov.u32 %r4, 0;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra store;
again:
  add.u32 %r4, %r4, 1;
  setp.gt.u32 %p1, %r4, 4000000;
  @%p1 bra done;
  )" + load + R"( %r2, [%d0];
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra again;
  st.global.u32 [%d0+4], %r4;
  bra done;
store:
  ld.volatile.global.u32 %r5, [%d0+8];
  add.u32 %r4, %r4, 1;
  add.u32 %r4, %r4, %r5;
  setp.lt.u32 %p1, %r4, 3000;
  @%p1 bra store;
  st.volatile.global.u32 [%d0], 1;
done:
)",
                                2, 1);
    ASSERT_TRUE(outcome.status) << load << outcome.status.error().text;
    EXPECT_NE(outcome.words[1], 0u) << load << " saw no store in 4,000,000 iterations";
  }
}

TEST(Waits, ForALaterBlockEnds) {
  if (threads_are_independent()) GTEST_SKIP() << kNeverEnds;
  expect_stopped(run(R"(
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra store;
again:
  ld.acquire.gpu.global.u32 %r2, [%d0];
  setp.ne.u32 %p1, %r2, 2000;
  @%p1 bra again;
store:
  atom.global.add.u32 %r3, [%d0], 1;
)",
                     2000, 1),
                 "ld.acquire");
}

// Every block of many waits for ever; the first one's trap ends the others.
TEST(Waits, OfAWholeGridEnd) {
  if (threads_are_independent()) GTEST_SKIP() << kNeverEnds;
  expect_stopped(run(R"(
again:
  atom.global.cas.b32 %r2, [%d0+4], 1, 2;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra again;
)",
                     3000, 64),
                 "atom");
}

// All blocks meet: a grid that waits for its own last block, with the block's barriers around.
TEST(Waits, OfABarrierAcrossTheGridEnd) {
  if (threads_are_independent()) GTEST_SKIP() << kNeverEnds;
  expect_stopped(run(R"(
  bar.sync 0;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra join;
  atom.global.add.u32 %r3, [%d0], 1;
again:
  ld.volatile.global.u32 %r2, [%d0];
  setp.ne.u32 %p1, %r2, 600;
  @%p1 bra again;
join:
  bar.sync 0;
  st.global.u32 [%d0+8], 1;
)",
                     600, 64),
                 "ld.volatile");
}

// A loop that is no wait may iterate as often as it likes where the driver lets it, the bound being
// that of waits; and short waits of many iterations together are none either.
TEST(Waits, AreNotWhatAtomicsDoInPassing) {
  const Outcome outcome = run(R"(
  mov.u32 %r2, 0;
again:
  atom.global.add.u32 %r3, [%d0], 1;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 5000;
  @%p1 bra again;
)",
                              4, 32);
  ASSERT_TRUE(outcome.status) << outcome.status.error().text;
  EXPECT_EQ(outcome.words[0], 4u * 32 * 5000);
}

/// Each thread takes the lock in word 0, as programs for independent threads write it, and adds one
/// to word 1 by these accesses.
std::string counted_under_a_lock(const std::string& load, const std::string& store) {
  return R"(
  mov.u32 %r4, 0;
again:
  atom.global.cas.b32 %r2, [%d0], 0, 1;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra skip;
  membar.gl;
  )" + load +
         R"( %r3, [%d0+4];
  add.u32 %r3, %r3, 1;
  )" + store +
         R"( [%d0+4], %r3;
  membar.gl;
  atom.global.exch.b32 %r5, [%d0], 0;
  mov.u32 %r4, 1;
skip:
  setp.eq.u32 %p2, %r4, 0;
  @%p2 bra again;
)";
}

// What fences order are all accesses, not only volatile ones: the blocks of a GPU would read what
// the caches of their multiprocessors had.
TEST(Waits, ForALockOfAllBlocksSeeWhatTheLastHolderWrote) {
  constexpr std::uint32_t kBlocks = 40, kThreads = 64;
  const Outcome outcome =
      run(counted_under_a_lock("ld.global.u32", "st.global.u32"), kBlocks, kThreads);
  ASSERT_TRUE(outcome.status) << outcome.status.error().text;
  EXPECT_EQ(outcome.words[1], kBlocks * kThreads);
}

TEST(Waits, ForALockSucceedWhereItsHolderGoesOn) {
  const Outcome outcome =
      run(counted_under_a_lock("ld.volatile.global.u32", "st.volatile.global.u32"), 1, 64);
  ASSERT_TRUE(outcome.status) << outcome.status.error().text;
  EXPECT_EQ(outcome.words[1], 64u);
  EXPECT_EQ(outcome.words[0], 0u);
}

}  // namespace
}  // namespace ptx2spv
