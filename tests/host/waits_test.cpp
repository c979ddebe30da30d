// Machine code whose threads wait for each other, and the end of a process that compiles.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "tests/host/kernels.hpp"

namespace ptx2spv::tests {
namespace {

class Waits : public Compiled {};

/// A warp waits for one that comes later, and does more than wait.
TEST_P(Waits, LoopsThatWaitAreInterpreted) {
  // By way of memory of its own.
  const auto other = kernel_of(
      "again:\nld.volatile.global.u32 %r13, [%d1];\nst.local.u32 [own], %r13;\n"
      "ld.local.u32 %r14, [own];\nsetp.ne.u32 %p1, %r14, 77;\n@%p1 bra again;",
      ".local .align 4 .b8 own[4];\n");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->not_compiled({64, 1, 1}), "threads may wait for one another in a loop");
  const auto kernel = kernel_of(
      "mov.u32 %r14, flag;\nshr.u32 %r12, %r2, 5;\nsetp.ne.u32 %p0, %r12, 0;\n@%p0 bra set;\n"
      "again:\nadd.u32 %r11, %r11, 1;\nst.global.u32 [%d2], %r11;\nld.volatile.shared.u32 %r13, "
      "[%r14];\nsetp.ne.u32 %p1, %r13, 77;\n@%p1 bra again;\nbra over;\nset:\n"
      "st.volatile.shared.u32 [%r14], 77;\nover:\nmov.u32 %r11, %r13;",
      ".shared .align 4 .b8 flag[4];\n");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->not_compiled({64, 1, 1}), "threads may wait for one another in a loop");
  EXPECT_EQ(run(*kernel, {64, 1, 1, 1}, Tier::compiled, 20).ending.problem, "");
}

/// The first thread of a block waits for the last one, which is in another warp or has done its
/// part.
const std::string kAwaited =
    "mov.u32 %r14, flag;\nsub.u32 %r12, %r9, 1;\nsetp.ne.u32 %p0, %r2, %r12;\n@%p0 bra wait;\n"
    "st.volatile.shared.u32 [%r14], %r9;\nwait:\nsetp.ne.u32 %p0, %r2, 0;\n@%p0 bra meet;\n"
    "again:\nld.volatile.shared.u32 %r13, [%r14];\nsetp.ne.u32 %p1, %r13, %r9;\n@%p1 bra again;\n"
    "add.u32 %r11, %r11, %r13;\nmeet:\n";
const std::string kFlag = ".shared .align 4 .b8 flag[4];\n";

TEST_P(Waits, WarpsWaitForEachOther) {
  expect_equal(kAwaited + "bar.sync 0;\nadd.u32 %r10, %r10, 3;", kFlag);
  // A whole warp waits, and goes on without a barrier.
  expect_equal(
      "mov.u32 %r14, flag;\nshr.u32 %r12, %r9, 5;\nsetp.le.u32 %p0, %r12, 1;\n@%p0 bra over;\n"
      "shr.u32 %r12, %r3, 5;\nor.b32 %r12, %r12, %r4;\nsetp.ne.u32 %p0, %r12, 0;\n@%p0 bra set;\n"
      "again:\nld.volatile.shared.u32 %r13, [%r14];\nsetp.ne.u32 %p1, %r13, 77;\n@%p1 bra again;\n"
      "add.u32 %r11, %r11, %r13;\nbra over;\nset:\nst.volatile.shared.u32 [%r14], 77;\nover:\n"
      "bar.sync 0;\n",
      kFlag);
}

/// Odd lanes leave in different rounds with what they made there, even ones wait for the last
/// thread.
TEST_P(Waits, LanesKeepWhatTheyLeftWith) {
  expect_equal(
      "mov.u32 %r14, flag;\nsub.u32 %r12, %r9, 1;\nsetp.ne.u32 %p0, %r2, %r12;\n@%p0 bra begin;\n"
      "st.volatile.shared.u32 [%r14], %r9;\nbegin:\nrem.u32 %r15, %r2, 7;\nmov.u32 %r16, 0;\n"
      "and.b32 %r17, %r2, 1;\nsetp.eq.u32 %p2, %r17, 0;\nagain:\nadd.u32 %r16, %r16, 1;\n"
      "mad.lo.u32 %r18, %r16, 5, %r2;\nmul.wide.u32 %d4, %r18, %r10;\n"
      "ld.volatile.shared.u32 %r13, [%r14];\nsetp.ne.and.u32 %p1, %r13, %r9, %p2;\n"
      "setp.le.or.u32 %p1, %r16, %r15, %p1;\n@%p1 bra again;\n@%p2 bra meet;\n"
      "mov.b64 {%r19, %r20}, %d4;\nadd.u32 %r10, %r18, %r19;\nadd.u32 %r11, %r20, %r16;\n"
      "meet:\nbar.sync 0;",
      kFlag);
}

