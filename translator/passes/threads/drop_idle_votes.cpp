// Votes whose result is read by nothing but the votes that follow, as their member mask: compilers
// leave them in loops that lanes leave one by one. PTX orders no memory by a vote, so nobody
// notices that lanes no longer wait for each other there.
#include <algorithm>
#include <vector>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

/// By value of a function in SSA form: whether anything but votes depends on it.
std::vector<bool> needed_values(const Function& f) {
  std::vector<bool> needed(f.insts.size(), false);
  std::vector<Value> work;
  const auto need = [&](Value v) {
    if (needed[v]) return;
    needed[v] = true;
    work.push_back(v);
  };
  for (const BlockId b : f.order) {
    if (f.blocks[b].cond) need(f.blocks[b].cond);
    for (const Value v : f.blocks[b].insts) {
      const Op op = f.insts[v].op;
      if (op != Op::warp_vote && !(info(op).flags & flag::P)) need(v);
    }
  }
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    for (const Value operand : f.args(v)) need(operand);
  }
  return needed;
}

/// Whether a vote has a mask that another one, or itself, may have given.
bool has_candidates(const Function& f) {
  const auto is_vote = [&](Value v) { return f.insts[v].op == Op::warp_vote; };
  std::vector<bool> voted(f.vars.size(), false);
  const auto any = [&](const auto& fits) {
    return std::ranges::any_of(
        f.blocks, [&](const Block& block) { return std::ranges::any_of(block.insts, fits); });
  };
  (void)any([&](Value v) {
    if (f.insts[v].op == Op::set_var && is_vote(f.arg(v, 0))) voted[f.insts[v].imm] = true;
    return false;
  });
  return any([&](Value v) {
    if (!is_vote(v)) return false;
    const Inst& mask = f.insts[f.arg(v, 1)];
    return mask.op == Op::get_var && voted[mask.imm];
  });
}

}  // namespace

void drop_idle_votes(Function& function, Module& module) {
  if (!has_candidates(function)) return;
  // Registers serve for many things: values tell what becomes of a vote.
  Function copy = function;
  structurize(copy, module);
  ssa(copy, module);
  const std::vector<bool> needed = needed_values(copy);
  for (Block& block : function.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = copy.insts[v];
      if (inst.op != Op::warp_vote || needed[v] || copy.insts[copy.arg(v, 1)].op != Op::phi)
        continue;
      // As good as any, and masks that share its register still name all lanes.
      function.insts[v] = {
          .op = Op::constant, .type = Type::i32, .loc = inst.loc, .imm = 0xffffffffu};
    }
}

}  // namespace ptx2spv::passes
