// Loops in sequence that make no access to memory get one, where they are many.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

#include "ptx2spv/abi.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

/// Loops in sequence of four iterations each, whose numbers are added up and stored at the end. The
/// body has `more` before its sum, with %N for a value of its own.
std::string loops(unsigned count, const char* more = "") {
  std::string text =
      "b0:\n  %1 = constant i32 0x0\n  %2 = constant i32 0x1\n  %3 = constant i32 0x4\n  br b1\n";
  unsigned value = 4;
  std::string sum = "%1";
  for (unsigned i = 0; i < count; ++i) {
    const unsigned header = 4 * i + 1, n = value;
    value += 6;
    std::string body = more;
    if (const auto at = body.find("%N"); at != std::string::npos)
      body.replace(at, 2, fmt::format("%{}", n + 5));
    text += fmt::format(
        "b{0}:\n  %{4} = phi i32 %1 %{6}\n  %{5} = phi i32 {9} %{7}\n  %{8} = ult i1 %{4} %3\n"
        "  loop b{3} b{2}\n  cond_br %{8} b{1} b{3}\n"
        "b{1}:\n{10}  %{7} = add i32 %{5} %{4}\n  br b{2}\n"
        "b{2}:\n  %{6} = add i32 %{4} %2\n  br b{0}\nb{3}:\n",
        header, header + 1, header + 2, header + 3, n, n + 1, n + 2, n + 3, n + 4, sum, body);
    sum = fmt::format("%{}", n + 1);
    if (i + 1 < count) text += fmt::format("  br b{}\n", header + 4);
  }
  return text + fmt::format("  store mem=shared,4 %1 {}\n  exit\n", sum);
}

std::size_t added(test::Parsed& made) {
  return made.count([&](Value v, BlockId) {
    const Inst& inst = made.f.insts[v];
    return inst.op == Op::store && inst.mem.space == Space::trap && inst.mem.is_volatile;
  });
}

TEST(LimitStrengthReduction, each_of_many_loops_without_an_access_gets_one) {
  test::Parsed made(loops(13), test::Form::structured);
  EXPECT_TRUE(passes::limit_strength_reduction(made.f));
  EXPECT_EQ(added(made), 13u);
  made.expect_valid();
}

TEST(LimitStrengthReduction, few_loops_are_left_alone) {
  test::Parsed made(loops(12), test::Form::structured);
  EXPECT_FALSE(passes::limit_strength_reduction(made.f));
  EXPECT_EQ(added(made), 0u);
}

TEST(LimitStrengthReduction, an_access_of_the_loop_itself_is_enough) {
  test::Parsed shared(loops(40, "  %N = load i32 mem=shared,4 %1\n"), test::Form::structured);
  EXPECT_FALSE(passes::limit_strength_reduction(shared.f));
  // The driver keeps these in registers.
  for (const char* space : {"push", "local"}) {
    const std::string load = fmt::format("  %N = load i32 mem={},4 %1\n", space);
    test::Parsed made(loops(13, load.c_str()), test::Form::structured);
    EXPECT_TRUE(passes::limit_strength_reduction(made.f)) << space;
    EXPECT_EQ(added(made), 13u) << space;
  }
}

TEST(LimitStrengthReduction, results_stay) {
  test::Parsed made(loops(20), test::Form::structured);
  Memory before, after;
  for (Memory* memory : {&before, &after}) {
    memory->of(Space::shared).resize(4);
    memory->of(Space::trap).resize(ptx2spv::abi::kTrapWords * 4);
  }
  const Outcome plain = made.run(before, {});
  EXPECT_TRUE(passes::limit_strength_reduction(made.f));
  const Outcome limited = made.run(after, {});
  EXPECT_EQ(plain.error, "");
  EXPECT_EQ(limited.error, "");
  EXPECT_EQ(before.of(Space::shared), after.of(Space::shared));
  EXPECT_EQ(before.of(Space::shared)[0], 20u * (0 + 1 + 2 + 3));
}

}  // namespace
