// Integers, comparisons, selection and conversions between the IR's types (translator/ir/ops.def).
#include <algorithm>
#include <type_traits>

#include "translator/backend/host/handlers.hpp"

namespace ptx2spv::interpreter {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;

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

__extension__ using u128 = unsigned __int128;

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

template <bool Masked>
void bfi(const Step& step, Lanes& lanes) {
  u32* __restrict out = lanes.words(step.out);
  const u32 *base = lanes.words(step.in[0]), *insert = lanes.words(step.in[1]),
            *offset = lanes.words(step.in[2]), *count = lanes.words(step.in[3]);
  for (unsigned i = 0; i < kLanes; ++i) {
    const u32 field = low_ones(count[i]) << (offset[i] & 31);
    put<u32, Masked>(lanes, out, i, (base[i] & ~field) | (insert[i] << (offset[i] & 31) & field));
  }
}

/// T: u32 for a row, of which a vector has several; u64 for i64.
template <typename T, bool Masked>
void select(const Step& step, Lanes& lanes) {
  const u32* __restrict c = lanes.words(step.in[0]);
  for (unsigned row = 0; row < (sizeof(T) == 8 ? 1 : step.imm); ++row) {
    T* __restrict out = reinterpret_cast<T*>(lanes.rows(step.out) + row);
    const T* __restrict a = reinterpret_cast<const T*>(lanes.rows(step.in[1]) + row);
    const T* __restrict b = reinterpret_cast<const T*>(lanes.rows(step.in[2]) + row);
    PTX2SPV_EACH_LANE
    for (unsigned i = 0; i < kLanes; ++i) put<T, Masked>(lanes, out, i, c[i] ? a[i] : b[i]);
  }
}

template <bool Masked>
void compose(const Step& step, Lanes& lanes) {
  for (unsigned row = 0; row < step.inputs; ++row) {
    u32* __restrict out = (lanes.rows(step.out) + row)->words;
    const u32* __restrict a = lanes.words(step.in[row]);
    PTX2SPV_EACH_LANE
    for (unsigned i = 0; i < kLanes; ++i) put<u32, Masked>(lanes, out, i, a[i]);
  }
}

template <bool Masked>
void extract(const Step& step, Lanes& lanes) {
  u32* __restrict out = lanes.words(step.out);
  const u32* __restrict a = (lanes.rows(step.in[0]) + step.imm)->words;
  PTX2SPV_EACH_LANE
  for (unsigned i = 0; i < kLanes; ++i) put<u32, Masked>(lanes, out, i, a[i]);
}

template <auto F>
Handlers same(Type type) {
  return type == Type::i64 ? of_binary<u64, u64, u64, F>() : of_binary<u32, u32, u32, F>();
}
template <auto F>
Handlers shifted(Type type) {
  return type == Type::i64 ? of_binary<u64, u64, u32, F>() : of_binary<u32, u32, u32, F>();
}
template <auto F>
Handlers compared(Type type) {
  return type == Type::i64 ? of_binary<u32, u64, u64, F>() : of_binary<u32, u32, u32, F>();
}
template <auto F>
Handlers alone(Type type) {
  return type == Type::i64 ? of_unary<u64, u64, F>() : of_unary<u32, u32, F>();
}

Handlers arithmetic(Op op, Type from) {
  switch (op) {
    case Op::add: return same<[](auto a, auto b) { return a + b; }>(from);
    case Op::sub: return same<[](auto a, auto b) { return a - b; }>(from);
    case Op::mul: return same<[](auto a, auto b) { return a * b; }>(from);
    case Op::mulhi_u: return same<[](auto a, auto b) { return high_product(a, b); }>(from);
    case Op::mulhi_s:
      // The signed product is the unsigned one less 2^bits times each operand whose partner is
      // negative.
      return same<[](auto a, auto b) {
        return high_product(a, b) - (negative(a) ? b : 0) - (negative(b) ? a : 0);
      }>(from);
    // By zero quotient and remainder are all ones.
    case Op::udiv: return same<[](auto a, auto b) { return b ? a / b : ~decltype(a){0}; }>(from);
    case Op::urem: return same<[](auto a, auto b) { return b ? a % b : ~decltype(a){0}; }>(from);
    case Op::sdiv:
      return same<[](auto a, auto b) {
        if (b == 0) return ~decltype(a){0};
        const auto quotient = magnitude(a) / magnitude(b);
        return negative(a ^ b) ? 0 - quotient : quotient;
      }>(from);
    case Op::srem:
      return same<[](auto a, auto b) {
        if (b == 0) return ~decltype(a){0};
        const auto remainder = magnitude(a) % magnitude(b);
        return negative(a) ? 0 - remainder : remainder;
      }>(from);
    case Op::and_: return same<[](auto a, auto b) { return a & b; }>(from);
    case Op::or_: return same<[](auto a, auto b) { return a | b; }>(from);
    case Op::xor_: return same<[](auto a, auto b) { return a ^ b; }>(from);
    case Op::not_:
      if (from == Type::i1) return of_unary<u32, u32, [](u32 a) { return a ^ 1; }>();
      return alone<[](auto a) { return ~a; }>(from);
    case Op::neg: return alone<[](auto a) { return 0 - a; }>(from);
    case Op::shl:
      return shifted<[](auto a, u32 by) { return by < width(a) ? a << (by & (width(a) - 1)) : 0; }>(
          from);
    case Op::lshr:
      return shifted<[](auto a, u32 by) {
        return by < width(a) ? (a >> (by & (width(a) - 1))) : 0;
      }>(from);
    case Op::ashr:
      return shifted<[](auto a, u32 by) {
        return static_cast<decltype(a)>(sign(a) >> std::min(by, width(a) - 1));
      }>(from);
    case Op::umin: return same<[](auto a, auto b) { return std::min(a, b); }>(from);
    case Op::umax: return same<[](auto a, auto b) { return std::max(a, b); }>(from);
    case Op::smin: return same<[](auto a, auto b) { return sign(a) < sign(b) ? a : b; }>(from);
    case Op::smax: return same<[](auto a, auto b) { return sign(a) < sign(b) ? b : a; }>(from);
    case Op::eq: return compared<[](auto a, auto b) { return u32{a == b}; }>(from);
    case Op::ne: return compared<[](auto a, auto b) { return u32{a != b}; }>(from);
    case Op::ult: return compared<[](auto a, auto b) { return u32{a < b}; }>(from);
    case Op::ule: return compared<[](auto a, auto b) { return u32{a <= b}; }>(from);
    case Op::slt: return compared<[](auto a, auto b) { return u32{sign(a) < sign(b)}; }>(from);
    case Op::sle: return compared<[](auto a, auto b) { return u32{sign(a) <= sign(b)}; }>(from);
    default: return {};
  }
}

}  // namespace

