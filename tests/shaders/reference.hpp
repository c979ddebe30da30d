// What the arithmetic library is compared with: the CPU's own IEEE arithmetic under its rounding
// modes, and inputs that come near every boundary of a format.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <random>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <gtest/gtest.h>

#include "tests/shaders/glsl.hpp"
#include "tests/support/share.hpp"

namespace reference {

using glsl::uvec2;

inline constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/// Keeps the compiler from moving arithmetic across a change of the rounding mode.
template <typename T>
T opaque(T v) {
  asm volatile("" : "+x"(v) : : "memory");
  return v;
}

class Rounding {
 public:
  explicit Rounding(int mode) { std::fesetround(kModes[mode]); }
  ~Rounding() { std::fesetround(FE_TONEAREST); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;
};

/// Runs a routine as a device would that flushes denormals, or as one that keeps them: it must not
/// matter.
template <typename F>
auto on_device(bool flushing, F&& routine) {
#if defined(__SSE__)
  const unsigned old = _mm_getcsr();
  _mm_setcsr(flushing ? old | 0x8040 : old);
  asm volatile("" : : : "memory");
  auto result = routine();
  asm volatile("" : "+m"(result) : : "memory");
  _mm_setcsr(old);
  return result;
#else
  return routine();
#endif
}

inline float f32(std::uint32_t u) { return std::bit_cast<float>(u); }
inline double f64(std::uint64_t u) { return std::bit_cast<double>(u); }
inline std::uint64_t u64(uvec2 v) { return static_cast<std::uint64_t>(v.y) << 32 | v.x; }
inline uvec2 pair(std::uint64_t v) {
  return {static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(v >> 32)};
}

/// Single precision has one NaN.
inline std::uint32_t bits(float f) {
  return std::isnan(f) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(f);
}

using ptx2spv::test::exhaustive;
/// Runs per routine; PTX2SPV_EXHAUSTIVE=1 makes them what docs/reference/arithmetic.md claims.
inline int runs() { return exhaustive() ? 100'000'000 : 200'000; }

class Inputs {
 public:
  std::uint32_t word() { return static_cast<std::uint32_t>(random_()); }

  /// Any bits; often near zero, infinity, one or a power of two, or with few bits set.
  std::uint32_t f32() {
    const std::uint32_t r = word();
    const std::uint32_t sign = r & 0x80000000u;
    switch (r & 15) {
      case 0: return sign | special32(word());
      case 1: return sign | (word() & 0x007fffffu) >> (word() & 31);
      case 2: return sign | (word() % 255) << 23 | 1u << (word() % 23);
      case 3: return sign | (word() % 255) << 23 | (0x7fffffu & ~(1u << (word() % 23)));
      case 4: return sign | (((word() % 255) << 23) + (word() & 3) - 1);
      case 5: return sign | (127 + word() % 48 - 24) << 23 | (word() & 0x7fffffu);
      case 6: return sign | (word() % 40) << 23 | (word() & 0x7fffffu);
      case 7: return sign | (127 + word() % 4) << 23 | (word() & 0x7ff000u);
      default: return word();
    }
  }

  /// An f32 whose exponent is within `span` of another's.
  std::uint32_t f32_near(std::uint32_t other, unsigned span) {
    const int e = static_cast<int>(other >> 23 & 255) + static_cast<int>(word() % (2 * span + 1)) -
                  static_cast<int>(span);
    const std::uint32_t m = word() & 1 ? word() & 0x7fffffu : (other + word() % 5 - 2) & 0x7fffffu;
    return (word() & 0x80000000u) |
           static_cast<std::uint32_t>(e < 0     ? 0
                                      : e > 254 ? 254
                                                : e)
               << 23 |
           m;
  }

  std::uint64_t dword() { return static_cast<std::uint64_t>(word()) << 32 | word(); }

  std::uint64_t f64() {
    const std::uint32_t r = word();
    const std::uint64_t sign = static_cast<std::uint64_t>(r >> 31) << 63;
    const std::uint64_t mantissa = dword() >> 12;
    switch (r & 15) {
      case 0: return sign | special64(word());
      case 1: return sign | mantissa >> (word() % 52);
      case 2: return sign | static_cast<std::uint64_t>(word() % 2047) << 52 | 1ull << (word() % 52);
      case 3:
        return sign | static_cast<std::uint64_t>(word() % 2047) << 52 |
               (0xfffffffffffffull & ~(1ull << (word() % 52)));
      case 4: return sign | ((static_cast<std::uint64_t>(word() % 2047) << 52) + (word() & 3) - 1);
      case 5: return sign | static_cast<std::uint64_t>(1023 + word() % 110 - 55) << 52 | mantissa;
      case 6: return sign | static_cast<std::uint64_t>(word() % 80) << 52 | mantissa;
      case 7:
        return sign | static_cast<std::uint64_t>(1023 + word() % 4) << 52 |
               (mantissa & ~0xffffffffffull);
      default: return dword();
    }
  }

  std::uint64_t f64_near(std::uint64_t other, unsigned span) {
    const int e = static_cast<int>(other >> 52 & 2047) + static_cast<int>(word() % (2 * span + 1)) -
                  static_cast<int>(span);
    const std::uint64_t m = (word() & 1 ? dword() : other + word() % 5 - 2) & 0xfffffffffffffull;
    return (dword() & 1ull << 63) |
           static_cast<std::uint64_t>(e < 0      ? 0
                                      : e > 2046 ? 2046
                                                 : e)
               << 52 |
           m;
  }

  /// 64-bit integers of every length.
  std::uint64_t integer() {
    const std::uint64_t v = dword() >> (word() & 63);
    switch (word() & 3) {
      case 0: return v;
      case 1: return 0 - v;
      case 2: return (1ull << (word() & 63)) + (word() % 5) - 2;
      default: return dword();
    }
  }

  static std::uint32_t special32(std::uint32_t r) {
    constexpr std::uint32_t values[] = {
        0,          1,          2,          0x7fffff,   0x800000,   0x800001,   0xffffff,
        0x1000000,  0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f000000, 0x3effffff, 0x4b000000,
        0x7f7fffff, 0x7f7ffffe, 0x7f000000, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff,
        0x40000000, 0x3fffffff, 0x00400000, 0x4f000000, 0x4f800000, 0x5f000000, 0x5f800000,
        0x33800000, 0x477fefff, 0x477ff000, 0x38800000};
    return values[r % std::size(values)];
  }
  static std::uint64_t special64(std::uint32_t r) {
    constexpr std::uint64_t values[] = {0,
                                        1,
                                        2,
                                        0xfffffffffffff,
                                        0x10000000000000,
                                        0x10000000000001,
                                        0x3ff0000000000000,
                                        0x3ff0000000000001,
                                        0x3fefffffffffffff,
                                        0x3fe0000000000000,
                                        0x3fdfffffffffffff,
                                        0x4330000000000000,
                                        0x7fefffffffffffff,
                                        0x7fe0000000000000,
                                        0x7ff0000000000000,
                                        0x7ff0000000000001,
                                        0x7ff8000000000000,
                                        0x7fffffffffffffff,
                                        0x41dfffffffc00000,
                                        0x41e0000000000000,
                                        0x41efffffffe00000,
                                        0x41f0000000000000,
                                        0x43e0000000000000,
                                        0x43f0000000000000,
                                        0x43dfffffffffffff,
                                        0x43efffffffffffff,
                                        0x36a0000000000000,
                                        0x3690000000000000,
                                        0x47efffffe0000000,
                                        0x47effffff0000000,
                                        0x3810000000000000};
    return values[r % std::size(values)];
  }

 private:
  std::mt19937_64 random_{20240229};
};

}  // namespace reference
