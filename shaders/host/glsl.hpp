// As much of GLSL as the library in shaders/ uses, so that the same text compiles as C++.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace glsl {

using uint = std::uint32_t;

struct uvec2 {
  uint x = 0, y = 0;
  constexpr uvec2() = default;
  constexpr uvec2(uint x_, uint y_) : x(x_), y(y_) {}
};
struct uvec4 {
  uint x = 0, y = 0, z = 0, w = 0;
  constexpr uvec4() = default;
  constexpr uvec4(uint x_, uint y_, uint z_, uint w_) : x(x_), y(y_), z(z_), w(w_) {}
};
struct bvec2 {
  bool all;
  explicit constexpr bvec2(bool b) : all(b) {}
};
struct bvec4 {
  bool all;
  explicit constexpr bvec4(bool b) : all(b) {}
};

constexpr uint mix(uint no, uint yes, bool c) { return c ? yes : no; }
constexpr int mix(int no, int yes, bool c) { return c ? yes : no; }
constexpr bool mix(bool no, bool yes, bool c) { return c ? yes : no; }
constexpr float mix(float no, float yes, bool c) { return c ? yes : no; }
constexpr uvec2 mix(uvec2 no, uvec2 yes, bvec2 c) { return c.all ? yes : no; }
constexpr uvec4 mix(uvec4 no, uvec4 yes, bvec4 c) { return c.all ? yes : no; }

#define PTX2SPV_COMPONENTS(op)                               \
  constexpr uvec4 operator op(uvec4 a, uvec4 b) {            \
    return {a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w}; \
  }                                                          \
  constexpr uvec4 operator op(uvec4 a, uint b) { return a op uvec4(b, b, b, b); }
PTX2SPV_COMPONENTS(+)
PTX2SPV_COMPONENTS(-)
PTX2SPV_COMPONENTS(*)
PTX2SPV_COMPONENTS(&)
PTX2SPV_COMPONENTS(|)
PTX2SPV_COMPONENTS(^)
PTX2SPV_COMPONENTS(<<)
PTX2SPV_COMPONENTS(>>)
#undef PTX2SPV_COMPONENTS
constexpr uvec4 operator~(uvec4 a) { return {~a.x, ~a.y, ~a.z, ~a.w}; }

constexpr uint floatBitsToUint(float f) { return std::bit_cast<uint>(f); }
constexpr float uintBitsToFloat(uint u) { return std::bit_cast<float>(u); }

constexpr uint min(uint a, uint b) { return a < b ? a : b; }
constexpr int min(int a, int b) { return a < b ? a : b; }
constexpr uint max(uint a, uint b) { return a > b ? a : b; }
constexpr int max(int a, int b) { return a > b ? a : b; }
constexpr float max(float a, float b) { return a < b ? b : a; }
constexpr float min(float a, float b) { return b < a ? b : a; }
constexpr uvec4 min(uvec4 a, uvec4 b) {
  return {min(a.x, b.x), min(a.y, b.y), min(a.z, b.z), min(a.w, b.w)};
}
constexpr uvec4 max(uvec4 a, uvec4 b) {
  return {max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w)};
}
constexpr int clamp(int a, int low, int high) { return min(max(a, low), high); }
constexpr uint clamp(uint a, uint low, uint high) { return min(max(a, low), high); }
constexpr float clamp(float a, float low, float high) { return min(max(a, low), high); }
constexpr float abs(float a) { return uintBitsToFloat(floatBitsToUint(a) & 0x7fffffffu); }
constexpr int abs(int a) { return a < 0 ? -a : a; }

inline float sqrt(float f) { return std::sqrt(f); }
inline float inversesqrt(float f) { return 1.0f / std::sqrt(f); }
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline float trunc(float f) { return std::trunc(f); }
inline float floor(float f) { return std::floor(f); }
inline float log2(float f) { return std::log2(f); }
inline float exp2(float f) { return std::exp2(f); }
constexpr float sign(float f) { return f > 0 ? 1.0f : f < 0 ? -1.0f : 0.0f; }
inline float roundEven(float f) { return std::nearbyint(f); }

constexpr int findMSB(uint a) { return 31 - std::countl_zero(a); }
constexpr int bitCount(uint a) { return std::popcount(a); }
constexpr uint bitfieldReverse(uint a) {
  uint r = 0;
  for (int i = 0; i < 32; ++i) r |= (a >> i & 1u) << (31 - i);
  return r;
}
constexpr uint bitfieldExtract(uint a, int offset, int bits) {
  return bits == 0 ? 0 : a >> offset & 0xffffffffu >> (32 - bits);
}
constexpr int bitfieldExtract(int a, int offset, int bits) {
  return bits == 0 ? 0
                   : static_cast<int>(static_cast<uint>(a) << (32 - offset - bits)) >> (32 - bits);
}
constexpr uint bitfieldInsert(uint base, uint insert, int offset, int bits) {
  if (bits == 0) return base;
  const uint mask = (0xffffffffu >> (32 - bits)) << offset;
  return (base & ~mask) | (insert << offset & mask);
}
constexpr void umulExtended(uint a, uint b, uint& high, uint& low) {
  const std::uint64_t p = static_cast<std::uint64_t>(a) * b;
  high = static_cast<uint>(p >> 32);
  low = static_cast<uint>(p);
}
constexpr void imulExtended(int a, int b, int& high, int& low) {
  const std::int64_t p = static_cast<std::int64_t>(a) * b;
  high = static_cast<int>(p >> 32);
  low = static_cast<int>(p);
}
constexpr uint uaddCarry(uint a, uint b, uint& carry) {
  const uint sum = a + b;
  carry = sum < a;
  return sum;
}
constexpr uint usubBorrow(uint a, uint b, uint& borrow) {
  borrow = a < b;
  return a - b;
}

}  // namespace glsl
