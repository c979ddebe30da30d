// Random programs through the passes, compared with the interpreter before and after each.
#include <gtest/gtest.h>

#include "tests/passes/random_program.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using namespace ptx2spv::test;

void check(std::mt19937& rng, const ProgramShape& shape, int number) {
  Module m;
  const Function source = random_program(rng, shape);
  ASSERT_EQ(validate(source, m, false, false), "");
  Function f = source;
  const std::uint32_t seeds[] = {static_cast<std::uint32_t>(rng()), static_cast<std::uint32_t>(rng()), 7};
  const auto compare = [&](const Function& before, const char* pass) {
    ASSERT_EQ(validate(f, m, true, true), "") << "program " << number << " after " << pass << "\n" << print(before, m) << print(f, m);
    for (const std::uint32_t seed : seeds) {
      const std::string difference = compare_traces(run_program(source, m, seed, 3000), run_program(f, m, seed, 30000));
      ASSERT_EQ(difference, "") << "program " << number << " after " << pass << "\n" << print(before, m) << print(f, m);
    }
  };
  passes::structurize(f, m);
  passes::ssa(f, m);
  compare(source, "ssa");
  if (::testing::Test::HasFatalFailure()) return;
  Function before = f;
  passes::simplify(f, m);
  compare(before, "simplify");
}

TEST(RandomPrograms, keep_their_trace) {
  std::mt19937 rng(11);
  for (int i = 0; i < 1500; ++i) {
    ProgramShape shape;
    shape.blocks = 1 + static_cast<unsigned>(rng() % 14);
    shape.ops = 1 + static_cast<unsigned>(rng() % 12);
    shape.backward = static_cast<unsigned>(rng() % 40);
    check(rng, shape, i);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
