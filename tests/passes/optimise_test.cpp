// Passes that make a function smaller, each on the least that it changes.
#include <fmt/format.h>

#include <algorithm>

#include "tests/passes/parsed.hpp"
#include "translator/passes/cfg/blocks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

TEST(Ssa, variables_become_values_that_meet_in_phis) {
  Parsed p(R"(func @k local=0 shared=0 {
  var $0 i32 x
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4,readonly %1
  set_var $0 %2
  %3 = eq i1 %2 %1
  cond_br %3 b1 b2
b1:
  %4 = constant i32 0x5
  set_var $0 %4
  br b2
b2:
  %5 = get_var i32 $0
  %6 = constant i64 0x100000000
  store mem=global,4 %6 %5
  exit
}
)",
           Form::variables);
  passes::structurize(p.f, p.m);
  passes::ssa(p.f, p.m);
  EXPECT_EQ(validate(p.f, p.m, true, true), "") << print(p.f, p.m);
  EXPECT_FALSE(p.has(Op::get_var) || p.has(Op::set_var)) << print(p.f, p.m);
  EXPECT_TRUE(p.has(Op::phi));
  for (const std::uint32_t param : {0u, 7u}) {
    Memory memory;
    put(memory, Space::param, 0, param);
    memory.of(Space::global).resize(4);
    EXPECT_EQ(p.run(memory).error, "");
    EXPECT_EQ(word(memory, Space::global, 0), param ? param : 5);
  }
}

TEST(Simplify, what_is_constant_equal_or_unused_goes) {
  Structured p(R"(
b0:
  %1 = constant i32 0x2
  %2 = constant i32 0x3
  %3 = add i32 %1 %2
  %4 = constant i64 0x100000000
  %5 = load i32 mem=param,4,readonly %1
  %6 = load i32 mem=param,4,readonly %1
  %7 = xor_ i32 %5 %6
  %8 = mul i32 %5 %5
  %9 = add i32 %3 %7
  %10 = eq i1 %1 %2
  merge b2
  cond_br %10 b1 b2
b1:
  store mem=global,4 %4 %8
  br b2
b2:
  store mem=global,4 %4 %9
  exit
)");
  EXPECT_TRUE(passes::simplify(p.f, p.m));
  p.expect_valid();
  EXPECT_EQ(p.count(Op::store, Space::global), 1u) << print(p.f, p.m);
  EXPECT_FALSE(p.has(Op::load) || p.has(Op::mul) || p.has(Op::add)) << print(p.f, p.m);
  Memory memory;
  memory.of(Space::global).resize(4);
  EXPECT_EQ(p.run(memory).error, "");
  EXPECT_EQ(word(memory, Space::global, 0), 5u);
}

TEST(Simplify, what_a_mask_leaves_out_is_another_mask) {
  for (const char* operands : {"%2 %4", "%4 %2"}) {
    Structured p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %5 = constant i64 0x100000000
  %2 = load i32 mem=param,4,readonly %1
  %3 = constant i32 0x7fffffff
  %4 = and_ i32 %2 %3
  %6 = xor_ i32 {}
  store mem=global,4 %5 %6
  exit
)",
                             operands));
    EXPECT_TRUE(passes::simplify(p.f, p.m));
    p.expect_valid();
    EXPECT_FALSE(p.has(Op::xor_)) << print(p.f, p.m);
    Memory memory;
    put(memory, Space::param, 0, 0x89abcdefu);
    memory.of(Space::global).resize(4);
    EXPECT_EQ(p.run(memory).error, "");
    EXPECT_EQ(word(memory, Space::global, 0), 0x80000000u);
  }
}

// Four stores at ((n + 64 k) + offset) * 4 beside each other, as compilers write them that cannot
// know whether n + 64 k wraps around.
TEST(Simplify, addresses_that_differ_by_constants_share_a_sum) {
  for (const bool below_1024 : {true, false}) {
    std::string text = "b0:\n  %1 = constant i32 0x0\n  %2 = load i32 mem=param,4,readonly %1\n";
    text += below_1024 ? "  %3 = constant i32 0x3ff\n  %4 = and_ i32 %2 %3\n"
                       : "  %3 = constant i32 0x0\n  %4 = add i32 %2 %3\n";
    text +=
        "  %5 = constant i32 0x8\n  %6 = load i64 mem=param,8,readonly %5\n"
        "  %7 = constant i32 0x2\n  %8 = constant i64 0x100000000\n";
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned at = 10 + 10 * i;
      text += fmt::format(
          "  %{0} = constant i32 {5:#x}\n  %{1} = add i32 %{0} %4\n  %{2} = {7} i64 %{1}\n"
          "  %{3} = add i64 %6 %{2}\n  %{4} = shl i64 %{3} %7\n  %{6} = add i64 %8 %{4}\n"
          "  store mem=global,4 %{6} %{0}\n",
          at, at + 1, at + 2, at + 3, at + 4, 64 * i, at + 5, i < 2 ? "sext" : "zext");
    }
    Structured p(text + "  exit\n");
    EXPECT_TRUE(passes::simplify(p.f, p.m));
    p.expect_valid();
    EXPECT_EQ(p.count(Op::shl), below_1024 ? 1u : 4u) << print(p.f, p.m);
    if (!below_1024) continue;
    Memory memory;
    put(memory, Space::param, 0, 5);
    put(memory, Space::param, 8, 3);
    put(memory, Space::param, 12, 0);
    memory.of(Space::global).resize(1024);
    EXPECT_EQ(p.run(memory).error, "");
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(word(memory, Space::global, (5 + 3 + 64 * i) * 4), 64 * i) << i;
  }
}

