// Warp operations as those of subgroups: the same results in every mode, with every lane's own
// mask.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "ptx2spv/translator.hpp"
#include "tests/passes/parsed.hpp"
#include "tests/support/spirv_tools.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

constexpr std::uint32_t kThreads = 64, kWords = 4;

/// A kernel that loads four words of each thread, does `operation` on them and stores the two words
/// of its result. %10 to %13 are the words, %14 is a mask that halves of the warp agree on, %15 a
/// condition; the results are %20 and %21.
std::string kernel(const std::string& operation) {
  return R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x10
  %3 = mul i32 %1 %2
  %4 = constant i32 0x4
  %5 = add i32 %3 %4
  %6 = add i32 %5 %4
  %7 = add i32 %6 %4
  %10 = load i32 mem=slot,4 %3
  %11 = load i32 mem=slot,4 %5
  %12 = load i32 mem=slot,4 %6
  %13 = load i32 mem=slot,4 %7
  %16 = and_ i32 %1 %2
  %17 = constant i32 0xffff
  %14 = shl i32 %17 %16
  %18 = constant i32 0x0
  %19 = constant i32 0x1
  %30 = and_ i32 %13 %19
  %15 = ne i1 %30 %18
  %31 = constant i32 0xffffffff
)" + operation +
         R"(
  store mem=slot,4 %3 %20
  store mem=slot,4 %5 %21
  exit
)";
}

std::vector<std::uint8_t> results(const Function& f, const Module& m,
                                  std::uint32_t threads = kThreads) {
  Memory memory;
  auto& bytes = memory.of(Space::slot);
  bytes.resize(kThreads * kWords * 4);
  std::uint32_t state = 77;
  for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
    state = state * 1664525u + 1013904223u;
    // Lanes with small words now and then, so that some match.
    const std::uint32_t word = i % 4 == 0 ? state >> 29 : state;
    std::memcpy(bytes.data() + 4 * i, &word, 4);
  }
  test::run_row(f, m, memory, threads);
  return bytes;
}

TEST(NativeWarps, GiveWhatWarpsGive) {
  std::vector<std::string> operations;
  const auto both = [](const std::string& head) {
    return head + "\n  %20 = extract i32 %40\n  %21 = extract i32 imm=1 %40\n";
  };
  const auto one = [](const std::string& head) { return head + "\n  %21 = constant i32 0x0\n"; };
  for (const char* mask : {"%31", "%14"}) {
    const std::string m = mask;
    for (const char* mode : {"0", "1", "2", "3"}) {
      operations.push_back(
          both("  %40 = warp_shfl v2 imm=" + std::string(mode) + " %10 %11 %12 " + m));
      operations.push_back(one("  %20 = warp_vote i32 imm=" + std::string(mode) + " %15 " + m));
    }
    for (const char* mode : {"0", "1"})
      operations.push_back(both("  %40 = warp_match v2 imm=" + std::string(mode) + " %10 " + m));
    for (const AtomicOp op : {AtomicOp::add, AtomicOp::and_, AtomicOp::or_, AtomicOp::xor_,
                              AtomicOp::umin, AtomicOp::umax, AtomicOp::smin, AtomicOp::smax})
      operations.push_back(one(
          "  %20 = warp_redux i32 imm=" + std::to_string(static_cast<unsigned>(op)) + " %13 " + m));
    operations.push_back(both("  %40 = warp_elect v2 " + m));
  }
  operations.push_back(one("  %20 = warp_active i32"));
  for (std::size_t i = 0; i < 4 * operations.size(); ++i) {
    const std::string& each = operations[i / 4];
    test::Parsed p(kernel(each));
    const auto want = results(p.f, p.m);
    const bool arithmetic = i % 2, all_come = i / 2 % 2;
    EXPECT_TRUE(passes::native_warps(p.f, arithmetic, all_come));
    const bool asks = each.find("warp_vote") != each.npos || each.find("warp_match") != each.npos;
    EXPECT_TRUE(!all_come || asks || p.count(Op::subgroup_ballot) == 0) << each;
    // Halves with masks of their own have sums of their own.
    const bool reduces = each.find("warp_redux") != each.npos && each.find("%31") != each.npos;
    EXPECT_EQ(p.count(Op::subgroup_reduce), arithmetic && reduces) << each;
    EXPECT_EQ(validate(p.f, p.m, false, false), "") << print(p.f, p.m);
    for (const Block& block : p.f.blocks)
      for (const Value v : block.insts) {
        EXPECT_FALSE(p.f.insts[v].op >= Op::warp_shfl && p.f.insts[v].op <= Op::warp_elect) << each;
      }
    EXPECT_EQ(results(p.f, p.m), want) << each;
  }
}

