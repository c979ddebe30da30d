// The one NaN of NVIDIA's single precision, selected only where bits are looked at.
#include <gtest/gtest.h>

#include <string>

#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

/// Constants 1 to 3 and x * y in %6, with the one NaN in %9.
const std::string kProduct =
    "b0:\n  %1 = constant i32 0x7fffffff\n  %2 = constant i32 0x7f800000\n"
    "  %3 = constant i32 0x80000000\n  %4 = load i32 mem=param,4 %1\n  %5 = load i32 mem=param,4 "
    "%1\n"
    "  %6 = native_fmul i32 %4 %5\n  %7 = and_ i32 %6 %1\n  %8 = ult i1 %2 %7\n"
    "  %9 = select i32 %8 %1 %6\n";

std::size_t selects(const std::string& text, test::Form form = test::Form::ssa) {
  test::Parsed parsed(text, form);
  passes::elide_nan_selects(parsed.f);
  parsed.expect_valid();
  return parsed.count(Op::select);
}

TEST(NanSelects, stay_where_the_bits_are_stored) {
  EXPECT_EQ(selects(kProduct + "  store mem=shared,4 %1 %9\n  exit\n"), 1u);
}

TEST(NanSelects, go_where_another_operation_selects) {
  EXPECT_EQ(selects(kProduct + "  %10 = native_fadd i32 %9 %4\n  %11 = and_ i32 %10 %1\n"
                               "  %12 = ult i1 %2 %11\n  %13 = select i32 %12 %1 %10\n"
                               "  store mem=shared,4 %1 %13\n  exit\n"),
            1u);
}

TEST(NanSelects, go_where_only_comparisons_follow) {
  EXPECT_EQ(
      selects(kProduct + "  %10 = xor_ i32 %9 %3\n  %11 = native_flt i1 %10 %4\n"
                         "  %12 = select i32 %11 %2 %3\n  store mem=shared,4 %1 %12\n  exit\n"),
      1u)
      << "the selection between other numbers is no selection of NaN";
}

TEST(NanSelects, go_where_a_comparison_admits_no_nan) {
  const std::string compared = kProduct + "  %10 = native_flt i1 %9 %4\n";
  EXPECT_EQ(
      selects(compared + "  %11 = select i32 %10 %9 %4\n  store mem=shared,4 %1 %11\n  exit\n"),
      1u);
  EXPECT_EQ(
      selects(compared + "  %11 = select i32 %10 %4 %9\n  store mem=shared,4 %1 %11\n  exit\n"), 2u)
      << "the other way round a NaN is chosen";
}

TEST(NanSelects, go_where_the_root_of_the_number_selects) {
  EXPECT_EQ(selects(kProduct + "  %10 = native_unary i32 imm=32 %9\n  %11 = and_ i32 %10 %1\n"
                               "  %12 = ult i1 %2 %11\n  %13 = select i32 %12 %1 %10\n"
                               "  store mem=shared,4 %1 %13\n  exit\n"),
            1u);
}

TEST(NanSelects, stay_where_an_operation_that_does_not_select_hands_the_nan_on) {
  EXPECT_EQ(
      selects(kProduct + "  %10 = native_fadd i32 %9 %4\n  store mem=shared,4 %1 %10\n  exit\n"),
      1u);
}

TEST(NanSelects, stay_where_integers_look) {
  EXPECT_EQ(selects(kProduct + "  %10 = add i32 %9 %4\n  store mem=shared,4 %1 %10\n  exit\n"), 1u);
  EXPECT_EQ(selects(kProduct + "  %10 = xor_ i32 %9 %4\n  store mem=shared,4 %1 %10\n  exit\n"),
            1u);
  EXPECT_EQ(selects(kProduct + "  %10 = and_ i32 %9 %1\n  %11 = ult i1 %4 %10\n"
                               "  %12 = native_fadd i32 %9 %4\n  %13 = select i32 %11 %4 %5\n"
                               "  store mem=shared,4 %1 %13\n  exit\n"),
            2u);
}

// As PTX's neg and abs select it.
TEST(NanSelects, go_where_a_changed_sign_goes_into_ptx_operations) {
  for (const char* sign : {"xor_ i32 %6 %3", "and_ i32 %6 %1"}) {
    const std::string text = kProduct + "  %10 = " + sign + "\n  %11 = select i32 %8 %1 %10\n";
    EXPECT_EQ(selects(text + "  %12 = ffma i32 fp=f32,rn %11 %4 %5\n  store mem=shared,4 %1 %12\n"
                             "  exit\n"),
              0u);
    EXPECT_EQ(selects(text + "  %12 = fcvt i32 fp=f32,to:s32,rzi %11\n"
                             "  store mem=shared,4 %1 %12\n  exit\n"),
              0u);
    EXPECT_EQ(selects(text + "  %12 = fcvt i64 fp=f32,to:f64 %11\n  %13 = trunc i32 %12\n"
                             "  store mem=shared,4 %1 %13\n  exit\n"),
              1u)
        << "a double keeps what the NaN carries";
    EXPECT_EQ(selects(text + "  store mem=shared,4 %1 %11\n  exit\n"), 1u);
    EXPECT_EQ(selects(text + "  %12 = fadd i32 fp=f16,rn %11 %4\n  store mem=shared,4 %1 %12\n"
                             "  exit\n"),
              1u)
        << "bits of a half";
  }
  EXPECT_EQ(selects(kProduct + "  %10 = xor_ i32 %4 %3\n  %11 = select i32 %8 %1 %10\n"
                               "  %12 = fadd i32 fp=f32,rn %11 %4\n  store mem=shared,4 %1 %12\n"
                               "  exit\n"),
            1u)
      << "another number's sign";
}

// Around a loop: the sum is looked at after it alone.
TEST(NanSelects, go_around_a_loop_that_sums) {
  const std::string head =
      "b0:\n  %1 = constant i32 0x7fffffff\n  %2 = constant i32 0x7f800000\n"
      "  %3 = load i32 mem=param,4 %1\n  br b1\n"
      "b1:\n  %4 = phi i32 %3 %8\n  %5 = native_fadd i32 %4 %3\n"
      "  %6 = and_ i32 %5 %1\n  %7 = ult i1 %2 %6\n  %8 = select i32 %7 %1 %5\n"
      "  %9 = native_flt i1 %8 %3\n  cond_br %9 b1 b2\nb2:\n";
  EXPECT_EQ(selects(head + "  exit\n"), 0u);
  EXPECT_EQ(selects(head + "  store mem=shared,4 %1 %8\n  exit\n"), 1u);
}

}  // namespace
