// The meaning of the pure integer operations: folding and the host back end apply it to what they
// have for values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir::semantics {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
__extension__ using u128 = unsigned __int128;

template <typename T>
constexpr unsigned width(T) {
  return sizeof(T) * 8;
}
template <typename T>
constexpr auto sign(T a) {
  return static_cast<std::make_signed_t<T>>(a);
}
template <typename T>
constexpr bool negative(T a) {
  return a >> (width(a) - 1);
}
template <typename T>
constexpr T magnitude(T a) {
  return negative(a) ? T{0} - a : a;
}
constexpr u32 high_product(u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }
constexpr u64 high_product(u64 a, u64 b) {
  return static_cast<u64>(static_cast<u128>(a) * b >> 64);
}
constexpr u32 reversed(u32 a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(a);
}
constexpr u32 highest_bit(u32 a) { return a ? 31u - static_cast<u32>(std::countl_zero(a)) : ~0u; }
constexpr u32 low_ones(u32 count) { return count >= 32 ? ~0u : (1u << count) - 1; }
constexpr u32 field_of(u32 a, u32 offset, u32 count) {
  return count ? a >> (offset & 31) & low_ones(count) : 0;
}
constexpr u32 signed_field_of(u32 a, u32 offset, u32 count) {
  const u32 field = field_of(a, offset, count);
  if (count == 0 || count >= 32) return field;
  const u32 top = 1u << (count - 1);
  return (field ^ top) - top;
}
constexpr u32 dot4(u32 a, u32 b, std::uint64_t signs) {
  const auto byte = [](u32 word, unsigned i, bool is_signed) {
    return is_signed ? signed_field_of(word, 8 * i, 8) : field_of(word, 8 * i, 8);
  };
  u32 sum = 0;
  for (unsigned i = 0; i < 4; ++i)
    sum += byte(a, i, (signs & kDotFirst) != 0) * byte(b, i, (signs & kDotSecond) != 0);
  return sum;
}
constexpr u32 with_field(u32 base, u32 insert, u32 offset, u32 count) {
  const u32 field = low_ones(count) << (offset & 31);
  return (base & ~field) | (insert << (offset & 31) & field);
}

/// Hands the operation's function to `use`: to `alone` that of one operand, to `same` that of two
/// and to `shifted` that of one and a count of bits, where the result has the operand's type, and
/// to `compared` that of two whose result is 0 or 1. To `none` nothing, for every other operation.
template <class Use>
auto apply(Op op, const Use& use) {
  switch (op) {
    case Op::add: return use.same([](auto a, auto b) { return a + b; });
    case Op::sub: return use.same([](auto a, auto b) { return a - b; });
    case Op::mul: return use.same([](auto a, auto b) { return a * b; });
    case Op::mulhi_u: return use.same([](auto a, auto b) { return high_product(a, b); });
    case Op::mulhi_s:
      // The signed product is the unsigned one less 2^bits times each operand whose partner is
      // negative.
      return use.same([](auto a, auto b) {
        return high_product(a, b) - (negative(a) ? b : 0) - (negative(b) ? a : 0);
      });
    // By zero quotient and remainder are all ones.
    case Op::udiv: return use.same([](auto a, auto b) { return b ? a / b : ~decltype(a){0}; });
    case Op::urem: return use.same([](auto a, auto b) { return b ? a % b : ~decltype(a){0}; });
    case Op::sdiv:
      return use.same([](auto a, auto b) {
        if (b == 0) return ~decltype(a){0};
        const auto quotient = magnitude(a) / magnitude(b);
        return negative(a ^ b) ? 0 - quotient : quotient;
      });
    case Op::srem:
      return use.same([](auto a, auto b) {
        if (b == 0) return ~decltype(a){0};
        const auto remainder = magnitude(a) % magnitude(b);
        return negative(a) ? 0 - remainder : remainder;
      });
    case Op::and_: return use.same([](auto a, auto b) { return a & b; });
    case Op::or_: return use.same([](auto a, auto b) { return a | b; });
    case Op::xor_: return use.same([](auto a, auto b) { return a ^ b; });
    case Op::not_: return use.alone([](auto a) { return ~a; });
    case Op::neg: return use.alone([](auto a) { return 0 - a; });
    case Op::shl:
      return use.shifted(
          [](auto a, u32 by) { return by < width(a) ? a << (by & (width(a) - 1)) : 0; });
    case Op::lshr:
      return use.shifted(
          [](auto a, u32 by) { return by < width(a) ? (a >> (by & (width(a) - 1))) : 0; });
    case Op::ashr:
      return use.shifted([](auto a, u32 by) {
        return static_cast<decltype(a)>(sign(a) >> std::min(by, width(a) - 1));
      });
    case Op::umin: return use.same([](auto a, auto b) { return std::min(a, b); });
    case Op::umax: return use.same([](auto a, auto b) { return std::max(a, b); });
    case Op::smin: return use.same([](auto a, auto b) { return sign(a) < sign(b) ? a : b; });
    case Op::smax: return use.same([](auto a, auto b) { return sign(a) < sign(b) ? b : a; });
    case Op::eq: return use.compared([](auto a, auto b) { return u32{a == b}; });
    case Op::ne: return use.compared([](auto a, auto b) { return u32{a != b}; });
    case Op::ult: return use.compared([](auto a, auto b) { return u32{a < b}; });
    case Op::ule: return use.compared([](auto a, auto b) { return u32{a <= b}; });
    case Op::slt: return use.compared([](auto a, auto b) { return u32{sign(a) < sign(b)}; });
    case Op::sle: return use.compared([](auto a, auto b) { return u32{sign(a) <= sign(b)}; });
    default: return use.none();
  }
}

}  // namespace ptx2spv::ir::semantics