// Constant operands and masks that follow the lane's number: what every lane gets needs no test.
TEST(NativeWarps, AskOnlyWhatIsNotKnown) {
  struct Case {
    unsigned mode;
    std::uint32_t b, c;
    const char* mask;
    std::size_t selects;  ///< of the lane, and by the mask; shfl's predicate is one more
  };
  // Modes: up, down, bfly, idx.
  const Case cases[] = {
      {0, 1, 0, "%31", 1},       {0, 4, 0x1000, "%14", 1}, {0, 20, 0, "%14", 2},
      {1, 1, 0x1f, "%31", 1},    {1, 8, 0x101f, "%14", 1}, {1, 8, 0x1f, "%14", 2},
      {2, 16, 0x1f, "%31", 0},   {2, 8, 0x101f, "%14", 0}, {2, 16, 0x1f, "%14", 1},
      {2, 16, 0x101f, "%14", 2}, {2, 4, 0x7, "%31", 1},    {2, 1, 0x1c1f, "%33", 1},
      {3, 5, 0x1f, "%31", 0},    {3, 5, 0x101f, "%14", 0}, {3, 5, 0x1f, "%14", 1},
      {3, 9, 0x1007, "%14", 1},  {2, 8, 0x101f, "%41", 0}, {2, 8, 0x101f, "%43", 1},
      {2, 8, 0x101f, "%44", 1},
  };
  // %14 by the number in the block, by way of registers, with another bit, not of the lane.
  const std::string masks = R"(  %33 = or_ i32 %14 %18
  %34 = builtin i32 workgroup_size_x
  %35 = builtin i32 local_id_y
  %36 = mul i32 %35 %34
  %37 = add i32 %36 %1
  set_var $0 %37
  %38 = get_var i32 $0
  %39 = constant i32 0x1f
  %40 = and_ i32 %38 %39
  %42 = and_ i32 %2 %40
  %41 = shl i32 %17 %42
  %45 = constant i32 0x30
  %46 = and_ i32 %1 %45
  %43 = shl i32 %17 %46
  %47 = and_ i32 %6 %2
  %44 = shl i32 %17 %47
)";
  for (const Case& each : cases) {
    const std::string text =
        "  var $0 i32 number\n" +
        kernel(masks + fmt::format("  %50 = constant i32 {:#x}\n  %51 = constant i32 {:#x}\n"
                                   "  %52 = warp_shfl v2 imm={} %13 %50 %51 {}\n"
                                   "  %20 = extract i32 %52\n  %21 = extract i32 imm=1 %52\n",
                                   each.b, each.c, each.mode, each.mask));
    test::Parsed p(text, test::Form::variables);
    const auto want = results(p.f, p.m);
    EXPECT_TRUE(passes::native_warps(p.f, true, true));
    EXPECT_EQ(p.count(Op::select), 1 + each.selects) << text;
    EXPECT_EQ(results(p.f, p.m), want) << text;
  }
}

