#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/reference.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

// func @leaf(a) -> a * 3, leaving from two places; func @middle(a) -> leaf(a) + leaf(a + 1).
Module sample() {
  Module m;
  m.functions.resize(3);
  Function& leaf = m.functions[1];
  leaf.name = "leaf";
  leaf.vars = {{Type::i32, "a", false}, {Type::i32, "r", false}, {Type::i32, "trap", true}};
  leaf.param_vars = {0};
  leaf.result_vars = {1};
  {
    Builder b(leaf);
    b.new_block();
    b.new_block();
    b.new_block();
    b.set(1, b.op2(Op::mul, b.get(0), b.i32(3)));
    b.set(2, b.op2(Op::add, b.get(2), b.i32(1)));
    b.cond_br(b.cmp(Op::ult, b.get(0), b.i32(5)), 1, 2);
    b.at(1);
    b.ret();
    b.at(2);
    b.ret();
  }
  Function& middle = m.functions[2];
  middle.name = "middle";
  middle.vars = {{Type::i32, "a", false},
                 {Type::i32, "x", false},
                 {Type::i32, "y", false},
                 {Type::i32, "r", false}};
  middle.param_vars = {0};
  middle.result_vars = {3};
  middle.calls = {{1, {1}}, {1, {2}}};
  {
    Builder b(middle);
    b.new_block();
    b.inst(Op::call, Type::none, {b.get(0)}, 0);
    b.inst(Op::call, Type::none, {b.op2(Op::add, b.get(0), b.i32(1))}, 1);
    b.set(3, b.op2(Op::add, b.get(1), b.get(2)));
    b.ret();
  }
  Function& entry = m.functions[0];
  entry.name = "entry";
  entry.vars = {{Type::i32, "r", false}, {Type::i32, "trap", true}};
  entry.calls = {{2, {0}}};
  {
    Builder b(entry);
    b.new_block();
    const Value seven = b.i32(7);
    b.inst(Op::call, Type::none, {seven}, 0);
    b.store(b.i32(0), b.op2(Op::add, b.get(0), seven), MemAttr{.space = Space::slot});
    b.store(b.i32(4), b.get(1), MemAttr{.space = Space::slot});
    b.exit();
  }
  return m;
}

TEST(Inline, calls_give_the_callees_results) {
  Module m = sample();
  ASSERT_EQ(passes::inline_calls(m), "");
  Function& f = m.functions[0];
  ASSERT_EQ(validate(f, m, false, false), "") << print(f, m);
  Memory memory;
  const Outcome out = interpret(f, m, memory, {});
  ASSERT_EQ(out.error, "");
  ASSERT_EQ(out.trace.size(), 2u);
  EXPECT_EQ(out.trace[0].value.w[0], 7 * 3 + 8 * 3 + 7u);
  EXPECT_EQ(out.trace[1].value.w[0], 2u) << "a variable of the whole thread is shared by name";
  passes::structurize(f, m);
  ASSERT_EQ(validate(f, m, false, true), "") << print(f, m);
}

TEST(Inline, a_function_that_is_to_stand_once_does_in_a_copied_one_too) {
  Module m = sample();
  m.functions[0].calls.push_back({2, {0}});
  Builder b(m.functions[0]);
  m.functions[0].blocks[0].term = Term::none;
  b.at(0);
  b.inst(Op::call, Type::none, {b.get(0)}, 1);
  b.store(b.i32(8), b.get(0), MemAttr{.space = Space::slot});
  b.exit();
  m.functions[1].stands_once = true;
  ASSERT_EQ(passes::inline_calls(m), "");
  Function& f = m.functions[0];
  ASSERT_EQ(validate(f, m, false, false), "") << print(f, m);
  const auto products = std::count_if(f.insts.begin(), f.insts.end(),
                                      [](const Inst& inst) { return inst.op == Op::mul; });
  EXPECT_EQ(products, 1) << print(f, m);
  Memory memory;
  const Outcome out = interpret(f, m, memory, {});
  ASSERT_EQ(out.error, "");
  ASSERT_EQ(out.trace.size(), 3u);
  EXPECT_EQ(out.trace[0].value.w[0], 45u + 7u);
  EXPECT_EQ(out.trace[1].value.w[0], 2u);
  EXPECT_EQ(out.trace[2].value.w[0], 45 * 3 + 46 * 3u);
  passes::structurize(f, m);
  ASSERT_EQ(validate(f, m, false, true), "") << print(f, m);
}

TEST(Inline, recursion_is_reported) {
  Module m = sample();
  m.functions[1].calls = {{2, {}}};
  EXPECT_NE(passes::inline_calls(m), "");
}

TEST(Inline, more_than_can_be_is_reported) {
  Module m = sample();
  Builder b(m.functions[1]);
  for (int k = 0; k < 2000000; ++k) b.get(0);
  EXPECT_NE(passes::inline_calls(m), "");
}

