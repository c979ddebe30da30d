// Each rule of the validator, broken once.
#include <gtest/gtest.h>

#include "tests/support/parse.hpp"

namespace {

using namespace ptx2spv::ir;

std::string wrong(std::string_view text, bool ssa, bool structured) {
  Function f;
  Module m;
  const std::string bad = parse(text, f, m);
  return bad.empty() ? validate(f, m, ssa, structured) : bad;
}

TEST(Validate, accepts_a_structured_loop) {
  EXPECT_EQ(wrong(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4 %1
  br b1
b1:
  %3 = phi i32 %1 %5
  loop b5 b4
  br b2
b2:
  %4 = ult i1 %3 %2
  merge b3
  cond_br %4 b3 b5
b3:
  br b4
b4:
  %6 = constant i32 0x1
  %5 = add i32 %3 %6
  br b1
b5:
  exit
)",
                  true, true),
            "");
}

TEST(Validate, block_without_terminator) { EXPECT_NE(wrong("b0:\n none\n", false, false), ""); }
TEST(Validate, branch_to_the_entry) { EXPECT_NE(wrong("b0:\n br b0\n", false, false), ""); }
TEST(Validate, operand_types) {
  EXPECT_NE(
      wrong("b0:\n %1 = constant i32 0x0\n %2 = constant i64 0x0\n %3 = add i32 %1 %2\n exit\n",
            false, false),
      "");
}
TEST(Validate, use_before_definition) {
  EXPECT_NE(wrong("b0:\n %2 = neg i32 %1\n %1 = constant i32 0x0\n exit\n", false, false), "");
}
TEST(Validate, use_that_is_not_dominated) {
  EXPECT_NE(wrong(R"(
b0:
  %1 = constant i1 0x1
  cond_br %1 b1 b2
b1:
  %2 = constant i32 0x1
  br b2
b2:
  %3 = neg i32 %2
  exit
)",
                  false, false),
            "");
}
TEST(Validate, phi_operand_count) {
  EXPECT_NE(
      wrong("b0:\n %1 = constant i32 0x0\n br b1\nb1:\n %2 = phi i32 %1 %1\n exit\n", true, false),
      "");
}
TEST(Validate, variables_after_ssa) {
  EXPECT_NE(wrong("var $0 i32 x\nb0:\n %1 = get_var i32 $0\n exit\n", true, false), "");
}
TEST(Validate, conditional_branch_without_a_merge) {
  EXPECT_NE(
      wrong("b0:\n %1 = constant i1 0x1\n cond_br %1 b1 b2\nb1:\n br b2\nb2:\n exit\n", true, true),
      "");
}
TEST(Validate, merge_block_shared_by_two_headers) {
  EXPECT_NE(wrong(R"(
b0:
  %1 = constant i1 0x1
  merge b3
  cond_br %1 b1 b3
b1:
  merge b3
  cond_br %1 b2 b3
b2:
  br b3
b3:
  exit
)",
                  true, true),
            "");
}
TEST(Validate, branch_into_a_construct) {
  EXPECT_NE(wrong(R"(
b0:
  %1 = constant i1 0x1
  merge b5
  cond_br %1 b1 b3
b1:
  merge b4
  cond_br %1 b2 b4
b2:
  br b4
b3:
  br b2
b4:
  br b5
b5:
  exit
)",
                  true, true),
            "");
}
TEST(Validate, branch_out_of_two_selections) {
  EXPECT_NE(wrong(R"(
b0:
  %1 = constant i1 0x1
  merge b4
  cond_br %1 b1 b4
b1:
  merge b3
  cond_br %1 b2 b3
b2:
  br b4
b3:
  br b4
b4:
  exit
)",
                  true, true),
            "");
}
TEST(Validate, back_edge_without_a_loop) {
  EXPECT_NE(wrong("b0:\n br b1\nb1:\n br b2\nb2:\n br b1\n", true, true), "");
}
TEST(Validate, barrier_in_a_continue_construct) {
  EXPECT_NE(wrong(R"(
b0:
  %1 = constant i1 0x1
  br b1
b1:
  loop b4 b3
  br b2
b2:
  merge b5
  cond_br %1 b5 b4
b5:
  br b3
b3:
  control_barrier
  br b1
b4:
  exit
)",
                  true, true),
            "");
}
TEST(Validate, order_with_a_block_before_its_dominator) {
  EXPECT_NE(wrong("b0:\n br b1\nb2:\n exit\nb1:\n br b2\n", true, true), "");
}

}  // namespace