// Lanes that name different members have sums of their own, though each mask is a ballot.
TEST(NativeWarps, ReduceAtOnceWhereAllLanesNameTheSameMembers) {
  const std::string grouped = R"(
  var $0 i32 mask
  var $1 i32 group
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x10
  %3 = mul i32 %1 %2
  %4 = load i32 mem=slot,4 %3
  %5 = constant i32 0xffffffff
  %6 = constant i32 0x0
  %7 = constant i32 0x1
  %8 = and_ i32 %1 %7
  set_var $1 %6
  br b1
b1:
  %9 = get_var i32 $1
  %10 = eq i1 %9 %8
  %11 = warp_vote i32 imm=3 %10 %5
  cond_br %10 b2 b3
b2:
  set_var $0 %11
  br b3
b3:
  %12 = get_var i32 $1
  %13 = add i32 %12 %7
  set_var $1 %13
  %14 = ult i1 %13 LAST
  cond_br %14 b1 b4
b4:
  %15 = get_var i32 $0
  %16 = warp_redux i32 %4 %15
  store mem=slot,4 %3 %16
  exit
)";
  std::string once = grouped;
  once.replace(once.find("LAST"), 4, "%6"), once.replace(once.find("%9 %8"), 5, "%9 %9");
  once.replace(once.find("cond_br %14 b1 b4"), 17, "br b4");
  std::string twice = grouped;
  twice.replace(twice.find("LAST"), 4, "%2");
  for (const auto& [text, reduces] :
       {std::pair(kernel("  %40 = warp_active i32\n  %20 = warp_redux i32 %13 %40\n"
                         "  %21 = constant i32 0x0\n"),
                  1u),
        {once, 1u},
        {twice, 0u}}) {
    test::Parsed p(text, test::Form::variables);
    const auto want = results(p.f, p.m);
    EXPECT_TRUE(passes::native_warps(p.f, true, false));
    EXPECT_EQ(p.count(Op::subgroup_reduce), reduces) << text;
    EXPECT_EQ(results(p.f, p.m), want) << text;
  }
}

// Values of a few bits are matched bit by bit, whatever way they came into registers.
TEST(NativeWarps, MatchValuesOfAFewBitsByBallots) {
  const std::string set = R"(  %39 = constant i32 0x19
  %38 = lshr i32 %11 %39
  set_var $0 %38
  cond_br %15 b1 b2
b1:
  %37 = constant i32 0x43
  set_var $0 %37
  br b2
b2:
  %36 = get_var i32 $0
)";
  const struct {
    std::string before, value;
    std::size_t ballots, shuffles;
  } cases[] = {{set, "%36", 7, 0},
               {set + "  %35 = zext i64 %36\n", "%35", 7, 0},
               {set + "  %34 = add i32 %36 %19\n", "%34", 0, 32},
               {"  %36 = load i32 mem=slot,2 %3\n", "%36", 16, 0},
               {"  %35 = popcount i32 %11\n  %36 = umin i32 %35 %17\n", "%36", 7, 0},
               {"  %36 = constant i32 0x0\n", "%36", 0, 0}};
  for (const auto& each : cases)
    for (const char* mode : {"0", "1"})
      for (const char* mask : {"%31", "%14"}) {
        const std::string text =
            "  var $0 i32 key\n" +
            kernel(each.before + "  %40 = warp_match v2 imm=" + mode + " " + each.value + " " +
                   mask + "\n  %20 = extract i32 %40\n  %21 = extract i32 imm=1 %40\n");
        test::Parsed p(text, test::Form::variables);
        const auto want = results(p.f, p.m);
        EXPECT_TRUE(passes::native_warps(p.f, true, true));
        EXPECT_EQ(p.count(Op::subgroup_ballot), each.ballots) << text;
        EXPECT_EQ(p.count(Op::subgroup_shuffle), each.shuffles) << text;
        EXPECT_EQ(results(p.f, p.m), want) << text;
      }
}

// What may become a branch lets lanes run apart again.
TEST(NativeWarps, OperationsWithSimpleOnesBetweenThemMeetOnce) {
  const std::string first = "  %40 = warp_shfl v2 imm=3 %10 %11 %12 %31\n  %20 = extract i32 %40\n",
                    second =
                        "  %41 = warp_shfl v2 imm=3 %20 %11 %12 %31\n  %21 = extract i32 %41\n";
  for (const auto& [between, barriers] : {std::pair("", 1u), {"  %42 = udiv i32 %10 %11\n", 2u}}) {
    test::Parsed p(kernel(first + between + second));
    const auto want = results(p.f, p.m);
    EXPECT_TRUE(passes::native_warps(p.f, true, false));
    EXPECT_EQ(p.count(Op::subgroup_barrier), barriers);
    EXPECT_EQ(p.count(Op::subgroup_ballot), 1u);
    EXPECT_EQ(results(p.f, p.m), want);
  }
}

