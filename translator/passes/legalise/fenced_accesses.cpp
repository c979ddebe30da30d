// A fence of PTX orders every access. In SPIR-V it makes only coherent accesses available and
// visible to other blocks: an H200 reads others from the cache of a multiprocessor, as it was
// before the fence.
#include <vector>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

bool is_fence(const Inst& inst) { return inst.op == Op::memory_barrier && inst.imm == 1; }

using Edges = std::vector<std::vector<BlockId>>;

/// The blocks to which these edges lead from those with a fence, one step or more.
std::vector<bool> reached_from_fences(const Function& function, const Edges& edges) {
  std::vector<bool> reached(function.blocks.size());
  std::vector<BlockId> work;
  const auto go_on = [&](BlockId b) {
    for (const BlockId to : edges[b])
      if (!reached[to]) {
        reached[to] = true;
        work.push_back(to);
      }
  };
  for (BlockId b = 0; b < function.blocks.size(); ++b)
    for (const Value v : function.blocks[b].insts)
      if (is_fence(function.insts[v])) {
        go_on(b);
        break;
      }
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    go_on(b);
  }
  return reached;
}

bool is_plain(const Inst& inst, Op op) {
  return inst.op == op && inst.mem.space == Space::global && !inst.mem.readonly;
}

}  // namespace

void fenced_accesses(Function& function) {
  Edges forward(function.blocks.size()), backward = forward;
  for (BlockId b = 0; b < function.blocks.size(); ++b)
    for (const BlockId to : function.blocks[b].succs) {
      forward[b].push_back(to);
      backward[to].push_back(b);
    }
  const std::vector<bool> behind = reached_from_fences(function, forward);
  const std::vector<bool> before = reached_from_fences(function, backward);
  for (BlockId b = 0; b < function.blocks.size(); ++b) {
    const std::vector<Value>& insts = function.blocks[b].insts;
    bool fenced = behind[b];
    for (const Value v : insts) {
      Inst& inst = function.insts[v];
      fenced = fenced || is_fence(inst);
      if (fenced && is_plain(inst, Op::load)) inst.mem.is_volatile = true;
    }
    fenced = before[b];
    for (auto v = insts.rbegin(); v != insts.rend(); ++v) {
      Inst& inst = function.insts[*v];
      fenced = fenced || is_fence(inst);
      if (fenced && is_plain(inst, Op::store)) inst.mem.is_volatile = true;
    }
  }
}

}  // namespace ptx2spv::passes
