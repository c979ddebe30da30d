// Loops that need no guard against a driver's limit, and exits of loops.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

/// A loop with a guard's words: its counter starts at `first` and is stepped by `step`; it goes on
/// while `stays` (of %10 before and %11 after the step).
std::string loop(const std::string& first, const std::string& step, const std::string& stays) {
  return R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x1
  %3 = constant i32 0x8
  %4 = constant i64 0x100000000
  %5 = constant i32 0x5
  %6 = load i32 mem=param,4,readonly %3
  %7 = constant i32 )" +
         first + "\n  %8 = constant i32 " + step + R"(
  store mem=local,4,slot:1 %1 %5
  br b1
b1:
  %10 = phi i32 %7 %11
  loop b4 b3
  br b2
b2:
  %11 = add i32 %10 %8
  %12 = )" +
         stays + R"(
  merge b5
  cond_br %12 b3 b5
b5:
  store mem=local,4,slot:1 %1 %1
  br b4
b3:
  br b1
b4:
  %13 = load i32 mem=local,4,slot:1 %1
  store mem=global,4 %4 %13
  exit
)";
}

struct Found {
  bool free = false;
  EntryInfo info;
  std::size_t words = 0;  ///< accesses to the guard that are left
};

Found look(const std::string& text, std::uint32_t most, bool assume = false) {
  test::Structured p(text);
  p.f.loop_guard.on = true;
  p.f.local_bytes = 4;
  Found found;
  found.free = passes::loop_trip_count(p.f, most, assume, found.info);
  p.expect_valid();
  found.words = p.count([&](Value v, BlockId) {
    return p.f.insts[v].mem.slot == kGuardSlot && p.f.insts[v].mem.space == Space::local;
  });
  return found;
}

TEST(LoopTripCount, a_constant_bound_frees_a_loop) {
  const std::string text = loop("0x0", "0x1", "slt i1 %11 %3");
  const Found found = look(text, 100);
  EXPECT_TRUE(found.free);
  EXPECT_EQ(found.words, 0u);
  EXPECT_TRUE(found.info.loops.trip_count_params.empty());
  const Found long_loop = look(text, 8);
  EXPECT_FALSE(long_loop.free);
  EXPECT_EQ(long_loop.words, 3u);
}

TEST(LoopTripCount, a_parameter_frees_a_loop_where_it_is_small) {
  for (const char* stays : {"slt i1 %11 %6", "ult i1 %10 %6", "sle i1 %11 %6"}) {
    const std::string text = loop("0x0", "0x1", stays);
    const Found asked = look(text, 1000);
    EXPECT_FALSE(asked.free);
    EXPECT_EQ(asked.words, 3u);
    ASSERT_EQ(asked.info.loops.trip_count_params.size(), 1u) << stays;
    EXPECT_EQ(asked.info.loops.trip_count_params[0], 8u);
    EXPECT_GE(asked.info.loops.trip_count_limit, 990u);
    EXPECT_LT(asked.info.loops.trip_count_limit, 1000u);
    EXPECT_TRUE(look(text, 1000, true).free);
  }
}

TEST(LoopTripCount, counting_down_ends_at_a_number_that_is_met) {
  EXPECT_TRUE(look(loop("0x8", "0xffffffff", "ne i1 %11 %1"), 100).free);
  EXPECT_TRUE(look(loop("0x8", "0xffffffff", "slt i1 %1 %11"), 100).free);
  EXPECT_FALSE(look(loop("0x8", "0xffffffff", "ne i1 %11 %6"), 100).free);
  // Passes the number, and then zero.
  EXPECT_FALSE(look(loop("0x4", "0xffffffff", "ne i1 %11 %5"), 100).free);
  EXPECT_FALSE(look(loop("0x8", "0xffffffff", "ule i1 %1 %11"), 100).free);
}

TEST(LoopTripCount, what_has_no_bound_keeps_its_guard) {
  EXPECT_FALSE(look(loop("0x0", "0x0", "slt i1 %11 %3"), 100).free);
  EXPECT_FALSE(look(loop("0x0", "0x2", "ne i1 %11 %3"), 100).free);
  EXPECT_FALSE(look(loop("0x0", "0x1", "slt i1 %3 %11"), 100).free);
  EXPECT_FALSE(look(loop("0x0", "0xffffffff", "slt i1 %11 %3"), 100).free);
  EXPECT_FALSE(look(loop("0xffffff00", "0x1", "slt i1 %11 %3"), 100).free);
}

/// Counts up to a parameter unless a cell is met, with arithmetic (or a store) between the two.
std::string two_exits(const char* between) {
  return std::string(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x1
  %3 = constant i32 0x7
  %4 = constant i64 0x100000000
  %6 = load i32 mem=param,4,readonly %1
  %7 = constant i32 0x4
  %9 = load i32 mem=param,4,readonly %7
  br b1
b1:
  %10 = phi i32 %1 %11
  %20 = phi i32 %2 %21
  loop b4 b3
  br b2
b2:
  %12 = eq i1 %10 %9
  merge b6
  cond_br %12 b7 b6
b7:
  br b4
b6:
  %21 = mul i32 %20 %3
)") + between +
         R"(
  %11 = add i32 %10 %2
  %13 = slt i1 %11 %6
  merge b5
  cond_br %13 b3 b5
b5:
  br b4
b3:
  br b1
b4:
  %14 = phi i32 %21 %20
  %15 = phi i32 %11 %10
  %16 = add i32 %14 %15
  store mem=global,4 %4 %16
  exit
)";
}

std::uint32_t result(const Function& f, const Module& m, std::uint32_t iterations,
                     std::uint32_t cell) {
  ir::Memory memory;
  memory.of(Space::global).resize(16);
  auto& params = memory.of(Space::param);
  for (const std::uint32_t word : {iterations, cell})
    for (unsigned i = 0; i < 4; ++i) params.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
  ir::RunOptions options;
  options.trace = false;
  EXPECT_EQ(ir::interpret(f, m, memory, options).error, "");
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i)
    out |= static_cast<std::uint32_t>(memory.of(Space::global)[i]) << (8 * i);
  return out;
}

TEST(MergeLoopExits, two_ways_over_arithmetic_become_one) {
  Function before, f;
  Module m;
  ASSERT_EQ(parse(two_exits(""), before, m), "");
  ASSERT_EQ(parse(two_exits(""), f, m), "");
  f.order = reverse_postorder(f, true);
  EXPECT_TRUE(passes::merge_loop_exits(f));
  EXPECT_EQ(validate(f, m, true, true), "");
  const auto branches = std::count_if(f.blocks.begin(), f.blocks.end(),
                                      [](const Block& b) { return b.term == Term::cond_br; });
  EXPECT_EQ(branches, 1);
  for (const std::uint32_t iterations : {1u, 2u, 9u})
    for (const std::uint32_t cell : {0u, 1u, 4u, 8u, 20u})
      EXPECT_EQ(result(f, m, iterations, cell), result(before, m, iterations, cell))
          << iterations << " " << cell;
}

TEST(MergeLoopExits, a_store_between_them_keeps_both) {
  Function f;
  Module m;
  ASSERT_EQ(parse(two_exits("  store mem=global,4 %4 %21"), f, m), "");
  f.order = reverse_postorder(f, true);
  EXPECT_FALSE(passes::merge_loop_exits(f));
}

}  // namespace
