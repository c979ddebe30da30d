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

/// A barrier under a condition that a load gives, at one address for all threads. `before` stands
/// in front of the load.
std::string under_a_load(const std::string& space, const std::string& before) {
  return R"(
b0:
  %1 = constant i32 0x8
  %9 = constant i64 0x8
  control_barrier
)" + before +
         "  %2 = load i32 mem=" + space + R"(
  %3 = ult i1 %2 %1
  cond_br %3 b1 b2
b1:
  OPERATION
  br b2
b2:
  exit
)";
}

bool barrier_diverges(std::string text) {
  text.replace(text.find("OPERATION"), 9, "control_barrier");
  return diverges(text);
}
bool warp_diverges(std::string text) {
  text.replace(text.find("OPERATION"), 9, "warp_sync %1");
  test::Parsed p(text, test::Form::variables);
  return !passes::divergent_warp_operations(p.f, p.m).empty();
}

TEST(Uniformity, loads_after_a_barrier_are_the_same_for_all) {
  EXPECT_FALSE(barrier_diverges(under_a_load("shared,4 %1", "")));
  EXPECT_FALSE(barrier_diverges(under_a_load("shared,4 %1", "  store mem=shared,4 %1 %1\n")))
      << "a race";
  EXPECT_TRUE(barrier_diverges(under_a_load("shared,4,volatile %1", "")));
  EXPECT_TRUE(barrier_diverges(under_a_load("slot,4 %1", "")));
  EXPECT_TRUE(barrier_diverges(under_a_load("global,4 %9", "")));
  EXPECT_FALSE(warp_diverges(under_a_load("global,4 %9", "")));
  EXPECT_TRUE(warp_diverges(under_a_load("global,4,volatile %9", "")));
}

TEST(Uniformity, loads_after_what_may_wait_are_not) {
  for (const char* wait :
       {"  %5 = load i32 mem=shared,4,volatile %1\n", "  %5 = load i32 mem=global,4,volatile %9\n",
        "  %6 = constant i32 0xffffffff\n  warp_sync %6\n",
        "  %6 = constant i32 0x40\n  bar_sync %1 %6\n"}) {
    EXPECT_TRUE(barrier_diverges(under_a_load("shared,4 %1", wait))) << wait;
    EXPECT_TRUE(warp_diverges(under_a_load("shared,4 %1", wait))) << wait;
  }
  EXPECT_FALSE(barrier_diverges(under_a_load(
      "shared,4 %1", "  %5 = load i32 mem=shared,4,volatile %1\n  control_barrier\n")));
}

TEST(Uniformity, loads_by_some_threads_are_not) {
  EXPECT_TRUE(diverges(R"(
  var $0 i32 i
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x10
  %3 = ult i1 %1 %2
  set_var $0 %2
  cond_br %3 b1 b2
b1:
  %4 = load i32 mem=shared,4 %2
  set_var $0 %4
  br b2
b2:
  %5 = get_var i32 $0
  %6 = ult i1 %5 %2
  cond_br %6 b3 b4
b3:
  control_barrier
  br b4
b4:
  exit
)"));
}

TEST(Uniformity, reductions_at_barriers_are_the_same_for_all) {
  EXPECT_FALSE(diverges(R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x0
  %3 = bar_sync i32 imm=2 %2 %2 %1
  %4 = ult i1 %3 %2
  cond_br %4 b1 b2
b1:
  control_barrier
  br b2
b2:
  exit
)"));
}

}  // namespace