TEST(NativeWarps, AreForBlocksOfWholeWarps) {
  EntryInfo info;
  info.sync.warp_operations = true;
  Profile profile = *find_profile("nvidia");
  EXPECT_TRUE(native_warps(info, profile, {64, 2, 1}));
  EXPECT_TRUE(native_warps(info, profile, {16, 16, 1}));
  EXPECT_TRUE(native_warps(info, profile, {16, 3, 1})) << "others end at once";
  EXPECT_FALSE(native_warps(info, profile, {0, 0, 0})) << "the block is not known";
  info.sync.barriers = true;
  EXPECT_TRUE(native_warps(info, profile, {16, 16, 1}));
  EXPECT_FALSE(native_warps(info, profile, {16, 3, 1}))
      << "who fills the last warp would miss them";
  EXPECT_EQ(thread_model(info, ThreadModel::direct, true), ThreadModel::direct);
  EXPECT_EQ(thread_model(info, ThreadModel::direct, false), ThreadModel::regions);
  EXPECT_EQ(thread_model(info, ThreadModel::flat, true), ThreadModel::regions);
  profile.exactness.native_warps = false;
  EXPECT_FALSE(native_warps(info, profile, {64, 1, 1}));
}

/// Two words of each of 64 threads, which are made of all its lanes' by the threads of whom `cond`
/// (%3) holds, of %1, the thread's number, and %2, its word. Then they end.
std::string apart(const std::string& cond, const std::string& operation) {
  return R"(
  var $0 i32 sum
b0:
  %1 = builtin i32 local_id_x
  %4 = constant i32 0x8
  %5 = mul i32 %1 %4
  %2 = load i32 mem=slot,4 %5
  %6 = constant i32 0x1f
  %7 = and_ i32 %1 %6
  %8 = constant i32 0xa
  %9 = constant i32 0xffffffff
  set_var $0 %2
)" + cond +
         R"(
  cond_br %3 b1 b2
b1:
  %20 = get_var i32 $0
  %21 = add i32 %20 %7
)" + operation +
         R"(
  %23 = extract i32 %22
  %24 = add i32 %21 %23
  %25 = warp_vote i32 imm=3 %3 %9
  store mem=slot,4 %5 %24
  %26 = warp_shfl v2 imm=3 %24 %7 %6 %9
  %27 = extract i32 %26
  %28 = add i32 %27 %25
  set_var $0 %28
  br b3
b2:
  br b3
b3:
  %30 = constant i32 0x4
  %31 = add i32 %5 %30
  %32 = get_var i32 $0
  store mem=slot,4 %31 %32
  exit
)";
}

// The interpreter has threads wait for members that have not ended.
TEST(NativeWarps, LeaveOutThreadsThatOnlyEnd) {
  const std::string shuffle = "  %22 = warp_shfl v2 imm=3 %21 %8 %6 %9";
  const std::string divided = "  %22 = warp_shfl v2 imm=2 %21 %7 %6 %9";
  for (const char* cond : {"  %3 = ult i1 %7 %8", "  %3 = ult i1 %8 %7", "  %3 = ult i1 %2 %8",
                           "  %10 = and_ i32 %2 %8\n  %3 = eq i1 %10 %8"})
    for (const std::string& operation : {shuffle, divided}) {
      test::Parsed p(apart(cond, operation), test::Form::variables);
      const auto want = results(p.f, p.m);
      EXPECT_FALSE(passes::divergent_warp_operations(p.f, p.m).empty());
      EXPECT_FALSE(passes::warp_operations_are_missed(p.f, p.m, true));
      passes::meet_at_warp_operations(p.f, p.m, true);
      EXPECT_TRUE(passes::divergent_warp_operations(p.f, p.m).empty()) << print(p.f, p.m);
      EXPECT_EQ(results(p.f, p.m), want) << print(p.f, p.m);
      EXPECT_TRUE(passes::native_warps(p.f, true, false));
      EXPECT_EQ(validate(p.f, p.m, false, false), "") << print(p.f, p.m);
      EXPECT_EQ(results(p.f, p.m), want) << print(p.f, p.m);
    }
}

TEST(NativeWarps, DoNotLeaveOutThreadsThatComeByAnotherOperation) {
  std::string text = apart("  %3 = ult i1 %7 %8", "  %22 = warp_shfl v2 imm=3 %21 %8 %6 %9");
  const auto missed = [](const std::string& each) {
    test::Parsed p(each, test::Form::variables);
    return passes::warp_operations_are_missed(p.f, p.m, true);
  };
  EXPECT_FALSE(missed(text));
  const auto with = [&](const std::string& place, const std::string& added) {
    std::string changed = text;
    return changed.insert(changed.find(place) + place.size(), added);
  };
  EXPECT_TRUE(missed(with("b2:\n", "  warp_sync %9\n")));
  EXPECT_TRUE(missed(with("b3:\n", "  warp_sync %9\n")));
  EXPECT_TRUE(missed(with("b3:\n", "  bar_sync %8\n")));
}

