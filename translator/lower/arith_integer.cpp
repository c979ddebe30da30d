// 9.7.1 integer arithmetic and 9.7.2 extended-precision building blocks.
#include "translator/lower/arith.hpp"

namespace ptx2spv::lower {

Value Arith::canonical(NumKind kind, Value v) {
  const unsigned bits = bits_of(kind);
  return bits < 32 ? b_.op2(Op::and_, v, b_.i32((1u << bits) - 1)) : v;
}

Value Arith::extended(NumKind kind, Value v) {
  const unsigned bits = bits_of(kind);
  return bits < 32 && is_signed(kind) ? sext_bits(v, bits) : v;
}

Value Arith::widen(NumKind kind, Value v) {
  if (bits_of(kind) == 64) return v;
  return b_.inst(is_signed(kind) ? Op::sext : Op::zext, Type::i64, {extended(kind, v)});
}

Value Arith::add(NumKind kind, Value a, Value c, bool sat) {
  const Value sum = canonical(kind, b_.op2(Op::add, a, c));
  if (!sat) return sum;
  // Overflow: both operands differ in sign from the sum; the limit has the sign of the first.
  const Value differs = b_.op2(Op::and_, b_.op2(Op::xor_, a, sum), b_.op2(Op::xor_, c, sum));
  const Value limit = b_.op2(Op::xor_, b_.op2(Op::ashr, a, b_.i32(31)), b_.i32(0x7fffffff));
  return b_.select(b_.cmp(Op::slt, differs, b_.i32(0)), limit, sum);
}

Value Arith::sub(NumKind kind, Value a, Value c, bool sat) {
  const Value difference = canonical(kind, b_.op2(Op::sub, a, c));
  if (!sat) return difference;
  const Value differs = b_.op2(Op::and_, b_.op2(Op::xor_, a, c), b_.op2(Op::xor_, a, difference));
  const Value limit = b_.op2(Op::xor_, b_.op2(Op::ashr, a, b_.i32(31)), b_.i32(0x7fffffff));
  return b_.select(b_.cmp(Op::slt, differs, b_.i32(0)), limit, difference);
}

Value Arith::mul(NumKind kind, MulHalf half, Value a, Value c) {
  const unsigned bits = bits_of(kind);
  const bool s = is_signed(kind);
  if (bits == 16) {
    const Value product = b_.op2(Op::mul, extended(kind, a), extended(kind, c));
    if (half == MulHalf::wide) return product;
    if (half == MulHalf::lo) return lo16(product);
    return hi16(product);
  }
  switch (half) {
    case MulHalf::lo: return b_.op2(Op::mul, a, c);
    case MulHalf::hi: return b_.op2(s ? Op::mulhi_s : Op::mulhi_u, a, c);
    case MulHalf::wide: break;
  }
  const Value high = b_.op2(s ? Op::mulhi_s : Op::mulhi_u, a, c);
  return b_.inst(Op::pack, Type::i64, {b_.op2(Op::mul, a, c), high});
}

Value Arith::mad(NumKind kind, MulHalf half, Value a, Value c, Value d, bool sat) {
  const Value product = mul(kind, half, a, c);
  if (half == MulHalf::wide) return b_.op2(Op::add, product, d);
  return add(kind, product, d, sat);
}

Value Arith::mul24(NumKind kind, bool high, Value a, Value c) {
  const auto low24 = [&](Value v) {
    return is_signed(kind) ? sext_bits(v, 24) : b_.op2(Op::and_, v, b_.i32(0xffffff));
  };
  const Value x = low24(a), y = low24(c);
  const Value low = b_.op2(Op::mul, x, y);
  if (!high) return low;
  // Bits 47 .. 16 of the 48-bit product.
  const Value top = b_.op2(is_signed(kind) ? Op::mulhi_s : Op::mulhi_u, x, y);
  return b_.op2(Op::or_, b_.op2(Op::shl, top, b_.i32(16)), b_.op2(Op::lshr, low, b_.i32(16)));
}

Value Arith::sad(NumKind kind, Value a, Value c, Value d) {
  const Value x = extended(kind, a), y = extended(kind, c);
  const Value less = b_.cmp(is_signed(kind) ? Op::slt : Op::ult, x, y);
  const Value distance = b_.select(less, b_.op2(Op::sub, y, x), b_.op2(Op::sub, x, y));
  return canonical(kind, b_.op2(Op::add, distance, d));
}

Value Arith::div(NumKind kind, Value a, Value c) {
  return canonical(
      kind, b_.op2(is_signed(kind) ? Op::sdiv : Op::udiv, extended(kind, a), extended(kind, c)));
}

Value Arith::rem(NumKind kind, Value a, Value c) {
  return canonical(
      kind, b_.op2(is_signed(kind) ? Op::srem : Op::urem, extended(kind, a), extended(kind, c)));
}

Value Arith::abs(NumKind kind, Value a) {
  const Value x = extended(kind, a);
  const Value negative = b_.cmp(Op::slt, x, constant(kind, 0));
  return canonical(kind, b_.select(negative, b_.inst(Op::neg, type_of(kind), {x}), x));
}

Value Arith::neg(NumKind kind, Value a) {
  return canonical(kind, b_.inst(Op::neg, type_of(kind), {a}));
}

Value Arith::min(NumKind kind, Value a, Value c) {
  return canonical(
      kind, b_.op2(is_signed(kind) ? Op::smin : Op::umin, extended(kind, a), extended(kind, c)));
}

Value Arith::max(NumKind kind, Value a, Value c) {
  return canonical(
      kind, b_.op2(is_signed(kind) ? Op::smax : Op::umax, extended(kind, a), extended(kind, c)));
}

Value Arith::not_(NumKind kind, Value a) {
  return canonical(kind, b_.inst(Op::not_, type_of(kind), {a}));
}

Value Arith::cnot(NumKind kind, Value a) {
  const Value zero = b_.cmp(Op::eq, a, constant(kind, 0));
  return b_.select(zero, constant(kind, 1), constant(kind, 0));
}

Value Arith::shl(NumKind kind, Value a, Value amount) {
  return canonical(kind, b_.op2(Op::shl, a, amount));
}

Value Arith::shr(NumKind kind, Value a, Value amount) {
  if (!is_signed(kind)) return b_.op2(Op::lshr, a, amount);
  return canonical(kind, b_.op2(Op::ashr, extended(kind, a), amount));
}

Value Arith::dp4a(bool a_signed, bool b_signed, Value a, Value c, Value d) {
  const unsigned signs = (a_signed ? ir::kDotFirst : 0) | (b_signed ? ir::kDotSecond : 0);
  return b_.op2(Op::add, d, b_.inst(Op::dot4, Type::i32, {a, c}, signs));
}

Value Arith::dp2a(bool a_signed, bool b_signed, bool high, Value a, Value c, Value d) {
  for (unsigned i = 0; i < 2; ++i) {
    const Value half = i ? b_.op2(Op::lshr, a, b_.i32(16)) : a;
    const Value x = a_signed ? sext_bits(half, 16) : lo16(half);
    const unsigned shift = 8 * (i + (high ? 2 : 0));
    const Value low = shift ? b_.op2(Op::lshr, c, b_.i32(shift)) : c;
    const Value y = b_signed ? sext_bits(low, 8) : b_.op2(Op::and_, low, b_.i32(0xff));
    d = b_.op2(Op::add, d, b_.op2(Op::mul, x, y));
  }
  return d;
}

}  // namespace ptx2spv::lower
