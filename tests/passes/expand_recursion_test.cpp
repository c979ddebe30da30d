// Functions that call themselves become one function with a stack.
#include "translator/passes/cfg/expand_recursion.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/ir/thread_stack.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

constexpr std::uint32_t kStackAt = 16;

// func @sum(n) -> n ? sum(n - 1) + n : 0, and an entry that stores sum of the first parameter.
Module sums() {
  Module m;
  m.functions.resize(2);
  Function& sum = m.functions[1];
  sum.name = "sum";
  sum.vars = {{Type::i32, "n", false}, {Type::i32, "r", false}, {Type::i32, "less", false}};
  sum.param_vars = {0};
  sum.result_vars = {1};
  sum.calls = {{1, {2}}};
  {
    Builder b(sum);
    const BlockId start = b.new_block(), zero = b.new_block(), more = b.new_block();
    b.at(start);
    b.cond_br(b.cmp(Op::eq, b.get(0), b.i32(0)), zero, more);
    b.at(zero);
    b.set(1, b.i32(0));
    b.ret();
    b.at(more);
    b.inst(Op::call, Type::none, {b.op2(Op::sub, b.get(0), b.i32(1))}, 0);
    b.set(1, b.op2(Op::add, b.get(2), b.get(0)));
    b.ret();
  }
  Function& entry = m.functions[0];
  entry.name = "entry";
  entry.local_bytes = kStackAt + 1024;
  entry.vars = {{Type::i32, "r", false}};
  entry.calls = {{1, {0}}};
  Builder b(entry);
  b.at(b.new_block());
  b.set(stack_pointer(entry), b.i32(kStackAt));
  const Value n = b.load(Type::i32, b.i32(0), {.space = Space::param, .bytes = 4});
  b.inst(Op::call, Type::none, {n}, 0);
  b.store(b.i64(Memory::kGlobalBase), b.get(0), {.space = Space::global, .bytes = 4});
  b.exit();
  return m;
}

TEST(ExpandRecursion, a_function_that_calls_itself_keeps_its_registers_on_the_stack) {
  Module m = sums();
  EXPECT_EQ(passes::recursive_functions(m), (std::vector<bool>{false, true}));
  EXPECT_NE(passes::inline_calls(m), "");
  m = sums();
  EXPECT_EQ(passes::expand_recursion(m), "");
  EXPECT_TRUE(passes::recursive_functions(m).empty());
  EXPECT_EQ(passes::inline_calls(m), "");
  for (const std::uint32_t n : {0u, 1u, 9u}) {
    Memory memory;
    put(memory, Space::param, 0, n);
    memory.of(Space::global).resize(4);
    EXPECT_EQ(interpret(m.functions[0], m, memory, {}).error, "");
    EXPECT_EQ(word(memory, Space::global, 0), n * (n + 1) / 2);
  }
}

}  // namespace
}  // namespace ptx2spv