// A part of several blocks, and an end within it.
TEST(NativeWarps, LeaveOutThreadsThatEndBetweenOperations) {
  const std::string text = R"(
  var $0 i32 sum
  var $1 i32 count
b0:
  %1 = builtin i32 local_id_x
  %4 = constant i32 0x8
  %5 = mul i32 %1 %4
  %2 = load i32 mem=slot,4 %5
  %6 = constant i32 0x1f
  %7 = and_ i32 %1 %6
  %8 = constant i32 0xa
  %9 = constant i32 0xffffffff
  %10 = constant i32 0x1
  %11 = constant i32 0x0
  set_var $0 %2
  set_var $1 %7
  %3 = ult i1 %7 OUTER
  cond_br %3 b1 b6
b1:
  %12 = get_var i32 $1
  %13 = ult i1 %12 %8
  cond_br %13 b2 b3
b2:
  %14 = get_var i32 $0
  %15 = add i32 %14 %7
  set_var $0 %15
  %16 = get_var i32 $1
  %17 = add i32 %16 %10
  set_var $1 %17
  br b1
b3:
  %18 = warp_active i32
  %19 = get_var i32 $0
  %20 = warp_shfl v2 imm=3 %19 %10 %6 %18
  %21 = extract i32 %20
  %22 = add i32 %21 %19
  %23 = warp_shfl v2 imm=2 %22 %4 %6 %9
  %24 = extract i32 %23
  %25 = add i32 %24 %22
  set_var $0 %25
  %26 = and_ i32 %2 %10
  %27 = INNER
  cond_br %27 b4 b5
b4:
  store mem=slot,4 %5 %25
  %28 = ult i1 %7 %4
  %29 = warp_vote i32 imm=3 %28 %9
  %30 = xor_ i32 %25 %29
  %31 = warp_redux i32 imm=0 %30 %9
  %32 = add i32 %31 %18
  store mem=slot,4 %5 %32
  br b5
b5:
  TAIL
  exit
b6:
  br b5
)";
  for (const char* outer : {"%4", "%8", "%2"})
    for (const char* inner : {"ult i1 %7 %8", "eq i1 %26 %10"})
      for (const char* tail : {"", "%33 = get_var i32 $0\n  store mem=slot,4 %5 %33"}) {
        std::string each = text;
        for (const auto& [name, value] :
             {std::pair("OUTER", outer), {"INNER", inner}, {"TAIL", tail}})
          each.replace(each.find(name), std::strlen(name), value);
        test::Parsed p(each, test::Form::variables);
        const auto want = results(p.f, p.m);
        EXPECT_FALSE(passes::divergent_warp_operations(p.f, p.m).empty());
        EXPECT_FALSE(passes::warp_operations_are_missed(p.f, p.m, true)) << each;
        each.insert(each.find("  br b1\n"), "  warp_sync %9\n");
        test::Parsed in_loop(each, test::Form::variables);
        EXPECT_TRUE(passes::warp_operations_are_missed(in_loop.f, in_loop.m, true)) << each;
        passes::meet_at_warp_operations(p.f, p.m, true);
        EXPECT_TRUE(passes::divergent_warp_operations(p.f, p.m).empty()) << print(p.f, p.m);
        EXPECT_EQ(results(p.f, p.m), want) << print(p.f, p.m);
        EXPECT_TRUE(passes::native_warps(p.f, true, false));
        EXPECT_EQ(validate(p.f, p.m, false, false), "") << print(p.f, p.m);
        EXPECT_EQ(results(p.f, p.m), want) << print(p.f, p.m);
        // Operations with nothing between them that the others could see are come by at once.
        EXPECT_EQ(p.count(Op::subgroup_barrier), *tail ? 6u : 3u) << print(p.f, p.m);
      }
}

