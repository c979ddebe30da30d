#include "translator/passes/cfg/blocks.hpp"

#include <algorithm>
#include <utility>

#include "translator/ir/cfg.hpp"

namespace ptx2spv::passes {

namespace {

// New predecessor lists in the order of the old ones, and phis to match.
void update_preds(Function& f) {
  std::vector<std::vector<BlockId>> now(f.blocks.size());
  for (BlockId b = 0; b < f.blocks.size(); ++b)
    for (const BlockId s : f.blocks[b].succs) now[s].push_back(b);
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    Block& block = f.blocks[b];
    std::vector<BlockId> left = std::move(now[b]);
    std::sort(left.begin(), left.end());
    std::vector<bool> taken(left.size());
    std::vector<BlockId> kept;
    std::vector<unsigned> places;
    for (unsigned i = 0; i < block.preds.size(); ++i) {
      auto at = std::lower_bound(left.begin(), left.end(), block.preds[i]) - left.begin();
      while (at < static_cast<std::ptrdiff_t>(left.size()) && left[at] == block.preds[i] &&
             taken[at])
        ++at;
      if (at == static_cast<std::ptrdiff_t>(left.size()) || left[at] != block.preds[i]) continue;
      taken[at] = true;
      kept.push_back(block.preds[i]);
      places.push_back(i);
    }
    if (kept.size() != block.preds.size()) {
      for (const Value v : block.insts) {
        if (f.insts[v].op != Op::phi) break;
        for (unsigned i = 0; i < places.size(); ++i) f.args(v)[i] = f.arg(v, places[i]);
        f.insts[v].count = static_cast<std::uint16_t>(places.size());
      }
    }
    block.preds = std::move(kept);
  }
  // A kept latch that no thread reaches brings nothing of its own into its header's phis.
  std::vector<bool> reached(f.blocks.size());
  for (const BlockId b : reverse_postorder(f, false)) reached[b] = true;
  for (Block& block : f.blocks) {
    const auto first =
        std::find_if(block.preds.begin(), block.preds.end(), [&](BlockId p) { return reached[p]; });
    if (first == block.preds.end()) continue;
    for (const Value v : block.insts) {
      if (f.insts[v].op != Op::phi) break;
      for (unsigned i = 0; i < block.preds.size(); ++i)
        if (!reached[block.preds[i]])
          f.args(v)[i] = f.arg(v, static_cast<unsigned>(first - block.preds.begin()));
    }
  }
}

void clear(Block& block, Term term) {
  block = Block{};
  block.term = term;
}

// A merge or continue block that only the structure reaches keeps its place but nothing in it.
void empty_unreached(Function& f) {
  for (;;) {
    std::vector<bool> reached(f.blocks.size()), kept(f.blocks.size());
    for (const BlockId b : reverse_postorder(f, false)) reached[b] = true;
    for (const BlockId b : reverse_postorder(f, true)) kept[b] = true;
    std::vector<BlockId> latch_of(f.blocks.size(), kNoBlock);
    for (BlockId b = 0; b < f.blocks.size(); ++b)
      if (kept[b] && f.blocks[b].merge == Merge::loop) latch_of[f.blocks[b].continue_block] = b;
    bool again = false;
    for (BlockId b = 0; b < f.blocks.size(); ++b) {
      Block& block = f.blocks[b];
      if (!kept[b]) {
        clear(block, Term::unreachable);
      } else if (!reached[b]) {
        const BlockId header = latch_of[b];
        const bool plain_latch =
            header != kNoBlock && block.succs.size() == 1 && block.succs[0] == header;
        if (plain_latch) continue;
        again = again || !block.succs.empty() || block.merge != Merge::none;
        const std::vector<BlockId> preds = std::move(block.preds);
        clear(block, Term::unreachable);
        if (header != kNoBlock) {
          block.term = Term::br;
          block.succs.assign(1, header);
        }
        block.preds = preds;
      }
    }
    if (!again) return;
  }
}

void join_straight_lines(Function& f) {
  std::vector<bool> target(f.blocks.size());
  for (const Block& block : f.blocks) {
    if (block.merge == Merge::none) continue;
    target[block.merge_block] = true;
    if (block.merge == Merge::loop) target[block.continue_block] = true;
  }
  for (const BlockId b : reverse_postorder(f, true)) {
    for (;;) {
      Block& block = f.blocks[b];
      if (block.term != Term::br || block.merge != Merge::none) break;
      const BlockId t = block.succs[0];
      Block& next = f.blocks[t];
      if (t == b || next.preds.size() != 1 || target[t]) break;
      if (!next.insts.empty() && f.insts[next.insts[0]].op == Op::phi) break;
      block.insts.insert(block.insts.end(), next.insts.begin(), next.insts.end());
      block.term = next.term;
      block.cond = next.cond;
      block.succs = std::move(next.succs);
      block.merge = next.merge;
      block.merge_block = next.merge_block;
      block.continue_block = next.continue_block;
      for (const BlockId s : block.succs)
        for (BlockId& p : f.blocks[s].preds)
          if (p == t) p = b;
      clear(next, Term::unreachable);
    }
  }
}

}  // namespace

void renumber_blocks(Function& f) {
  const std::vector<BlockId> order = reverse_postorder(f, true);
  std::vector<BlockId> number(f.blocks.size(), kNoBlock);
  for (BlockId i = 0; i < order.size(); ++i) number[order[i]] = i;
  std::vector<Block> blocks(order.size());
  for (BlockId i = 0; i < order.size(); ++i) {
    blocks[i] = std::move(f.blocks[order[i]]);
    for (BlockId& s : blocks[i].succs) s = number[s];
    for (BlockId& p : blocks[i].preds) p = number[p];
    if (blocks[i].merge_block != kNoBlock) blocks[i].merge_block = number[blocks[i].merge_block];
    if (blocks[i].continue_block != kNoBlock)
      blocks[i].continue_block = number[blocks[i].continue_block];
  }
  f.blocks = std::move(blocks);
  f.order.resize(f.blocks.size());
  for (BlockId i = 0; i < f.order.size(); ++i) f.order[i] = i;
}

void remove_unreachable(Function& f) {
  empty_unreached(f);
  update_preds(f);
  join_straight_lines(f);
  renumber_blocks(f);
}

void renumber_values(Function& f) {
  std::vector<BlockId> order = f.order;
  std::vector<bool> listed(f.blocks.size());
  for (const BlockId b : order) listed[b] = true;
  for (BlockId b = 0; b < f.blocks.size(); ++b)
    if (!listed[b]) order.push_back(b);

  std::vector<Value> number(f.insts.size(), 0);
  Value next = 1;
  std::size_t operands = 0;
  for (const BlockId b : order)
    for (Value& v : f.blocks[b].insts) {
      operands += f.insts[v].count;
      number[v] = next++;
    }
  std::vector<Inst> insts;
  std::vector<Value> args;
  insts.reserve(next + next / 4);
  args.reserve(operands + operands / 4);
  insts.push_back(f.insts[0]);
  for (const BlockId b : order) {
    Block& block = f.blocks[b];
    for (Value& v : block.insts) {
      Inst inst = f.insts[v];
      const auto first = static_cast<std::uint32_t>(args.size());
      for (unsigned i = 0; i < inst.count; ++i) args.push_back(number[f.operands[inst.first + i]]);
      inst.first = first;
      insts.push_back(inst);
      v = static_cast<Value>(insts.size() - 1);
    }
    block.cond = number[block.cond];
  }
  f.insts = std::move(insts);
  f.operands = std::move(args);
}

}  // namespace ptx2spv::passes
