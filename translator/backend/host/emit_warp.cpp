// What the lanes of a warp do together, and barriers of a block. A vector is a whole warp here.
#include <cstddef>

#include "translator/backend/host/emit.hpp"
#include "translator/backend/host/warp_operations.hpp"

namespace ptx2spv::interpreter::llvm {

using ir::Op;
using ir::Type;

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

bool Emitter::together(Value v) {
  const ir::Inst& inst = f_.insts[v];
  if (inst.op == Op::warp_sync) return true;
  if (inst.op == Op::warp_active) {
    define(v, {.part = {mask_bits()}, .parts = 1, .uniform = true});
    return true;
  }
  if (inst.op == Op::warp_shfl && shuffle(v)) return true;
  if (inst.op == Op::warp_vote && value(f_.arg(v, 1)).uniform) {
    LLVMValueRef members = scalar(f_.arg(v, 1)), bits = mask_bits();
    LLVMValueRef there = b_.op(op_and, members, bits);
    LLVMValueRef votes = b_.op(op_and, b_.bits(wide(f_.arg(v, 0))), there);
    const auto flag = [&](LLVMValueRef c) { return b_.cast(op_zext, c, b_.i32); };
    LLVMValueRef none = b_.icmp(int_eq, votes, b_.c32(0)), all = b_.icmp(int_eq, votes, there);
    // Each lane counts itself among the members, which a program may leave out.
    if (f_.insts[f_.arg(v, 1)].op == Op::constant && f_.insts[f_.arg(v, 1)].imm == 0xffffffffu) {
      LLVMValueRef result = votes;
      switch (static_cast<ir::VoteMode>(inst.imm)) {
        case ir::VoteMode::all: result = flag(all); break;
        case ir::VoteMode::any:
          result = flag(b_.op(op_xor, none, b_.l.ConstInt(b_.i1, 1, 0)));
          break;
        case ir::VoteMode::uni: result = flag(b_.op(op_or, none, all)); break;
        case ir::VoteMode::ballot: break;
      }
      define(v, {.part = {result}, .parts = 1, .uniform = true});
      return true;
    }
  }
  // By the interpreter's.
  const Step& step = program_.steps[steps_[v]];
  for (unsigned i = 0; i < inst.count; ++i)
    put_rows(step.in[i], f_.insts[f_.arg(v, i)].type, spread(value(f_.arg(v, i))));
  b_.call(b_.l.VoidTypeInContext(b_.context), field(offsetof(Frame, step), b_.i64),
          {frame_, b_.c32(steps_[v]), mask_bits()});
  Lifted result = take_rows(step.out, inst.type, false);
  if (shape_.uniform(v)) {
    // Lane 0 may have ended.
    LLVMValueRef first =
        b_.intrinsic("llvm.cttz", {b_.i32}, {mask_bits(), b_.l.ConstInt(b_.i1, 0, 0)});
    for (unsigned i = 0; i < result.parts; ++i) result.part[i] = b_.lane(result.part[i], first);
    result.uniform = true;
  }
  define(v, result);
  return true;
}

bool Emitter::meet(Value v) {
  const ir::Inst& inst = f_.insts[v];
  LLVMValueRef barrier = b_.c32(0), expected = b_.c32(0), votes = b_.c32(0);
  if (inst.op == Op::bar_sync) {
    if (!value(f_.arg(v, 0)).uniform) return fail(inst);
    barrier = scalar(f_.arg(v, 0));
    if (inst.count > 1) {
      if (!value(f_.arg(v, 1)).uniform) return fail(inst);
      expected = scalar(f_.arg(v, 1));
    }
    if (inst.count > 2) {
      LLVMValueRef vote = wide(f_.arg(v, 2));
      if (f_.insts[f_.arg(v, 2)].type != Type::i1)
        vote = b_.icmp(int_ne, vote, b_.l.ConstNull(b_.l.TypeOf(vote)));
      votes = b_.bits(b_.op(op_and, vote, mask_));
    }
  }
  LLVMValueRef live = b_.bits(b_.load(b_.mask_type, live_));
  LLVMValueRef result =
      b_.call(b_.i32, field(offsetof(Frame, meet), b_.i64),
              {frame_, b_.c32(steps_[v]), mask_bits(), live, barrier, expected, votes});
  if (inst.type != Type::none) define(v, {.part = {result}, .parts = 1, .uniform = true});
  return true;
}

}  // namespace ptx2spv::interpreter::llvm