TEST(NativeWarps, AreNumberedInOneRow) {
  const std::string text = R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = builtin i32 local_id_y
  %3 = builtin i32 local_id_z
  %4 = builtin i32 workgroup_size_x
  %5 = builtin i32 workgroup_size_y
  %6 = mul i32 %3 %5
  %7 = add i32 %6 %2
  %8 = mul i32 %7 %4
  %9 = add i32 %8 %1
  %10 = constant i32 0x8
  %11 = mul i32 %9 %10
  %12 = shl i32 %1 %10
  %13 = or_ i32 %12 %2
  %14 = shl i32 %13 %10
  %15 = or_ i32 %14 %3
  store mem=slot,4 %11 %15
  exit
)";
  const std::uint32_t blocks[][3] = {{6, 4, 4}, {5, 3, 3}, {9, 1, 4}, {40, 1, 1}, {3, 13, 1}};
  for (const auto& block : blocks) {
    const std::uint32_t whole = (block[0] * block[1] * block[2] + 31) / 32 * 32;
    std::vector<std::uint8_t> bytes[2];
    for (const bool row : {false, true}) {
      test::Parsed p(text, test::Form::variables);
      if (row) passes::number_in_one_row(p.f, block);
      EXPECT_EQ(validate(p.f, p.m, false, false), "");
      Memory memory;
      memory.of(Space::slot).resize(128 * 8);
      RunOptions options;
      const std::uint32_t one_row[3] = {whole, 1, 1};
      std::ranges::copy(row ? one_row : block, options.threads);
      EXPECT_EQ(interpret(p.f, p.m, memory, options).error, "");
      bytes[row] = memory.of(Space::slot);
    }
    EXPECT_EQ(bytes[0], bytes[1]);
  }
}

// The operations of a warp that others fill, who end at once.
TEST(NativeWarps, OfPartOfAWarpGiveWhatTheyGiveThere) {
  for (const char* operation :
       {"  %40 = warp_shfl v2 imm=0 %10 %19 %18 %31\n  %20 = extract i32 %40\n  %21 = extract i32 "
        "imm=1 %40\n",
        "  %40 = warp_shfl v2 imm=2 %10 %11 %12 %31\n  %20 = extract i32 %40\n  %21 = extract i32 "
        "imm=1 %40\n",
        "  %20 = warp_vote i32 imm=0 %15 %31\n  %21 = warp_active i32\n"}) {
    test::Parsed p(kernel(operation), test::Form::variables);
    const auto want = results(p.f, p.m, 45);
    EXPECT_TRUE(passes::native_warps(p.f, true, false));
    passes::number_in_one_row(p.f, {45, 1, 1});
    EXPECT_EQ(results(p.f, p.m), want) << operation;
  }
}

/// The translation of a kernel of one word a thread, whose code ends in `operations`.
Translation translate(const std::string& operations, const TranslateOptions& options) {
  const std::string text = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 to) {
  .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<4>;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d0, %d0, %d1;
  ld.global.u32 %r1, [%d0];
)" + operations + R"(
  st.global.u32 [%d0], %r1;
  ret;
})";
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "k.ptx"}}, messages);
  if (!module) return {};
  auto translation = module->translate(options, messages);
  EXPECT_TRUE(translation) << (messages.empty() ? "" : messages[0].rendered);
  return translation ? std::move(*translation) : Translation{};
}

/// Threads that leave a loop one by one exchange in it.
constexpr const char* kInLoop = R"(
again:
  shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffffffff;
  sub.u32 %r1, %r1, 1;
  max.u32 %r1, %r1, %r2;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra again;
)";

struct Got {
  EntryInfo info;
  std::string text;
};

Got got(const Translation& translation) {
  EXPECT_EQ(translation.interface.entries.size(), 1u);
  if (translation.interface.entries.empty()) return {};
  EXPECT_EQ(test::validate_spirv(translation.spirv), "");
  return {translation.interface.entries[0], test::disassemble_spirv(translation.spirv)};
}

TEST(NativeWarps, ThatThreadsLeaveOneByOneExchangeInSubgroups) {
  TranslateOptions options;
  options.profile = *find_profile("nvidia");
  options.block[0] = 40, options.block[1] = options.block[2] = 1;
  const auto [info, text] = got(translate(kInLoop, options));
  EXPECT_TRUE(info.sync.divergent_warp_operations);
  EXPECT_EQ(info.threads, ThreadModel::regions);
  EXPECT_TRUE(info.sync.warp_subgroups);
  EXPECT_EQ(info.workgroup_threads, 64u) << "whole warps";
  EXPECT_EQ(info.shared_bytes, 0u);
  EXPECT_NE(text.find("OpGroupNonUniformShuffle"), std::string::npos);
}

