// Values that are rounded on the way: to fewer bits and back, to integers, to single precision
// between two fused products. Drivers fold such steps where they may (Mesa 24 and later: a double
// that is made a float and a double again) and compile their parts together (LLVM on AVX-512). What
// is right is the CPU's own arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/instructions/words.hpp"

namespace ptx2spv::tests {
namespace {

constexpr unsigned kThreads = 4096;

/// Floats of every size, zeros, infinities, halves of integers; no NaN, whose bits PTX decides.
std::vector<std::uint32_t> floats(std::size_t count) {
  std::mt19937 random(11);
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t any = random();
    std::uint32_t word = any;
    const auto half = static_cast<float>(static_cast<std::int32_t>(any) >> (any % 24)) * 0.5f;
    if (i % 4 == 0) word = std::bit_cast<std::uint32_t>(half);
    if (i % 4 == 1) word = (any & 0x83ffffff) + 0x3c000000;  // 2^-7 to 2
    if (i % 64 == 2) word = (any & 0x80000000) | (any & 1 ? 0x7f800000 : 0);
    if ((word & 0x7fffffff) > 0x7f800000) word &= 0xbfffffff;
    words[i] = word;
  }
  return words;
}

float as_float(std::uint32_t word) { return std::bit_cast<float>(word); }
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
double as_double(const std::uint32_t* words) {
  double value = 0;
  std::memcpy(&value, words, 8);
  return value;
}

TEST(RoundedTwice, FusedProductsInARow) {
  const auto in = floats(kThreads);
  const auto out = run_words(R"(
cvt.rn.f32.u32 %f0, %t0;
fma.rn.f32 %f1, %f0, 0f3E9F3B64, 0f3C8DB8BB;
fma.rn.f32 %f2, %f1, 0f3F99999A, 0f3DCCCCCD;
ld.global.f32 %f3, [%in];
fma.rn.f32 %f4, %f3, 0f3E9F3B64, 0f3C8DB8BB;
fma.rn.f32 %f5, %f4, %f4, 0f3DCCCCCD;
st.global.f32 [%out], %f2;
st.global.f32 [%out+4], %f5;)",
                             kThreads, in, 2);
  ASSERT_EQ(out.size(), kThreads * 2u);
  const float a = as_float(0x3e9f3b64), b = as_float(0x3c8db8bb), c = as_float(0x3f99999a),
              d = as_float(0x3dcccccd);
  for (unsigned i = 0; i < kThreads; ++i) {
    const float x = as_float(in[i]), first = std::fma(x, a, b);
    EXPECT_EQ(out[i * 2], bits(std::fma(std::fma(static_cast<float>(i), a, b), c, d))) << i;
    EXPECT_EQ(out[i * 2 + 1], bits(std::fma(first, first, d))) << x;
  }
}

TEST(RoundedTwice, DoublesMadeFloatsAndBack) {
  std::vector<std::uint32_t> in = floats(kThreads * 2);
  for (unsigned i = 0; i < kThreads; ++i) {
    // A float widened, with more bits below: what the narrower format drops is not zero.
    const double wide = as_float(in[i * 2]) * (1 + 0x1p-30 * (in[i * 2 + 1] % 1024));
    std::memcpy(&in[i * 2], &wide, 8);
  }
  const auto out = run_words(R"(
ld.global.f64 %g0, [%in];
cvt.rn.f32.f64 %f0, %g0;
cvt.f64.f32 %g1, %f0;
st.global.f64 [%out], %g1;
add.rn.f64 %g2, %g0, 0d3FF0000000000000;
cvt.rn.f32.f64 %f1, %g2;
cvt.f64.f32 %g2, %f1;
mul.rn.f64 %g2, %g2, 0d3FF8000000000000;
st.global.f64 [%out+8], %g2;)",
                             kThreads, in, 4);
  ASSERT_EQ(out.size(), kThreads * 4u);
  for (unsigned i = 0; i < kThreads; ++i) {
    const double x = as_double(&in[i * 2]);
    EXPECT_EQ(as_double(&out[i * 4]), static_cast<double>(static_cast<float>(x))) << x;
    EXPECT_EQ(as_double(&out[i * 4 + 2]), static_cast<double>(static_cast<float>(x + 1)) * 1.5)
        << x;
  }
}

TEST(RoundedTwice, FloatsMadeHalvesAndBack) {
  // 11 bits of mantissa, within the half format's normal numbers.
  std::vector<std::uint32_t> in = floats(kThreads);
  for (std::uint32_t& word : in) word = (word & 0x83ffffff) + 0x3c000000;
  const auto out = run_words(R"(
ld.global.f32 %f0, [%in];
cvt.rn.f16.f32 %h0, %f0;
cvt.f32.f16 %f1, %h0;
st.global.f32 [%out], %f1;)",
                             kThreads, in, 1);
  ASSERT_EQ(out.size(), kThreads);
  for (unsigned i = 0; i < kThreads; ++i) {
    const std::uint32_t up = in[i] + 0xfff + (in[i] >> 13 & 1);  // to nearest, ties to even
    EXPECT_EQ(out[i], up & ~0x1fffu) << as_float(in[i]);
  }
}

TEST(RoundedTwice, IntegralValues) {
  const auto in = floats(kThreads);
  // A value by itself, and one whose rounding the driver sees beside others of the same operand.
  for (const char* mode : {"rni", "rzi", "rmi", "rpi"}) {
    const std::string text = std::string("ld.global.f32 %f0, [%in];\ncvt.") + mode +
                             ".f32.f32 %f1, %f0;\nst.global.f32 [%out], %f1;";
    const auto out = run_words(text, kThreads, in, 1);
    ASSERT_EQ(out.size(), kThreads);
    for (unsigned i = 0; i < kThreads; ++i) {
      const float x = as_float(in[i]);
      const float right = !std::strcmp(mode, "rni")   ? std::nearbyint(x)
                          : !std::strcmp(mode, "rzi") ? std::trunc(x)
                          : !std::strcmp(mode, "rmi") ? std::floor(x)
                                                      : std::ceil(x);
      EXPECT_EQ(out[i], bits(right)) << mode << " of " << x;
    }
  }
  const auto out = run_words(R"(
ld.global.f32 %f0, [%in];
cvt.rzi.f32.f32 %f1, %f0;
sub.rn.f32 %f2, %f0, %f1;
cvt.rni.f32.f32 %f3, %f0;
cvt.f64.f32 %g0, %f0;
cvt.rmi.f64.f64 %g1, %g0;
cvt.rn.f32.f64 %f4, %g1;
setp.lt.f32 %q, %f0, 0f00000000;
@%q cvt.rpi.f32.f32 %f0, %f0;
st.global.f32 [%out], %f2;
st.global.f32 [%out+4], %f3;
st.global.f32 [%out+8], %f4;
st.global.f32 [%out+12], %f0;)",
                             kThreads, in, 4);
  ASSERT_EQ(out.size(), kThreads * 4u);
  for (unsigned i = 0; i < kThreads; ++i) {
    const float x = as_float(in[i]);
    if (std::isfinite(x)) {
      EXPECT_EQ(out[i * 4], bits(x - std::trunc(x))) << x;
    }
    EXPECT_EQ(out[i * 4 + 1], bits(std::nearbyint(x))) << x;
    EXPECT_EQ(out[i * 4 + 2], bits(std::floor(x))) << x;
    EXPECT_EQ(out[i * 4 + 3], bits(x < 0 ? std::ceil(x) : x)) << x;
  }
}

}  // namespace
}  // namespace ptx2spv::tests
