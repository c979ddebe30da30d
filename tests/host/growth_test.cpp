// The time that code takes to make.
#include <algorithm>
#include <ctime>

#include "tests/host/kernels.hpp"

namespace ptx2spv::tests {
namespace {

/// Processor time that code for loops over the same values takes to make.
double time_for_loops(int loops) {
  std::string body = ".reg .f32 %g<24>;\nand.b32 %r11, %r11, 3;\n",
              sums = "mov.f32 %f0, 0f00000000;\n";
  for (int i = 0; i < 24; ++i) {
    body += fmt::format("cvt.rn.f32.u32 %g{}, %r1{};\n", i, i % 2);
    sums += fmt::format("add.f32 %f0, %f0, %g{};\n", i);
  }
  for (int i = 0; i < loops; ++i) {
    body += fmt::format("mov.u32 %r13, 0;\nL{}:\n", i);
    for (int j = i; j < i + 6; ++j)
      body +=
          fmt::format("fma.rn.f32 %g{0}, %g{1}, %g{2}, %g{0};\n", j * 5 % 24, j * 7 % 24, j % 24);
    body += fmt::format(
        "setp.gt.f32 %p0, %g{1}, 0f3F800000;\n@%p0 bra M{0};\nadd.u32 %r13, %r13, 1;\n"
        "setp.lt.u32 %p0, %r13, %r11;\n@%p0 bra L{0};\nM{0}:\n",
        i, i % 24);
  }
  const auto kernel = kernel_of(body + sums + "mov.b32 %r10, %f0;");
  const std::clock_t before = std::clock();
  if (kernel) run(*kernel, {32, 1, 1, 1}, Tier::compiled);
  return double(std::clock() - before);
}

// Kernels that draw crawl until their code is made. LLVM's passes for loops would take 14 times.
TEST(Growth, CodeOfManyLoopsIsMadeInTime) {
  if (const std::string problem = InterpretedKernel::no_compiler(); !problem.empty())
    GTEST_SKIP() << problem;
  const double few = std::min(time_for_loops(20), time_for_loops(20));
  EXPECT_LT(time_for_loops(80), 11 * few);
}

}  // namespace
}  // namespace ptx2spv::tests
