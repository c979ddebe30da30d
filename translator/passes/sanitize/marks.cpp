// What the sanitizer's marks on a function's instructions become once accesses check themselves.
#include <algorithm>
#include <utility>

#include "translator/passes/sanitize/sanitize.hpp"

namespace ptx2spv::passes {

void forget_origins(Function& function, bool keep_sync) {
  for (Inst& inst : function.insts) {
    const bool sync = inst.op == Op::bar_sync || is_warp_operation(inst.op);
    if (!(sync && keep_sync)) inst.object = 0;
    inst.mem.origin = Origin::none;
    inst.mem.whole = inst.mem.part = 0;
  }
}

std::uint32_t mark_work(Function& function) {
  function.vars.push_back({Type::i32, "worked", true});
  const auto worked = static_cast<std::uint32_t>(function.vars.size() - 1);
  const auto shows = [&](Value v) {
    const Inst& inst = function.insts[v];
    if (inst.op == Op::store) return inst.mem.space != Space::local;
    return is_atomic(inst.op) || inst.op == Op::bar_sync ||
           is_within(inst.op, Op::surf_store, Op::surf_reduce) || is_warp_operation(inst.op);
  };
  Builder b(function);
  for (BlockId block = 0; block < function.blocks.size(); ++block) {
    const std::vector<Value>& insts = function.blocks[block].insts;
    const bool any = std::any_of(insts.begin(), insts.end(), shows);
    if (!any && block != 0) continue;
    std::vector<Value> rest = std::exchange(function.blocks[block].insts, {});
    b.at(block);
    b.set(worked, b.i32(any ? 1 : 0));
    std::vector<Value>& now = function.blocks[block].insts;
    now.insert(now.end(), rest.begin(), rest.end());
  }
  return worked;
}

}  // namespace ptx2spv::passes
