// Conversions, halves and the approximate functions against the CPU.
#include <array>
#include <limits>

#include "tests/shaders/reference.hpp"

namespace {

using namespace reference;
using U = std::uint32_t;
using L = std::uint64_t;

#define FOUR(name) \
  std::array { glsl::name##_rn, glsl::name##_rz, glsl::name##_rm, glsl::name##_rp }
#define INTEGRAL(name) \
  std::array { glsl::name##_rni, glsl::name##_rzi, glsl::name##_rmi, glsl::name##_rpi }

L word(U v) { return v; }
L word(uvec2 v) { return u64(v); }

/// `draw` gives the operand as 64 bits; `routine` and `expected` take it; NaN is left to tests of
/// its own.
template <typename Draw, typename Routine, typename Expected>
void check(const char* name, Draw draw, Routine routine, Expected expected) {
  for (int mode = 0; mode < 4; ++mode) {
    Inputs inputs;
    int failures = 0;
    for (int i = 0; i < runs() / 4 && failures < 3; ++i) {
      const L a = draw(inputs);
      const L got = on_device(i & 1, [&] { return word(routine(mode, a)); });
      Rounding rounding(mode);
      const L want = expected(a);
      if (got != want) {
        ++failures;
        ADD_FAILURE() << name << " mode " << mode << std::hex << ": " << a << " gives " << got
                      << ", not " << want;
      }
    }
  }
}

L any_f32(Inputs& inputs) {
  const U v = inputs.f32();
  return std::isnan(f32(v)) ? v & 0x80000000u : v;
}
L any_f64(Inputs& inputs) {
  const L v = inputs.f64();
  return std::isnan(f64(v)) ? v & 1ull << 63 : v;
}
L any_integer(Inputs& inputs) { return inputs.integer(); }
L any_word(Inputs& inputs) { return static_cast<U>(inputs.integer()); }

template <typename To>
To saturated(double v) {
  if (v >= std::ldexp(1.0, std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
  if (v < static_cast<double>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  return static_cast<To>(v);
}

TEST(Convert, floats_to_integers) {
  using S = std::int32_t;
  using SL = std::int64_t;
  const auto from32 = [](L a) {
    return std::nearbyint(static_cast<double>(opaque(f32(static_cast<U>(a)))));
  };
  const auto from64 = [](L a) { return std::nearbyint(opaque(f64(a))); };
#define TO(type, name)           \
  check("f32_to_" name, any_f32, \
        [](int m, L a) { return INTEGRAL(f32_to_##type)[m](static_cast<U>(a)); },
#define AS(T, from)                                                                       \
  [&](L a) {                                                                            \
    return static_cast<L>(static_cast<std::make_unsigned_t<T>>(saturated<T>(from(a)))); \
  })
  TO(u32, "u32") AS(U, from32);
  TO(s32, "s32") AS(S, from32);
  TO(u64, "u64") AS(L, from32);
  TO(s64, "s64") AS(SL, from32);
  check("f64_to_u32", any_f64, [](int m, L a) {
    return INTEGRAL(f64_to_u32)[m](pair(a)); }, AS(U, from64);
  check("f64_to_s32", any_f64, [](int m, L a) {
    return INTEGRAL(f64_to_s32)[m](pair(a)); }, AS(S, from64);
  check("f64_to_u64", any_f64, [](int m, L a) {
    return INTEGRAL(f64_to_u64)[m](pair(a)); }, AS(L, from64);
  check("f64_to_s64", any_f64, [](int m, L a) {
    return INTEGRAL(f64_to_s64)[m](pair(a)); }, AS(SL, from64);
#undef TO
#undef AS
}

TEST(Convert, floats_that_are_known_to_be_small_to_integers) {
  Inputs inputs;
  for (int i = 0; i < runs(); ++i) {
    const U a = inputs.f32();
    if ((a & 0x7fffffffu) >= 0x4f000000u) continue;
    for (const U mode : {0u, 1u}) {
      ASSERT_EQ(glsl::f32_to_s32_bounded(a, mode), glsl::f32_to_s32_mode(a, mode)) << std::hex << a;
      ASSERT_EQ(glsl::f32_to_u32_bounded(a, mode), glsl::f32_to_u32_mode(a, mode)) << std::hex << a;
    }
  }
}

TEST(Convert, integers_to_floats) {
  const auto single = [](auto v) { return word(bits(opaque(static_cast<float>(v)))); };
  const auto twice = [](auto v) { return std::bit_cast<L>(opaque(static_cast<double>(v))); };
  check(
      "f32_from_u32", any_word, [](int m, L a) { return FOUR(f32_from_u32)[m](static_cast<U>(a)); },
      [&](L a) { return single(static_cast<U>(a)); });
  check(
      "f32_from_s32", any_word, [](int m, L a) { return FOUR(f32_from_s32)[m](static_cast<U>(a)); },
      [&](L a) { return single(static_cast<std::int32_t>(a)); });
  // 80 bits hold every 64-bit integer, and the CPU rounds them once; its own conversion of u64
  // rounds twice
  const auto wide = [](auto v) { return static_cast<long double>(v); };
  check(
      "f32_from_u64", any_integer, [](int m, L a) { return FOUR(f32_from_u64)[m](pair(a)); },
      [&](L a) { return single(wide(a)); });
  check(
      "f32_from_s64", any_integer, [](int m, L a) { return FOUR(f32_from_s64)[m](pair(a)); },
      [&](L a) { return single(wide(static_cast<std::int64_t>(a))); });
  check(
      "f64_from_u64", any_integer, [](int m, L a) { return FOUR(f64_from_u64)[m](pair(a)); },
      [&](L a) { return twice(wide(a)); });
  check(
      "f64_from_s64", any_integer, [](int m, L a) { return FOUR(f64_from_s64)[m](pair(a)); },
      [&](L a) { return twice(wide(static_cast<std::int64_t>(a))); });
  check(
      "f64_from_u32", any_word, [](int, L a) { return glsl::f64_from_u32(static_cast<U>(a)); },
      [&](L a) { return twice(static_cast<U>(a)); });
  check(
      "f64_from_s32", any_word, [](int, L a) { return glsl::f64_from_s32(static_cast<U>(a)); },
      [&](L a) { return twice(static_cast<std::int32_t>(a)); });
}

TEST(Convert, between_f32_and_f64) {
  check(
      "f32_from_f64", any_f64, [](int m, L a) { return FOUR(f32_from_f64)[m](pair(a)); },
      [](L a) { return word(bits(opaque(static_cast<float>(opaque(f64(a)))))); });
  check(
      "f64_from_f32", any_f32, [](int, L a) { return glsl::f64_from_f32(static_cast<U>(a)); },
      [](L a) { return std::bit_cast<L>(static_cast<double>(f32(static_cast<U>(a)))); });
}

/// A double in a small format, rounded as the CPU is set: p bits of significand, smallest exponent
/// emin.
U small_format(double v, int p, int emin, int fields, U largest, int mode) {
  const U sign = std::signbit(v) ? 1u << (fields + p - 1) : 0;
  const U infinity = largest + 1;
  double magnitude = std::fabs(v);
  if (std::isinf(v)) return sign | infinity;
  if (magnitude == 0) return sign;
  int e = 0;
  std::frexp(magnitude, &e);
  e = std::max(e - 1, emin);
  const double units = std::fabs(std::nearbyint(std::ldexp(v, p - 1 - e)));
  U r = static_cast<U>(units) + (static_cast<U>(e - emin) << (p - 1));
  if (e > -emin + 1 || r > largest) {
    const bool up = mode == 0 || (mode == 2 && sign) || (mode == 3 && !sign);
    r = up ? infinity : largest;
  }
  return sign | r;
}

template <int kP, int kEmin, U kLargest>
void check_small(const char* name, U (*const (&from)[4])(U), U (*const (&from64)[4])(uvec2)) {
  for (int mode = 0; mode < 4; ++mode) {
    const auto expected = [mode](double v) {
      return word(small_format(v, kP, kEmin, 16 - kP, kLargest, mode));
    };
    Inputs inputs;
    for (int i = 0; i < runs() / 4; ++i) {
      const L a = any_f32(inputs), b = any_f64(inputs);
      const U got = on_device(i & 1, [&] { return from[mode](static_cast<U>(a)); });
      const U got64 = on_device(i & 1, [&] { return from64[mode](pair(b)); });
      Rounding rounding(mode);
      const L want = expected(f32(static_cast<U>(a))), want64 = expected(f64(b));
      ASSERT_EQ(got, want) << name << " mode " << mode << std::hex << " " << a;
      ASSERT_EQ(got64, want64) << name << " mode " << mode << std::hex << " " << b;
    }
  }
}

TEST(Convert, to_halves) {
  check_small<11, -14, 0x7bff>(
      "f16",
      {glsl::f16_from_f32_rn, glsl::f16_from_f32_rz, glsl::f16_from_f32_rm, glsl::f16_from_f32_rp},
      {glsl::f16_from_f64_rn, glsl::f16_from_f64_rz, glsl::f16_from_f64_rm, glsl::f16_from_f64_rp});
  check_small<8, -126, 0x7f7f>("bf16",
                               {glsl::bf16_from_f32_rn, glsl::bf16_from_f32_rz,
                                glsl::bf16_from_f32_rm, glsl::bf16_from_f32_rp},
                               {glsl::bf16_from_f64_rn, glsl::bf16_from_f64_rz,
                                glsl::bf16_from_f64_rm, glsl::bf16_from_f64_rp});
}

/// 0 for a NaN; every finite 16-bit value is a double.
double half(U h) {
  const int e = static_cast<int>(h >> 10 & 31);
  const double m = static_cast<double>(h & 0x3ff);
  const double v = e == 31  ? std::numeric_limits<double>::infinity()
                   : e == 0 ? std::ldexp(m, -24)
                            : std::ldexp(1024 + m, e - 25);
  return h & 0x8000 ? -v : v;
}

TEST(Convert, from_halves) {
  for (U h = 0; h < 0x10000; ++h) {
    const bool nan = (h & 0x7fff) > 0x7c00;
    const U got = on_device(h & 1, [&] { return glsl::f32_from_f16(h); });
    ASSERT_EQ(got, nan ? 0x7fffffffu : bits(static_cast<float>(half(h)))) << h;
    ASSERT_EQ(glsl::f32_from_bf16(h), h << 16);
    if (nan) continue;
    ASSERT_EQ(u64(glsl::f64_from_f16(h)), std::bit_cast<L>(half(h))) << h;
  }
}

TEST(Convert, eight_bit_floats_come_back) {
  for (U v = 0; v < 256; ++v) {
    const bool nan3 = (v & 0x7f) == 0x7f, nan2 = (v & 0x7f) > 0x7c, inf2 = (v & 0x7f) == 0x7c;
    const U three = glsl::e4m3_from_f32_rn(glsl::f32_from_f16(glsl::f16_from_e4m3(v)));
    const U two = glsl::e5m2_from_f32_rn(glsl::f32_from_f16(glsl::f16_from_e5m2(v)));
    EXPECT_EQ(three, nan3 ? 0x7fu : v);
    EXPECT_EQ(two, nan2 ? 0x7fu : inf2 ? v - 1 : v);
  }
  EXPECT_EQ(glsl::f16_from_e4m3(0x7e), 0x5f00u);          // 448
  EXPECT_EQ(glsl::f16_from_e4m3(1), 0x1800u);             // 2^-9
  EXPECT_EQ(glsl::e4m3_from_f32_rn(0x43e80000u), 0x7eu);  // 464, a tie past the largest
}

TEST(Half, fma) {
  Inputs inputs;
  for (int i = 0; i < runs(); ++i) {
    const U a = inputs.word() & 0xfbff, b = inputs.word() & 0xfbff;
    U c = inputs.word() & 0xfbff;
    if (i & 1) {  // near the product, so that much cancels
      const U product = glsl::f16_from_f32_rz(bits(static_cast<float>(half(a) * half(b))));
      c = (product ^ 0x8000u) + inputs.word() % 3 - 1;
      if ((c & 0x7c00) == 0x7c00) continue;
    }
    const U got = on_device(i & 2, [&] { return glsl::f16_fma_rn(a, b, c); });
    // 53 bits toward zero and odd: enough to round again
    double sum = 0;
    {
      Rounding rounding(1);
      std::feclearexcept(FE_INEXACT);
      sum = opaque(std::fma(opaque(half(a)), opaque(half(b)), opaque(half(c))));
      if (std::fetestexcept(FE_INEXACT)) sum = f64(std::bit_cast<L>(sum) | 1);
    }
    if (sum == 0) sum = half(a) * half(b) + half(c);  // the sign of zero to nearest
    ASSERT_EQ(got, small_format(sum, 11, -14, 5, 0x7bff, 0))
        << std::hex << a << " " << b << " " << c;
  }
}

template <typename Exact>
void check_error(const char* name, U (*routine)(U), Exact exact, bool relative, double low,
                 double high, double bound) {
  Inputs inputs;
  double worst = 0;
  U at = 0;
  for (int i = 0; i < runs(); ++i) {
    const double t = static_cast<double>(inputs.word()) / 4294967296.0;
    const float x = static_cast<float>(i & 1 ? low + t * (high - low) : f32(inputs.f32()));
    if (!(x >= low && x <= high) || (x != 0 && std::fabs(x) < 0x1p-126f)) continue;
    const U got = on_device(i & 2, [&] { return routine(bits(x)); });
    const double want = exact(static_cast<double>(x));
    if (want == 0) continue;
    const double error = std::fabs(f32(got) - want) / (relative ? std::fabs(want) : 1);
    if (!(error <= worst)) worst = error, at = bits(x);
  }
  EXPECT_LE(worst, bound) << name << " at " << std::hex << at << ": 2^" << std::log2(worst);
}

// The bounds are the PTX manual's.
TEST(Approximate, errors_stay_within_the_manual) {
  constexpr double kPi = 3.14159265358979;
  check_error(
      "ex2", glsl::f32_ex2_approx, [](double x) { return std::exp2(x); }, true, -126, 127.99,
      0x1p-22);
  check_error(
      "lg2", glsl::f32_lg2_approx, [](double x) { return std::log2(x); }, false, 0.5, 2, 0x1p-22);
  check_error(
      "lg2", glsl::f32_lg2_approx, [](double x) { return std::log2(x); }, true, 2, 1e38, 0x1p-22);
  check_error(
      "sin", glsl::f32_sin_approx, [](double x) { return std::sin(x); }, false, -2 * kPi, 2 * kPi,
      0x1p-20);
  check_error(
      "cos", glsl::f32_cos_approx, [](double x) { return std::cos(x); }, false, -2 * kPi, 2 * kPi,
      0x1p-20);
  check_error(
      "sin", glsl::f32_sin_approx, [](double x) { return std::sin(x); }, false, -314, 314, 0x1p-14);
  check_error(
      "tanh", glsl::f32_tanh_approx, [](double x) { return std::tanh(x); }, true, -40, 40, 0x1p-11);
  check_error(
      "rsqrt", glsl::f32_rsqrt_approx, [](double x) { return 1 / std::sqrt(x); }, true, 0x1p-126,
      3e38, 0x1p-22);
}

TEST(Approximate, special_values_follow_the_manual) {
  constexpr U kInf = 0x7f800000u, kMinusInf = 0xff800000u, kMinusZero = 0x80000000u,
              kNan = 0x7fffffffu;
  constexpr U kOne = 0x3f800000u;
  struct Row {
    const char* name;
    U (*routine)(U);
    U minus_inf, minus_zero, zero, inf;
  };
  const Row rows[] = {
      {"rsqrt", glsl::f32_rsqrt_approx, kNan, kMinusInf, kInf, 0},
      {"ex2", glsl::f32_ex2_approx, 0, kOne, kOne, kInf},
      {"lg2", glsl::f32_lg2_approx, kNan, kMinusInf, kMinusInf, kInf},
      {"sin", glsl::f32_sin_approx, kNan, kMinusZero, 0, kNan},
      {"cos", glsl::f32_cos_approx, kNan, kOne, kOne, kNan},
      {"tanh", glsl::f32_tanh_approx, 0xbf800000u, kMinusZero, 0, kOne},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(row.routine(kMinusInf), row.minus_inf) << row.name;
    EXPECT_EQ(row.routine(kMinusZero), row.minus_zero) << row.name;
    EXPECT_EQ(row.routine(0), row.zero) << row.name;
    EXPECT_EQ(row.routine(kInf), row.inf) << row.name;
    EXPECT_EQ(row.routine(0x7fc00001u), kNan) << row.name;
  }
}

}  // namespace
