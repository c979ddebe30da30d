// 9.7.1 integer arithmetic, 9.7.2 extended precision, 9.7.8 logic and shifts.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

namespace {

MulHalf half_of(const ptx::Modifiers& mods) {
  return mods.mode == Mod::hi ? MulHalf::hi : mods.mode == Mod::wide ? MulHalf::wide : MulHalf::lo;
}

ptx::Type wide_type(ptx::Type type) {
  using enum ptx::Type;
  switch (type) {
    case u16: return u32;
    case s16: return s32;
    case u32: return u64;
    default: return s64;
  }
}

}  // namespace

void FunctionLowering::lower_integer(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const ptx::Type type = mods.type();
  // Packed 16-bit integers: the two halves one by one.
  if (type == ptx::Type::u16x2 || type == ptx::Type::s16x2) {
    const NumKind half = type == ptx::Type::s16x2 ? NumKind::s16 : NumKind::u16;
    const Value x = read(a[1], ptx::Type::b32), y = read(a[2], ptx::Type::b32);
    const auto each = [&](Value u, Value v) {
      Value r;
      if (inst.op == Opcode::add)
        r = arith_.add(half, u, v);
      else if (inst.op == Opcode::min)
        r = arith_.min(half, u, v);
      else
        r = arith_.max(half, u, v);
      return mods.has(Mod::relu) ? arith_.max(NumKind::s16, r, b_.i32(0)) : r;
    };
    const Value low = each(arith_.lo16(x), arith_.lo16(y));
    return write(a[0], arith_.pair16(low, each(arith_.hi16(x), arith_.hi16(y))), ptx::Type::b32);
  }
  const NumKind kind = num_kind(type);
  const auto in = [&](unsigned i) { return read(a[i], type); };
  switch (inst.op) {
    case Opcode::add: return write(a[0], arith_.add(kind, in(1), in(2), mods.sat), type);
    case Opcode::sub: return write(a[0], arith_.sub(kind, in(1), in(2), mods.sat), type);
    case Opcode::mul: {
      const MulHalf half = half_of(mods);
      return write(a[0], arith_.mul(kind, half, in(1), in(2)),
                   half == MulHalf::wide ? wide_type(type) : type);
    }
    case Opcode::mad: {
      const MulHalf half = half_of(mods);
      const ptx::Type to = half == MulHalf::wide ? wide_type(type) : type;
      return write(a[0], arith_.mad(kind, half, in(1), in(2), read(a[3], to), mods.sat), to);
    }
    case Opcode::mul24:
      return write(a[0], arith_.mul24(kind, mods.mode == Mod::hi, in(1), in(2)), type);
    case Opcode::mad24: {
      const Value product = arith_.mul24(kind, mods.mode == Mod::hi, in(1), in(2));
      return write(a[0], arith_.add(kind, product, in(3), mods.sat), type);
    }
    case Opcode::sad: return write(a[0], arith_.sad(kind, in(1), in(2), in(3)), type);
    case Opcode::div: return write(a[0], arith_.div(kind, in(1), in(2)), type);
    case Opcode::rem: return write(a[0], arith_.rem(kind, in(1), in(2)), type);
    case Opcode::abs: return write(a[0], arith_.abs(kind, in(1)), type);
    case Opcode::neg: return write(a[0], arith_.neg(kind, in(1)), type);
    case Opcode::min:
    case Opcode::max: {
      Value r =
          inst.op == Opcode::min ? arith_.min(kind, in(1), in(2)) : arith_.max(kind, in(1), in(2));
      if (mods.has(Mod::relu)) r = arith_.max(NumKind::s32, r, b_.i32(0));
      return write(a[0], r, type);
    }
    case Opcode::dp4a:
    case Opcode::dp2a: {
      const bool as = mods.types[0] == ptx::Type::s32, bs = mods.types[1] == ptx::Type::s32;
      const Value x = read(a[1], ptx::Type::b32), y = read(a[2], ptx::Type::b32),
                  z = read(a[3], ptx::Type::b32);
      const Value r = inst.op == Opcode::dp4a ? arith_.dp4a(as, bs, x, y, z)
                                              : arith_.dp2a(as, bs, mods.mode == Mod::hi, x, y, z);
      return write(a[0], r, ptx::Type::b32);
    }
    default: return refuse(inst);
  }
}

