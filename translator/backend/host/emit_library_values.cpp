// Arithmetic of the shader library, as shaders/host/glsl.hpp has it.
#include <spirv/unified1/GLSL.std.450.h>

#include "translator/backend/host/emit_library.hpp"

namespace ptx2spv::interpreter::llvm {

LLVMValueRef LibraryCall::to(LLVMValueRef x, Element element) {
  LLVMTypeRef t = element_type(element, !b_.is_vector(x));
  return b_.l.TypeOf(x) == t ? x : b_.cast(op_bitcast, x, t);
}

LLVMValueRef LibraryCall::not_(LLVMValueRef x) {
  return b_.op(op_xor, x, b_.is_vector(x) ? b_.all_ones() : b_.l.ConstInt(b_.i1, 1, 0));
}

/// Of too large an amount, of a lane that does not use it, any number.
LLVMValueRef LibraryCall::shift(Opcode o, LLVMValueRef x, LLVMValueRef by) {
  return b_.freeze(b_.op(o, x, by));
}

LLVMValueRef LibraryCall::unary(spv::Op op, LLVMValueRef x) {
  const auto real = [&] { return element_type(Element::real, !b_.is_vector(x)); };
  const auto word = [&] { return element_type(Element::word, !b_.is_vector(x)); };
  switch (op) {
    case spv::Op::OpNot: return b_.op(op_xor, x, b_.number(x, b_.i32, ~0u));
    case spv::Op::OpLogicalNot: return not_(x);
    case spv::Op::OpSNegate: return b_.op(op_sub, b_.l.ConstNull(b_.l.TypeOf(x)), x);
    case spv::Op::OpFNegate:
      return to(b_.op(op_xor, to(x, Element::word), b_.number(x, b_.i32, 0x80000000u)),
                Element::real);
    case spv::Op::OpConvertSToF: return b_.cast(op_sitofp, x, real());
    case spv::Op::OpConvertUToF: return b_.cast(op_uitofp, x, real());
    // What has no place in the result is not used.
    case spv::Op::OpConvertFToS: return b_.freeze(b_.cast(op_fptosi, x, word()));
    case spv::Op::OpConvertFToU: return b_.freeze(b_.cast(op_fptoui, x, word()));
    case spv::Op::OpBitCount: return b_.intrinsic("llvm.ctpop", {b_.l.TypeOf(x)}, {x});
    case spv::Op::OpBitReverse: return b_.intrinsic("llvm.bitreverse", {b_.l.TypeOf(x)}, {x});
    default: return nullptr;
  }
}

LLVMValueRef LibraryCall::binary(spv::Op op, LLVMValueRef x, LLVMValueRef y) {
  switch (op) {
    case spv::Op::OpIAdd: return b_.op(op_add, x, y);
    case spv::Op::OpISub: return b_.op(op_sub, x, y);
    case spv::Op::OpIMul: return b_.op(op_mul, x, y);
    case spv::Op::OpUDiv: return b_.quotient(x, y);
    case spv::Op::OpUMod: return b_.op(op_sub, x, b_.op(op_mul, b_.quotient(x, y), y));
    case spv::Op::OpFAdd: return b_.op(op_fadd, x, y);
    case spv::Op::OpFSub: return b_.op(op_fsub, x, y);
    case spv::Op::OpFMul: return b_.op(op_fmul, x, y);
    case spv::Op::OpFDiv: return b_.op(op_fdiv, x, y);
    case spv::Op::OpBitwiseAnd: return b_.op(op_and, x, y);
    case spv::Op::OpBitwiseOr: return b_.op(op_or, x, y);
    case spv::Op::OpBitwiseXor: return b_.op(op_xor, x, y);
    case spv::Op::OpLogicalAnd: return b_.op(op_and, x, y);
    case spv::Op::OpLogicalOr: return b_.op(op_or, x, y);
    case spv::Op::OpShiftLeftLogical: return shift(op_shl, x, y);
    case spv::Op::OpShiftRightLogical: return shift(op_lshr, x, y);
    case spv::Op::OpShiftRightArithmetic: return shift(op_ashr, x, y);
    default: return comparison(op, x, y);
  }
}

LLVMValueRef LibraryCall::comparison(spv::Op op, LLVMValueRef x, LLVMValueRef y) {
  switch (op) {
    case spv::Op::OpIEqual:
    case spv::Op::OpLogicalEqual: return b_.icmp(int_eq, x, y);
    case spv::Op::OpINotEqual:
    case spv::Op::OpLogicalNotEqual: return b_.icmp(int_ne, x, y);
    case spv::Op::OpUGreaterThan: return b_.icmp(int_ugt, x, y);
    case spv::Op::OpUGreaterThanEqual: return b_.icmp(int_uge, x, y);
    case spv::Op::OpULessThan: return b_.icmp(int_ult, x, y);
    case spv::Op::OpULessThanEqual: return b_.icmp(int_ule, x, y);
    case spv::Op::OpSGreaterThan: return b_.icmp(int_sgt, x, y);
    case spv::Op::OpSGreaterThanEqual: return b_.icmp(int_sge, x, y);
    case spv::Op::OpSLessThan: return b_.icmp(int_slt, x, y);
    case spv::Op::OpSLessThanEqual: return b_.icmp(int_sle, x, y);
    case spv::Op::OpFOrdEqual: return b_.fcmp(real_oeq, x, y);
    case spv::Op::OpFOrdLessThan: return b_.fcmp(real_olt, x, y);
    case spv::Op::OpFOrdLessThanEqual: return b_.fcmp(real_ole, x, y);
    case spv::Op::OpFOrdGreaterThan: return b_.fcmp(real_olt, y, x);
    case spv::Op::OpFOrdGreaterThanEqual: return b_.fcmp(real_ole, y, x);
    default: return nullptr;
  }
}

LLVMValueRef LibraryCall::extended(std::uint32_t instruction, const LLVMValueRef* in) {
  LLVMTypeRef t = b_.l.TypeOf(in[0]);
  const auto one = [&](const char* name) { return b_.intrinsic(name, {t}, {in[0]}); };
  const auto two = [&](const char* name, LLVMValueRef x, LLVMValueRef y) {
    return b_.intrinsic(name, {t}, {x, y});
  };
  const auto less = [&](LLVMValueRef x, LLVMValueRef y) { return b_.fcmp(real_olt, x, y); };
  const auto fmax = [&](LLVMValueRef x, LLVMValueRef y) { return b_.select(less(x, y), y, x); };
  const auto fmin = [&](LLVMValueRef x, LLVMValueRef y) { return b_.select(less(y, x), y, x); };
  const auto real = [&](std::uint32_t bits) {
    return b_.cast(op_bitcast, b_.number(in[0], b_.i32, bits), t);
  };
  switch (instruction) {
    case GLSLstd450UMin: return two("llvm.umin", in[0], in[1]);
    case GLSLstd450UMax: return two("llvm.umax", in[0], in[1]);
    case GLSLstd450SMin: return two("llvm.smin", in[0], in[1]);
    case GLSLstd450SMax: return two("llvm.smax", in[0], in[1]);
    case GLSLstd450SClamp: return two("llvm.smin", two("llvm.smax", in[0], in[1]), in[2]);
    case GLSLstd450UClamp: return two("llvm.umin", two("llvm.umax", in[0], in[1]), in[2]);
    case GLSLstd450FMin: return fmin(in[0], in[1]);
    case GLSLstd450FMax: return fmax(in[0], in[1]);
    case GLSLstd450FClamp: return fmin(fmax(in[0], in[1]), in[2]);
    case GLSLstd450SAbs: {
      LLVMValueRef zero = b_.l.ConstNull(t);
      return b_.select(b_.icmp(int_slt, in[0], zero), b_.op(op_sub, zero, in[0]), in[0]);
    }
    case GLSLstd450FAbs: return one("llvm.fabs");
    case GLSLstd450FSign: {
      LLVMValueRef zero = b_.l.ConstNull(t);
      return b_.select(less(zero, in[0]), real(0x3f800000u),
                       b_.select(less(in[0], zero), real(0xbf800000u), zero));
    }
    case GLSLstd450Floor: return one("llvm.floor");
    case GLSLstd450Trunc: return one("llvm.trunc");
    case GLSLstd450RoundEven: return one("llvm.nearbyint");
    case GLSLstd450Sqrt: return one("llvm.sqrt");
    case GLSLstd450InverseSqrt: return b_.op(op_fdiv, real(0x3f800000u), one("llvm.sqrt"));
    // Made by the optimiser of products and sums, which the interpreter rounds one by one.
    case GLSLstd450Fma: return b_.op(op_fadd, b_.op(op_fmul, in[0], in[1]), in[2]);
    case GLSLstd450FindUMsb:
      return b_.op(op_sub, b_.number(in[0], b_.i32, 31),
                   b_.intrinsic("llvm.ctlz", {t}, {in[0], b_.l.ConstInt(b_.i1, 0, 0)}));
    default: return nullptr;
  }
}

/// Component by component.
bool LibraryCall::arithmetic(spv::Op op, Words words) {
  const bool ext = op == spv::Op::OpExtInst;
  const auto in = alike(words.subspan(ext ? 5 : 3));
  if (in.empty() || in.size() > 3) return false;
  Parts out{{}, in[0].uniform};
  for (std::size_t i = 0; i < in[0].part.size(); ++i) {
    LLVMValueRef part[3] = {};
    for (std::size_t k = 0; k < in.size(); ++k) part[k] = in[k].part[i];
    LLVMValueRef made = nullptr;
    if (op == spv::Op::OpBitcast) {
      std::vector<Element> elements;
      flatten(words[1], elements);
      made = to(part[0], elements[i]);
    } else if (ext) {
      made = extended(words[4], part);
    } else {
      made = in.size() == 1 ? unary(op, part[0]) : binary(op, part[0], part[1]);
    }
    if (!made) return false;
    out.part.push_back(made);
  }
  values_[words[2]] = std::move(out);
  return true;
}

/// Results of two words: the low half or the sum first.
bool LibraryCall::wide(spv::Op op, Words words) {
  if (words.size() != 5) return false;
  const auto in = alike(words.subspan(3));
  Parts out{{}, in[0].uniform};
  std::vector<LLVMValueRef> second;
  for (std::size_t i = 0; i < in[0].part.size(); ++i) {
    LLVMValueRef x = in[0].part[i], y = in[1].part[i];
    LLVMTypeRef t = b_.l.TypeOf(x), twice = b_.is_vector(x) ? b_.vector(b_.i64) : b_.i64;
    switch (op) {
      case spv::Op::OpIAddCarry:
        out.part.push_back(b_.op(op_add, x, y));
        second.push_back(b_.cast(op_zext, b_.icmp(int_ult, out.part.back(), x), t));
        break;
      case spv::Op::OpISubBorrow:
        out.part.push_back(b_.op(op_sub, x, y));
        second.push_back(b_.cast(op_zext, b_.icmp(int_ult, x, y), t));
        break;
      case spv::Op::OpUMulExtended:
      case spv::Op::OpSMulExtended: {
        const Opcode extend = op == spv::Op::OpUMulExtended ? op_zext : op_sext;
        LLVMValueRef product = b_.op(op_mul, b_.cast(extend, x, twice), b_.cast(extend, y, twice));
        out.part.push_back(b_.op(op_mul, x, y));
        second.push_back(b_.cast(op_trunc, b_.op(op_lshr, product, b_.number(x, b_.i64, 32)), t));
        break;
      }
      default: return false;
    }
  }
  out.part.insert(out.part.end(), second.begin(), second.end());
  values_[words[2]] = std::move(out);
  return true;
}

}  // namespace ptx2spv::interpreter::llvm