Handlers integer_handlers(const ir::Inst& inst, Type from) {
  if (const Handlers found = arithmetic(inst.op, from); found.whole) return found;
  switch (inst.op) {
    case Op::popcount: {
      constexpr auto count = [](auto a) { return static_cast<u32>(std::popcount(a)); };
      return from == Type::i64 ? of_unary<u32, u64, count>() : of_unary<u32, u32, count>();
    }
    case Op::find_msb:
      return of_unary<u32, u32, [](u32 a) {
        return a ? 31u - static_cast<u32>(std::countl_zero(a)) : ~0u;
      }>();
    case Op::bit_reverse: return of_unary<u32, u32, reversed>();
    case Op::bfe_u: return of_ternary<u32, field_of>();
    case Op::bfe_s: return of_ternary<u32, signed_field_of>();
    case Op::bfi: return {bfi<false>, bfi<true>};
    case Op::select:
      if (inst.type == Type::i64) return {select<u64, false>, select<u64, true>};
      return {select<u32, false>, select<u32, true>};
    case Op::zext: {
      constexpr auto same = [](u32 a) { return a; };
      return inst.type == Type::i64 ? of_unary<u64, u32, same>() : of_unary<u32, u32, same>();
    }
    case Op::sext:
      return of_unary<u64, u32, [](u32 a) { return static_cast<u64>(s64{sign(a)}); }>();
    case Op::trunc: return of_unary<u32, u64, [](u64 a) { return static_cast<u32>(a); }>();
    case Op::high: return of_unary<u32, u64, [](u64 a) { return static_cast<u32>(a >> 32); }>();
    case Op::pack: return of_binary<u64, u32, u32, [](u32 a, u32 b) { return a | u64{b} << 32; }>();
    case Op::compose: return {compose<false>, compose<true>};
    case Op::extract: return {extract<false>, extract<true>};
    default: return {};
  }
}

}  // namespace ptx2spv::interpreter
