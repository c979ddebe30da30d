// What waiting loops wait for: memory that the kernel writes itself, as locks and tickets are, or
// what only the host or another kernel can write.
#include <algorithm>

#include "translator/passes/sanitize/provenance.hpp"
#include "translator/passes/threads/spin_loops.hpp"

namespace ptx2spv::passes {

using Root = Provenance::Root;

void find_waited_memory(Function& function, EntryInfo& entry) {
  std::size_t steps = 0;
  std::vector<bool> reads(function.insts.size(), false);
  for (const SpinLoop& loop : find_spin_loops(function, steps)) {
    if (!loop.waits_alone) continue;
    for (const BlockId b : loop.body)
      for (const Value v : function.blocks[b].insts) reads[v] = reads_others(function.insts[v]);
  }
  const Provenance provenance(function);
  std::vector<Root> waited, written;
  bool writes_anywhere = false;
  for (const Block& block : function.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = function.insts[v];
      if (inst.mem.origin == Origin::none || inst.mem.space != Space::global) continue;
      if (!reads[v] && inst.op == Op::load) continue;
      const Root root = provenance.root(function.arg(v, 0));
      const bool known = root.kind != Root::Kind::unknown;
      if (known) (reads[v] ? waited : written).push_back(root);
      writes_anywhere = writes_anywhere || (!known && !reads[v]);
    }
  for (const Root& root : waited) {
    const bool own = writes_anywhere || std::ranges::find(written, root) != written.end();
    entry.waits.for_others = entry.waits.for_others || !own;
    auto& params = entry.waits.params;
    if (root.kind == Root::Kind::param && std::ranges::find(params, root.index) == params.end())
      params.push_back(root.index);
  }
}

}  // namespace ptx2spv::passes
