// Single precision: every routine against the CPU in every rounding mode.
#include "tests/shaders/reference.hpp"

namespace {

using namespace reference;
using U = std::uint32_t;
using Two = U (*)(U, U);
using One = U (*)(U);
using Three = U (*)(U, U, U);

template <typename Expected>
void check_two(const char* name, const Two (&routines)[4], Expected expected) {
  for (int mode = 0; mode < 4; ++mode) {
    Inputs inputs;
    int failures = 0;
    Rounding rounding(mode);
    for (int i = 0; i < runs() && failures < 5; ++i) {
      const U a = inputs.f32();
      const U b = i & 1 ? inputs.f32() : inputs.f32_near(a, 27);
      const U want = bits(opaque(expected(opaque(f32(a)), opaque(f32(b)))));
      std::fesetround(FE_TONEAREST);
      const U got = on_device(i & 2, [&] { return routines[mode](a, b); });
      std::fesetround(kModes[mode]);
      if (got != want) {
        ++failures;
        ADD_FAILURE() << name << " mode " << mode << std::hex << ": " << a << ", " << b << " gives "
                      << got << ", not " << want;
      }
    }
  }
}

#define FOUR(name) \
  { glsl::name##_rn, glsl::name##_rz, glsl::name##_rm, glsl::name##_rp }

TEST(F32, add) {
  check_two("add", FOUR(f32_add), [](float a, float b) { return a + b; });
}
TEST(F32, mul) {
  check_two("mul", FOUR(f32_mul), [](float a, float b) { return a * b; });
}
TEST(F32, div) {
  check_two("div", FOUR(f32_div), [](float a, float b) { return a / b; });
}

TEST(F32, div_by_the_devices_own) {
  Inputs inputs;
  int failures = 0;
  for (int i = 0; i < runs() && failures < 5; ++i) {
    // Every second pair has a quotient in the neighbourhood of the denormals.
    const U a = inputs.f32();
    const U b = i & 1 ? inputs.f32() : inputs.f32_near((a & 0x7fffffffu) + 0x3f800000u, 27);
    const U want = bits(opaque(opaque(f32(a)) / opaque(f32(b))));
    const U got = on_device(i & 2, [&] { return glsl::f32_div_rn_scaled(a, b); });
    if (got == want) continue;
    ++failures;
    ADD_FAILURE() << std::hex << a << " / " << b << " gives " << got << ", not " << want;
  }
}

TEST(F32, div_by_a_fused_fma) {
  Inputs inputs;
  int failures = 0;
  for (int i = 0; i < runs() && failures < 5; ++i) {
    const U a = i % 64 ? inputs.f32() : i & 64 ? 0x80000000u : 0;
    const U b = i & 1 ? inputs.f32() : inputs.f32_near(a, 27);
    const U want = bits(opaque(opaque(f32(a)) / opaque(f32(b))));
    const U got = on_device(i & 2, [&] { return glsl::f32_div_rn_fused(a, b); });
    if (got == want) continue;
    ++failures;
    ADD_FAILURE() << std::hex << a << " / " << b << " gives " << got << ", not " << want;
  }
}

// From any estimate that is near enough, for the quotients next to ties: of an odd divisor b those
// where m b and a 2^k differ by little, with a tie m of 25 bits.
TEST(F32, div_by_a_fused_fma_from_estimates_next_to_ties) {
  unsigned ties = 0, failures = 0;
  const std::uint32_t step = exhaustive() ? 2 : 166;
  for (std::uint32_t b = 0x800001; b < 0xffff00 && failures < 5; b += step) {
    std::uint64_t inverse = b;  // modulo 2^64, by Newton
    for (int i = 0; i < 6; ++i) inverse *= 2 - b * inverse;
    for (int difference = -3; difference <= 3; ++difference)
      for (int k = 24; k <= 25; ++k) {
        const std::uint64_t unit = std::uint64_t{1} << k,
                            apart = static_cast<std::uint64_t>(difference);
        const std::uint64_t m = ((inverse * apart) & (unit - 1)) | (k == 24 ? unit : 0);
        const std::uint64_t a = (m * b - apart) >> k;
        if (!(m & 1) || m < 0x1000000 || a < 0x800000 || a > 0xffffff) continue;
        ++ties;
        const float x = static_cast<float>(a), y = static_cast<float>(b),
                    want = opaque(x) / opaque(y);
        for (int ulps = -3; ulps <= 3; ++ulps) {
          const float estimate = f32(bits(opaque(1.0f) / y) + static_cast<U>(ulps));
          const float got = glsl::f32_fused_quotient(x, y, estimate);
          failures += got != want;
          EXPECT_EQ(got, want) << x << " / " << y << ", " << ulps << " ulp";
        }
      }
  }
  EXPECT_GT(ties, 50000u);
}

TEST(F32, fma) {
  constexpr Three routines[] = FOUR(f32_fma);
  for (int mode = 0; mode < 4; ++mode) {
    Inputs inputs;
    int failures = 0;
    for (int i = 0; i < runs() && failures < 5; ++i) {
      const U a = inputs.f32();
      const U b = i & 1 ? inputs.f32() : inputs.f32_near(0x7f000000u - (a & 0x7f800000u), 60);
      const U product = bits(f32(a) * f32(b));
      const U c = i & 3 ? inputs.f32_near(product, 50) : inputs.f32();
      const U got = on_device(i & 8, [&] { return routines[mode](a, b, c); });
      Rounding rounding(mode);
      const U want = bits(opaque(std::fma(opaque(f32(a)), opaque(f32(b)), opaque(f32(c)))));
      if (got != want) {
        ++failures;
        ADD_FAILURE() << "fma mode " << mode << std::hex << ": " << a << ", " << b << ", " << c
                      << " gives " << got << ", not " << want;
      }
    }
  }
}

TEST(F32, fma_by_the_devices_own) {
  Inputs inputs;
  int failures = 0;
  for (int i = 0; i < runs() && failures < 5; ++i) {
    const U a = inputs.f32();
    const U b = i & 1 ? inputs.f32() : inputs.f32_near(0x7f000000u - (a & 0x7f800000u), 60);
    // About the least normal number: products of such exponents, and addends as small.
    const U small = i & 2 ? b : inputs.f32_near(0x40000000u - (a & 0x7f800000u) + 0x00800000u, 60);
    const U product = bits(f32(a) * f32(small));
    const U c = i & 4    ? inputs.f32_near(product, 50)
                : i & 16 ? inputs.f32()
                         : inputs.word() & 0x80ffffffu;
    const U got = on_device(i & 8, [&] { return glsl::f32_fma_rn_fused(a, small, c); });
    const U want = bits(opaque(std::fma(opaque(f32(a)), opaque(f32(small)), opaque(f32(c)))));
    if (got == want) continue;
    ++failures;
    ADD_FAILURE() << std::hex << a << ", " << small << ", " << c << " gives " << got << ", not "
                  << want;
  }
}

TEST(F32, fma_of_bounded_operands) {
  // Multiples of 2^-20, 2^-100 and 2^-120, below 2^30, 2^36 and 2^66.
  Inputs inputs;
  const auto draw = [&](int grid, std::uint32_t span) {
    const double integer = inputs.word() >> inputs.word() % 32;
    const int up = static_cast<int>(inputs.word() % span);
    const float scaled = static_cast<float>(std::ldexp(integer, up - grid));
    return bits(inputs.word() & 1 ? -scaled : scaled);
  };
  int failures = 0;
  for (int i = 0; i < runs() && failures < 5; ++i) {
    const U a = draw(20, 18), b = draw(100, 104);
    const U product = bits(f32(a) * f32(b));
    U c = i & 3 ? product ^ 0x80000000u ^ (inputs.word() & 7) : draw(120, 154);
    // A neighbour of a small product need not be such a multiple.
    if (std::abs(f32(c)) < 0x1p-96f) c = draw(120, 24);
    const U want = bits(opaque(std::fma(opaque(f32(a)), opaque(f32(b)), opaque(f32(c)))));
    const U got = on_device(i & 8, [&] { return glsl::f32_fma_rn_bounded(a, b, c); });
    if (got == want) continue;
    ++failures;
    ADD_FAILURE() << std::hex << a << ", " << b << ", " << c << " gives " << got << ", not "
                  << want;
  }
}

/// The first of the routines rounds to nearest; one alone is that.
template <int kCount, typename Expected>
void check_one(const char* name, const One (&routines)[kCount], Expected expected) {
  const std::uint64_t step = exhaustive() ? 1 : 9973;
  for (int mode = 0; mode < kCount; ++mode) {
    Inputs inputs;
    int failures = 0;
    for (std::uint64_t i = 0; i < 1ull << 32 && failures < 5; i += step) {
      const U a = exhaustive() ? static_cast<U>(i) : (i & 1 ? static_cast<U>(i) : inputs.f32());
      const U got = on_device(exhaustive() || i & 4, [&] { return routines[mode](a); });
      Rounding rounding(mode);
      const U want = bits(opaque(expected(opaque(f32(a)))));
      if (got != want) {
        ++failures;
        ADD_FAILURE() << name << " mode " << mode << std::hex << ": " << a << " gives " << got
                      << ", not " << want;
      }
    }
  }
}

TEST(F32, rcp) {
  check_one("rcp", FOUR(f32_rcp), [](float a) { return opaque(1.0f) / a; });
}
TEST(F32, sqrt) {
  check_one("sqrt", FOUR(f32_sqrt), [](float a) { return std::sqrt(a); });
}
TEST(F32, rcp_by_the_devices_own) {
  check_one("rcp", {glsl::f32_rcp_rn_scaled}, [](float a) { return opaque(1.0f) / a; });
}
TEST(F32, sqrt_by_the_devices_own) {
  check_one("sqrt", {glsl::f32_sqrt_rn_scaled}, [](float a) { return std::sqrt(a); });
}
TEST(F32, rcp_by_a_fused_fma) {
  check_one("rcp", {glsl::f32_rcp_rn_fused}, [](float a) { return opaque(1.0f) / a; });
}
// By the estimate that a processor has.
TEST(F32, sqrt_by_a_fused_fma) {
  check_one("sqrt", {glsl::f32_sqrt_rn_fused}, [](float a) { return std::sqrt(a); });
}
TEST(F32, round) {
  check_one("round",
            {glsl::f32_round_rni, glsl::f32_round_rzi, glsl::f32_round_rmi, glsl::f32_round_rpi},
            [](float a) { return std::nearbyint(a); });
}

TEST(F32, min_max_and_comparisons) {
  Inputs inputs;
  for (int i = 0; i < runs(); ++i) {
    const U a = inputs.f32();
    const U b = i & 1 ? inputs.f32() : inputs.f32_near(a, 1);
    const float x = f32(a), y = f32(b);
    ASSERT_EQ(glsl::f32_lt(a, b), x < y) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f32_le(a, b), x <= y) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f32_eq(a, b), x == y) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f32_unord(a, b), std::isunordered(x, y)) << std::hex << a << " " << b;
    U least = x < y || (x == y && std::signbit(x)) ? a : b;
    U most = x < y || (x == y && std::signbit(x)) ? b : a;
    const bool nan = std::isunordered(x, y);
    const U other = std::isnan(x) ? bits(y) : bits(x);
    ASSERT_EQ(glsl::f32_min(a, b), nan ? other : least) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f32_max(a, b), nan ? other : most) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f32_min_nan(a, b), nan ? 0x7fffffffu : least) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f32_max_nan(a, b), nan ? 0x7fffffffu : most) << std::hex << a << " " << b;
  }
}

}  // namespace
