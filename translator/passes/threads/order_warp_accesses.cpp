// Code written for warps in lockstep exchanges words of shared memory by volatile accesses, with
// nothing between a lane's store and another's load: on NVIDIA's hardware the lanes that run
// together make each access together. A device's compiler may move such accesses, and threads that
// run one after the other would each make all of theirs. So lanes meet between two accesses of
// which one is a store: all of the warp where all come there, else those that come together.
#include <algorithm>

#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

/// What a thread may have done in shared memory since it last met others.
struct Since {
  bool read = false, written = false;
  bool operator==(const Since&) const = default;
};

bool exchanges(const Inst& inst) {
  return (inst.op == Op::load || inst.op == Op::store) && inst.mem.space == Space::shared &&
         inst.mem.is_volatile;
}

/// Takes an instruction into account. True: lanes meet before it.
bool step(const Inst& inst, Since& since) {
  if (inst.op == Op::bar_sync || is_warp_operation(inst.op)) since = {};
  if (!exchanges(inst)) return false;
  const bool stores = inst.op == Op::store;
  const bool meet = since.written || (stores && since.read);
  if (meet) since = {};
  (stores ? since.written : since.read) = true;
  return meet;
}

/// By block: what threads may have done where it begins.
std::vector<Since> at_begins(const Function& f) {
  std::vector<Since> begins(f.blocks.size());
  std::vector<BlockId> work;
  for (BlockId b = 0; b < f.blocks.size(); ++b) work.push_back(b);
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    Since since = begins[b];
    for (const Value v : f.blocks[b].insts) step(f.insts[v], since);
    for (const BlockId s : f.blocks[b].succs) {
      const Since both{begins[s].read || since.read, begins[s].written || since.written};
      if (both == begins[s]) continue;
      begins[s] = both;
      work.push_back(s);
    }
  }
  return begins;
}

}  // namespace

void order_warp_accesses(Function& function, Module& module) {
  const bool any = std::ranges::any_of(function.blocks, [&](const Block& block) {
    return std::ranges::any_of(block.insts, [&](Value v) { return exchanges(function.insts[v]); });
  });
  if (!any) return;
  const std::vector<Since> begins = at_begins(function);
  std::vector<Value> added;
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  BlockId block = kNoBlock;
  Since since;
  rewriter.run([&](Value v) {
    if (b.block() != block) since = begins[block = b.block()];
    if (step(function.insts[v], since))
      added.push_back(b.inst(Op::warp_sync, Type::none, {b.i32(0xffffffffu)}));
    rewriter.keep(v);
  });
  for (const Value v : divergent_warp_operations(function, module)) {
    if (!std::ranges::binary_search(added, v)) continue;
    Inst& inst = function.insts[v];
    inst = {.op = Op::warp_active, .type = Type::i32, .loc = inst.loc, .imm = kOrdersAccesses};
  }
}

}  // namespace ptx2spv::passes
