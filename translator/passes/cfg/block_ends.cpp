#include "translator/passes/cfg/block_ends.hpp"

#include <map>
#include <utility>

namespace ptx2spv::passes {

void BlockCutter::move_end(BlockId before, BlockId behind, const std::vector<BlockId>& between) {
  Block& from = f_.blocks[before];
  Block& to = f_.blocks[behind];
  const bool of_loop = from.merge == Merge::loop;
  to.term = std::exchange(from.term, Term::none);
  to.cond = std::exchange(from.cond, 0);
  to.loc = from.loc;
  to.succs = std::exchange(from.succs, {});
  if (!of_loop) {
    to.merge = std::exchange(from.merge, Merge::none);
    to.merge_block = std::exchange(from.merge_block, kNoBlock);
  }
  for (const BlockId s : to.succs)
    for (BlockId& p : f_.blocks[s].preds)
      if (p == before) p = behind;
  if (behind_.size() <= first_) {
    behind_.resize(first_ + 1);
    nowhere_.resize(first_ + 1, kNoBlock);
  }
  std::vector<BlockId>& placed = behind_[first_];
  placed.insert(placed.end(), between.begin(), between.end());
  placed.push_back(behind);
  if (!of_loop || to.term == Term::br) return;
  // A header's exits need a merge block of their own, which no thread reaches.
  const BlockId nowhere = b_.new_block();
  f_.blocks[nowhere].term = Term::unreachable;
  f_.blocks[behind].merge = Merge::selection;
  f_.blocks[behind].merge_block = nowhere;
  nowhere_[first_] = nowhere;
}

void BlockCutter::finish() {
  std::vector<BlockId> order;
  for (const BlockId b : f_.order) {
    order.push_back(b);
    if (b >= behind_.size()) continue;
    order.insert(order.end(), behind_[b].begin(), behind_[b].end());
    if (nowhere_[b] != kNoBlock) order.push_back(nowhere_[b]);
  }
  f_.order = std::move(order);
  behind_.clear();
  nowhere_.clear();
}

BlockId cut_line(BlockCutter& cutter, Builder& b, BlockId from, std::uint32_t number) {
  Function& f = b.function();
  const BlockId header = b.new_block(), latch = b.new_block(), behind = b.new_block();
  cutter.move_end(from, behind, {header, latch});
  b.at(from);
  b.br(header);
  b.at(header);
  b.cond_br(never(b, number), latch, behind);
  b.at(latch);
  b.br(header);
  f.blocks[header].merge = Merge::loop;
  f.blocks[header].merge_block = behind;
  f.blocks[header].continue_block = latch;
  f.blocks[header].preds = {from, latch};
  f.blocks[latch].preds = {header};
  f.blocks[behind].preds = {header};
  return behind;
}

void order_preds(Function& f) {
  std::vector<std::vector<BlockId>> before(f.blocks.size());
  for (BlockId b = 0; b < f.blocks.size(); ++b) before[b] = f.blocks[b].preds;
  f.compute_preds();
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    const std::vector<BlockId>& now = f.blocks[b].preds;
    if (now == before[b]) continue;
    // Where a predecessor stands twice, its operands are the same.
    std::map<BlockId, unsigned> place;
    for (unsigned i = 0; i < before[b].size(); ++i) place[before[b][i]] = i;
    for (const Value v : f.blocks[b].insts) {
      if (f.insts[v].op != Op::phi) break;
      const std::vector<Value> old(f.args(v).begin(), f.args(v).end());
      for (unsigned i = 0; i < now.size(); ++i) f.args(v)[i] = old[place.at(now[i])];
    }
  }
}

}  // namespace ptx2spv::passes
