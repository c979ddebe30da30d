// What the lanes of a warp do together. A vector is a whole warp here.
#include <cstddef>

#include "translator/backend/host/emit.hpp"
#include "translator/backend/host/warp_operations.hpp"

namespace ptx2spv::interpreter::llvm {

/// By constants: which lane each one reads is known.
bool Emitter::shuffle(Value v) {
  const auto constant = [&](unsigned i) { return f_.insts[f_.arg(v, i)].op == Op::constant; };
  if (!constant(1) || !constant(2) || !constant(3)) return false;
  const auto number = [&](unsigned i) {
    return static_cast<std::uint32_t>(f_.insts[f_.arg(v, i)].imm);
  };
  if (number(3) != ~0u) return false;
  std::vector<unsigned> from;
  LLVMValueRef inside[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto [source, in] =
        shuffled(static_cast<ir::ShflMode>(f_.insts[v].imm), lane, number(1), number(2));
    from.push_back(in ? source & 31 : lane);
    inside[lane] = b_.l.ConstInt(b_.i32, in, 0);
  }
  // A lane that does not run gives 0.
  LLVMValueRef given = b_.select(mask_, wide(f_.arg(v, 0)), b_.l.ConstNull(b_.vector(b_.i32)));
  LLVMValueRef flags = b_.l.ConstVector(inside, kLanes);
  define(v, {.part = {b_.shuffle(given, given, from), flags}, .parts = 2});
  return true;
}

/// A value of an operation that gives all members the same: lane 0 may have ended.
void Emitter::define_by_first(Value v, Lifted result) {
  if (shape_.uniform(v)) {
    LLVMValueRef first =
        b_.intrinsic("llvm.cttz", {b_.i32}, {mask_bits(), b_.l.ConstInt(b_.i1, 0, 0)});
    for (unsigned i = 0; i < result.parts; ++i) result.part[i] = b_.lane(result.part[i], first);
    result.uniform = true;
  }
  define(v, result);
}

/// As shuffled() has it, of lanes that are known while the kernel runs; words go through memory.
void Emitter::shuffle_by_lanes(Value v) {
  const auto arg = [&](unsigned i) { return wide(f_.arg(v, i)); };
  const auto number = [&](std::uint32_t n) { return b_.splat(b_.c32(n)); };
  LLVMValueRef lane = b_.ramp(b_.i32, 1), most = number(kLanes - 1);
  LLVMValueRef by = b_.op(op_and, arg(1), most);
  LLVMValueRef segment = b_.op(op_and, b_.op(op_lshr, arg(2), number(8)), most);
  LLVMValueRef rest = b_.op(op_xor, segment, number(~0u)), low = b_.op(op_and, lane, segment);
  LLVMValueRef clamp = b_.op(op_and, b_.op(op_and, arg(2), most), rest);
  LLVMValueRef high = b_.op(op_or, low, clamp), from = nullptr;
  const auto mode = static_cast<ir::ShflMode>(f_.insts[v].imm);
  switch (mode) {
    case ir::ShflMode::up: from = b_.op(op_sub, lane, by); break;
    case ir::ShflMode::down: from = b_.op(op_add, lane, by); break;
    case ir::ShflMode::bfly: from = b_.op(op_xor, lane, by); break;
    case ir::ShflMode::idx: from = b_.op(op_or, low, b_.op(op_and, by, rest)); break;
  }
  LLVMValueRef inside = b_.icmp(mode == ir::ShflMode::up ? int_sge : int_ule, from, high);
  // Lanes that do not run may have anything.
  LLVMValueRef source = b_.freeze(b_.select(inside, b_.op(op_and, from, most), lane));
  LLVMTypeRef words = b_.vector(b_.i32), pointers = b_.vector(b_.l.PointerType(b_.i32, 0));
  LLVMValueRef rows = field(offsetof(Frame, rows), b_.i64);
  LLVMValueRef base =
      b_.op(op_add, rows, b_.c64(std::uint64_t{program_.steps[steps_[v]].out} * sizeof(Row)));
  b_.store_at(arg(0), base);
  LLVMValueRef offset =
      b_.op(op_shl, b_.cast(op_zext, source, b_.vector(b_.i64)), b_.splat(b_.c64(2)));
  LLVMValueRef at = b_.cast(op_inttoptr, b_.op(op_add, b_.splat(base), offset), pointers);
  LLVMValueRef read = b_.intrinsic("llvm.masked.gather", {words, pointers},
                                   {at, b_.c32(4), mask_, b_.l.ConstNull(words)});
  // A lane reads itself, even if its own mask lacks it.
  LLVMValueRef own = b_.op(op_shl, number(1), lane);
  LLVMValueRef present = b_.op(op_and, b_.op(op_or, arg(3), own), b_.splat(mask_bits()));
  LLVMValueRef there = b_.op(op_and, b_.op(op_lshr, present, source), number(1));
  LLVMValueRef given = b_.select(b_.icmp(int_ne, there, number(0)), read, b_.l.ConstNull(words));
  define(v, {.part = {given, b_.cast(op_zext, inside, words)}, .parts = 2});
}

void Emitter::vote(Value v) {
  const ir::Inst &inst = f_.insts[v], &members = f_.insts[f_.arg(v, 1)];
  const bool active = members.op == Op::warp_active && shape_.home(f_.arg(v, 1)) == current_;
  const bool all_members = active || (members.op == Op::constant && members.imm == 0xffffffffu);
  LLVMValueRef there = mask_bits();
  // A lane that its own mask lacks has no vote.
  if (!all_members) there = b_.op(op_and, wide(f_.arg(v, 1)), b_.splat(there));
  LLVMValueRef bits = b_.bits(b_.op(op_and, wide(f_.arg(v, 0)), mask_));
  LLVMValueRef votes = all_members ? bits : b_.op(op_and, b_.splat(bits), there);
  const auto flag = [&](LLVMValueRef c) { return b_.cast(op_zext, c, b_.l.TypeOf(there)); };
  LLVMValueRef zero = b_.l.ConstNull(b_.l.TypeOf(there)), result = votes;
  switch (static_cast<ir::VoteMode>(inst.imm)) {
    case ir::VoteMode::all: result = flag(b_.icmp(int_eq, votes, there)); break;
    case ir::VoteMode::any: result = flag(b_.icmp(int_ne, votes, zero)); break;
    case ir::VoteMode::uni:
      result = flag(b_.op(op_or, b_.icmp(int_eq, votes, zero), b_.icmp(int_eq, votes, there)));
      break;
    case ir::VoteMode::ballot: break;
  }
  const Lifted out{.part = {result}, .parts = 1, .uniform = all_members};
  if (all_members)
    define(v, out);
  else
    define_by_first(v, out);
}

bool Emitter::together(Value v) {
  const ir::Inst& inst = f_.insts[v];
  if (inst.op == Op::warp_sync) return true;
  if (inst.op == Op::warp_active) {
    define(v, {.part = {mask_bits()}, .parts = 1, .uniform = true});
    return true;
  }
  if (inst.op == Op::warp_shfl) {
    if (!shuffle(v)) shuffle_by_lanes(v);
    return true;
  }
  if (inst.op == Op::warp_vote) {
    vote(v);
    return true;
  }
  // By the interpreter's.
  const Step& step = program_.steps[steps_[v]];
  const auto* call = inst.op == Op::warp_product ? static_cast<const Call*>(step.more) : nullptr;
  for (unsigned i = 0; i < inst.count; ++i)
    put_rows(call ? call->arguments[i].place : step.in[i], f_.insts[f_.arg(v, i)].type,
             spread(value(f_.arg(v, i))));
  b_.call(b_.l.VoidTypeInContext(b_.context), field(offsetof(Frame, step), b_.i64),
          {frame_, b_.c32(steps_[v]), mask_bits()});
  define_by_first(v, take_rows(step.out, inst.type, false));
  return true;
}

}  // namespace ptx2spv::interpreter::llvm
