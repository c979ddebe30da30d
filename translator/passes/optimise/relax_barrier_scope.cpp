// What does a barrier have to order? CUDA's barriers order the block's accesses to all memory,
// which costs GPUs a fence. Where no write to memory outside the workgroup can have happened yet,
// there is only shared memory to order: reads before later writes need no more than the execution
// barrier.
#include <vector>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

bool writes_outside(const Inst& inst) {
  switch (inst.op) {
    case Op::image_store:
    case Op::image_atomic: return true;
    case Op::store:
    case Op::atomic:
    case Op::atomic_cas: return inst.mem.space != Space::shared && inst.mem.space != Space::local;
    default: return false;
  }
}

}  // namespace

bool relax_barrier_scope(Function& f, Module&) {
  std::vector<BlockId> work;
  std::vector<bool> written(f.blocks.size());  ///< at the block's start
  const auto enter = [&](BlockId b) {
    if (written[b]) return;
    written[b] = true;
    work.push_back(b);
  };
  bool barriers = false;
  for (const Block& block : f.blocks) {
    bool writes = false;
    for (const Value v : block.insts) {
      writes = writes || writes_outside(f.insts[v]);
      barriers = barriers || f.insts[v].op == Op::control_barrier;
    }
    if (!writes) continue;
    for (const BlockId s : block.succs) enter(s);
  }
  if (!barriers) return false;
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    for (const BlockId s : f.blocks[b].succs) enter(s);
  }
  bool any = false;
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    bool before = written[b];
    for (const Value v : f.blocks[b].insts) {
      Inst& inst = f.insts[v];
      before = before || writes_outside(inst);
      if (inst.op != Op::control_barrier || before) continue;
      inst.imm = 1;
      any = true;
    }
  }
  return any;
}

}  // namespace ptx2spv::passes
