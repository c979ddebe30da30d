#include "translator/passes/analysis/uniformity.hpp"

#include <gtest/gtest.h>

#include "tests/passes/parsed.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

bool diverges(std::string_view text) {
  test::Parsed p(text, test::Form::variables);
  return passes::barriers_diverge(p.f, p.m);
}

TEST(Uniformity, straight_line_barrier_converges) {
  EXPECT_FALSE(diverges("b0:\n control_barrier\n exit\n"));
}

TEST(Uniformity, barrier_under_a_thread_number_diverges) {
  EXPECT_TRUE(diverges(R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x10
  %3 = ult i1 %1 %2
  cond_br %3 b1 b2
b1:
  control_barrier
  br b2
b2:
  exit
)"));
}

TEST(Uniformity, barrier_under_a_parameter_converges) {
  EXPECT_FALSE(diverges(R"(
b0:
  %2 = constant i32 0x10
  %1 = load i32 mem=param,4 %2
  %3 = ult i1 %1 %2
  cond_br %3 b1 b2
b1:
  control_barrier
  br b2
b2:
  exit
)"));
}

TEST(Uniformity, barrier_behind_a_divergent_if_converges) {
  EXPECT_FALSE(diverges(R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x10
  %3 = ult i1 %1 %2
  cond_br %3 b1 b2
b1:
  store mem=slot,4 %1 %2
  br b2
b2:
  control_barrier
  exit
)"));
}

TEST(Uniformity, early_exit_before_a_barrier_diverges) {
  EXPECT_TRUE(diverges(R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x10
  %3 = ult i1 %1 %2
  cond_br %3 b1 b2
b1:
  exit
b2:
  control_barrier
  exit
)"));
}

constexpr std::string_view kLoop = R"(
  var $0 i32 i
b0:
  %1 = constant i32 0x0
  set_var $0 %1
  br b1
b1:
  control_barrier
  %2 = get_var i32 $0
  %3 = constant i32 0x1
  %4 = add i32 %2 %3
  set_var $0 %4
  BOUND
  %6 = ult i1 %4 %5
  cond_br %6 b1 b2
b2:
  exit
)";

TEST(Uniformity, loop_with_a_uniform_bound_converges) {
  std::string text(kLoop);
  text.replace(text.find("BOUND"), 5, "%5 = load i32 mem=param,4 %1");
  EXPECT_FALSE(diverges(text));
}

TEST(Uniformity, loop_with_a_divergent_bound_diverges) {
  std::string text(kLoop);
  text.replace(text.find("BOUND"), 5, "%5 = builtin i32 local_id_x");
  EXPECT_TRUE(diverges(text));
}

TEST(Uniformity, value_of_an_unevenly_left_loop_differs_outside) {
  EXPECT_TRUE(diverges(R"(
  var $0 i32 i
b0:
  %1 = constant i32 0x0
  set_var $0 %1
  br b1
b1:
  %2 = get_var i32 $0
  %3 = constant i32 0x1
  %4 = add i32 %2 %3
  set_var $0 %4
  %5 = builtin i32 local_id_x
  %6 = ult i1 %4 %5
  cond_br %6 b1 b2
b2:
  %7 = get_var i32 $0
  %8 = constant i32 0x3
  %9 = ult i1 %7 %8
  cond_br %9 b3 b4
b3:
  control_barrier
  br b4
b4:
  exit
)"));
}

}  // namespace
