#include "translator/passes/sanitize/copies.hpp"

namespace ptx2spv::passes {

using ir::Op;
using ir::Value;

namespace {

/// Whether the result is the operand's bits, or some of them beside others.
bool moves(const ir::Inst& inst, unsigned operand) {
  switch (inst.op) {
    case Op::pack:
    case Op::compose:
    case Op::extract:
    case Op::trunc:
    case Op::high:
    case Op::zext: return true;
    case Op::select: return operand != 0;
    default: return false;
  }
}

}  // namespace

std::vector<bool> only_stored(const ir::Function& function) {
  std::vector<bool> used(function.insts.size()), used_vars(function.vars.size());
  // Who makes a value of a register is asked again when somebody uses what is read from it.
  std::vector<std::vector<Value>> writers(function.vars.size());
  std::vector<Value> work;
  const auto use = [&](Value value) {
    if (used[value]) return;
    used[value] = true;
    work.push_back(value);
  };
  for (const ir::Block& block : function.blocks) {
    if (block.cond) use(block.cond);
    for (const Value v : block.insts) {
      const ir::Inst& inst = function.insts[v];
      if (inst.op == Op::set_var) {
        writers[inst.imm].push_back(function.arg(v, 0));
        continue;
      }
      for (unsigned i = 0; i < inst.count; ++i)
        if (!moves(inst, i) && !(inst.op == Op::store && i == 1)) use(function.arg(v, i));
    }
  }
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    const ir::Inst& inst = function.insts[v];
    for (unsigned i = 0; i < inst.count; ++i)
      if (moves(inst, i)) use(function.arg(v, i));
    if (inst.op != Op::get_var || used_vars[inst.imm]) continue;
    used_vars[inst.imm] = true;
    for (const Value written : writers[inst.imm]) use(written);
  }
  used.flip();
  return used;
}

}  // namespace ptx2spv::passes