TEST(NativeWarps, AreEmulatedWhereSubgroupsAreNone) {
  const auto emulated = [](const TranslateOptions& options) {
    const auto [info, text] = got(translate(kInLoop, options));
    EXPECT_FALSE(info.sync.warp_subgroups);
    EXPECT_EQ(text.find("OpGroupNonUniform"), std::string::npos);
    return info.workgroup_threads;
  };
  TranslateOptions options;
  options.profile = *find_profile("nvidia");
  options.block[0] = 40, options.block[1] = options.block[2] = 1;
  options.workgroup_threads = 40;
  EXPECT_EQ(emulated(options), 40u) << "no room for whole warps";
  options.workgroup_threads = 32;
  EXPECT_EQ(emulated(options), 20u) << "two threads an invocation";
  options.workgroup_threads = 0;
  options.profile.exactness.native_warps = false;
  EXPECT_EQ(emulated(options), 40u);
}

TEST(NativeWarps, MayMissWhatOtherWarpsDo) {
  TranslateOptions options;
  options.profile = *find_profile("nvidia");
  options.block[0] = 96, options.block[1] = options.block[2] = 1;
  const auto [info, text] = got(translate(R"(
  shr.u32 %r2, %r0, 5;
  setp.eq.u32 %p0, %r2, 1;
  @%p0 bra out;
  shfl.sync.up.b32 %r1, %r1, 1, 0, 0xffffffff;
out:
)",
                                          options));
  EXPECT_FALSE(info.sync.divergent_warp_operations);
  EXPECT_EQ(info.threads, ThreadModel::direct);
  EXPECT_TRUE(info.sync.warp_subgroups);
  EXPECT_NE(text.find("OpGroupNonUniformShuffle"), std::string::npos);
}

TEST(NativeWarps, OfBlocksWithPartOfAWarpAreFilled) {
  TranslateOptions options;
  options.profile = *find_profile("nvidia");
  options.block[0] = 100, options.block[1] = options.block[2] = 1;
  const char* const sum =
      "  shfl.sync.up.b32 %r2, %r1, 1, 0, 0xffffffff;\n"
      "  add.u32 %r1, %r1, %r2;\n";
  const auto [info, text] = got(translate(sum, options));
  EXPECT_EQ(info.threads, ThreadModel::direct);
  EXPECT_TRUE(info.sync.warp_subgroups);
  EXPECT_NE(text.find(" %uint_100\n"), std::string::npos) << "the others end";
  const Got waits = got(translate(std::string("  bar.sync 0;\n") + sum, options));
  EXPECT_EQ(waits.info.threads, ThreadModel::regions);
}

TEST(NativeWarps, OfBlocksOfSeveralRowsAreInOneRow) {
  TranslateOptions options;
  options.profile = *find_profile("nvidia");
  options.block[0] = 16, options.block[1] = 4, options.block[2] = 1;
  const char* const rows = R"(
  mov.u32 %r3, %tid.y;
  shfl.sync.down.b32 %r2, %r1, 8, 31, 0xffffffff;
  add.u32 %r1, %r1, %r2;
  setp.ne.u32 %p0, %r3, 0;
  @%p0 bra out;
  shfl.sync.down.b32 %r2, %r1, 4, 31, 0xffffffff;
  add.u32 %r1, %r1, %r2;
out:
)";
  const auto [info, text] = got(translate(rows, options));
  EXPECT_EQ(info.threads, ThreadModel::direct);
  EXPECT_TRUE(info.sync.warp_subgroups);
  EXPECT_NE(text.find("LocalInvocationIndex"), std::string::npos);
  EXPECT_EQ(text.find("BuiltIn LocalInvocationId"), std::string::npos);
  options.block[0] = 32;
  const Got whole = got(translate(rows, options));
  EXPECT_EQ(whole.info.threads, ThreadModel::direct);
  EXPECT_NE(whole.text.find("BuiltIn LocalInvocationId"), std::string::npos);
}

}  // namespace
