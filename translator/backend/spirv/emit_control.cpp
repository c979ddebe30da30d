// Barriers and operations between the threads of a subgroup.
#include "translator/backend/spirv/emitter.hpp"

namespace ptx2spv::spirv {

namespace {

spv::Op reduction(AtomicOp op) {
  switch (op) {
    case AtomicOp::and_: return spv::Op::OpGroupNonUniformBitwiseAnd;
    case AtomicOp::or_: return spv::Op::OpGroupNonUniformBitwiseOr;
    case AtomicOp::xor_: return spv::Op::OpGroupNonUniformBitwiseXor;
    case AtomicOp::umin: return spv::Op::OpGroupNonUniformUMin;
    case AtomicOp::umax: return spv::Op::OpGroupNonUniformUMax;
    case AtomicOp::smin: return spv::Op::OpGroupNonUniformSMin;
    case AtomicOp::smax: return spv::Op::OpGroupNonUniformSMax;
    default: return spv::Op::OpGroupNonUniformIAdd;
  }
}

}  // namespace

/// Semantics that order accesses to these kinds of memory.
Id Emitter::ordered(std::uint32_t kinds) {
  using enum spv::MemorySemanticsMask;
  return b_.constant(word(AcquireRelease) | kinds |
                     (b_.vulkan_memory() ? word(MakeAvailable) | word(MakeVisible) : 0));
}

/// To order images takes NVIDIA's hardware microseconds, so that only kernels that write some do.
Id Emitter::all_memory() {
  using enum spv::MemorySemanticsMask;
  return ordered(word(UniformMemory) | word(WorkgroupMemory) |
                 (writes_images_ ? word(ImageMemory) : 0));
}

void Emitter::synchronise(Value, const Inst& inst) {
  using enum spv::MemorySemanticsMask;
  const Id all = all_memory();
  const Id workgroup = b_.constant(word(spv::Scope::Workgroup));
  if (inst.op == Op::control_barrier) {
    const Id shared = ordered(word(WorkgroupMemory));
    op0(spv::Op::OpControlBarrier, workgroup, workgroup, inst.imm == 1 ? shared : all);
  } else {
    op0(spv::Op::OpMemoryBarrier, inst.imm == 0 ? workgroup : b_.constant(word(spv::Scope::Device)),
        all);
  }
}

void Emitter::subgroup(Value v, const Inst& inst) {
  const Id scope_id = b_.constant(word(spv::Scope::Subgroup));
  b_.capability(spv::Capability::GroupNonUniform);
  if (inst.op == Op::subgroup_barrier)
    return op0(spv::Op::OpControlBarrier, scope_id, scope_id,
               inst.imm ? all_memory() : b_.constant(0));
  if (inst.op == Op::subgroup_shuffle) {
    b_.capability(spv::Capability::GroupNonUniformShuffle);
    return set(v, op(spv::Op::OpGroupNonUniformShuffle, type(inst.type), scope_id, operand(v, 0),
                     operand(v, 1)));
  }
  if (inst.op == Op::subgroup_reduce) {
    b_.capability(spv::Capability::GroupNonUniformArithmetic);
    return set(v, op(reduction(static_cast<AtomicOp>(inst.imm)), type(inst.type), scope_id,
                     spv::GroupOperation::Reduce, operand(v, 0)));
  }
  b_.capability(spv::Capability::GroupNonUniformBallot);
  Id mask = 0;
  if (inst.op == Op::subgroup_partition) {
    reconverges_ = true;
    b_.capability(spv::Capability::GroupNonUniformPartitionedNV);
    mask = op(spv::Op::OpGroupNonUniformPartitionNV, b_.type_uvec(4), operand(v, 0));
  } else {
    mask = op(spv::Op::OpGroupNonUniformBallot, b_.type_uvec(4), scope_id, operand(v, 0));
  }
  set(v, op(spv::Op::OpCompositeExtract, b_.type_uint(), mask, 0u));
}

}  // namespace ptx2spv::spirv