// -x + 0 is +0 for both zeros, as it is of the fma.
TEST(Simplify, a_fused_product_with_one_is_a_sum) {
  const struct {
    const char *type, *kind, *one;
    int bytes;
    bool sum, negative;
  } kCases[] = {{"i32", "f32", "0x3f800000", 4, true, false},
                {"i32", "f32", "0xbf800000", 4, true, true},
                {"i64", "f64", "0x3ff0000000000000", 8, false, false}};
  for (const auto& each : kCases)
    for (const char* factors : {"%2 %3", "%3 %2"}) {
      Structured p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %4 = constant i64 0x100000000
  %2 = load {0} mem=param,{4},readonly %1
  %3 = constant {0} {2}
  %5 = ffma {0} fp={1},rn,sat {3} %2
  store mem=global,{4} %4 %5
  exit
)",
                               each.type, each.kind, each.one, factors, each.bytes));
      passes::simplify(p.f, p.m);
      p.expect_valid();
      EXPECT_EQ(p.has(Op::ffma), !each.sum) << print(p.f, p.m);
      EXPECT_EQ(p.has(Op::xor_), each.negative) << print(p.f, p.m);
      const auto sum = std::ranges::find(p.f.insts, Op::fadd, &Inst::op);
      ASSERT_EQ(sum != p.f.insts.end(), each.sum) << print(p.f, p.m);
      if (each.sum) {
        EXPECT_TRUE(sum->fp.sat && !sum->fp.contract);
      }
    }
}

// A number, the same for all threads if it is a parameter, doubled where it is 7; `inside` is
// carried out on the way.
std::string diamond(const std::string& inside, bool parameter = true) {
  return R"(
b0:
  %1 = constant i32 0x0
  %3 = constant i64 0x100000000
  %2 = load i32 )" +
         std::string(parameter ? "mem=param,4,readonly %1" : "mem=global,4 %3") + R"(
  %7 = constant i32 0x7
  %4 = eq i1 %2 %7
  merge b2
  cond_br %4 b1 b2
b1:
  %5 = add i32 %2 %2
)" + inside +
         R"(  br b2
b2:
  %6 = phi i32 %2 %5
  store mem=global,4 %3 %6
  exit
)";
}

TEST(IfConvert, a_branch_around_arithmetic_becomes_a_select) {
  Structured p(diamond(""));
  EXPECT_TRUE(passes::if_convert(p.f, false));
  p.expect_valid();
  EXPECT_EQ(p.ends(Term::cond_br), 0u);
  EXPECT_TRUE(p.has(Op::select));
  for (const std::uint32_t param : {3u, 7u}) {
    Memory memory;
    put(memory, Space::param, 0, param);
    memory.of(Space::global).resize(4);
    EXPECT_EQ(p.run(memory).error, "");
    EXPECT_EQ(word(memory, Space::global, 0), param == 7 ? 14 : param);
  }
}

TEST(IfConvert, a_store_keeps_its_branch) {
  Structured p(diamond("  store mem=global,4 %3 %5\n"));
  passes::if_convert(p.f, false);
  p.expect_valid();
  EXPECT_EQ(p.ends(Term::cond_br), 1u);
}

// Where a thread would not have made it, the load names no texel. Threads that all go one way keep
// their branch.
TEST(IfConvert, a_load_from_a_robust_image_needs_no_branch_that_parts_threads) {
  const std::string load =
      "  %8 = compose v4 %2 %2 %1 %1\n"
      "  %9 = image_load v4 %8\n";
  for (const bool robust : {false, true}) {
    Structured kept(diamond(load, robust));
    passes::if_convert(kept.f, robust);
    EXPECT_EQ(kept.ends(Term::cond_br), 1u);
  }
  Structured p(diamond(load, false));
  EXPECT_TRUE(passes::if_convert(p.f, true));
  p.expect_valid();
  EXPECT_EQ(p.ends(Term::cond_br), 0u);
  const auto moved = [&](Value v, BlockId) {
    if (p.f.insts[v].op != Op::image_load) return false;
    const Value x = p.f.arg(p.f.arg(v, 0), 0);
    return p.f.insts[x].op == Op::select && p.f.arg(x, 0) == 4 && p.f.arg(x, 1) == 2 &&
           p.f.insts[p.f.arg(x, 2)].imm == 0xffffffffu;
  };
  EXPECT_EQ(p.count(moved), 1u) << print(p.f, p.m);
}

std::string counted(const std::string& limit) {
  return R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x1
  %3 = constant i32 )" +
         limit + R"(
  %4 = constant i64 0x100000000
  br b1
b1:
  %10 = phi i32 %1 %11
  loop b5 b4
  br b2
b2:
  %11 = add i32 %10 %2
  store mem=global,4 %4 %11
  %14 = ult i1 %11 %3
  merge b3
  cond_br %14 b3 b5
b3:
  br b4
b4:
  br b1
b5:
  exit
)";
}

TEST(DeleteSingleTripLoops, a_loop_of_one_iteration_becomes_a_line) {
  Structured p(counted("0x1"));
  Memory memory;
  const auto before = p.run(memory).trace;
  EXPECT_TRUE(passes::delete_single_trip_loops(p.f));
  passes::remove_unreachable(p.f);
  p.expect_valid();
  for (const Block& block : p.f.blocks) EXPECT_NE(block.merge, Merge::loop);
  EXPECT_EQ(p.run(memory).trace, before);
}

TEST(DeleteSingleTripLoops, a_loop_of_two_iterations_stays) {
  Structured p(counted("0x2"));
  EXPECT_FALSE(passes::delete_single_trip_loops(p.f));
}

}  // namespace
}  // namespace ptx2spv
