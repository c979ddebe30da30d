// What does a barrier have to order? CUDA's barriers order the block's accesses to all memory,
// which costs GPUs a fence. Where no write to memory outside the workgroup can have happened yet,
// nor a wait for what others write there, there is only shared memory to order: reads before later
// writes need no more than the execution barrier.
#include <vector>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

/// Whether it writes memory outside the workgroup, or may see that others have.
bool meets_outside(const Inst& inst) {
  const bool outside = inst.mem.space != Space::shared && inst.mem.space != Space::local;
  switch (inst.op) {
    case Op::image_store:
    case Op::image_atomic:
    case Op::memory_barrier: return true;
    case Op::store:
    case Op::atomic:
    case Op::atomic_cas: return outside;
    case Op::load: return outside && inst.mem.is_volatile;
    default: return false;
  }
}

}  // namespace

bool relax_barrier_scope(Function& f, Module&) {
  std::vector<BlockId> work;
  std::vector<bool> met(f.blocks.size());  ///< at the block's start
  const auto enter = [&](BlockId b) {
    if (met[b]) return;
    met[b] = true;
    work.push_back(b);
  };
  bool barriers = false;
  for (const Block& block : f.blocks) {
    bool meets = false;
    for (const Value v : block.insts) {
      meets = meets || meets_outside(f.insts[v]);
      barriers = barriers || f.insts[v].op == Op::control_barrier;
    }
    if (!meets) continue;
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
    bool before = met[b];
    for (const Value v : f.blocks[b].insts) {
      Inst& inst = f.insts[v];
      before = before || meets_outside(inst);
      if (inst.op != Op::control_barrier || before) continue;
      inst.imm = 1;
      any = true;
    }
  }
  return any;
}

}  // namespace ptx2spv::passes
