// Integers, comparisons and conversions between the IR's types, as handlers_integer.cpp has them.
#include "translator/backend/host/emit.hpp"

namespace ptx2spv::interpreter::llvm {

LLVMValueRef Emitter::logic(const ir::Inst& inst, Opcode o, const LLVMValueRef* in) {
  const auto is_logic = [&](unsigned i) {
    const Op op = f_.insts[f_.operands[inst.first + i]].op;
    return op == Op::and_ || op == Op::or_ || op == Op::xor_ || op == Op::not_ || op == Op::library;
  };
  LLVMValueRef result = b_.op(o, in[0], in[1]);
  return is_logic(0) || is_logic(1) ? b_.fence(result) : result;
}

/// By zero quotient and remainder are all ones.
LLVMValueRef Emitter::divide(const ir::Inst& inst, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef t = b_.l.TypeOf(a);
  LLVMValueRef zero = b_.l.ConstNull(t);
  const auto magnitude = [&](LLVMValueRef x) {
    return b_.select(b_.icmp(int_slt, x, zero), b_.op(op_sub, zero, x), x);
  };
  const bool is_signed = inst.op == Op::sdiv || inst.op == Op::srem;
  const bool rest = inst.op == Op::urem || inst.op == Op::srem;
  // Lanes that do not run may have anything.
  a = b_.freeze(a);
  b = b_.freeze(b);
  LLVMValueRef x = is_signed ? magnitude(a) : a, y = is_signed ? magnitude(b) : b;
  LLVMValueRef quotient = b_.quotient(x, y);
  LLVMValueRef result = rest ? b_.op(op_sub, x, b_.op(op_mul, quotient, y)) : quotient;
  if (is_signed) {
    LLVMValueRef negative = b_.icmp(int_slt, rest ? a : b_.op(op_xor, a, b), zero);
    result = b_.select(negative, b_.op(op_sub, zero, result), result);
  }
  const bool wide = t == b_.i64 || t == b_.vector(b_.i64);
  LLVMValueRef ones = b_.number(a, wide ? b_.i64 : b_.i32, ~0ull);
  return b_.select(b_.icmp(int_eq, b, zero), ones, result);
}

LLVMValueRef Emitter::integer(const ir::Inst& inst, Type from, const LLVMValueRef* in) {
  LLVMTypeRef t = b_.l.TypeOf(in[0]);
  const bool wide = from == Type::i64, one = t == b_.i1 || t == b_.i32 || t == b_.i64;
  const unsigned width = wide ? 64 : 32;
  const auto shaped = [&](LLVMTypeRef element) { return one ? element : b_.vector(element); };
  const auto number = [&](std::uint64_t n) {
    LLVMValueRef c = wide ? b_.c64(n) : b_.c32(n);
    return one ? c : b_.splat(c);
  };
  const auto word = [&](std::uint64_t n) { return one ? b_.c32(n) : b_.splat(b_.c32(n)); };
  const auto compare = [&](Compare c) { return b_.icmp(c, in[0], in[1]); };
  const auto two = [&](const char* name) { return b_.intrinsic(name, {t}, {in[0], in[1]}); };
  /// An amount of bits, of the operand's type, below its width.
  const auto amount = [&](LLVMValueRef by) {
    by = b_.op(op_and, by, word(width - 1));
    return wide ? b_.cast(op_zext, by, t) : by;
  };
  const auto shifted = [&](Opcode o) {
    LLVMValueRef inside = b_.icmp(int_ult, in[1], word(width));
    return b_.select(inside, b_.op(o, in[0], amount(in[1])), b_.l.ConstNull(t));
  };
  const auto low_ones = [&](LLVMValueRef count) {
    LLVMValueRef ones =
        b_.op(op_sub, b_.op(op_shl, word(1), b_.op(op_and, count, word(31))), word(1));
    return b_.select(b_.icmp(int_ult, count, word(32)), ones, word(~0u));
  };
  const auto high_half = [&](Opcode extend) {
    LLVMTypeRef twice = shaped(b_.integer(2 * width));
    LLVMValueRef product =
        b_.op(op_mul, b_.cast(extend, in[0], twice), b_.cast(extend, in[1], twice));
    LLVMValueRef by = b_.l.ConstInt(b_.integer(2 * width), width, 0);
    return b_.cast(op_trunc, b_.op(op_lshr, product, one ? by : b_.splat(by)), t);
  };
  switch (inst.op) {
    case Op::add: return b_.op(op_add, in[0], in[1]);
    case Op::sub: return b_.op(op_sub, in[0], in[1]);
    case Op::mul: return b_.op(op_mul, in[0], in[1]);
    case Op::mulhi_u: return high_half(op_zext);
    case Op::mulhi_s: return high_half(op_sext);
    case Op::udiv:
    case Op::sdiv:
    case Op::urem:
    case Op::srem: return divide(inst, in[0], in[1]);
    case Op::and_: return logic(inst, op_and, in);
    case Op::or_: return logic(inst, op_or, in);
    case Op::xor_: return logic(inst, op_xor, in);
    case Op::not_:
      if (from == Type::i1)
        return b_.op(op_xor, in[0], one ? b_.l.ConstInt(b_.i1, 1, 0) : b_.all_ones());
      return b_.op(op_xor, in[0], number(~0ull));
    case Op::neg: return b_.op(op_sub, b_.l.ConstNull(t), in[0]);
    case Op::shl: return shifted(op_shl);
    case Op::lshr: return shifted(op_lshr);
    case Op::ashr: {
      LLVMValueRef by = b_.select(b_.icmp(int_ult, in[1], word(width)), in[1], word(width - 1));
      return b_.op(op_ashr, in[0], amount(by));
    }
    case Op::umin: return two("llvm.umin");
    case Op::umax: return two("llvm.umax");
    case Op::smin: return two("llvm.smin");
    case Op::smax: return two("llvm.smax");
    case Op::popcount: {
      LLVMValueRef count = b_.intrinsic("llvm.ctpop", {t}, {in[0]});
      return wide ? b_.cast(op_trunc, count, shaped(b_.i32)) : count;
    }
    case Op::find_msb:
      return b_.op(op_sub, word(31),
                   b_.intrinsic("llvm.ctlz", {t}, {in[0], b_.l.ConstInt(b_.i1, 0, 0)}));
    case Op::bit_reverse: return b_.intrinsic("llvm.bitreverse", {t}, {in[0]});
    case Op::bfe_u:
    case Op::bfe_s: {
      LLVMValueRef field = b_.op(op_and, b_.op(op_lshr, in[0], amount(in[1])), low_ones(in[2]));
      if (inst.op == Op::bfe_s) {
        LLVMValueRef top =
            b_.op(op_shl, word(1), b_.op(op_and, b_.op(op_sub, in[2], word(1)), word(31)));
        LLVMValueRef extended = b_.op(op_sub, b_.op(op_xor, field, top), top);
        field = b_.select(b_.icmp(int_ult, in[2], word(32)), extended, field);
      }
      return b_.select(b_.icmp(int_eq, in[2], word(0)), word(0), field);
    }
    case Op::bfi: {
      LLVMValueRef field = b_.op(op_shl, low_ones(in[3]), amount(in[2]));
      LLVMValueRef kept = b_.op(op_and, in[0], b_.op(op_xor, field, word(~0u)));
      return b_.fence(
          b_.op(op_or, kept, b_.op(op_and, b_.op(op_shl, in[1], amount(in[2])), field)));
    }
    case Op::eq: return compare(int_eq);
    case Op::ne: return compare(int_ne);
    case Op::ult: return compare(int_ult);
    case Op::ule: return compare(int_ule);
    case Op::slt: return compare(int_slt);
    case Op::sle: return compare(int_sle);
    case Op::zext:
      if (inst.type == from) return in[0];
      return b_.cast(op_zext, in[0], shaped(inst.type == Type::i64 ? b_.i64 : b_.i32));
    case Op::sext: return b_.cast(op_sext, in[0], shaped(b_.i64));
    case Op::trunc: return b_.cast(op_trunc, in[0], shaped(b_.i32));
    case Op::high: return b_.cast(op_trunc, b_.op(op_lshr, in[0], number(32)), shaped(b_.i32));
    case Op::pack: {
      LLVMTypeRef to = shaped(b_.i64);
      LLVMValueRef by = one ? b_.c64(32) : b_.splat(b_.c64(32));
      return b_.op(op_or, b_.cast(op_zext, in[0], to),
                   b_.op(op_shl, b_.cast(op_zext, in[1], to), by));
    }
    default: return nullptr;
  }
}

}  // namespace ptx2spv::interpreter::llvm