/// What lanes need behind barriers in a loop: predicates, 64 bits, what all share.
TEST_P(Waits, ValuesOutliveBarriers) {
  expect_equal(
      "mov.u32 %r14, own;\nmov.u32 %r15, 0;\nshl.b32 %r16, %r2, 2;\nadd.u32 %r16, %r14, %r16;\n"
      "add.u32 %r17, %r2, 1;\nrem.u32 %r17, %r17, %r9;\nshl.b32 %r17, %r17, 2;\n"
      "add.u32 %r17, %r14, %r17;\nand.b32 %r18, %r10, 1;\nsetp.eq.u32 %p2, %r18, 0;\n"
      "cvt.u64.u32 %d4, %r11;\nround:\nst.shared.u32 [%r16], %r10;\nbar.sync 0;\n"
      "ld.shared.u32 %r19, [%r17];\n@%p2 add.u32 %r19, %r19, %r15;\n"
      "mad.wide.u32 %d4, %r19, %r11, %d4;\nmov.u32 %r20, 0;\n"
      "inner:\nadd.u32 %r10, %r10, %r19;\nadd.u32 %r20, %r20, 1;\nsetp.lt.u32 %p3, %r20, 3;\n"
      "@%p3 bra inner;\nbar.sync 0;\nadd.u32 %r15, %r15, 1;\nsetp.lt.u32 %p3, %r15, 5;\n"
      "@%p3 bra round;\nmov.b64 {%r19, %r20}, %d4;\nadd.u32 %r10, %r10, %r19;\n"
      "xor.b32 %r11, %r11, %r20;",
      ".shared .align 4 .b8 own[1024];\n");
}

/// Two barriers of all blocks, by a word that nobody else writes.
TEST_P(Waits, BlocksWaitForEachOther) {
  const std::string all =
      "bar.sync 0;\nsetp.ne.u32 %p0, %r2, 0;\n@%p0 bra METn;\nmembar.gl;\n"
      "atom.global.add.u32 %r13, [%d0], 1;\nWAITn:\nld.volatile.global.u32 %r13, [%d0];\n"
      "setp.lt.u32 %p1, %r13, %r15;\n@%p1 bra WAITn;\nmembar.gl;\nMETn:\nbar.sync 0;\n";
  const auto barrier = [&](const std::string& number) {
    std::string text = all;
    for (std::size_t at = 0; (at = text.find('n', at)) != std::string::npos; ++at)
      if (at > 2 && (text.compare(at - 3, 3, "MET") == 0 || text.compare(at - 3, 3, "AIT") == 0))
        text.replace(at, 1, number);
    return text;
  };
  const auto kernel = kernel_of(
      "mov.u32 %r15, %nctaid.x;\nsetp.eq.u32 %p3, %r1, 0;\n@!%p3 st.global.u32 [%d2], %r10;\n"
      "@!%p3 st.global.u32 [%d2+4], %r11;\n" +
      barrier("1") +
      // The words of the next block's thread, which has stored them.
      "add.u32 %r16, %r1, %r9;\nmul.lo.u32 %r17, %r15, %r9;\nrem.u32 %r16, %r16, %r17;\n"
      "mul.wide.u32 %d4, %r16, 8;\nadd.u64 %d4, %d0, %d4;\nmov.u32 %r18, 0;\n"
      "setp.ne.u32 %p2, %r16, 0;\n@%p2 ld.global.u32 %r18, [%d4];\nadd.u32 %r10, %r18, 1;\n"
      "shl.b32 %r15, %r15, 1;\n" +
      barrier("2") + "@%p3 ret;");
  ASSERT_TRUE(kernel);
  for (const Shape& shape : kShapes)
    for (const unsigned processors : {1u, 3u}) {
      SCOPED_TRACE(testing::Message() << shape.x << " " << shape.y << " " << shape.z);
      EXPECT_EQ(kernel->not_compiled({shape.x, shape.y, shape.z}), "");
      std::vector<std::uint32_t> right = words_for(shape);
      const std::size_t count = right.size() / 2, block = count / shape.blocks;
      std::vector<std::uint32_t> own = right;
      own[0] = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t next = (i + block) % count;
        right[2 * i] = (next ? own[2 * next] : 0) + 1;
      }
      right[0] = 2 * shape.blocks;
      right[1] = 0;
      for (const Tier tier : {Tier::interpreted, Tier::compiled}) {
        const Result made = run(*kernel, shape, tier, 0, processors);
        EXPECT_EQ(made.ending.problem, "");
        EXPECT_EQ(made.words, right);
      }
    }
}