void FunctionLowering::lower_carry(const Instruction& inst) {
  if (!carry_) carry_ = new_var(Type::i1, "carry");
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const ptx::Type type = mods.type();
  const NumKind kind = num_kind(type);
  const bool carry_in =
      inst.op == Opcode::addc || inst.op == Opcode::subc || inst.op == Opcode::madc;
  Value x = read(a[1], type), y = read(a[2], type);
  if (inst.op == Opcode::mad || inst.op == Opcode::madc) {
    if (ptx::bits(type) == 16 && half_of(mods) == MulHalf::hi) {
      // What stands above 32 bits: nothing but the product's sign.
      const Value product = b_.op2(Op::mul, arith_.extended(kind, x), arith_.extended(kind, y));
      x = ptx::is_signed(type) ? b_.op2(Op::ashr, product, b_.i32(31)) : b_.i32(0);
    } else {
      x = arith_.mul(kind, half_of(mods), x, y);
    }
    y = read(a[3], type);
  }
  // The flag of a subtraction is its carry, which is set where nothing is borrowed.
  const bool subtract = inst.op == Opcode::sub || inst.op == Opcode::subc;
  const auto inverted = [&](Value flag) {
    return subtract ? b_.inst(Op::xor_, Type::i1, {flag, b_.i1(true)}) : flag;
  };
  Value in = 0;
  if (carry_in) in = b_.inst(Op::zext, ir_type(type), {inverted(b_.get(carry_))});
  if (mods.sat || ptx::bits(type) == 16) {
    // No flag leaves these. The sum of three stands in 64 bits before it is clamped.
    const auto wide = [&](Value v) { return mods.sat ? b_.inst(Op::sext, Type::i64, {v}) : v; };
    const Value third = mods.sat && in ? b_.inst(Op::zext, Type::i64, {in}) : in;
    const Op op = subtract ? Op::sub : Op::add;
    Value result = b_.op2(op, b_.op2(op, wide(x), wide(y)), third);
    if (!mods.sat) return write(a[0], arith_.canonical(kind, result), type);
    result = b_.op2(Op::smax, result, b_.i64(~std::uint64_t{0x7fffffff}));
    result = b_.op2(Op::smin, result, b_.i64(0x7fffffff));
    return write(a[0], b_.inst(Op::trunc, Type::i32, {result}), type);
  }
  Value result, carry;
  if (subtract) {
    const Value first = b_.op2(Op::sub, x, y);
    carry = b_.cmp(Op::ult, x, y);
    result = first;
    if (in) {
      result = b_.op2(Op::sub, first, in);
      carry = b_.op2(Op::or_, carry, b_.cmp(Op::ult, first, in));
    }
  } else {
    const Value first = b_.op2(Op::add, x, y);
    carry = b_.cmp(Op::ult, first, x);
    result = first;
    if (in) {
      result = b_.op2(Op::add, first, in);
      carry = b_.op2(Op::or_, carry, b_.cmp(Op::ult, result, first));
    }
  }
  if (mods.cc) {
    Value out = inverted(carry);
    if (guard_) out = b_.select(guard_, out, b_.get(carry_));
    b_.set(carry_, out);
  }
  write(a[0], result, type);
}

void FunctionLowering::lower_bits(const Instruction& inst) {
  using enum Opcode;
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const ptx::Type type = mods.type();
  if (type == ptx::Type::pred) {
    const Value x = read_pred(a[1]);
    Value r;
    switch (inst.op) {
      case and_: r = b_.op2(Op::and_, x, read_pred(a[2])); break;
      case or_: r = b_.op2(Op::or_, x, read_pred(a[2])); break;
      case xor_: r = b_.op2(Op::xor_, x, read_pred(a[2])); break;
      default: r = b_.inst(Op::xor_, Type::i1, {x, b_.i1(true)}); break;
    }
    return write_pred(a[0], r);
  }
  const NumKind kind = num_kind(type);
  const auto in = [&](unsigned i) { return read(a[i], type); };
  const auto word = [&](unsigned i) { return read(a[i], ptx::Type::u32); };
  const bool wrap = mods.has(Mod::wrap);
  switch (inst.op) {
    case and_: return write(a[0], b_.op2(Op::and_, in(1), in(2)), type);
    case or_: return write(a[0], b_.op2(Op::or_, in(1), in(2)), type);
    case xor_: return write(a[0], b_.op2(Op::xor_, in(1), in(2)), type);
    case not_: return write(a[0], arith_.not_(kind, in(1)), type);
    case cnot: return write(a[0], arith_.cnot(kind, in(1)), type);
    case shl: return write(a[0], arith_.shl(kind, in(1), word(2)), type);
    case shr: return write(a[0], arith_.shr(kind, in(1), word(2)), type);
    case shf:
      return write(a[0], arith_.shf(mods.has(Mod::l), wrap, word(1), word(2), word(3)), type);
    case prmt: {
      PrmtMode mode = PrmtMode::none;
      if (mods.has(Mod::f4e)) mode = PrmtMode::f4e;
      if (mods.has(Mod::b4e)) mode = PrmtMode::b4e;
      if (mods.has(Mod::rc8)) mode = PrmtMode::rc8;
      if (mods.has(Mod::ecl)) mode = PrmtMode::ecl;
      if (mods.has(Mod::ecr)) mode = PrmtMode::ecr;
      if (mods.has(Mod::rc16)) mode = PrmtMode::rc16;
      return write(a[0], arith_.prmt(mode, word(1), word(2), word(3)), type);
    }
    case lop3: {
      const bool to_pred = mods.op != Mod::none;
      const Value r =
          arith_.lop3(word(1), word(2), word(3), static_cast<unsigned>(a[4].value & 0xff));
      if (to_pred && a[0].kind == OperandKind::pair) {
        const auto pair = f_.list(a[0]);
        const Value nonzero = b_.cmp(Op::ne, r, b_.i32(0));
        const Value q = read_pred(a[5]);
        const Value p = b_.op2(mods.op == Mod::and_ ? Op::and_ : Op::or_, nonzero, q);
        write(pair[0], r, type);
        return write_pred(pair[1], p);
      }
      return write(a[0], r, type);
    }
    case popc: return write(a[0], arith_.popc(kind, in(1)), ptx::Type::u32);
    case clz: return write(a[0], arith_.clz(kind, in(1)), ptx::Type::u32);
    case bfind:
      return write(a[0], arith_.bfind(kind, in(1), mods.has(Mod::shiftamt)), ptx::Type::u32);
    case brev: return write(a[0], arith_.brev(kind, in(1)), type);
    case fns: return write(a[0], arith_.fns(word(1), word(2), word(3)), ptx::Type::b32);
    case bfe: return write(a[0], arith_.bfe(kind, in(1), word(2), word(3)), type);
    case bfi: return write(a[0], arith_.bfi(kind, in(1), in(2), word(3), word(4)), type);
    case bmsk: return write(a[0], arith_.bmsk(wrap, word(1), word(2)), type);
    case szext: return write(a[0], arith_.szext(kind, wrap, in(1), word(2)), type);
    default: return refuse(inst);
  }
}

}  // namespace ptx2spv::lower
