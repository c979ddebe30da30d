// The device's own floating point, and calls of the shader library.
#include <spirv/unified1/GLSL.std.450.h>

#include "translator/backend/spirv/emitter.hpp"
#include "translator/backend/spirv/library.hpp"

namespace ptx2spv::spirv {

void Emitter::native_float(Value v, const Inst& inst) {
  const auto in = [&](unsigned i) { return float_value(f_.arg(v, i)); };
  const auto float_type = [&] { return b_.type_float(bits(v)); };
  // Two roundings stay two roundings, whatever the device could fuse.
  const auto exact = [&](Id id) {
    b_.decorate(id, spv::Decoration::NoContraction);
    set_float(v, id);
  };
  const auto compare = [&](spv::Op code) { set(v, op(code, b_.type_bool(), in(0), in(1))); };
  switch (inst.op) {
    case Op::native_fadd:
      for (unsigned i = 0; i < 2 && o_.differences; ++i) {
        const Value term = f_.arg(v, i);
        std::uint64_t mask = 0;
        if (f_.insts[term].op != Op::xor_ || !is_constant(f_.arg(term, 1), mask) ||
            mask != std::uint64_t{1} << (bits(v) - 1))
          continue;
        const Id from = in(1 - i), by = float_value(f_.arg(term, 0));
        return exact(op(spv::Op::OpFSub, float_type(), from, by));
      }
      return exact(op(spv::Op::OpFAdd, float_type(), in(0), in(1)));
    case Op::native_fsub: return exact(op(spv::Op::OpFSub, float_type(), in(0), in(1)));
    case Op::native_fmul: return exact(op(spv::Op::OpFMul, float_type(), in(0), in(1)));
    case Op::native_fdiv: return set_float(v, op(spv::Op::OpFDiv, float_type(), in(0), in(1)));
    case Op::native_ffma: {
      // Drivers may make a product and a sum of it, and one again of what is left of those.
      const Id sum = fma(bits(v), float_type(), in(0), in(1), in(2));
      return o_.float_controls ? exact(sum) : set_float(v, sum);
    }
    case Op::native_fsqrt: return set_float(v, ext(GLSLstd450Sqrt, float_type(), in(0)));
    case Op::native_fmin: return set_float(v, ext(GLSLstd450NMin, float_type(), in(0), in(1)));
    case Op::native_fmax: return set_float(v, ext(GLSLstd450NMax, float_type(), in(0), in(1)));
    case Op::native_feq: return compare(spv::Op::OpFOrdEqual);
    case Op::native_flt: return compare(spv::Op::OpFOrdLessThan);
    case Op::native_fle: return compare(spv::Op::OpFOrdLessThanEqual);
    case Op::native_unary:
      return set_float(v, ext(static_cast<unsigned>(inst.imm), float_type(), in(0)));
    // Conversions to and from signed integers name a signed type: SPIRV-Tools, which some
    // drivers run, folds them by the type's signedness, not by the instruction's.
    case Op::native_from_s: {
      const Value source = f_.arg(v, 0);
      if (pairs(f_.insts[source].type)) return unexpected(inst);
      return set_float(v, op(spv::Op::OpConvertSToF, float_type(), signed_value(source)));
    }
    case Op::native_from_u:
      if (pairs(f_.insts[f_.arg(v, 0)].type)) return unexpected(inst);
      return set_float(v, op(spv::Op::OpConvertUToF, float_type(), operand(v, 0)));
    case Op::native_to_s: {
      if (pairs(inst.type)) return unexpected(inst);
      const Id converted = op(spv::Op::OpConvertFToS, b_.type_signed(bits(v)), in(0));
      return set(v, op(spv::Op::OpBitcast, type(inst.type), converted));
    }
    case Op::native_to_u:
      if (pairs(inst.type)) return unexpected(inst);
      return set(v, op(spv::Op::OpConvertFToU, type(inst.type), in(0)));
    // A conversion rounds: Mesa 24 and later take one to fewer bits and back for nothing otherwise.
    case Op::native_widen16: return widen16(v);
    case Op::native_hadd2:
    case Op::native_hmul2:
    case Op::native_hfma2: {
      const Id two = b_.type_vector(type_half(), 2);
      const auto half = [&](unsigned i) {
        const Value word = f_.arg(v, i);
        std::uint64_t mask = 0;
        const bool negated = f_.insts[word].op == Op::xor_ && is_constant(f_.arg(word, 1), mask) &&
                             mask == 0x80008000u;
        const Id plain = op(spv::Op::OpBitcast, two, value(negated ? f_.arg(word, 0) : word));
        return negated ? op(spv::Op::OpFNegate, two, plain) : plain;
      };
      Id result = 0;
      if (inst.op == Op::native_hfma2)
        result = fma(16, two, half(0), half(1), half(2));
      else
        result = op(inst.op == Op::native_hadd2 ? spv::Op::OpFAdd : spv::Op::OpFMul, two, half(0),
                    half(1));
      b_.decorate(result, spv::Decoration::NoContraction);
      return set(v, op(spv::Op::OpBitcast, b_.type_uint(), result));
    }
    case Op::native_fconvert: return exact(op(spv::Op::OpFConvert, float_type(), in(0)));
    default: return unexpected(inst);
  }
}

/// Vulkan promises one rounding of OpFmaKHR only.
Id Emitter::fma(unsigned width, Id type, Id a, Id b, Id c) {
  if (!o_.float_controls || !b_.uses_fma(width)) return ext(GLSLstd450Fma, type, a, b, c);
  b_.capability(kFmaCapability);
  return op(kFmaKHR, type, a, b, c);
}

/// Of arithmetic, which declares its float controls.
Id Emitter::type_half() {
  b_.capability(spv::Capability::Float16);
  halves_ = true;
  return b_.type_float(16);
}

void Emitter::widen16(Value v) {
  // Either half of a word needs no shift and no mask.
  std::uint64_t by = 0;
  Value word = f_.arg(v, 0);
  const Op part = f_.insts[word].op;
  const bool known = (part == Op::lshr || part == Op::and_) && is_constant(f_.arg(word, 1), by);
  const bool second = known && part == Op::lshr && by == 16;
  if (second || (known && part == Op::and_ && by == 0xffff)) word = f_.arg(word, 0);
  const Id single = b_.type_float(32);
  const auto half_of = [&](Id both, Id type) {
    return op(spv::Op::OpCompositeExtract, type, both, second ? 1u : 0u);
  };
  if (!p_.features.float16)
    return set_float(
        v, half_of(ext(GLSLstd450UnpackHalf2x16, b_.type_vector(single, 2), value(word)), single));
  const Id both = op(spv::Op::OpBitcast, b_.type_vector(type_half(), 2), value(word));
  const Id wide = op(spv::Op::OpFConvert, single, half_of(both, type_half()));
  b_.decorate(wide, spv::Decoration::NoContraction);
  set_float(v, wide);
}

/// Drivers inline calls unless they are told not to: NVIDIA's compiles a kernel with 328 calls of
/// eight routines in 9.6 s, and in 3.9 s where they stay calls.
spv::FunctionControlMask Emitter::control_of(std::string_view routine) {
  constexpr std::uint32_t kLong = 150;  // instructions
  const Library& library = Library::embedded();
  if (!routine_instructions_) {
    std::uint64_t sum = 0;
    for (const ir::Block& block : f_.blocks)
      for (const Value v : block.insts)
        if (f_.insts[v].op == Op::library && f_.insts[v].imm < m_.library_names.size())
          if (const auto cost = library.cost(m_.library_names[f_.insts[v].imm]); cost >= kLong)
            sum += cost;
    routine_instructions_ = sum;
  }
  const bool stays = !p_.workarounds.limit_strength_reduction && p_.routine_budget != 0 &&
                     *routine_instructions_ > p_.routine_budget && library.cost(routine) >= kLong;
  return stays ? spv::FunctionControlMask::DontInline : spv::FunctionControlMask::MaskNone;
}

void Emitter::library_call(Value v, const Inst& inst) {
  if (inst.imm >= m_.library_names.size()) return fail("a library call names no function");
  const auto library_type = [&](Type t) { return t == Type::i64 ? b_.type_uvec(2) : type(t); };
  const Id result = library_type(inst.type);
  Words signature{result};
  for (const Value argument : f_.args(v))
    signature.push_back(library_type(f_.insts[argument].type));
  std::string error;
  const std::string& name = m_.library_names[inst.imm];
  const Id callee = Library::embedded().link(
      b_, name, b_.global(spv::Op::OpTypeFunction, 0, signature), error, control_of(name));
  if (callee == 0) return fail(std::move(error));
  Words arguments;
  for (const Value argument : f_.args(v)) {
    arguments.push_back(f_.insts[argument].type == Type::i64 ? words(argument) : value(argument));
  }
  const Id id = b_.id();
  last_at_ = code_.size() + 2;
  put_list(code_, spv::Op::OpFunctionCall, arguments, result, id, callee);
  if (inst.type == Type::none) return;
  if (inst.type == Type::i64) return set_words(v, id);
  set(v, id);
}

}  // namespace ptx2spv::spirv