TEST_P(Waits, WaitsInVainAreReported) {
  const auto kernel = kernel_of(
      "mov.u32 %r14, flag;\nagain:\nld.volatile.shared.u32 %r13, [%r14];\n"
      "setp.ne.u32 %p1, %r13, 77;\n@%p1 bra again;\nbar.sync 0;",
      kFlag);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->not_compiled({64, 1, 1}), "");
  EXPECT_EQ(run(*kernel, {64, 1, 1, 3}, Tier::compiled, 0, 1).ending.problem,
            "threads of block (0, 0, 0) wait in loops for what no thread does");
}

/// Lanes of one warp that stand behind the loop, where they would end the wait.
TEST_P(Waits, WaitsForTheSameWarpAreInterpreted) {
  for (const std::string& after :
       {std::string("setp.ne.u32 %p0, %r2, 1;\n@%p0 bra over;\nst.volatile.shared.u32 [%r14], 77;\n"
                    "over:\nbar.sync 0;"),
        std::string("st.global.u32 [%d2], %r11;\nbar.sync 0;")}) {
    const auto kernel = kernel_of(
        "mov.u32 %r14, flag;\nmov.u32 %r15, 77;\nsetp.ne.u32 %p0, %r2, 0;\n@%p0 bra after;\n"
        "again:\nld.volatile.shared.u32 %r13, [%r14];\nsetp.ne.u32 %p1, %r13, 77;\n"
        "@%p1 bra again;\nafter:\n" +
            after,
        kFlag);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->not_compiled({64, 1, 1}), "threads may wait for one another in a loop");
    if (after.starts_with("setp")) {
      EXPECT_EQ(run(*kernel, {64, 1, 1, 2}, Tier::compiled, 20).ending.problem, "");
    }
  }
}

/// Lanes leave a loop one by one, in which those that are left work together.
TEST_P(Waits, WarpsShrink) {
  const std::string loop =
      "and.b32 %r12, %r10, 15;\nturn:\nsetp.eq.u32 %p0, %r12, 0;\n@%p0 bra over;\n"
      "sub.u32 %r12, %r12, 1;\n";
  // To those who are left, the others have ended.
  expect_equal(loop +
               "shfl.sync.down.b32 %r13|%p1, %r11, 3, 31, -1;\nselp.u32 %r14, 1, 0, %p1;\n"
               "add.u32 %r11, %r11, %r13;\nadd.u32 %r11, %r11, %r14;\nand.b32 %r15, %r11, 1;\n"
               "setp.eq.u32 %p2, %r15, 0;\nvote.sync.ballot.b32 %r16, %p2, -1;\n"
               "vote.sync.any.pred %p3, %p2, -1;\nand.b32 %r17, %r11, 31;\n"
               "shfl.sync.idx.b32 %r18, %r16, %r17, 31, -1;\nmatch.any.sync.b32 %r19, %r15, -1;\n"
               "xor.b32 %r11, %r11, %r18;\nadd.u32 %r11, %r11, %r19;\n@%p3 add.u32 %r11, %r11, 7;\n"
               "bra turn;\nover:");
  // Those that a branch takes, by their own mask, with one that does more than the others.
  const std::string some =
      "and.b32 %r15, %r11, 3;\nsetp.ne.u32 %p1, %r15, 0;\n@%p1 bra join;\nactivemask.b32 %r16;\n"
      "neg.s32 %r17, %r16;\nand.b32 %r17, %r17, %r16;\nmov.u32 %r18, %lanemask_eq;\n"
      "setp.ne.u32 %p2, %r17, %r18;\nmov.u32 %r19, 0;\n@%p2 bra led;\nmul.lo.u32 %r19, %r11, 3;\n"
      "st.shared.u32 [own], %r19;\nled:\nbfind.u32 %r20, %r17;\n"
      "shfl.sync.idx.b32 %r21, %r19, %r20, 31, %r16;\nadd.u32 %r11, %r11, %r21;\n"
      "popc.b32 %r22, %r16;\nadd.u32 %r11, %r11, %r22;\njoin:\n";
  expect_equal(loop + some + "mad.lo.u32 %r11, %r11, 5, %r12;\nbra turn;\nover:\n" +
                   "shfl.sync.bfly.b32 %r13, %r11, 7, 31, -1;\nadd.u32 %r11, %r11, %r13;",
               ".shared .align 4 .b8 own[4];\n");
}

