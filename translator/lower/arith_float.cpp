// 9.7.3 to 9.7.6: what floating point needs beyond the IR's own operations, comparisons and
// conversions.
#include "translator/lower/arith.hpp"

namespace ptx2spv::lower {

namespace {

std::uint64_t sign_mask(NumKind kind) { return std::uint64_t{1} << (bits_of(kind) - 1); }

/// Exponent field in place, mantissa width.
struct FloatLayout {
  std::uint64_t exponent;
  std::uint64_t mantissa;
};
FloatLayout layout(NumKind kind) {
  switch (kind) {
    case NumKind::f16: return {0x7c00, 0x3ff};
    case NumKind::bf16: return {0x7f80, 0x7f};
    case NumKind::f64: return {0x7ff0000000000000ull, 0xfffffffffffffull};
    default: return {0x7f800000, 0x7fffff};
  }
}

}  // namespace

Value Arith::fneg(NumKind kind, Value a) {
  return b_.op2(Op::xor_, a, constant(kind, sign_mask(kind)));
}
Value Arith::fabs(NumKind kind, Value a) {
  return b_.op2(Op::and_, a, constant(kind, sign_mask(kind) - 1));
}

Value Arith::copysign(NumKind kind, Value sign, Value magnitude) {
  const Value s = b_.op2(Op::and_, sign, constant(kind, sign_mask(kind)));
  return b_.op2(Op::or_, s, fabs(kind, magnitude));
}

Value Arith::testp(NumKind kind, Testp what, Value a) {
  const FloatLayout l = layout(kind);
  const Value magnitude = fabs(kind, a);
  const Value infinity = constant(kind, l.exponent);
  switch (what) {
    case Testp::finite: return b_.cmp(Op::ult, magnitude, infinity);
    case Testp::infinite: return b_.cmp(Op::eq, magnitude, infinity);
    case Testp::number: return b_.cmp(Op::ule, magnitude, infinity);
    case Testp::notanumber: return b_.cmp(Op::ult, infinity, magnitude);
    case Testp::normal: {
      // Zero passes for normal, on the hardware too.
      const Value zero = b_.cmp(Op::eq, magnitude, constant(kind, 0));
      return b_.op2(Op::or_, zero,
                    b_.op2(Op::and_, b_.cmp(Op::ult, constant(kind, l.mantissa), magnitude),
                           b_.cmp(Op::ult, magnitude, infinity)));
    }
    case Testp::subnormal: break;
  }
  // Zero counts as subnormal nowhere: 1 <= |a| <= the mantissa's bits.
  return b_.cmp(Op::ult, b_.op2(Op::sub, magnitude, constant(kind, 1)), constant(kind, l.mantissa));
}

Value Arith::compare(NumKind kind, Cmp op, Value a, Value c, bool ftz) {
  const auto no = [&](Value v) { return b_.inst(Op::xor_, Type::i1, {v, b_.i1(true)}); };
  if (is_float(kind)) {
    const FpAttr attr{.kind = kind, .ftz = ftz};
    const auto ordered = [&](Op which, Value x, Value y) {
      return b_.fp(which, Type::i1, {x, y}, attr);
    };
    switch (op) {
      case Cmp::eq: return ordered(Op::feq, a, c);
      case Cmp::neu: return no(ordered(Op::feq, a, c));
      case Cmp::ne: return no(b_.op2(Op::or_, ordered(Op::feq, a, c), ordered(Op::funord, a, c)));
      case Cmp::equ: return b_.op2(Op::or_, ordered(Op::feq, a, c), ordered(Op::funord, a, c));
      case Cmp::lt: return ordered(Op::flt, a, c);
      case Cmp::le: return ordered(Op::fle, a, c);
      case Cmp::gt: return ordered(Op::flt, c, a);
      case Cmp::ge: return ordered(Op::fle, c, a);
      case Cmp::ltu: return no(ordered(Op::fle, c, a));
      case Cmp::leu: return no(ordered(Op::flt, c, a));
      case Cmp::gtu: return no(ordered(Op::fle, a, c));
      case Cmp::geu: return no(ordered(Op::flt, a, c));
      case Cmp::num: return no(ordered(Op::funord, a, c));
      default: return ordered(Op::funord, a, c);
    }
  }
  const Value x = extended(kind, a), y = extended(kind, c);
  const Op less = is_signed(kind) ? Op::slt : Op::ult;
  const Op less_equal = is_signed(kind) ? Op::sle : Op::ule;
  switch (op) {
    case Cmp::eq: return b_.cmp(Op::eq, a, c);
    case Cmp::ne: return b_.cmp(Op::ne, a, c);
    case Cmp::lt: return b_.cmp(less, x, y);
    case Cmp::le: return b_.cmp(less_equal, x, y);
    case Cmp::gt: return b_.cmp(less, y, x);
    case Cmp::ge: return b_.cmp(less_equal, y, x);
    case Cmp::lo: return b_.cmp(Op::ult, a, c);
    case Cmp::ls: return b_.cmp(Op::ule, a, c);
    case Cmp::hi: return b_.cmp(Op::ult, c, a);
    default: return b_.cmp(Op::ule, c, a);
  }
}

Value Arith::integer_convert(NumKind to, NumKind from, Value v, bool sat) {
  const unsigned to_bits = bits_of(to);
  if (sat) {
    // Clamp in 64 bits: every limit of every kind but u64's own fits a signed 64-bit comparison
    // there.
    Value wide = widen(from, v);
    if (is_signed(from)) {
      if (!is_signed(to))
        wide = b_.op2(Op::smax, wide, b_.i64(0));
      else if (to_bits < 64)
        wide = b_.op2(Op::smax, wide, b_.i64(~std::uint64_t{0} << (to_bits - 1)));
      if (to_bits < 64)
        wide = b_.op2(Op::smin, wide,
                      b_.i64((std::uint64_t{1} << (to_bits - (is_signed(to) ? 1 : 0))) - 1));
    } else if (to_bits < 64 || is_signed(to)) {
      wide = b_.op2(Op::umin, wide,
                    b_.i64((std::uint64_t{1} << (to_bits - (is_signed(to) ? 1 : 0))) - 1));
    }
    if (to_bits == 64) return wide;
    return canonical(to, b_.inst(Op::trunc, Type::i32, {wide}));
  }
  if (to_bits == 64) return widen(from, v);
  if (bits_of(from) == 64) return canonical(to, b_.inst(Op::trunc, Type::i32, {v}));
  return to_bits > bits_of(from) ? canonical(to, extended(from, v)) : canonical(to, v);
}

Value Arith::convert(NumKind to, NumKind from, Value v, Round round, bool ftz, bool sat) {
  const bool from_float = is_float(from), to_float = is_float(to);
  if (!from_float && !to_float) return integer_convert(to, from, v, sat);
  const auto fcvt = [&](NumKind k_to, NumKind k_from, Value x, bool saturate) {
    return b_.fp(Op::fcvt, type_of(k_to), {x},
                 {.kind = k_from, .to = k_to, .round = round, .ftz = ftz, .sat = saturate});
  };
  if (!from_float) {
    if (bits_of(from) >= 32) return fcvt(to, from, v, sat);
    return fcvt(to, is_signed(from) ? NumKind::s32 : NumKind::u32, extended(from, v), sat);
  }
  if (to_float) {
    const bool to_integer =
        round == Round::rni || round == Round::rzi || round == Round::rmi || round == Round::rpi;
    if (to != from || to_integer || sat || ftz) return fcvt(to, from, v, sat);
    // A move, but of halves it replaces NaN by the one NaN of the format.
    if (bits_of(to) != 16) return v;
    return b_.select(testp(to, Testp::notanumber, v), b_.i32(0x7fff), v);
  }
  if (bits_of(to) >= 32) return fcvt(to, from, v, sat);
  // Conversions to integers saturate, so a narrow target is a clamp of the 32-bit one.
  const unsigned bits = bits_of(to);
  const Value wide = fcvt(is_signed(to) ? NumKind::s32 : NumKind::u32, from, v, sat);
  if (!is_signed(to)) {
    const Value narrow = b_.op2(Op::umin, wide, b_.i32((1u << bits) - 1));
    // A NaN of double precision gives the highest bit of any integer, others give zero.
    if (from != NumKind::f64) return narrow;
    return b_.select(testp(from, Testp::notanumber, v), b_.i32(1u << (bits - 1)), narrow);
  }
  const Value low = b_.op2(Op::smax, wide, b_.i32(~0u << (bits - 1)));
  return canonical(to, b_.op2(Op::smin, low, b_.i32((1u << (bits - 1)) - 1)));
}

}  // namespace ptx2spv::lower
