// Instructions that no record of hardware holds, on the device, against what is worked out for
// each.
#include <gtest/gtest.h>

#include "tests/instructions/derived.hpp"

namespace ptx2spv::tests {

void PrintTo(const Derived& row, std::ostream* out);
void PrintTo(const Derived& row, std::ostream* out) { *out << row.name; }

namespace {

class DerivedInstructions : public testing::TestWithParam<Derived> {};

TEST_P(DerivedInstructions, GiveWhatTheManualSays) {
  const Derived& row = GetParam();
  const Words out = run_words(row.kernel, row.in);
  ASSERT_EQ(out.size(), std::size_t{row.kernel.threads} * row.kernel.results);
  EXPECT_EQ(row.check(row.in, out), "") << row.kernel.text;
}

INSTANTIATE_TEST_SUITE_P(Rows, DerivedInstructions, testing::ValuesIn(derived_rows()),
                         [](const testing::TestParamInfo<Derived>& each) {
                           return each.param.name;
                         });

}  // namespace
}  // namespace ptx2spv::tests
