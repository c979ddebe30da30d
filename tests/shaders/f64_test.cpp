// Double precision: every routine against the CPU in every rounding mode.
#include "tests/shaders/reference.hpp"

namespace {

using namespace reference;
using L = std::uint64_t;
using One = uvec2 (*)(uvec2);
using Two = uvec2 (*)(uvec2, uvec2);
using Three = uvec2 (*)(uvec2, uvec2, uvec2);

#define FOUR(name) \
  { glsl::name##_rn, glsl::name##_rz, glsl::name##_rm, glsl::name##_rp }

/// NaN results are compared as NaN only; their bits have a test of their own.
bool same(L got, double want) {
  return std::isnan(want) ? std::isnan(f64(got)) : got == std::bit_cast<L>(want);
}

template <typename Expected>
void check_two(const char* name, const Two (&routines)[4], Expected expected) {
  for (int mode = 0; mode < 4; ++mode) {
    Inputs inputs;
    int failures = 0;
    for (int i = 0; i < runs() && failures < 5; ++i) {
      const L a = inputs.f64();
      const L b = i & 1 ? inputs.f64() : inputs.f64_near(a, 56);
      const L got = u64(routines[mode](pair(a), pair(b)));
      Rounding rounding(mode);
      const double want = opaque(expected(opaque(f64(a)), opaque(f64(b))));
      if (!same(got, want)) {
        ++failures;
        ADD_FAILURE() << name << " mode " << mode << std::hex << ": " << a << ", " << b << " gives "
                      << got << ", not " << std::bit_cast<L>(want);
      }
    }
  }
}

TEST(F64, add) {
  check_two("add", FOUR(f64_add), [](double a, double b) { return a + b; });
}
TEST(F64, mul) {
  check_two("mul", FOUR(f64_mul), [](double a, double b) { return a * b; });
}
TEST(F64, div) {
  check_two("div", FOUR(f64_div), [](double a, double b) { return a / b; });
}

TEST(F64, fma) {
  constexpr Three routines[] = FOUR(f64_fma);
  for (int mode = 0; mode < 4; ++mode) {
    Inputs inputs;
    int failures = 0;
    for (int i = 0; i < runs() && failures < 5; ++i) {
      const L a = inputs.f64();
      const L b = i & 1 ? inputs.f64()
                        : inputs.f64_near(0x7fe0000000000000ull - (a & 0x7ff0000000000000ull), 99);
      const L product = std::bit_cast<L>(f64(a) * f64(b));
      const L c = i & 3 ? inputs.f64_near(product, 112) : inputs.f64();
      const L got = u64(routines[mode](pair(a), pair(b), pair(c)));
      Rounding rounding(mode);
      const double want = opaque(std::fma(opaque(f64(a)), opaque(f64(b)), opaque(f64(c))));
      if (!same(got, want)) {
        ++failures;
        ADD_FAILURE() << "fma mode " << mode << std::hex << ": " << a << ", " << b << ", " << c
                      << " gives " << got << ", not " << std::bit_cast<L>(want);
      }
    }
  }
}

template <typename Expected>
void check_one(const char* name, const One (&routines)[4], Expected expected) {
  for (int mode = 0; mode < 4; ++mode) {
    Inputs inputs;
    int failures = 0;
    for (int i = 0; i < runs() && failures < 5; ++i) {
      const L a = inputs.f64();
      const L got = u64(routines[mode](pair(a)));
      Rounding rounding(mode);
      const double want = opaque(expected(opaque(f64(a))));
      if (!same(got, want)) {
        ++failures;
        ADD_FAILURE() << name << " mode " << mode << std::hex << ": " << a << " gives " << got
                      << ", not " << std::bit_cast<L>(want);
      }
    }
  }
}

TEST(F64, rcp) {
  check_one("rcp", FOUR(f64_rcp), [](double a) { return opaque(1.0) / a; });
}
TEST(F64, sqrt) {
  check_one("sqrt", FOUR(f64_sqrt), [](double a) { return std::sqrt(a); });
}
TEST(F64, round) {
  check_one("round",
            {glsl::f64_round_rni, glsl::f64_round_rzi, glsl::f64_round_rmi, glsl::f64_round_rpi},
            [](double a) { return std::nearbyint(a); });
}

TEST(F64, min_max_and_comparisons) {
  Inputs inputs;
  for (int i = 0; i < runs(); ++i) {
    const L a = inputs.f64();
    const L b = i & 1 ? inputs.f64() : inputs.f64_near(a, 1);
    const double x = f64(a), y = f64(b);
    ASSERT_EQ(glsl::f64_lt(pair(a), pair(b)), x < y) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f64_le(pair(a), pair(b)), x <= y) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f64_eq(pair(a), pair(b)), x == y) << std::hex << a << " " << b;
    ASSERT_EQ(glsl::f64_unord(pair(a), pair(b)), std::isunordered(x, y))
        << std::hex << a << " " << b;
    const bool less = x < y || (x == y && std::signbit(x));
    const L least = less ? a : b, most = less ? b : a;
    const L other = !std::isnan(x) ? a : !std::isnan(y) ? b : a | 0x8000000000000ull;
    const bool nan = std::isunordered(x, y);
    ASSERT_EQ(u64(glsl::f64_min(pair(a), pair(b))), nan ? other : least)
        << std::hex << a << " " << b;
    ASSERT_EQ(u64(glsl::f64_max(pair(a), pair(b))), nan ? other : most)
        << std::hex << a << " " << b;
  }
}

}  // namespace
