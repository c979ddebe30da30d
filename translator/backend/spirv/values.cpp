// Values of the IR as ids: constants, built-in quantities, and the forms in which instructions want
// them.
#include <spirv/unified1/GLSL.std.450.h>

#include <fmt/format.h>

#include "translator/backend/spirv/emitter.hpp"
#include "translator/ir/double_signs.hpp"

namespace ptx2spv::spirv {

Id Emitter::type(Type type) {
  switch (type) {
    case Type::none: return b_.type_void();
    case Type::i1: return b_.type_bool();
    case Type::i32: return b_.type_uint();
    case Type::i64: return p_.features.int64 ? b_.type_int(64) : b_.type_uvec(2);
    case Type::v2: return b_.type_uvec(2);
    case Type::v4: return b_.type_uvec(4);
  }
  return 0;
}

Id Emitter::integer(Type t, std::uint64_t value) {
  switch (t) {
    case Type::i1: return b_.constant_bool(value != 0);
    case Type::i32: return b_.constant(static_cast<std::uint32_t>(value));
    case Type::i64:
      if (p_.features.int64) return b_.constant64(value);
      [[fallthrough]];
    case Type::v2: {
      const Id parts[2] = {b_.constant(static_cast<std::uint32_t>(value)),
                           b_.constant(static_cast<std::uint32_t>(value >> 32))};
      return b_.constant_composite(b_.type_uvec(2), parts);
    }
    default: break;
  }
  if (t == Type::v4 && value == 0) return b_.constant_null(b_.type_uvec(4));
  fail("a constant of type " + std::string(ir::name(t)));
  return 0;
}

Id Emitter::constant(const Inst& inst) {
  // An undefined value is zero: drivers make more of a real undefined one than PTX allows.
  return integer(inst.type, inst.op == Op::undef ? 0 : inst.imm);
}

bool Emitter::is_constant(Value v, std::uint64_t& value) const {
  if (f_.insts[v].op != Op::constant) return false;
  value = f_.insts[v].imm;
  return true;
}

Id Emitter::value(Value v) {
  if (ids_[v] != 0) return ids_[v];
  const Inst& inst = f_.insts[v];
  switch (inst.op) {
    case Op::constant:
    case Op::undef: return ids_[v] = constant(inst);
    case Op::builtin:
      if (const Id id = builtins_[static_cast<std::size_t>(inst.builtin)]) return ids_[v] = id;
      break;
    default: break;
  }
  fail(fmt::format("value {} ({}) is used before it is made", v, ir::info(inst.op).name));
  return 0;
}

Id Emitter::float_value(Value v) {
  Form& form = floats_[v];
  if (holds(form)) return form.id;
  const Inst& inst = f_.insts[v];
  const unsigned width = bits(v);
  const Id float_type = b_.type_float(width);
  if (inst.op == Op::constant || inst.op == Op::undef) {
    const std::uint64_t imm = inst.op == Op::undef ? 0 : inst.imm;
    form.id = width == 64 ? b_.constant_bits64(float_type, imm)
                          : b_.constant_bits(float_type, static_cast<std::uint32_t>(imm));
    form.block = kAnyBlock;
    return form.id;
  }
  // A sign that is changed or cleared is a free modifier of a GPU's operand, unless it hides in
  // bits.
  const bool leaves_nan = width == 64 && p_.exactness.nan_signs64;
  const Value changed = leaves_nan ? ir::double_sign(f_, v).changed : v;
  if (changed && (width == 64 ? p_.exactness.exact_float64 : p_.exactness.denormals32)) {
    const Op by = f_.insts[changed].op;
    std::uint64_t mask = 0;
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    const bool constant =
        (by == Op::xor_ || by == Op::and_) && is_constant(f_.arg(changed, 1), mask);
    if (constant && by == Op::xor_ && mask == sign) {
      const Id plain = float_value(f_.arg(changed, 0));
      form = {serial_, 0, op(spv::Op::OpFNegate, float_type, plain)};
      return form.id;
    }
    if (constant && by == Op::and_ && mask == sign - 1) {
      const Id plain = float_value(f_.arg(changed, 0));
      form = {serial_, 0, ext(GLSLstd450FAbs, float_type, plain)};
      return form.id;
    }
  }
  const Id source = value(v);
  form = {serial_, 0, op(spv::Op::OpBitcast, float_type, source)};
  return form.id;
}

Id Emitter::signed_value(Value v) {
  Form& form = signed_[v];
  if (holds(form)) return form.id;
  const Inst& inst = f_.insts[v];
  const unsigned width = bits(v);
  const Id signed_type = b_.type_signed(width);
  if (inst.op == Op::constant || inst.op == Op::undef) {
    const std::uint64_t imm = inst.op == Op::undef ? 0 : inst.imm;
    form = {kAnyBlock, 0,
            width == 64 ? b_.constant_bits64(signed_type, imm)
                        : b_.constant_bits(signed_type, static_cast<std::uint32_t>(imm))};
    return form.id;
  }
  const Id source = value(v);
  form = {serial_, 0, op(spv::Op::OpBitcast, signed_type, source)};
  return form.id;
}

Id Emitter::words(Value v) {
  if (!p_.features.int64) return value(v);
  Form& form = words_[v];
  if (holds(form)) return form.id;
  const Inst& inst = f_.insts[v];
  if (inst.op == Op::constant || inst.op == Op::undef) {
    form = {kAnyBlock, 0, integer(Type::v2, inst.op == Op::undef ? 0 : inst.imm)};
  } else {
    const Id source = value(v);
    form = {serial_, 0, op(spv::Op::OpBitcast, b_.type_uvec(2), source)};
  }
  return form.id;
}

void Emitter::set(Value v, Id id) {
  // A phi that came before has already named the value.
  if (ids_[v] != 0) {
    code_[last_at_] = ids_[v];
  } else {
    ids_[v] = id;
  }
}

void Emitter::alias(Value v, Id id) {
  if (ids_[v] != 0) {
    put(code_, spv::Op::OpCopyObject, type(f_.insts[v].type), ids_[v], id);
  } else {
    ids_[v] = id;
  }
}

void Emitter::set_float(Value v, Id id) {
  floats_[v] = {kAnyBlock, 0, id};
  if (uses_[v] & as_bits) set(v, op(spv::Op::OpBitcast, type(f_.insts[v].type), id));
}

void Emitter::set_signed(Value v, Id id) {
  signed_[v] = {kAnyBlock, 0, id};
  if (uses_[v] & as_bits) set(v, op(spv::Op::OpBitcast, type(f_.insts[v].type), id));
}

void Emitter::set_words(Value v, Id id) {
  if (!p_.features.int64) return set(v, id);
  words_[v] = {kAnyBlock, 0, id};
  set(v, op(spv::Op::OpBitcast, b_.type_int(64), id));
}

Id Emitter::builtin(ir::Builtin which) {
  const auto part = [&](spv::BuiltIn name, unsigned component, bool vector) {
    const Id of = vector ? b_.type_uvec(3) : b_.type_uint();
    const std::uint64_t key = 0xb0000000u + word(name);
    if (b_.shared(key) == 0) {
      const Id made = b_.variable(spv::StorageClass::Input, of);
      b_.decorate(made, spv::Decoration::BuiltIn, name);
      b_.shared(key) = made;
    }
    const Id variable = uses(inputs_, b_.shared(key));
    Id all = 0;
    std::size_t at = 0;
    while (at < vectors_.size() && vectors_[at].first != 0 && vectors_[at].first != variable) ++at;
    if (vector && at < vectors_.size() && vectors_[at].first == variable) {
      all = vectors_[at].second;
    } else {
      all = op(spv::Op::OpLoad, of, variable);
      if (vector && at < vectors_.size()) vectors_[at] = {variable, all};
    }
    return vector ? op(spv::Op::OpCompositeExtract, b_.type_uint(), all, component) : all;
  };
  using enum ir::Builtin;
  const auto from = [&](ir::Builtin first) {
    return static_cast<unsigned>(which) - static_cast<unsigned>(first);
  };
  switch (which) {
    case workgroup_id_x:
    case workgroup_id_y:
    case workgroup_id_z: return part(spv::BuiltIn::WorkgroupId, from(workgroup_id_x), true);
    case local_id_x:
    case local_id_y:
    case local_id_z: return part(spv::BuiltIn::LocalInvocationId, from(local_id_x), true);
    case global_id_x:
    case global_id_y:
    case global_id_z: return part(spv::BuiltIn::GlobalInvocationId, from(global_id_x), true);
    case local_index: return part(spv::BuiltIn::LocalInvocationIndex, 0, false);
    case workgroup_size_x:
    case workgroup_size_y:
    case workgroup_size_z: return b_.spec_constant(abi::Spec::size_x + from(workgroup_size_x), 1);
    case num_workgroups_x:
    case num_workgroups_y:
    case num_workgroups_z: return part(spv::BuiltIn::NumWorkgroups, from(num_workgroups_x), true);
    case subgroup_lane:
      b_.capability(spv::Capability::GroupNonUniform);
      return part(spv::BuiltIn::SubgroupLocalInvocationId, 0, false);
    case subgroup_size:
      b_.capability(spv::Capability::GroupNonUniform);
      return part(spv::BuiltIn::SubgroupSize, 0, false);
    case shared_words: {
      const Id fixed = b_.constant((f_.shared_bytes + 3) / 4);
      if (!f_.uses_dynamic_shared) return fixed;
      return b_.spec_op(spv::Op::OpIAdd, b_.type_uint(),
                        {fixed, b_.spec_constant(abi::Spec::dynamic_shared_words, 0)});
    }
  }
  return 0;
}

Id Emitter::clock(ir::ClockScope scope) {
  b_.capability(spv::Capability::ShaderClockKHR);
  b_.extension("SPV_KHR_shader_clock");
  const auto which = scope == ir::ClockScope::device ? spv::Scope::Device : spv::Scope::Subgroup;
  return op(spv::Op::OpReadClockKHR, b_.type_uvec(2), b_.constant(word(which)));
}

}  // namespace ptx2spv::spirv
