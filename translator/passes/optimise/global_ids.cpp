// A thread's number in the grid, ctaid * ntid + tid, is a builtin of the device. CPU drivers know
// more of it than of the sum.
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

/// The axis of `which`, counted from `x`; 3: another value.
unsigned axis_of(const Function& f, Value v, Builtin x) {
  const Inst& inst = f.insts[v];
  if (inst.op != Op::builtin) return 3;
  const auto which = static_cast<unsigned>(inst.builtin), first = static_cast<unsigned>(x);
  return which >= first && which < first + 3 ? which - first : 3;
}

bool is_group_start(const Function& f, Value v, unsigned axis) {
  if (f.insts[v].op != Op::mul || f.insts[v].type != Type::i32) return false;
  for (unsigned i = 0; i < 2; ++i)
    if (axis_of(f, f.arg(v, i), Builtin::workgroup_id_x) == axis &&
        axis_of(f, f.arg(v, 1 - i), Builtin::workgroup_size_x) == axis)
      return true;
  return false;
}

}  // namespace

bool global_ids(Function& f) {
  bool any = false;
  for (const Block& block : f.blocks)
    for (const Value v : block.insts) {
      Inst& inst = f.insts[v];
      if (inst.op != Op::add || inst.type != Type::i32) continue;
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned axis = axis_of(f, f.arg(v, i), Builtin::local_id_x);
        if (axis == 3 || !is_group_start(f, f.arg(v, 1 - i), axis)) continue;
        inst.op = Op::builtin;
        inst.builtin = static_cast<Builtin>(static_cast<unsigned>(Builtin::global_id_x) + axis);
        inst.count = 0;
        any = true;
        break;
      }
    }
  return any;
}

}  // namespace ptx2spv::passes
