// Where lanes meet between volatile accesses to shared memory, and which of those places are the
// device's own barriers where subgroups are warps.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/passes/parsed.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

/// A thread's word at %3; some threads alone make the second part.
std::string kernel(const std::string& first, const std::string& second) {
  return R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x2
  %3 = shl i32 %1 %2
  %4 = constant i32 0x0
)" + first +
         R"(
  %5 = and_ i32 %1 %2
  %6 = eq i1 %5 %4
  cond_br %6 b1 b2
b1:
)" + second +
         R"(
  br b2
b2:
  exit
)";
}

const std::string kStore = "  store mem=shared,4,volatile %3 %4\n",
                  kPlain = "  store mem=shared,4 %3 %4\n", kMeet = "  bar_sync %4\n";
std::string load(int value) {
  return "  %" + std::to_string(value) + " = load i32 mem=shared,4,volatile %3\n";
}

std::size_t count(const Function& f, Op op) {
  std::size_t found = 0;
  for (const Block& block : f.blocks)
    found += static_cast<std::size_t>(
        std::ranges::count_if(block.insts, [&](Value v) { return f.insts[v].op == op; }));
  return found;
}

struct Case {
  std::string first, second;
  std::size_t all, some;  ///< places where all lanes of a warp meet, where some do
};

TEST(OrderWarpAccesses, LanesMeetBetweenAccessesOfWhichOneStores) {
  const Case cases[] = {
      {kStore + load(10), "", 1, 0},
      {load(10) + load(11), "", 0, 0},
      {load(10) + load(11) + kStore + load(12), "", 2, 0},
      {kStore + kStore, "", 1, 0},
      {kStore + kMeet + load(10) + kMeet + kStore, "", 0, 0},
      {kPlain + load(10), "", 0, 0},
      {kStore, load(10), 0, 1},
      {kStore + kMeet, load(10) + kStore, 0, 1},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.first + each.second);
    test::Parsed p(kernel(each.first, each.second), test::Form::variables);
    passes::order_warp_accesses(p.f, p.m);
    p.expect_valid();
    EXPECT_EQ(count(p.f, Op::warp_sync), each.all);
    EXPECT_EQ(count(p.f, Op::warp_active), each.some);
    // Lanes may miss those, so that the device's warps can be used all the same.
    EXPECT_TRUE(passes::divergent_warp_operations(p.f, p.m).empty());
    passes::native_warps(p.f, true, false);
    p.expect_valid();
    EXPECT_EQ(count(p.f, Op::subgroup_barrier), each.all);
    EXPECT_EQ(count(p.f, Op::memory_barrier), each.some);
  }
}

TEST(OrderWarpAccesses, AreMetAgainInLoops) {
  const std::string text = R"(
b0:
  %1 = builtin i32 local_id_x
  %4 = constant i32 0x0
  br b1
b1:
  %2 = load i32 mem=shared,4,volatile %1
  store mem=shared,4,volatile %1 %4
  %3 = eq i1 %2 %4
  cond_br %3 b1 b2
b2:
  exit
)";
  test::Parsed p(text, test::Form::variables);
  passes::order_warp_accesses(p.f, p.m);
  EXPECT_EQ(count(p.f, Op::warp_active), 2u) << "before the store, and before the next load";
}

}  // namespace
