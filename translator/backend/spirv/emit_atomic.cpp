// Atomic operations on memory. Relaxed: ordering comes from the memory barriers around them.
#include "translator/backend/spirv/emitter.hpp"

namespace ptx2spv::spirv {

spv::Op atomic_op(AtomicOp op) {
  switch (op) {
    case AtomicOp::add: return spv::Op::OpAtomicIAdd;
    case AtomicOp::and_: return spv::Op::OpAtomicAnd;
    case AtomicOp::or_: return spv::Op::OpAtomicOr;
    case AtomicOp::xor_: return spv::Op::OpAtomicXor;
    case AtomicOp::umin: return spv::Op::OpAtomicUMin;
    case AtomicOp::umax: return spv::Op::OpAtomicUMax;
    case AtomicOp::smin: return spv::Op::OpAtomicSMin;
    case AtomicOp::smax: return spv::Op::OpAtomicSMax;
    case AtomicOp::exch: return spv::Op::OpAtomicExchange;
    case AtomicOp::fadd_f32:
    case AtomicOp::fadd_f64: return spv::Op::OpAtomicFAddEXT;
    default: return spv::Op::OpNop;
  }
}

/// What one atomic works on; the profile must have it.
bool Emitter::atomic_view(const Inst& inst, bool is_float, View& view) {
  const bool in_shared = inst.mem.space == Space::shared;
  const bool buffer = inst.mem.space == Space::global || inst.mem.space == Space::slot ||
                      inst.mem.space == Space::trap || inst.mem.space == Space::locks;
  if (!in_shared && !buffer) return false;
  if (is_float) {
    if (in_shared) return false;
    const bool wide = inst.mem.atomic == AtomicOp::fadd_f64;
    if (wide ? !p_.features.buffer_atomic_f64_add : !p_.features.buffer_atomic_f32_add)
      return false;
    b_.extension("SPV_EXT_shader_atomic_float_add");
    b_.capability(wide ? spv::Capability::AtomicFloat64AddEXT
                       : spv::Capability::AtomicFloat32AddEXT);
    view = wide ? View::f64 : View::f32;
    return true;
  }
  if (inst.mem.bytes == 4) {
    view = View::u32;
    return true;
  }
  if (inst.mem.bytes != 8 || !p_.features.int64) return false;
  if (in_shared ? !p_.features.shared_atomics64 || !shared_views_ : !p_.features.buffer_atomics64)
    return false;
  b_.capability(spv::Capability::Int64Atomics);
  view = View::u64;
  return true;
}

void Emitter::atomic(Value v, const Inst& inst) {
  const bool is_float =
      inst.mem.atomic == AtomicOp::fadd_f32 || inst.mem.atomic == AtomicOp::fadd_f64;
  const spv::Op code = atomic_op(inst.mem.atomic);
  View view{};
  if (code == spv::Op::OpNop || !atomic_view(inst, is_float, view)) return unexpected(inst);
  const Value data = f_.arg(v, 1);
  const Id source = is_float ? float_value(data) : value(data);
  const Id target = pointer(v, f_.arg(v, 0), view);
  const Id old = op(code, element_type(view), target, scope(inst), b_.constant(0), source);
  if (is_float) return set_float(v, old);
  set(v, old);
}

void Emitter::atomic_cas(Value v, const Inst& inst) {
  View view{};
  if (!atomic_view(inst, false, view)) return unexpected(inst);
  const Id compare = operand(v, 1), replacement = operand(v, 2);
  const Id target = pointer(v, f_.arg(v, 0), view);
  const Id relaxed = b_.constant(0);
  set(v, op(spv::Op::OpAtomicCompareExchange, element_type(view), target, scope(inst), relaxed,
            relaxed, replacement, compare));
}

}  // namespace ptx2spv::spirv
