// Integers, comparisons, selection and conversions between the IR's types (translator/ir/ops.def).
#include <algorithm>
#include <limits>

#include "translator/backend/host/handlers.hpp"

namespace ptx2spv::interpreter {

using ir::Op;
using ir::Type;

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

template <typename T>
using Signed = std::make_signed_t<T>;

template <typename T>
constexpr unsigned kBits = sizeof(T) * 8;

template <typename T>
struct Add {
  T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct Sub {
  T operator()(T a, T b) const { return a - b; }
};
template <typename T>
struct Mul {
  T operator()(T a, T b) const { return a * b; }
};
template <typename T>
struct And {
  T operator()(T a, T b) const { return a & b; }
};
template <typename T>
struct Or {
  T operator()(T a, T b) const { return a | b; }
};
template <typename T>
struct Xor {
  T operator()(T a, T b) const { return a ^ b; }
};
template <typename T>
struct Not {
  T operator()(T a) const { return ~a; }
};
template <typename T>
struct Neg {
  T operator()(T a) const { return T{0} - a; }
};
template <typename T>
struct UMin {
  T operator()(T a, T b) const { return std::min(a, b); }
};
template <typename T>
struct UMax {
  T operator()(T a, T b) const { return std::max(a, b); }
};
template <typename T>
struct SMin {
  T operator()(T a, T b) const {
    return static_cast<Signed<T>>(a) < static_cast<Signed<T>>(b) ? a : b;
  }
};
template <typename T>
struct SMax {
  T operator()(T a, T b) const {
    return static_cast<Signed<T>>(a) < static_cast<Signed<T>>(b) ? b : a;
  }
};
template <typename T>
struct Shl {
  T operator()(T a, u32 by) const { return by < kBits<T> ? a << (by & (kBits<T> - 1)) : 0; }
};
template <typename T>
struct Lshr {
  T operator()(T a, u32 by) const { return by < kBits<T> ? a >> (by & (kBits<T> - 1)) : 0; }
};
template <typename T>
struct Ashr {
  T operator()(T a, u32 by) const {
    return static_cast<T>(static_cast<Signed<T>>(a) >> std::min(by, kBits<T> - 1));
  }
};
template <typename T>
struct Eq {
  u32 operator()(T a, T b) const { return a == b; }
};
template <typename T>
struct Ne {
  u32 operator()(T a, T b) const { return a != b; }
};
template <typename T>
struct Ult {
  u32 operator()(T a, T b) const { return a < b; }
};
template <typename T>
struct Ule {
  u32 operator()(T a, T b) const { return a <= b; }
};
template <typename T>
struct Slt {
  u32 operator()(T a, T b) const { return static_cast<Signed<T>>(a) < static_cast<Signed<T>>(b); }
};
template <typename T>
struct Sle {
  u32 operator()(T a, T b) const { return static_cast<Signed<T>>(a) <= static_cast<Signed<T>>(b); }
};
template <typename T>
struct Popcount {
  u32 operator()(T a) const { return static_cast<u32>(std::popcount(a)); }
};

__extension__ using u128 = unsigned __int128;

template <typename T>
struct MulHiU {
  T operator()(T a, T b) const {
    if constexpr (sizeof(T) == 4)
      return static_cast<T>(u64{a} * b >> 32);
    else
      return static_cast<T>(static_cast<u128>(a) * b >> 64);
  }
};
template <typename T>
struct MulHiS {
  T operator()(T a, T b) const {
    // The signed product is the unsigned one less 2^bits times each operand whose partner is
    // negative.
    const T high = MulHiU<T>{}(a, b);
    return high - (a >> (kBits<T> - 1) ? b : 0) - (b >> (kBits<T> - 1) ? a : 0);
  }
};

// By zero quotient and remainder are all ones.
template <typename T>
struct UDiv {
  T operator()(T a, T b) const { return b ? a / b : ~T{0}; }
};
template <typename T>
struct URem {
  T operator()(T a, T b) const { return b ? a % b : ~T{0}; }
};
template <typename T>
T magnitude(T a) {
  return a >> (kBits<T> - 1) ? T{0} - a : a;
}
template <typename T>
struct SDiv {
  T operator()(T a, T b) const {
    if (b == 0) return ~T{0};
    const T quotient = magnitude(a) / magnitude(b);
    return (a ^ b) >> (kBits<T> - 1) ? T{0} - quotient : quotient;
  }
};
template <typename T>
struct SRem {
  T operator()(T a, T b) const {
    if (b == 0) return ~T{0};
    const T remainder = magnitude(a) % magnitude(b);
    return a >> (kBits<T> - 1) ? T{0} - remainder : remainder;
  }
};

struct NotBit {
  u32 operator()(u32 a) const { return a ^ 1; }
};
struct FindMsb {
  u32 operator()(u32 a) const { return a ? 31u - static_cast<u32>(std::countl_zero(a)) : ~0u; }
};
struct BitReverse {
  u32 operator()(u32 a) const {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
  }
};

u32 low_ones(u32 count) { return count >= 32 ? ~0u : (1u << count) - 1; }
struct BfeU {
  u32 operator()(u32 a, u32 offset, u32 count) const {
    return count ? a >> (offset & 31) & low_ones(count) : 0;
  }
};
struct BfeS {
  u32 operator()(u32 a, u32 offset, u32 count) const {
    if (count == 0) return 0;
    const u32 field = a >> (offset & 31) & low_ones(count);
    if (count >= 32) return field;
    const u32 top = 1u << (count - 1);
    return (field ^ top) - top;
  }
};

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

struct Same {
  u32 operator()(u32 a) const { return a; }
};
struct Zext {
  u64 operator()(u32 a) const { return a; }
};
struct Sext {
  u64 operator()(u32 a) const { return static_cast<u64>(static_cast<s64>(static_cast<s32>(a))); }
};
struct Trunc {
  u32 operator()(u64 a) const { return static_cast<u32>(a); }
};
struct High {
  u32 operator()(u64 a) const { return static_cast<u32>(a >> 32); }
};
struct Pack {
  u64 operator()(u32 a, u32 b) const { return a | u64{b} << 32; }
};

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

template <template <typename> class F>
Handlers same(Type type) {
  if (type == Type::i64) return of_binary<u64, u64, u64, F<u64>>();
  return of_binary<u32, u32, u32, F<u32>>();
}
template <template <typename> class F>
Handlers shifted(Type type) {
  if (type == Type::i64) return of_binary<u64, u64, u32, F<u64>>();
  return of_binary<u32, u32, u32, F<u32>>();
}
template <template <typename> class F>
Handlers compared(Type type) {
  if (type == Type::i64) return of_binary<u32, u64, u64, F<u64>>();
  return of_binary<u32, u32, u32, F<u32>>();
}
template <template <typename> class F>
Handlers alone(Type type) {
  if (type == Type::i64) return of_unary<u64, u64, F<u64>>();
  return of_unary<u32, u32, F<u32>>();
}

Handlers arithmetic(Op op, Type from) {
  switch (op) {
    case Op::add: return same<Add>(from);
    case Op::sub: return same<Sub>(from);
    case Op::mul: return same<Mul>(from);
    case Op::mulhi_u: return same<MulHiU>(from);
    case Op::mulhi_s: return same<MulHiS>(from);
    case Op::udiv: return same<UDiv>(from);
    case Op::sdiv: return same<SDiv>(from);
    case Op::urem: return same<URem>(from);
    case Op::srem: return same<SRem>(from);
    case Op::and_: return same<And>(from);
    case Op::or_: return same<Or>(from);
    case Op::xor_: return same<Xor>(from);
    case Op::not_: return from == Type::i1 ? of_unary<u32, u32, NotBit>() : alone<Not>(from);
    case Op::neg: return alone<Neg>(from);
    case Op::shl: return shifted<Shl>(from);
    case Op::lshr: return shifted<Lshr>(from);
    case Op::ashr: return shifted<Ashr>(from);
    case Op::umin: return same<UMin>(from);
    case Op::umax: return same<UMax>(from);
    case Op::smin: return same<SMin>(from);
    case Op::smax: return same<SMax>(from);
    case Op::eq: return compared<Eq>(from);
    case Op::ne: return compared<Ne>(from);
    case Op::ult: return compared<Ult>(from);
    case Op::ule: return compared<Ule>(from);
    case Op::slt: return compared<Slt>(from);
    case Op::sle: return compared<Sle>(from);
    default: return {};
  }
}

}  // namespace

Handlers integer_handlers(const ir::Inst& inst, Type from) {
  if (const Handlers found = arithmetic(inst.op, from); found.whole) return found;
  switch (inst.op) {
    case Op::popcount:
      if (from == Type::i64) return of_unary<u32, u64, Popcount<u64>>();
      return of_unary<u32, u32, Popcount<u32>>();
    case Op::find_msb: return of_unary<u32, u32, FindMsb>();
    case Op::bit_reverse: return of_unary<u32, u32, BitReverse>();
    case Op::bfe_u: return of_ternary<u32, BfeU>();
    case Op::bfe_s: return of_ternary<u32, BfeS>();
    case Op::bfi: return {bfi<false>, bfi<true>};
    case Op::select:
      if (inst.type == Type::i64) return {select<u64, false>, select<u64, true>};
      return {select<u32, false>, select<u32, true>};
    case Op::zext:
      if (inst.type == Type::i64) return of_unary<u64, u32, Zext>();
      return of_unary<u32, u32, Same>();
    case Op::sext: return of_unary<u64, u32, Sext>();
    case Op::trunc: return of_unary<u32, u64, Trunc>();
    case Op::high: return of_unary<u32, u64, High>();
    case Op::pack: return of_binary<u64, u32, u32, Pack>();
    case Op::compose: return {compose<false>, compose<true>};
    case Op::extract: return {extract<false>, extract<true>};
    default: return {};
  }
}

}  // namespace ptx2spv::interpreter
