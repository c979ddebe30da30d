// Waiting in the direct model: lanes that wait let the others of their warp go on, up to the next
// barrier or warp operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "ptx2spv/translator.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/ir/loops.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

constexpr std::uint32_t kThreads = 64;

/// A thread waits for the word of the next one and then writes its own; the last one begins. Behind
/// `meeting` it reads the word of the one before.
std::string chain(const std::string& meeting) {
  return R"(
  var $0 i32 seen
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x4
  %3 = mul i32 %1 %2
  %4 = add i32 %3 %2
  %5 = constant i32 0x3f
  %6 = constant i32 0x1
  set_var $0 %6
  %7 = eq i1 %1 %5
  cond_br %7 b3 b1
b1:
  %8 = load i32 mem=slot,4,volatile %4
  set_var $0 %8
  %9 = constant i32 0x0
  %10 = eq i1 %8 %9
  cond_br %10 b2 b3
b2:
  yield imm=1
  br b1
b3:
  progress
  %11 = get_var i32 $0
  %12 = add i32 %11 %1
  store mem=slot,4,volatile %3 %12
)" + meeting +
         R"(
  %20 = constant i32 0x400
  %21 = add i32 %20 %3
  %22 = constant i32 0xfc
  %23 = xor_ i32 %3 %2
  %24 = load i32 mem=slot,4 %23
  store mem=slot,4 %21 %24
  exit
)";
}

std::vector<std::uint32_t> results(const Function& f, const Module& m) {
  Memory memory;
  auto& bytes = memory.of(Space::slot);
  bytes.resize(0x400 + kThreads * 4);
  memory.of(Space::shared).resize(f.shared_bytes);
  test::run_row(f, m, memory, kThreads, {.max_steps = 1u << 24});
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

/// By what a block has: the blocks of the loops that hold one with a volatile load.
bool wait_holds_stores(Function& f) {
  f.compute_preds();
  const auto has = [&](BlockId b, Op op) {
    return std::ranges::any_of(f.blocks[b].insts, [&](Value v) {
      return f.insts[v].op == op && f.insts[v].mem.is_volatile;
    });
  };
  for (const NaturalLoop& loop : natural_loops(f)) {
    const auto holds = [&](Op op) {
      return std::ranges::any_of(loop.body, [&](BlockId b) { return has(b, op); });
    };
    if (holds(Op::load) && !holds(Op::store)) return false;
  }
  return true;
}

TEST(WaitInRounds, LanesGoOnWhileOthersOfTheirWarpWait) {
  const std::string meetings[] = {
      "  control_barrier\n",
      "  %13 = constant i32 0xffffffff\n  warp_sync %13\n  control_barrier\n"};
  for (const std::string& meeting : meetings) {
    test::Parsed p(chain(meeting), test::Form::variables);
    std::vector<std::uint32_t> want(0x100 + kThreads);
    for (std::uint32_t t = kThreads, sum = 1; t-- > 0;) {
      sum = t == kThreads - 1 ? 1 + t : sum + t;
      want[t] = sum;
    }
    for (std::uint32_t t = 0; t < kThreads; ++t) want[0x100 + t] = want[t ^ 1];
    EXPECT_EQ(results(p.f, p.m), want);
    EXPECT_FALSE(wait_holds_stores(p.f)) << "the text's loop is the wait alone";
    passes::wait_in_rounds(p.f);
    p.expect_valid();
    EXPECT_FALSE(p.has(Op::yield) || p.has(Op::progress));
    EXPECT_EQ(p.count(Op::subgroup_ballot), 1u);
    EXPECT_TRUE(wait_holds_stores(p.f)) << print(p.f, p.m);
    EXPECT_EQ(results(p.f, p.m), want);
    passes::structurize(p.f, p.m);
    EXPECT_EQ(results(p.f, p.m), want);
  }
}

TEST(WaitInRounds, OperationsOfABlockBehindAWaitMeetOnce) {
  std::string operations = "  control_barrier\n  %13 = constant i32 0xffffffff\n";
  for (int i = 0; i < 8; ++i)
    operations += "  %4" + std::to_string(i) + " = warp_vote i32 imm=3 %7 %13\n";
  std::string text = chain(operations);
  const std::string store = "store mem=slot,4 %21 %24";
  text.replace(text.find(store), store.size(),
               "%48 = add i32 %40 %47\n  %49 = add i32 %24 %48\n  store mem=slot,4 %21 %49");
  test::Parsed p(text, test::Form::variables);
  const auto want = results(p.f, p.m);
  passes::wait_in_rounds(p.f);
  EXPECT_TRUE(passes::native_warps(p.f, true, false));
  p.expect_valid();
  EXPECT_EQ(p.count(Op::subgroup_barrier), 1u) << print(p.f, p.m);
  EXPECT_EQ(results(p.f, p.m), want);
}

/// Counts the threads behind it, for whose words it waits one by one: a loop around a wait.
constexpr std::string_view kLookBack = R"(
  var $0 i32 place
  var $1 i32 sum
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x4
  %3 = mul i32 %1 %2
  %5 = constant i32 0x3f
  %6 = constant i32 0x1
  set_var $1 %6
  %14 = add i32 %1 %6
  set_var $0 %14
  %7 = eq i1 %1 %5
  cond_br %7 b5 b1
b1:
  %15 = get_var i32 $0
  %16 = mul i32 %15 %2
  br b2
b2:
  %8 = load i32 mem=slot,4,volatile %16
  %9 = constant i32 0x0
  %10 = eq i1 %8 %9
  cond_br %10 b3 b4
b3:
  yield imm=1
  br b2
b4:
  %17 = get_var i32 $1
  %25 = umin i32 %8 %6
  %18 = add i32 %17 %25
  set_var $1 %18
  %19 = add i32 %15 %6
  set_var $0 %19
  %20 = ule i1 %19 %5
  cond_br %20 b1 b5
b5:
  %21 = get_var i32 $1
  store mem=slot,4,volatile %3 %21
  exit
)";

