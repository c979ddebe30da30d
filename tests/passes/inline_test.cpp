#include <gtest/gtest.h>

#include "translator/ir/interpret.hpp"
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

TEST(Inline, recursion_is_reported) {
  Module m = sample();
  m.functions[1].calls = {{2, {}}};
  EXPECT_NE(passes::inline_calls(m), "");
}

TEST(Inline, growth_is_bounded) {
  Module m = sample();
  EXPECT_NE(passes::inline_calls(m, 10), "");
}

}  // namespace