// Function k calls function k - 1 as often as `calls` says, the second time by what the first gave,
// which it does not do when that is a multiple of four. The entry calls the last one three times,
// the third time in a loop.
Module tower(unsigned levels, unsigned calls) {
  Module m;
  m.functions.resize(levels + 1);
  for (unsigned k = 1; k <= levels; ++k) {
    Function& f = m.functions[k];
    f.name = "level" + std::to_string(k);
    f.vars = {{Type::i32, "a", false}, {Type::i32, "r", false}, {Type::i32, "s", false}};
    f.param_vars = {0};
    f.result_vars = {1};
    Builder b(f);
    b.new_block();
    if (k == 1) {
      Value v = b.get(0);
      for (std::uint32_t i = 0; i < 16; ++i)
        v = b.op2(Op::add, b.op2(Op::mul, v, b.i32(2654435761u)), b.i32(i));
      b.set(1, v);
      b.ret();
      continue;
    }
    f.calls = {{k - 1, {1}}, {k - 1, {2}}};
    b.inst(Op::call, Type::none, {b.op2(Op::add, b.get(0), b.i32(k))}, 0);
    if (calls == 1) {
      b.ret();
      f.calls.pop_back();
      continue;
    }
    const BlockId more = b.new_block(), out = b.new_block();
    const Value low = b.op2(Op::and_, b.get(1), b.i32(3));
    b.cond_br(b.cmp(Op::eq, low, b.i32(0)), out, more);
    b.at(more);
    b.inst(Op::call, Type::none, {b.op2(Op::xor_, b.get(0), b.get(1))}, 1);
    b.set(1, b.op2(Op::add, b.op2(Op::mul, b.get(1), b.i32(5)), b.get(2)));
    b.br(out);
    b.at(out);
    b.ret();
  }
  Function& f = m.functions[0];
  f.name = "entry";
  f.vars = {{Type::i32, "x", false}, {Type::i32, "y", false}, {Type::i32, "i", false}};
  f.calls = {{levels, {0}}, {levels, {1}}, {levels, {0}}};
  Builder b(f);
  b.new_block();
  const BlockId head = b.new_block(), body = b.new_block(), out = b.new_block();
  b.inst(Op::call, Type::none, {b.i32(7)}, 0);
  b.inst(Op::call, Type::none, {b.get(0)}, 1);
  b.set(2, b.i32(0));
  b.br(head);
  b.at(head);
  b.cond_br(b.cmp(Op::ult, b.get(2), b.i32(3)), body, out);
  b.at(body);
  b.inst(Op::call, Type::none, {b.op2(Op::add, b.get(0), b.get(2))}, 2);
  b.set(2, b.op2(Op::add, b.get(2), b.i32(1)));
  b.br(head);
  b.at(out);
  b.store(b.i32(0), b.get(0), MemAttr{.space = Space::slot});
  b.store(b.i32(4), b.get(1), MemAttr{.space = Space::slot});
  b.exit();
  return m;
}

std::uint32_t level(unsigned k, unsigned calls, std::uint32_t a) {
  if (k == 1) {
    for (std::uint32_t i = 0; i < 16; ++i) a = a * 2654435761u + i;
    return a;
  }
  const std::uint32_t r = level(k - 1, calls, a + k);
  if (calls == 1 || (r & 3) == 0) return r;
  return r * 5 + level(k - 1, calls, a ^ r);
}

std::vector<std::uint32_t> stored(const Function& f, const Module& m) {
  Memory memory;
  const Outcome out = interpret(f, m, memory, {});
  EXPECT_EQ(out.error, "");
  std::vector<std::uint32_t> words;
  for (const auto& each : out.trace) words.push_back(each.value.w[0]);
  return words;
}

// Through all that turns the graph into what a module says.
void expect_tower(unsigned levels, unsigned calls, std::size_t budget) {
  Module m = tower(levels, calls);
  ASSERT_EQ(passes::inline_calls(m, budget), "");
  std::uint32_t x = level(levels, calls, 7);
  const std::uint32_t y = level(levels, calls, x);
  for (std::uint32_t i = 0; i < 3; ++i) x = level(levels, calls, x + i);
  const std::vector<std::uint32_t> wanted{x, y};
  Function& f = m.functions[0];
  ASSERT_EQ(validate(f, m, false, false), "");
  EXPECT_EQ(stored(f, m), wanted);
  passes::structurize(f, m);
  ASSERT_EQ(validate(f, m, false, true), "");
  EXPECT_EQ(stored(f, m), wanted);
  passes::ssa(f, m);
  ASSERT_EQ(validate(f, m, true, true), "");
  EXPECT_EQ(stored(f, m), wanted);
}

TEST(Inline, calls_that_share_a_body_come_back_to_their_own_place) {
  for (const std::size_t budget : {std::size_t{0}, std::size_t{200}, std::size_t{100000}})
    for (const unsigned levels : {1u, 2u, 3u, 6u}) expect_tower(levels, 2, budget);
}

std::size_t size_of(unsigned levels, unsigned calls, std::size_t budget) {
  Module m = tower(levels, calls);
  EXPECT_EQ(passes::inline_calls(m, budget), "");
  return m.functions[0].insts.size();
}

// The entry calls the last function three times, so a chain that is copied stands three times.
TEST(Inline, a_chain_of_a_thousand_functions_is_a_thousand_bodies) {
  EXPECT_LT(size_of(1000, 1, 100000), 3 * 12 * 1000u);
  EXPECT_LT(size_of(1000, 1, 0), 16 * 1000u);
}

TEST(Inline, diamonds_grow_with_their_text_and_not_with_their_ways) {
  const std::size_t small = size_of(20, 2, 1000), large = size_of(40, 2, 1000);
  EXPECT_LT(small, 2000u);
  EXPECT_LT(large, 2 * small);
  EXPECT_LT(size_of(60, 2, 0), 4000u);
}

}  // namespace
