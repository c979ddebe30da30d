// Which products and sums become one operation: the cases were read off ptxas 13.0's code for
// sm_90.
#include <gtest/gtest.h>

#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using ir::NumKind;
using ir::Op;
using ir::Value;

struct Fixture {
  ir::Module module;
  ir::Function function;
  ir::Builder b{function};
  Fixture() { b.at(b.new_block()); }
  Value input(std::uint32_t at) {
    return b.load(ir::Type::i32, b.i32(at), {.space = ir::Space::param});
  }
  Value op(Op which, Value x, Value y, bool contract = true) {
    return b.fp(which, ir::Type::i32, {x, y}, {.kind = NumKind::f32, .contract = contract});
  }
  void keep(Value v, std::uint32_t at = 0) { b.store(b.i32(at), v, {.space = ir::Space::trap}); }
  bool run() {
    b.exit();
    return passes::fma_contract(function, module);
  }
  Op result(Value v) const { return function.insts[v].op; }
};

TEST(FmaContract, APlainProductAndSumBecomeOne) {
  Fixture f;
  const Value sum = f.op(Op::fadd, f.op(Op::fmul, f.input(0), f.input(4)), f.input(8));
  f.keep(sum);
  EXPECT_TRUE(f.run());
  EXPECT_EQ(f.result(sum), Op::ffma);
}

TEST(FmaContract, AStatedRoundingKeepsThemApart) {
  Fixture f;
  const Value sum = f.op(Op::fadd, f.op(Op::fmul, f.input(0), f.input(4), false), f.input(8));
  f.keep(sum);
  EXPECT_FALSE(f.run());
}

TEST(FmaContract, AProductThatIsUsedOtherwiseStays) {
  Fixture f;
  const Value product = f.op(Op::fmul, f.input(0), f.input(4));
  const Value sum = f.op(Op::fadd, product, f.input(8));
  f.keep(sum);
  f.keep(product, 4);
  EXPECT_FALSE(f.run());
  EXPECT_EQ(f.result(sum), Op::fadd);
}

TEST(FmaContract, OfTwoProductsTheFirstIsFused) {
  Fixture f;
  const Value second = f.op(Op::fmul, f.input(0), f.input(4));
  const Value first = f.op(Op::fmul, f.input(8), f.input(12));
  const Value sum = f.op(Op::fadd, first, second);
  f.keep(sum);
  EXPECT_TRUE(f.run());
  EXPECT_EQ(f.function.arg(sum, 2), second);
}

TEST(FmaContract, OfTwoProductsTheOneWithFewerUsesIsFused) {
  for (const unsigned operand : {0u, 1u})
    for (const bool sum : {false, true}) {
      Fixture f;
      const Value twice = f.op(Op::fmul, f.input(0), f.input(4));
      const Value once = f.op(Op::fmul, f.input(8), f.input(12));
      const Value u = operand ? f.op(Op::fadd, once, twice) : f.op(Op::fadd, twice, once);
      const Value third = sum ? f.input(16) : f.op(Op::fmul, f.input(16), f.input(20));
      const Value v = f.op(Op::fadd, twice, third);
      f.keep(u);
      f.keep(v, 4);
      EXPECT_TRUE(f.run());
      EXPECT_EQ(f.result(u), Op::ffma);
      EXPECT_EQ(f.function.arg(u, 2), twice);
      EXPECT_EQ(f.result(v), sum ? Op::fadd : Op::ffma);
    }
}

// Two products in the same two sums, of which one has a third.
TEST(FmaContract, OfProductsWithSeveralUsesTheSameHolds) {
  for (const bool more : {false, true}) {
    Fixture f;
    const Value first = f.op(Op::fmul, f.input(0), f.input(4));
    const Value second = f.op(Op::fmul, f.input(8), f.input(12));
    const Value u = f.op(Op::fadd, first, second), v = f.op(Op::fadd, first, second);
    f.keep(u);
    f.keep(v, 4);
    if (more) f.keep(f.op(Op::fadd, f.input(16), first), 8);
    EXPECT_TRUE(f.run());
    EXPECT_EQ(f.function.arg(u, 2), more ? first : second);
  }
}

TEST(FmaContract, TwoSumsOfOneProductAreBothFused) {
  Fixture f;
  const Value product = f.op(Op::fmul, f.input(0), f.input(4));
  const Value u = f.op(Op::fadd, product, f.input(8)), v = f.op(Op::fadd, f.input(12), product);
  f.keep(u);
  f.keep(v, 4);
  EXPECT_TRUE(f.run());
  EXPECT_EQ(f.result(u), Op::ffma);
  EXPECT_EQ(f.result(v), Op::ffma);
}

// Lowering numbers the blocks: 0 and 1.
TEST(FmaContract, OnlyAReadyFactorReachesAnotherBlock) {
  for (const bool ready : {false, true})
    for (const bool swapped : {false, true}) {
      Fixture f;
      const auto loaded = [&](std::uint32_t at) {
        return f.b.load(ir::Type::i32, f.b.i32(at), {.space = ir::Space::local});
      };
      const Value x = loaded(0), y = ready ? f.input(4) : loaded(4);
      const Value product = swapped ? f.op(Op::fmul, y, x) : f.op(Op::fmul, x, y);
      f.function.locs.push_back(f.function.locs[f.function.insts[product].loc]);
      f.function.locs.back().block = 1;
      f.b.set_loc(static_cast<std::uint32_t>(f.function.locs.size() - 1));
      const Value sum = f.op(Op::fadd, product, loaded(8));
      f.keep(sum);
      EXPECT_EQ(f.run(), ready);
      EXPECT_EQ(f.result(sum), ready ? Op::ffma : Op::fadd);
    }
}

TEST(FmaContract, AProductAddedToItselfStays) {
  Fixture f;
  const Value product = f.op(Op::fmul, f.input(0), f.input(4));
  const Value sum = f.op(Op::fadd, product, product);
  f.keep(sum);
  EXPECT_FALSE(f.run());
}

}  // namespace
}  // namespace ptx2spv
