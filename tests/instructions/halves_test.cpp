// Arithmetic of halves, alone and in pairs, against integers (tests/support/halves.hpp): sums that
// are ties in single precision but not in truth, every addend to a product, every half.
#include "tests/support/halves.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/instructions/words.hpp"

namespace ptx2spv::tests {
namespace {

using test::half_add, test::half_fma, test::half_mul, test::of_both_halves;

std::uint32_t negative(std::uint32_t a) { return a ^ 0x8000; }
std::uint32_t limited(std::uint32_t a) {  // .sat
  return a > 0x7c00 ? 0 : a > 0x3c00 ? 0x3c00 : a;
}
std::uint32_t positive(std::uint32_t a) {  // .relu
  return test::half_is_nan(a) ? 0x7fff : a & 0x8000 ? 0 : a;
}

constexpr const char* kOperations = R"(
ld.global.u32 %t1, [%in];
ld.global.u32 %t2, [%in+4];
ld.global.u32 %t3, [%in+8];
fma.rn.f16x2 %t4, %t1, %t2, %t3;
st.global.u32 [%out], %t4;
add.rn.f16x2 %t5, %t1, %t3;
st.global.u32 [%out+4], %t5;
sub.rn.f16x2 %t5, %t3, %t2;
st.global.u32 [%out+8], %t5;
mul.rn.f16x2 %t5, %t1, %t2;
st.global.u32 [%out+12], %t5;
fma.rn.sat.f16x2 %t5, %t1, %t2, %t3;
st.global.u32 [%out+16], %t5;
fma.rn.relu.f16x2 %t5, %t1, %t2, %t3;
st.global.u32 [%out+20], %t5;
mul.rn.f16x2 %t5, %t4, %t3;
add.rn.f16x2 %t5, %t5, %t4;
fma.rn.f16x2 %t5, %t5, %t4, %t4;
st.global.u32 [%out+24], %t5;
mov.b32 {%h0, %h1}, %t1;
mov.b32 {%h2, %h3}, %t3;
fma.rn.f16 %h4, %h0, %h1, %h2;
add.rn.f16 %h5, %h4, %h3;
mov.b32 %t5, {%h4, %h5};
st.global.u32 [%out+28], %t5;
min.f16x2 %t5, %t1, %t3;
st.global.u32 [%out+32], %t5;
max.f16x2 %t5, %t1, %t3;
st.global.u32 [%out+36], %t5;
min.NaN.f16x2 %t5, %t1, %t3;
st.global.u32 [%out+40], %t5;
max.NaN.f16x2 %t5, %t1, %t3;
st.global.u32 [%out+44], %t5;)";
constexpr unsigned kResults = 12;

void expect_arithmetic(const Words& in) {
  const auto threads = static_cast<unsigned>(in.size() / 3);
  const Words out = run_words(kOperations, threads, in, kResults);
  ASSERT_EQ(out.size(), std::size_t{threads} * kResults);
  const auto fma = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return of_both_halves(half_fma, a, b, c);
  };
  for (unsigned i = 0; i < threads; ++i) {
    const std::uint32_t a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    const std::uint32_t r = fma(a, b, c), alone = half_fma(a & 0xffff, a >> 16, c & 0xffff);
    const auto least = [](auto x, auto y) { return test::half_extreme(true, x, y); };
    const auto greatest = [](auto x, auto y) { return test::half_extreme(false, x, y); };
    const auto or_nan = [](auto x, auto y, auto chosen) {
      return test::half_is_nan(x) || test::half_is_nan(y) ? 0x7fff : chosen;
    };
    const std::uint32_t want[kResults] = {
        r,
        of_both_halves(half_add, a, c),
        of_both_halves([](auto x, auto y) { return half_add(x, negative(y)); }, c, b),
        of_both_halves(half_mul, a, b),
        of_both_halves(limited, r),
        of_both_halves(positive, r),
        fma(of_both_halves(half_add, of_both_halves(half_mul, r, c), r), r, r),
        alone | half_add(alone, c >> 16) << 16,
        of_both_halves(least, a, c),
        of_both_halves(greatest, a, c),
        of_both_halves(or_nan, a, c, of_both_halves(least, a, c)),
        of_both_halves(or_nan, a, c, of_both_halves(greatest, a, c))};
    for (unsigned k = 0; k < kResults; ++k)
      ASSERT_EQ(out[kResults * i + k], want[k])
          << std::hex << "result " << k << " of " << a << " " << b << " " << c;
  }
}

TEST(Halves, AnyNumbersAndThoseOfNearlyTheSameSize) {
  std::mt19937 random(41);
  Words in;
  for (unsigned i = 0; i < 3 * 8192; ++i) {
    std::uint32_t word = static_cast<std::uint32_t>(random());
    const auto sizes = [&](std::uint32_t least, std::uint32_t count) {
      word &= 0x83ff83ff;
      for (const unsigned shift : {10u, 26u})
        word |= (least + static_cast<std::uint32_t>(random()) % count) << shift;
    };
    switch (i / 3 % 4) {
      case 0: break;
      case 1: sizes(0, 2); break;
      case 2: sizes(13, 4); break;
      default: sizes(0, 20); break;
    }
    in.push_back(word);
  }
  expect_arithmetic(in);
}

