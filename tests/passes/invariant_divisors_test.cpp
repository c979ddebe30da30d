// Divisions in loops by what the loop does not change.
#include <fmt/format.h>

#include <random>

#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

/// An inner loop of three turns within an outer one of two, which changes the divisor if it is
/// `%31`. The dividend grows by a parameter. Every turn stores all four results.
std::string divisions(const char* divisor) {
  return "b0:\n" + constants(1, {0, 1, 2, 3, 4, 8, 12, 16}) +
         fmt::format(R"(
  %9 = load i32 mem=param,4,readonly %1
  %10 = load i32 mem=param,4,readonly %5
  %11 = load i32 mem=param,4,readonly %6
  br b1
b1:
  %30 = phi i32 %1 %60
  %31 = phi i32 %10 %61
  %32 = phi i32 %9 %40
  %33 = phi i32 %1 %41
  %34 = ult i1 %30 %3
  loop b7 b6
  cond_br %34 b2 b7
b2:
  %39 = phi i32 %1 %50
  %40 = phi i32 %32 %51
  %41 = phi i32 %33 %52
  %42 = ult i1 %39 %4
  loop b5 b4
  cond_br %42 b3 b5
b3:
  %43 = udiv i32 %40 {0}
  store mem=slot,4 %41 %43
  %44 = urem i32 %40 {0}
  %45 = add i32 %41 %5
  store mem=slot,4 %45 %44
  %46 = sdiv i32 %40 {0}
  %47 = add i32 %41 %6
  store mem=slot,4 %47 %46
  %48 = srem i32 %40 {0}
  %49 = add i32 %41 %7
  store mem=slot,4 %49 %48
  br b4
b4:
  %50 = add i32 %39 %2
  %51 = add i32 %40 %11
  %52 = add i32 %41 %8
  br b2
b5:
  br b6
b6:
  %60 = add i32 %30 %2
  %61 = add i32 %31 %11
  br b1
b7:
  exit
)",
                     divisor);
}

TEST(InvariantDivisors, quotients_and_remainders_stay_and_no_division_is_left_in_the_loop) {
  std::mt19937 random(3);
  std::vector<std::uint32_t> numbers = {0,          1,          2,          3,          7,
                                        0xffff,     0x10000,    0x7fffffff, 0x80000000, 0x80000001,
                                        0xfffffffe, 0xffffffff, 0xaaaaaaab};
  for (int i = 0; i < 12; ++i)
    numbers.push_back(static_cast<std::uint32_t>(random()) >> random() % 32);
  for (const char* divisor : {"%10", "%31"}) {
    Parsed p(divisions(divisor), Form::structured);
    Parsed as_it_was = p;
    EXPECT_TRUE(passes::invariant_divisors(p.f));
    p.expect_valid();
    // One by the divisor and one by its magnitude, in front of the outermost loop that keeps it.
    const BlockId before = divisor[1] == '1' ? 0 : 1;
    EXPECT_EQ(p.count([&](Value v, BlockId b) {
      return b == before && is_within(p.f.insts[v].op, Op::udiv, Op::srem);
    }),
              2u)
        << print(p.f, p.m);
    EXPECT_EQ(
        p.count([&](Value v, BlockId) { return is_within(p.f.insts[v].op, Op::udiv, Op::srem); }),
        2u)
        << print(p.f, p.m);
    for (const std::uint32_t n : numbers)
      for (const std::uint32_t d : numbers)
        for (const std::uint32_t step : {1u, 0u - d, 0x9e3779b9u}) {
          Memory made, wanted;
          for (Memory* each : {&made, &wanted}) {
            put(*each, Space::param, 0, n);
            put(*each, Space::param, 4, d);
            put(*each, Space::param, 8, step);
            each->of(Space::slot).resize(96);
          }
          ASSERT_EQ(p.run(made).error, "");
          ASSERT_EQ(as_it_was.run(wanted).error, "");
          for (unsigned k = 0; k < 96; k += 4)
            ASSERT_EQ(word(made, Space::slot, k), word(wanted, Space::slot, k))
                << n << " by " << d << " and steps of " << step << " at " << k;
        }
  }
}

TEST(InvariantDivisors, constants_and_what_the_loop_changes_stay) {
  for (const char* divisor : {"%4", "%40"}) {
    Parsed p(divisions(divisor), Form::structured);
    EXPECT_FALSE(passes::invariant_divisors(p.f));
    EXPECT_EQ(p.count(Op::mulhi_u), 0u);
  }
}

}  // namespace
}  // namespace ptx2spv
