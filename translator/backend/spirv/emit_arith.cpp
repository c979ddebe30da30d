// Integer arithmetic, comparisons, selection and conversions between the IR's types.
#include <spirv/unified1/GLSL.std.450.h>

#include <cstdint>

#include "translator/backend/spirv/emitter.hpp"

namespace ptx2spv::spirv {

namespace {

/// The instruction of a two-operand IR operation on integers; OpNop where there is none.
spv::Op integer_op(Op op) {
  switch (op) {
    case Op::add: return spv::Op::OpIAdd;
    case Op::sub: return spv::Op::OpISub;
    case Op::mul: return spv::Op::OpIMul;
    case Op::and_: return spv::Op::OpBitwiseAnd;
    case Op::or_: return spv::Op::OpBitwiseOr;
    case Op::xor_: return spv::Op::OpBitwiseXor;
    case Op::eq: return spv::Op::OpIEqual;
    case Op::ne: return spv::Op::OpINotEqual;
    case Op::ult: return spv::Op::OpULessThan;
    case Op::ule: return spv::Op::OpULessThanEqual;
    case Op::slt: return spv::Op::OpSLessThan;
    case Op::sle: return spv::Op::OpSLessThanEqual;
    default: return spv::Op::OpNop;
  }
}

spv::Op logical_op(Op op) {
  switch (op) {
    case Op::and_: return spv::Op::OpLogicalAnd;
    case Op::or_: return spv::Op::OpLogicalOr;
    case Op::xor_:
    case Op::ne: return spv::Op::OpLogicalNotEqual;
    case Op::eq: return spv::Op::OpLogicalEqual;
    default: return spv::Op::OpNop;
  }
}

}  // namespace

// Compares i64 operands that are widened i32 or constants in 32 bits. Not only cheaper: Mesa up to
// at least 22.3 takes the sign extension for a zero extension when it narrows such a comparison
// with a constant.
bool Emitter::narrow_compare(Value v, const Inst& inst) {
  const auto widened = [&](Value a, Op how) {
    const Inst& made = f_.insts[a];
    return made.op == how && f_.insts[f_.arg(a, 0)].type == Type::i32;
  };
  const Value a = f_.arg(v, 0), b = f_.arg(v, 1);
  const bool is_signed = widened(a, Op::sext) || widened(b, Op::sext);
  const Op how = is_signed ? Op::sext : Op::zext;
  const bool a_is_widened = widened(a, how), b_is_widened = widened(b, how);
  if (!a_is_widened && !b_is_widened) return false;
  // In 33 bits signed, everything keeps its order.
  const auto number = [&](Value x, std::int64_t& out) {
    std::uint64_t bits = 0;
    if (!is_constant(x, bits)) return false;
    out = static_cast<std::int64_t>(bits);
    return true;
  };
  std::int64_t constant = 0;
  const bool has_constant = number(a_is_widened ? b : a, constant);
  if (!has_constant && !(a_is_widened && b_is_widened)) return false;
  const bool unsigned_order = inst.op == Op::ult || inst.op == Op::ule;
  // Sign-extended numbers in unsigned order are not those of 32 bits.
  if (is_signed && unsigned_order && has_constant) return false;
  const std::int64_t lowest = is_signed ? INT32_MIN : 0,
                     highest = is_signed ? INT32_MAX : UINT32_MAX;
  if (has_constant && (constant < lowest || constant > highest)) {
    // A negative constant is the greatest where the order is unsigned.
    const bool above = constant > highest || (unsigned_order && constant < 0);
    bool result = inst.op == Op::ne;
    if (inst.op != Op::eq && inst.op != Op::ne) result = a_is_widened ? above : !above;
    alias(v, b_.constant_bool(result));
    return true;
  }
  const auto narrow = [&](Value x, bool is_widened) {
    return is_widened ? operand(x, 0) : b_.constant(static_cast<std::uint32_t>(constant));
  };
  spv::Op code = integer_op(inst.op);
  if (!is_signed && inst.op == Op::slt) code = spv::Op::OpULessThan;
  if (!is_signed && inst.op == Op::sle) code = spv::Op::OpULessThanEqual;
  const Id left = narrow(a, a_is_widened), right = narrow(b, b_is_widened);
  set(v, op(code, b_.type_bool(), left, right));
  return true;
}

// A NaN is beyond infinity without its sign. In a module that keeps NaN, one comparison of floats.
bool Emitter::nan_test(Value v, const Inst& inst) {
  if (inst.op != Op::ult || !o_.float_controls || !p_.features.keeps_specials32) return false;
  const Value magnitude = f_.arg(v, 1);
  std::uint64_t infinity = 0, mask = 0;
  if (f_.insts[magnitude].type != Type::i32 || f_.insts[magnitude].op != Op::and_ ||
      !is_constant(f_.arg(v, 0), infinity) || infinity != 0x7f800000 ||
      !is_constant(f_.arg(magnitude, 1), mask) || mask != 0x7fffffff)
    return false;
  set(v, op(spv::Op::OpIsNan, b_.type_bool(), float_value(f_.arg(magnitude, 0))));
  return true;
}

// SPIR-V 1.3 selects between vectors by a vector.
Id Emitter::select(Type type, Id condition, Id yes, Id no) {
  const unsigned parts = pairs(type) || type == Type::v2 ? 2 : type == Type::v4 ? 4 : 1;
  if (parts > 1) {
    const Words all(parts, condition);
    condition = b_.id();
    put_list(code_, spv::Op::OpCompositeConstruct, all, b_.type_vector(b_.type_bool(), parts),
             condition);
  }
  return op(spv::Op::OpSelect, this->type(type), condition, yes, no);
}

void Emitter::arith(Value v, const Inst& inst) {
  const bool compares = inst.op == Op::eq || inst.op == Op::ne || inst.op == Op::ult ||
                        inst.op == Op::ule || inst.op == Op::slt || inst.op == Op::sle;
  if (compares && f_.insts[f_.arg(v, 0)].type == Type::i64 && narrow_compare(v, inst)) return;
  if (compares && nan_test(v, inst)) return;
  if (inst.op == Op::smin || inst.op == Op::smax) {
    // Of signed type, because SPIRV-Tools, which some drivers run, folds these by the type's
    // signedness.
    if (pairs(inst.type)) return unexpected(inst);
    const Id left = signed_value(f_.arg(v, 0)), right = signed_value(f_.arg(v, 1));
    return set_signed(v, ext(inst.op == Op::smin ? GLSLstd450SMin : GLSLstd450SMax,
                             b_.type_signed(bits(v)), left, right));
  }
  const Type of = inst.op == Op::select ? inst.type : f_.insts[f_.arg(v, 0)].type;
  const Id result = type(inst.type);
  const Id a = operand(v, 0);
  const Id b = inst.count > 1 ? operand(v, 1) : 0;
  // A 64-bit integer held as two words knows only what works word by word.
  const bool bitwise =
      inst.op == Op::and_ || inst.op == Op::or_ || inst.op == Op::xor_ || inst.op == Op::not_;
  if (pairs(of) && !bitwise && inst.op != Op::select && inst.op != Op::popcount)
    return unexpected(inst);
  switch (inst.op) {
    case Op::not_:
      return set(v, op(of == Type::i1 ? spv::Op::OpLogicalNot : spv::Op::OpNot, result, a));
    case Op::neg: return set(v, op(spv::Op::OpSNegate, result, a));
    case Op::select: return set(v, select(inst.type, a, b, operand(v, 2)));
    case Op::umin: return set(v, ext(GLSLstd450UMin, result, a, b));
    case Op::umax: return set(v, ext(GLSLstd450UMax, result, a, b));
    case Op::mulhi_u:
    case Op::mulhi_s: {
      const Id both = b_.global(spv::Op::OpTypeStruct, 0, {result, result});
      const Id product = op(
          inst.op == Op::mulhi_u ? spv::Op::OpUMulExtended : spv::Op::OpSMulExtended, both, a, b);
      return set(v, op(spv::Op::OpCompositeExtract, result, product, 1u));
    }
    case Op::popcount: {
      if (of != Type::i64) return set(v, op(spv::Op::OpBitCount, result, a));
      // Vulkan counts 32 bits at a time.
      const Id counts = op(spv::Op::OpBitCount, b_.type_uvec(2), words(f_.arg(v, 0)));
      const Id low = op(spv::Op::OpCompositeExtract, result, counts, 0u);
      const Id high = op(spv::Op::OpCompositeExtract, result, counts, 1u);
      return set(v, op(spv::Op::OpIAdd, result, low, high));
    }
    case Op::find_msb: return set(v, ext(GLSLstd450FindUMsb, result, a));
    case Op::bit_reverse: return set(v, op(spv::Op::OpBitReverse, result, a));
    case Op::bfe_u: return set(v, op(spv::Op::OpBitFieldUExtract, result, a, b, operand(v, 2)));
    case Op::bfe_s: return set(v, op(spv::Op::OpBitFieldSExtract, result, a, b, operand(v, 2)));
    case Op::bfi:
      return set(v, op(spv::Op::OpBitFieldInsert, result, a, b, operand(v, 2), operand(v, 3)));
    case Op::dot4: {
      b_.capability(spv::Capability::DotProduct);
      b_.capability(spv::Capability::DotProductInput4x8BitPacked);
      constexpr auto packed = static_cast<Id>(spv::PackedVectorFormat::PackedVectorFormat4x8Bit);
      const spv::Op dot = inst.imm == ir::kDotUnsigned ? spv::Op::OpUDot
                          : inst.imm == ir::kDotSigned ? spv::Op::OpSDot
                                                       : spv::Op::OpSUDot;
      const bool swapped = inst.imm == ir::kDotSecond;  // the signed operand is the first
      return set(v, op(dot, result, swapped ? b : a, swapped ? a : b, packed));
    }
    default: break;
  }
  const spv::Op code = of == Type::i1 ? logical_op(inst.op) : integer_op(inst.op);
  if (code == spv::Op::OpNop) return unexpected(inst);
  set(v, op(code, result, a, b));
}

void Emitter::shift(Value v, const Inst& inst) {
  if (pairs(inst.type)) return unexpected(inst);
  const unsigned width = bits(v);
  const Id result = type(inst.type);
  const Id a = operand(v, 0);
  const spv::Op code = inst.op == Op::shl    ? spv::Op::OpShiftLeftLogical
                       : inst.op == Op::lshr ? spv::Op::OpShiftRightLogical
                                             : spv::Op::OpShiftRightArithmetic;
  const Value amount = f_.arg(v, 1);
  std::uint64_t known = 0;
  if (is_constant(amount, known)) {
    if (known >= width) {
      if (inst.op != Op::ashr) return alias(v, integer(inst.type, 0));
      known = width - 1;
    }
    return set(v, op(code, result, a, b_.constant(static_cast<std::uint32_t>(known))));
  }
  // SPIR-V leaves amounts of the width and more open. A masked amount cannot be one.
  const Inst& by = f_.insts[amount];
  const bool masked =
      by.op == Op::and_ && ((is_constant(f_.arg(amount, 1), known) && known < width) ||
                            (is_constant(f_.arg(amount, 0), known) && known < width));
  const Id count = value(amount);
  if (masked) return set(v, op(code, result, a, count));
  const Id last = b_.constant(width - 1);
  if (inst.op == Op::ashr)
    return set(v, op(code, result, a, ext(GLSLstd450UMin, b_.type_uint(), count, last)));
  const Id shifted = op(code, result, a, count);
  const Id fits = op(spv::Op::OpULessThanEqual, b_.type_bool(), count, last);
  set(v, op(spv::Op::OpSelect, result, fits, shifted, integer(inst.type, 0)));
}

// Division by zero gives all ones (the remainder too, as the hardware's sequence leaves it); SPIR-V
// and some drivers' processors do not take it at all, nor the smallest number divided by -1. So
// signed division goes by magnitudes.
void Emitter::divide(Value v, const Inst& inst) {
  if (pairs(inst.type)) return unexpected(inst);
  const Id result = type(inst.type);
  const Id zero = integer(inst.type, 0);
  const Id ones = integer(inst.type, ~std::uint64_t{0});
  const bool is_signed = inst.op == Op::sdiv || inst.op == Op::srem;
  const bool quotient = inst.op == Op::udiv || inst.op == Op::sdiv;
  const Id a = operand(v, 0), b = operand(v, 1);
  std::uint64_t known = 0;
  const bool never_zero = is_constant(f_.arg(v, 1), known) && known != 0;
  const spv::Op code = quotient ? spv::Op::OpUDiv : spv::Op::OpUMod;
  const Id by_zero = never_zero ? 0 : op(spv::Op::OpIEqual, b_.type_bool(), b, zero);
  const auto divisor = [&](Id d) {
    return never_zero ? d : op(spv::Op::OpSelect, result, by_zero, integer(inst.type, 1), d);
  };
  Id made = 0;
  if (!is_signed) {
    made = op(code, result, a, divisor(b));
  } else {
    const auto negative = [&](Id x) { return op(spv::Op::OpSLessThan, b_.type_bool(), x, zero); };
    const auto negate_if = [&](Id x, Id condition) {
      return op(spv::Op::OpSelect, result, condition, op(spv::Op::OpSNegate, result, x), x);
    };
    const Id below = negative(a);
    const Id magnitude = negate_if(a, below);
    const Id unsigned_result = op(code, result, magnitude, divisor(negate_if(b, negative(b))));
    made = negate_if(unsigned_result,
                     quotient ? negative(op(spv::Op::OpBitwiseXor, result, a, b)) : below);
  }
  if (!never_zero) made = op(spv::Op::OpSelect, result, by_zero, ones, made);
  set(v, made);
}

void Emitter::convert(Value v, const Inst& inst) {
  const Id result = type(inst.type);
  const Value source = inst.count > 0 ? f_.arg(v, 0) : 0;
  const Type from = f_.insts[source].type;
  switch (inst.op) {
    case Op::zext: {
      const Id a = value(source);
      if (from == Type::i1) {
        return set(v, select(inst.type, a, integer(inst.type, 1), integer(inst.type, 0)));
      }
      if (from == inst.type) return alias(v, a);
      if (pairs(inst.type))
        return set(v, op(spv::Op::OpCompositeConstruct, result, a, b_.constant(0)));
      return set(v, op(spv::Op::OpUConvert, result, a));
    }
    case Op::sext: {
      const Id a = value(source);
      if (!pairs(inst.type)) return set(v, op(spv::Op::OpSConvert, result, a));
      const Id high = op(spv::Op::OpShiftRightArithmetic, b_.type_uint(), a, b_.constant(31));
      return set(v, op(spv::Op::OpCompositeConstruct, result, a, high));
    }
    case Op::trunc:
      if (p_.features.int64 && !holds(words_[source]))
        return set(v, op(spv::Op::OpUConvert, result, value(source)));
      return set(v, op(spv::Op::OpCompositeExtract, result, words(source), 0u));
    case Op::high: return set(v, op(spv::Op::OpCompositeExtract, result, words(source), 1u));
    case Op::pack:
      return set_words(
          v, op(spv::Op::OpCompositeConstruct, b_.type_uvec(2), operand(v, 0), operand(v, 1)));
    case Op::compose: {
      if (uses_[v] == 0) return;  // coordinates of an image, taken apart there
      Words parts;
      for (const Value part : f_.args(v)) parts.push_back(value(part));
      const Id id = b_.id();
      last_at_ = code_.size() + 2;
      put_list(code_, spv::Op::OpCompositeConstruct, parts, result, id);
      return set(v, id);
    }
    case Op::extract: {
      const Inst& made = f_.insts[source];
      if (made.op == Op::compose && inst.imm < made.count)
        return alias(v, operand(source, static_cast<unsigned>(inst.imm)));
      return set(v, op(spv::Op::OpCompositeExtract, result, value(source),
                       static_cast<std::uint32_t>(inst.imm)));
    }
    default: return unexpected(inst);
  }
}

}  // namespace ptx2spv::spirv