TEST(Halves, EverySpecialNumberWithEveryOther) {
  constexpr std::uint32_t kNumbers[] = {0x0000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x3c01, 0x3bff,
                                        0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff, 0x5bff, 0x1400};
  Words in;
  for (const std::uint32_t a : kNumbers)
    for (const std::uint32_t b : kNumbers)
      for (const std::uint32_t c : kNumbers)
        for (std::uint32_t signs = 0; signs < 8; ++signs)
          in.insert(in.end(), {(a | (signs & 1) << 15) | b << 16, (b | (signs & 2) << 14) | a << 16,
                               (c | (signs & 4) << 13) | (c ^ 0x8000) << 16});
  in.resize(in.size() / 192 * 192);
  expect_arithmetic(in);
}

// (1 + x) (1 - x) beside a number half of whose last place is 1, and other products that single
// precision does not tell from a tie.
TEST(Halves, SumsThatAreNearlyTies) {
  std::mt19937 random(42);
  Words in;
  for (unsigned i = 0; i < 16384; ++i) {
    const auto x = static_cast<std::uint32_t>(random());
    const std::uint32_t p = 13 + x % 4, q = 9 + (x >> 4) % 6, small = 1 + (x >> 8) % 3;
    const std::uint32_t sum = (p + q - 4) << 10 | (x >> 12 & 0x3ff);
    const std::uint32_t a = p << 10 | small, b = (q << 10) - 2 * small;
    in.push_back((a | b << 16) ^ (static_cast<std::uint32_t>(random()) & 0x80008000));
    in.push_back((b | a << 16) ^ (static_cast<std::uint32_t>(random()) & 0x80008000));
    in.push_back((sum | (sum ^ 1) << 16) ^ (static_cast<std::uint32_t>(random()) & 0x80008000));
  }
  expect_arithmetic(in);
}

TEST(Halves, EveryAddendToAProduct) {
  std::mt19937 random(43);
  for (unsigned round = 0; round < 4; ++round) {
    const auto factors = static_cast<std::uint32_t>(random());
    const std::uint32_t a = (factors & 0x83ff83ff) | (9 + round) << 10 | (18 + round) << 26;
    const std::uint32_t b =
        (static_cast<std::uint32_t>(random()) & 0x83ff83ff) | (8 + round) << 10 | 14u << 26;
    Words in;
    for (std::uint32_t c = 0; c < 0x10000; c += 2) in.insert(in.end(), {a, b, c | (c + 1) << 16});
    expect_arithmetic(in);
  }
}

TEST(Halves, EveryHalfAsAFloatAndItsNeighboursAsHalves) {
  Words in;
  for (std::uint32_t i = 0; i < 0x10000; ++i) in.push_back(i);
  const Words out = run_words(R"(
ld.global.u32 %t1, [%in];
cvt.u16.u32 %h0, %t1;
cvt.f32.f16 %f0, %h0;
st.global.f32 [%out], %f0;
mov.b32 %t2, %f0;
shl.b32 %t3, %t1, 13;
and.b32 %t3, %t3, 0xffff000;
add.u32 %t4, %t3, 0x36fff7ff;
mov.b32 %f1, %t4;
cvt.rn.f16.f32 %h1, %f1;
add.u32 %t4, %t3, 0x36fff800;
mov.b32 %f1, %t4;
cvt.rn.f16.f32 %h2, %f1;
mov.b32 %t5, {%h1, %h2};
st.global.u32 [%out+4], %t5;
add.u32 %t4, %t3, 0x36fff801;
mov.b32 %f1, %t4;
neg.f32 %f1, %f1;
cvt.rn.f16.f32 %h1, %f1;
cvt.rn.f16.f32 %h2, %f0;
mov.b32 %t5, {%h1, %h2};
st.global.u32 [%out+8], %t5;
mov.b32 {%h3, %h4}, %t5;
setp.lt.f16 %p0, %h0, %h3;
selp.u32 %t6, 1, 0, %p0;
setp.equ.f16 %p1, %h0, %h1;
selp.u32 %t7, 2, 0, %p1;
or.b32 %t6, %t6, %t7;
st.global.u32 [%out+12], %t6;)",
                              0x10000, in, 4);
  ASSERT_EQ(out.size(), 4 * in.size());
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const std::uint32_t near = (i << 13 & 0xffff000) + 0x36fff800;
    const std::uint32_t below = test::half_of_single(near - 1), at = test::half_of_single(near),
                        above = test::half_of_single((near + 1) ^ 0x80000000),
                        same = test::half_is_nan(i) ? 0x7fff : i;
    EXPECT_EQ(out[4 * i], test::single_of_half(i)) << std::hex << i;
    EXPECT_EQ(out[4 * i + 1], below | at << 16) << std::hex << i;
    EXPECT_EQ(out[4 * i + 2], above | same << 16) << std::hex << i;
    const float x = std::bit_cast<float>(test::single_of_half(i)),
                y = std::bit_cast<float>(test::single_of_half(above));
    const std::uint32_t order = (x < y ? 1u : 0u) | (!(x < y || y < x) ? 2u : 0u);
    EXPECT_EQ(out[4 * i + 3], order) << std::hex << i;
  }
}

}  // namespace
}  // namespace ptx2spv::tests
