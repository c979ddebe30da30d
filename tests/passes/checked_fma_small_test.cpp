// Fused multiply-adds of small factors, on a device whose fma takes denormals for zeros: where what
// they are added to, and the result, is large beside their products.
#include "tests/passes/checked_fma.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

/// Twelve products of 2^%17, each a factor of four sums, or of `count` in all, and `text`.
std::string weighted(const std::string& text, unsigned count = 48) {
  std::string all = start(8) + text + "  %60 = fex2 i32 fp=f32,approx %17\n";
  for (unsigned i = 0; i < 12; ++i)
    all += fmt::format("  %{0} = constant i32 0x{1:x}\n  %{2} = fmul i32 fp=f32,rn %60 %{0}\n",
                       200 + i, 0x3f800000 + 0x123456 * i, 220 + i);
  for (unsigned i = 0; i < count; ++i)
    all += fmt::format("  %{} = ffma i32 fp=f32,rn %{} %{} %{}\n", 240 + i, 220 + i % 12,
                       i % 2 ? 15 : 16, i ? 239 + i : 1);
  return all + finish({"%50", "%51", fmt::format("%{}", 239 + count)});
}
/// A sum of a product with a denormal, and the square of a distance.
const char* const kSums = R"(  %50 = ffma i32 fp=f32,rn %10 %11 %15
  %43 = fmul i32 fp=f32,rn %12 %12
  %51 = ffma i32 fp=f32,rn %13 %13 %43
)";

// However small a weight is, as long as what is summed is not.
TEST(CheckedFma, sums_that_are_not_small_may_have_small_factors) {
  const Structured before(weighted(kSums));
  Structured after(weighted(kSums)), few(weighted(kSums, 47));
  ASSERT_TRUE(transform(after));
  ASSERT_TRUE(transform(few));
  std::mt19937 rng(5);
  const auto number = [&](int least, int most) {
    const std::uint32_t random = static_cast<std::uint32_t>(rng());
    const int exponent = least + static_cast<int>((random >> 23 & 0xff) % (most - least + 1u));
    return static_cast<std::uint32_t>(exponent + 127) << 23 | (random & 0x7fffff);
  };
  Ways ways, ways_of_few;
  for (unsigned round = 0; round < 1000; ++round) {
    // 2^-45 to 2^-55 are the weights; a factor is a denormal, and the distance may be zero.
    const std::uint32_t words[8] = {number(-127, -127),
                                    number(20, 30),
                                    round % 3 ? number(-9, 0) : 0,
                                    round % 2 ? number(-9, 0) : 0,
                                    0,
                                    number(-8, 0),
                                    number(-8, 0),
                                    std::bit_cast<std::uint32_t>(-45.0f - round % 11)};
    ASSERT_EQ(results(before, words), results(after, words, &ways)) << round;
    ASSERT_EQ(results(few, words, &ways_of_few)[0], results(before, words)[0]);
  }
  EXPECT_EQ(ways.looked_at, 1000u);
  EXPECT_EQ(ways.repeated, 0u);
  EXPECT_EQ(ways_of_few.repeated, 1000u);
}

// At the bounds: results of 2^-70, factors of 2^31 beside denormals, addends that are denormals.
TEST(CheckedFma, bounds_of_results_and_factors_are_where_they_have_to_be) {
  const std::string text = weighted(R"(  %50 = ffma i32 fp=f32,rn %10 %11 %12
  %51 = ffma i32 fp=f32,rn %13 %14 %15
)");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after));
  std::mt19937 rng(5);
  const auto near = [&](int exponent, int spread) {
    const std::uint32_t random = static_cast<std::uint32_t>(rng());
    const std::uint32_t fraction = random & 64 ? random >> 9 : random & 32 ? 0x7fffff : 0;
    const int by = static_cast<int>(random % (2u * spread + 1)) - spread;
    return static_cast<std::uint32_t>(std::clamp(exponent + by + 127, 0, 255)) << 23 |
           (fraction & 0x7fffff) | (random & 128) << 24;
  };
  Ways ways;
  for (unsigned round = 0; round < 20000; ++round) {
    std::uint32_t words[8] = {};
    words[6] = 0x3f800000;
    for (const unsigned i : {0u, 3u}) {
      switch (rng() % 4) {
        case 0:
          words[i] = near(-128, 2), words[i + 1] = near(31, 2), words[i + 2] = near(-70, 2);
          break;
        case 1:
          words[i] = near(-35, 3), words[i + 1] = near(-35, 3), words[i + 2] = near(-126, 2);
          break;
        case 2:
          words[i] = near(-90, 3), words[i + 1] = near(20, 3), words[i + 2] = near(-70, 2);
          break;
        default: words[i] = near(-128, 1), words[i + 1] = near(128, 2), words[i + 2] = near(0, 2);
      }
      if (rng() % 2) std::swap(words[i], words[i + 1]);
    }
    ASSERT_EQ(results(before, words), results(after, words, &ways)) << round;
  }
  EXPECT_GT(ways.looked_at, 1000u);
  EXPECT_GT(ways.repeated, 1000u);
}

}  // namespace
}  // namespace ptx2spv
