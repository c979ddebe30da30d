#include "translator/ir/loops.hpp"

#include <numeric>

#include "translator/ir/cfg.hpp"

namespace ptx2spv::ir {

namespace {

class Nesting {
 public:
  Nesting(const Function& f, Loops& loops)
      : f_(f),
        loops_(loops),
        number_(f.blocks.size(), 0),
        last_(f.blocks.size(), 0),
        group_(f.blocks.size()),
        seen_(f.blocks.size(), 0) {
    std::iota(group_.begin(), group_.end(), 0);
  }

  void run() {
    walk();
    // Inner headers come later in the walk.
    for (std::size_t i = order_.size(); i-- > 0;) collect(order_[i]);
    // Outer headers come earlier.
    for (const BlockId b : order_) {
      const BlockId h = loops_.innermost[b];
      if (h == b) {
        const BlockId out = loops_.around[b];
        loops_.depth[b] = out == kNoBlock ? 1 : loops_.depth[out] + 1;
      } else if (h != kNoBlock) {
        loops_.depth[b] = loops_.depth[h];
      }
    }
  }

 private:
  bool holds(BlockId header, BlockId b) const {
    return number_[header] <= number_[b] && number_[b] <= last_[header];
  }

  void walk() {
    std::uint32_t next = 0;
    std::vector<std::pair<BlockId, std::size_t>> stack{{0, 0}};
    const auto enter = [&](BlockId b) {
      number_[b] = ++next;
      order_.push_back(b);
    };
    enter(0);
    while (!stack.empty()) {
      auto& [b, i] = stack.back();
      if (i == f_.blocks[b].succs.size()) {
        last_[b] = next;
        stack.pop_back();
        continue;
      }
      const BlockId to = f_.blocks[b].succs[i++];
      if (number_[to]) continue;
      enter(to);
      stack.push_back({to, 0});
    }
  }

  BlockId find(BlockId b) {
    while (group_[b] != b) b = group_[b] = group_[group_[b]];
    return b;
  }

  // The blocks that lead back to `h`; whole inner loops stand for their blocks.
  void collect(BlockId h) {
    std::vector<BlockId> body;
    bool loops = false;
    const auto add = [&](BlockId b) {
      if (b == h || seen_[b] == h + 1) return;
      seen_[b] = h + 1;
      body.push_back(b);
    };
    for (const BlockId p : f_.blocks[h].preds) {
      if (!number_[p] || !holds(h, p)) continue;
      loops = true;
      add(find(p));
    }
    if (!loops) return;
    for (std::size_t i = 0; i < body.size(); ++i)
      for (const BlockId p : f_.blocks[body[i]].preds) {
        if (!number_[p]) continue;
        const BlockId group = find(p);
        if (holds(h, group)) add(group);
      }
    loops_.innermost[h] = h;
    for (const BlockId b : body) {
      group_[b] = h;
      (loops_.innermost[b] == b ? loops_.around[b] : loops_.innermost[b]) = h;
    }
  }

  const Function& f_;
  Loops& loops_;
  std::vector<std::uint32_t> number_, last_;  ///< by block: in the walk, and its last descendant
  std::vector<BlockId> group_, order_;
  std::vector<std::uint32_t> seen_;
};

}  // namespace

Loops::Loops(const Function& function)
    : innermost(function.blocks.size(), kNoBlock),
      around(function.blocks.size(), kNoBlock),
      depth(function.blocks.size(), 0) {
  Nesting(function, *this).run();
}

std::vector<NaturalLoop> natural_loops(const Function& f) {
  const BackEdges back = back_edges(f);
  std::vector<NaturalLoop> loops;
  std::vector<std::uint32_t> seen(f.blocks.size(), StructuredLoops::kNone);
  for (auto edge = back.edges.begin(); edge != back.edges.end();) {
    NaturalLoop loop{edge->to, {edge->to}};
    const auto number = static_cast<std::uint32_t>(loops.size());
    seen[loop.header] = number;
    std::vector<BlockId> work;
    for (; edge != back.edges.end() && edge->to == loop.header; ++edge) work.push_back(edge->from);
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      if (seen[b] == number || !back.reached[b]) continue;
      seen[b] = number;
      loop.body.push_back(b);
      for (const BlockId p : f.blocks[b].preds) work.push_back(p);
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

StructuredLoops::StructuredLoops(const Function& function, const std::vector<BlockId>& order)
    : place(function.blocks.size(), 0), innermost(function.blocks.size(), kNone) {
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const Block& block = function.blocks[order[i]];
    while (!open.empty() && loops[open.back()].end <= i) open.pop_back();
    if (block.merge == Merge::loop) {
      const std::uint32_t parent = open.empty() ? kNone : open.back();
      loops.push_back({i, place[block.merge_block], order[i], block.merge_block, parent});
      open.push_back(static_cast<std::uint32_t>(loops.size()) - 1);
    }
    if (!open.empty()) innermost[order[i]] = open.back();
  }
}

}  // namespace ptx2spv::ir
