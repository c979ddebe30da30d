// Half precision in integers, for tests: an exact sum, rounded once.
#pragma once

#include <bit>
#include <cstdint>

namespace ptx2spv::test {

/// Units of 2^-48, in which every product of two halves and every half is whole.
__extension__ using HalfUnits = __int128;

inline bool half_is_nan(std::uint32_t a) { return (a & 0x7fff) > 0x7c00; }
inline bool half_is_infinite(std::uint32_t a) { return (a & 0x7fff) == 0x7c00; }
inline bool half_is_zero(std::uint32_t a) { return (a & 0x7fff) == 0; }

/// A finite half in units of 2^-24.
inline std::int64_t half_units(std::uint32_t a) {
  const std::uint32_t exponent = a >> 10 & 31;
  const std::int64_t fraction = a & 0x3ff;
  const std::int64_t magnitude = exponent ? (fraction | 0x400) << (exponent - 1) : fraction;
  return a & 0x8000 ? -magnitude : magnitude;
}

/// To nearest even. `zero` is what an exact zero gives.
inline std::uint32_t round_to_half(HalfUnits exact, std::uint32_t zero) {
  if (exact == 0) return zero;
  const std::uint32_t sign = exact < 0 ? 0x8000 : 0;
  const HalfUnits magnitude = exact < 0 ? -exact : exact;
  unsigned bits = 0;
  while (magnitude >> bits) ++bits;
  if (bits > 48 + 17) return sign | 0x7c00;
  const unsigned last = bits > 24 + 11 ? bits - 11 : 24;  // place of the last bit that is kept
  const HalfUnits kept = magnitude >> last, left = magnitude - (kept << last),
                  tie = HalfUnits{1} << (last - 1);
  const bool up = left > tie || (left == tie && (kept & 1));
  const auto rounded =
      ((last - 24) << 10) + static_cast<std::uint32_t>(kept) + static_cast<std::uint32_t>(up);
  return sign | (rounded < 0x7c00 ? rounded : 0x7c00);
}

/// fma.rn.f16.
inline std::uint32_t half_fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t sign = (a ^ b) & 0x8000;
  if (half_is_nan(a) || half_is_nan(b) || half_is_nan(c)) return 0x7fff;
  if (half_is_infinite(a) || half_is_infinite(b)) {
    const bool none =
        half_is_zero(a) || half_is_zero(b) || (half_is_infinite(c) && (c & 0x8000) != sign);
    return none ? 0x7fff : sign | 0x7c00;
  }
  if (half_is_infinite(c)) return c;
  const HalfUnits product = HalfUnits{half_units(a)} * half_units(b);
  const bool zeros = product == 0 && half_is_zero(c) && (c & 0x8000) == sign;
  return round_to_half(product + HalfUnits{half_units(c)} * (1 << 24), zeros ? sign : 0);
}
inline std::uint32_t half_add(std::uint32_t a, std::uint32_t b) { return half_fma(a, 0x3c00, b); }
inline std::uint32_t half_mul(std::uint32_t a, std::uint32_t b) {
  return half_fma(a, b, (a ^ b) & 0x8000);
}

/// In order, infinities included; -0 is +0.
inline std::int64_t half_place(std::uint32_t a) {
  if (!half_is_infinite(a)) return half_units(a);
  return a & 0x8000 ? -(std::int64_t{1} << 50) : std::int64_t{1} << 50;
}
/// max.f16, or min.f16.
inline std::uint32_t half_extreme(bool least, std::uint32_t a, std::uint32_t b) {
  if (half_is_nan(a)) return half_is_nan(b) ? 0x7fff : b;
  if (half_is_nan(b)) return a;
  const std::int64_t x = half_place(a), y = half_place(b);
  if (x == y) return least ? a | b : a & b;
  return (x < y) == least ? a : b;
}

/// cvt.rn.f16.f32.
inline std::uint32_t half_of_single(std::uint32_t a) {
  const std::uint32_t sign = a >> 16 & 0x8000, magnitude = a & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7fff;
  const int exponent = static_cast<int>(magnitude >> 23);
  if (exponent > 127 + 16) return sign | 0x7c00;
  // value = fraction 2^(exponent - 150); bits below the unit leave a trace in it.
  const HalfUnits fraction = (magnitude & 0x7fffff) | (exponent ? 0x800000 : 0);
  const int shift = (exponent ? exponent : 1) - 150 + 48;
  HalfUnits units = fraction;
  if (shift >= 0)
    units <<= shift;
  else if (shift > -40)
    units = fraction >> -shift | ((fraction & ((HalfUnits{1} << -shift) - 1)) != 0);
  else
    units = fraction != 0;
  return round_to_half(sign ? -units : units, sign);
}

/// cvt.f32.f16.
inline std::uint32_t single_of_half(std::uint32_t a) {
  const std::uint32_t sign = (a & 0x8000) << 16;
  if (half_is_nan(a)) return 0x7fffffff;
  if (half_is_infinite(a)) return sign | 0x7f800000;
  const float value = static_cast<float>(half_units(a & 0x7fff)) * 0x1p-24f;
  return sign | std::bit_cast<std::uint32_t>(value);
}

/// Both halves of words.
template <typename Operation, typename... Word>
std::uint32_t of_both_halves(Operation&& operation, Word... words) {
  return operation((words & 0xffff)...) | operation((words >> 16)...) << 16;
}

}  // namespace ptx2spv::test
