// The processor's own floating point, as handlers_float.cpp has it.
#include <spirv/unified1/GLSL.std.450.h>

#include "translator/backend/host/emit.hpp"

namespace ptx2spv::interpreter::llvm {

namespace {

/// Whether the operation gives the same whatever NaN an operand is.
bool takes_any_nan(Op op) {
  return ir::is_within(op, Op::native_fadd, Op::native_fle) || op == Op::native_to_s ||
         op == Op::native_to_u;
}

}  // namespace

/// A NaN of single precision is always the same one, which has to be put where somebody other than
/// arithmetic of that precision reads the value.
void Emitter::find_nan_readers() {
  nan_read_.assign(f_.insts.size(), false);
  std::vector<Value> work;
  const auto read = [&](Value v) {
    if (nan_read_[v]) return;
    nan_read_[v] = true;
    work.push_back(v);
  };
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) {
      const Op op = f_.insts[v].op;
      if (op == Op::phi || op == Op::select) {
        if (op == Op::select) read(f_.arg(v, 0));
        continue;
      }
      for (const Value a : f_.args(v))
        if (!takes_any_nan(op) || f_.insts[a].type != Type::i32) read(a);
    }
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    const Op op = f_.insts[v].op;
    if (op != Op::phi && op != Op::select) continue;
    for (unsigned i = op == Op::select ? 1 : 0; i < f_.insts[v].count; ++i) read(f_.arg(v, i));
  }
}

/// The bits of a result: of a NaN, of f64 the first NaN operand, quiet, or the one of an invalid
/// operation.
LLVMValueRef Emitter::settle(Value v, LLVMValueRef number, bool f64, const LLVMValueRef* in,
                             unsigned count) {
  LLVMTypeRef t = b_.l.TypeOf(number);
  const bool one = t == b_.f32 || t == b_.f64;
  LLVMTypeRef word = f64 ? b_.i64 : b_.i32;
  LLVMValueRef bits = b_.cast(op_bitcast, number, one ? word : b_.vector(word));
  if (!f64 && !nan_read_[v]) return bits;
  const auto constant = [&](std::uint64_t n) {
    LLVMValueRef c = b_.l.ConstInt(word, n, 0);
    return one ? c : b_.splat(c);
  };
  LLVMValueRef nan = constant(f64 ? 0xfff8000000000000u : 0x7fffffffu);
  for (unsigned i = count; f64 && i-- > 0;) {
    LLVMValueRef operand = b_.cast(op_bitcast, in[i], t);
    nan = b_.select(b_.fcmp(real_uno, operand, operand),
                    b_.op(op_or, in[i], constant(0x0008000000000000u)), nan);
  }
  return b_.select(b_.fcmp(real_uno, number, number), nan, bits);
}

LLVMValueRef Emitter::floating(Value v, const ir::Inst& inst, Type from, const LLVMValueRef* in) {
  LLVMTypeRef given = b_.l.TypeOf(in[0]);
  const bool one = given == b_.i32 || given == b_.i64, wide = from == Type::i64;
  const auto shaped = [&](LLVMTypeRef element) { return one ? element : b_.vector(element); };
  LLVMTypeRef t = shaped(wide ? b_.f64 : b_.f32);
  const auto x = [&](unsigned i) { return b_.cast(op_bitcast, in[i], t); };
  const LLVMValueRef swapped[] = {in[1], in[0]};
  const auto binary = [&](Opcode o) {
    const bool second = o == op_fadd || o == op_fmul;
    return settle(v, b_.op(o, x(0), x(1)), wide, second ? swapped : in, 2);
  };
  const bool wide_result = inst.type == Type::i64;
  LLVMTypeRef real = shaped(wide_result ? b_.f64 : b_.f32);
  LLVMTypeRef whole = shaped(wide_result ? b_.i64 : b_.i32);
  switch (inst.op) {
    case Op::native_fadd: return binary(op_fadd);
    case Op::native_fsub: return binary(op_fsub);
    case Op::native_fmul: return binary(op_fmul);
    case Op::native_fdiv: return binary(op_fdiv);
    case Op::native_ffma: {
      const LLVMValueRef order[] = {in[1], in[2], in[0]};
      return settle(v, b_.intrinsic("llvm.fma", {t}, {x(0), x(1), x(2)}), wide, order, 3);
    }
    case Op::native_fsqrt: return settle(v, b_.intrinsic("llvm.sqrt", {t}, {x(0)}), wide, in, 1);
    case Op::native_feq: return b_.fcmp(real_oeq, x(0), x(1));
    case Op::native_flt: return b_.fcmp(real_olt, x(0), x(1));
    case Op::native_fle: return b_.fcmp(real_ole, x(0), x(1));
    case Op::native_from_s:
    case Op::native_from_u: {
      LLVMValueRef number =
          b_.cast(inst.op == Op::native_from_s ? op_sitofp : op_uitofp, in[0], real);
      return b_.cast(op_bitcast, number, whole);
    }
    case Op::native_to_s: return b_.intrinsic("llvm.fptosi.sat", {whole, t}, {x(0)});
    case Op::native_to_u: return b_.intrinsic("llvm.fptoui.sat", {whole, t}, {x(0)});
    case Op::native_fconvert:
      if (wide == wide_result) return nullptr;
      if (!wide) return b_.cast(op_bitcast, b_.cast(op_fpext, x(0), real), whole);
      return settle(v, b_.cast(op_fptrunc, x(0), real), false, in, 0);
    case Op::native_unary: {
      const char* name = nullptr;
      switch (inst.imm) {
        case GLSLstd450RoundEven: name = "llvm.nearbyint"; break;
        case GLSLstd450Trunc: name = "llvm.trunc"; break;
        case GLSLstd450FAbs: name = "llvm.fabs"; break;
        case GLSLstd450Floor: name = "llvm.floor"; break;
        case GLSLstd450Ceil: name = "llvm.ceil"; break;
        case GLSLstd450Sqrt: name = "llvm.sqrt"; break;
        default: return nullptr;
      }
      return settle(v, b_.intrinsic(name, {t}, {x(0)}), false, in, 0);
    }
    default: return nullptr;
  }
}

}  // namespace ptx2spv::interpreter::llvm