/// The others may come to an operation of the same members.
TEST_P(Waits, WarpsThatMayMeetAgainAreInterpreted) {
  for (const std::string& after :
       {std::string("over:\nshfl.sync.bfly.b32 %r13, %r11, 7, 31, -1;\nadd.u32 %r11, %r11, %r13;"),
        std::string("over:\nadd.u32 %r10, %r10, 0x1000000;\nsetp.gt.u32 %p1, %r10, 0x4000000;\n"
                    "and.b32 %r12, %r10, 15;\n@%p1 bra turn;")}) {
    const auto kernel = kernel_of(
        "and.b32 %r12, %r10, 15;\nturn:\nsetp.eq.u32 %p0, %r12, 0;\n@%p0 bra over;\n"
        "sub.u32 %r12, %r12, 1;\nshfl.sync.down.b32 %r13, %r11, 3, 31, -1;\n"
        "add.u32 %r11, %r11, %r13;\nbra turn;\n" +
        after);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->not_compiled({64, 1, 1}),
              "threads of a warp may miss an operation that they do together");
  }
}

/// Launches a kernel of many operations for so long, and ends the process: while the first ones are
/// interpreted, while it is compiled, or after that.
void end_after(std::chrono::milliseconds time) {
  const auto start = std::chrono::steady_clock::now();
  std::string body;
  for (int i = 0; i < 60; ++i)
    body += "mad.lo.u32 %r10, %r10, %r11, %r1;\nxor.b32 %r11, %r11, 5;\n";
  const auto kernel = kernel_of(body);
  while (std::chrono::steady_clock::now() - start < time)
    run(*kernel, {64, 1, 1, 256}, Tier::automatic);
  std::exit(0);
}

// LLVM makes static objects as it first compiles: the process's end must leave them to the thread
// that does. Memory that is freed is overwritten here, so that their use shows.
TEST_P(Waits, TheProcessMayEndMeanwhile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ASSERT_EQ(setenv("MALLOC_PERTURB_", "165", 1), 0);
  for (int time = 40; time < 240; time += 8)
    EXPECT_EXIT(end_after(std::chrono::milliseconds(time)), testing::ExitedWithCode(0), "");
  unsetenv("MALLOC_PERTURB_");
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double g_end_begins = 0, g_enough = 0;

/// Ends a process in which a kernel is being compiled that takes long: with 0 where that end takes
/// less than a third as long.
void end_while_compiling() {
  std::string body;
  for (int i = 0; i < 150; ++i)
    body +=
        "rem.u32 %r12, %r10, %r9;\nmul.wide.u32 %d4, %r12, 4;\nadd.u64 %d4, %d1, %d4;\n"
        "ld.global.u32 %r13, [%d4];\nadd.u32 %r10, %r10, %r13;\n";
  const auto kernel = kernel_of(body);
  double before = processor_seconds();
  run(*kernel, {64, 1, 1, 1}, Tier::compiled);
  g_enough = (processor_seconds() - before) / 3;
  std::atexit([] { _exit(processor_seconds() - g_end_begins < g_enough ? 0 : 3); });
  // Compiled once interpreting has taken as long as that is worth.
  const auto again = kernel_of(body + "add.u32 %r10, %r10, 1;\n");
  for (before = processor_seconds(); processor_seconds() - before < 0.25;)
    run(*again, {64, 1, 1, 64}, Tier::automatic, 0, 1);
  g_end_begins = processor_seconds();
  std::exit(1);
}

/// Nor waits it for what is being compiled, which nobody needs any more.
TEST_P(Waits, TheProcessEndsAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_while_compiling(), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Processors, Waits, testing::Values("", "haswell", "x86-64"));

}  // namespace
}  // namespace ptx2spv::tests