TEST(WaitInRounds, LoopsAroundAWaitGoOnToo) {
  test::Parsed p(kLookBack, test::Form::variables);
  const auto want = results(p.f, p.m);
  for (std::uint32_t t = 0; t < kThreads; ++t) EXPECT_EQ(want[t], kThreads - t);
  passes::wait_in_rounds(p.f);
  p.expect_valid();
  EXPECT_TRUE(wait_holds_stores(p.f)) << print(p.f, p.m);
  EXPECT_EQ(natural_loops(p.f).size(), 1u) << "a lane that looks further back waits for none";
  EXPECT_EQ(results(p.f, p.m), want);
  passes::structurize(p.f, p.m);
  EXPECT_EQ(results(p.f, p.m), want);
}

TEST(WaitInRounds, NothingWaitsNothingChanges) {
  test::Parsed p("b0:\n  control_barrier\n  br b1\nb1:\n  exit\n", test::Form::variables);
  passes::wait_in_rounds(p.f);
  EXPECT_EQ(p.f.blocks.size(), 2u);
}

TEST(WaitInRounds, IsForDevicesWhoseWarpsAdvance) {
  EntryInfo info;
  info.waits.spins = true;
  Profile profile = *find_profile("nvidia");
  EXPECT_TRUE(native_warps(info, profile, {1, 1, 1}))
      << "without warp operations any block will do";
  EXPECT_EQ(thread_model(info, ThreadModel::direct, true), ThreadModel::direct);
  EXPECT_EQ(thread_model(info, ThreadModel::direct, false), ThreadModel::regions);
  info.sync.warp_operations = true;
  EXPECT_FALSE(native_warps(info, profile, {1, 1, 1}));
  EXPECT_TRUE(native_warps(info, profile, {64, 1, 1}));
  info.sync.partial_warp_operations = true;
  EXPECT_FALSE(native_warps(info, profile, {64, 1, 1})) << "a lane may pass one without another";
  info.sync.partial_warp_operations = false;
  profile.exactness.independent_threads = false;
  EXPECT_FALSE(native_warps(info, profile, {64, 1, 1}));
}

/// bar.red in the four ways that a block can give: by sum, all, any.
TEST(NativeReductions, GiveWhatBarriersGive) {
  for (const BarKind kind : {BarKind::red_popc, BarKind::red_and, BarKind::red_or})
    for (const std::uint32_t threshold : {0u, 1u, 20u, 64u}) {
      test::Parsed p(R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x4
  %3 = mul i32 %1 %2
  %4 = constant i32 0x0
  %5 = constant i32 )" + std::to_string(threshold) +
                         R"(
  %6 = ult i1 %1 %5
  %7 = zext i32 %6
  %8 = bar_sync i32 imm=)" +
                         std::to_string(static_cast<unsigned>(kind)) + R"( %4 %4 %7
  store mem=slot,4 %3 %8
  exit
)",
                     test::Form::variables);
      const auto want = results(p.f, p.m);
      EXPECT_TRUE(passes::native_reductions(p.f));
      p.expect_valid();
      EXPECT_FALSE(p.has(Op::bar_sync));
      EXPECT_EQ(p.f.shared_bytes, 4u);
      passes::demote_to_stack(p.f);
      EXPECT_EQ(results(p.f, p.m), want) << threshold;
    }
}

constexpr const char* kVotes = R"(
  var $0 i32 mask
  var $1 i32 i
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0xffffffff
  %3 = constant i32 0x0
  set_var $0 %2
  set_var $1 %3
  br b1
b1:
  %4 = get_var i32 $1
  %5 = constant i32 0x1
  %6 = add i32 %4 %5
  set_var $1 %6
  %7 = ult i1 %6 %1
  %8 = get_var i32 $0
  %9 = warp_vote i32 imm=3 %7 %8
  set_var $0 %9
  cond_br %7 b1 b2
b2:
  %10 = get_var i32 USED
  %11 = constant i32 0x4
  %12 = mul i32 %1 %11
  store mem=slot,4 %12 %10
  exit
)";

TEST(DropIdleVotes, ThoseThatNobodyReads) {
  for (const bool used : {false, true}) {
    std::string text = kVotes;
    text.replace(text.find("USED"), 4, used ? "$0" : "$1");
    test::Parsed p(text, test::Form::variables);
    passes::drop_idle_votes(p.f, p.m);
    p.expect_valid();
    EXPECT_EQ(p.has(Op::warp_vote), used);
  }
  // The register serves for another mask before.
  {
    std::string text = kVotes;
    text.replace(text.find("USED"), 4, "$1");
    text.insert(text.find("  set_var $1 %3"), "  %13 = get_var i32 $0\n  warp_sync %13\n");
    test::Parsed p(text, test::Form::variables);
    passes::drop_idle_votes(p.f, p.m);
    p.expect_valid();
    EXPECT_FALSE(p.has(Op::warp_vote));
    EXPECT_TRUE(passes::warp::names_all_lanes(p.f));
  }
  // A vote under a mask of its own may stand for a barrier of the warp.
  std::string text = kVotes;
  text.replace(text.find("USED"), 4, "$1");
  text.replace(text.find("%7 %8"), 5, "%7 %2");
  test::Parsed p(text, test::Form::variables);
  passes::drop_idle_votes(p.f, p.m);
  EXPECT_TRUE(p.has(Op::warp_vote));
}

}  // namespace
