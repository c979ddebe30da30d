#include "translator/ir/cfg.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace ptx2spv::ir {

namespace {

// Successors in the order of a depth-first walk whose reversed postorder keeps constructs together:
// the merge block is walked first, so that it comes out last.
void walk_successors(const Block& block, bool structured, std::vector<BlockId>& out) {
  out.clear();
  if (structured && block.merge != Merge::none) {
    out.push_back(block.merge_block);
    if (block.merge == Merge::loop) out.push_back(block.continue_block);
  }
  for (auto s = block.succs.rbegin(); s != block.succs.rend(); ++s) out.push_back(*s);
}

}  // namespace

namespace {

/// A list of blocks for each block, all in one array: graphs have millions of short ones.
class BlockLists {
 public:
  /// `edges` calls its argument with each block and what its list holds next, twice the same.
  template <typename Edges>
  BlockLists(std::size_t blocks, const Edges& edges) : begin_(blocks + 1, 0) {
    edges([&](BlockId b, BlockId) { ++begin_[b + 1]; });
    for (std::size_t b = 0; b < blocks; ++b) begin_[b + 1] += begin_[b];
    held_.resize(begin_[blocks]);
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    edges([&](BlockId b, BlockId held) { held_[next[b]++] = held; });
  }
  std::span<const BlockId> operator[](BlockId b) const {
    return std::span(held_).subspan(begin_[b], begin_[b + 1] - begin_[b]);
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<BlockId> held_;
};

}  // namespace

std::vector<BlockId> reverse_postorder(const Function& function, bool structured) {
  std::vector<BlockId> order;
  if (function.blocks.empty()) return order;
  struct Frame {
    BlockId block;
    std::uint32_t next, end;
  };
  std::vector<Frame> stack;
  std::vector<BlockId> pending, succs;
  std::vector<bool> seen(function.blocks.size());
  const auto open = [&](BlockId b) {
    seen[b] = true;
    walk_successors(function.blocks[b], structured, succs);
    const auto first = static_cast<std::uint32_t>(pending.size());
    pending.insert(pending.end(), succs.begin(), succs.end());
    stack.push_back({b, first, static_cast<std::uint32_t>(pending.size())});
  };
  open(0);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == frame.end) {
      order.push_back(frame.block);
      stack.pop_back();
      // The frames below end where this one began.
      pending.resize(stack.empty() ? 0 : stack.back().end);
      continue;
    }
    const BlockId s = pending[frame.next++];
    if (!seen[s]) open(s);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

BackEdges back_edges(const Function& function) {
  enum : char { white, grey, black };
  std::vector<char> colour(function.blocks.size(), white);
  BackEdges found{{}, std::vector<bool>(function.blocks.size())};
  std::vector<std::pair<BlockId, std::size_t>> stack;
  const auto open = [&](BlockId b) {
    colour[b] = grey;
    found.reached[b] = true;
    stack.emplace_back(b, 0);
  };
  open(0);
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    if (next == function.blocks[block].succs.size()) {
      colour[block] = black;
      stack.pop_back();
      continue;
    }
    const BlockId to = function.blocks[block].succs[next++];
    if (colour[to] == grey) found.edges.push_back({to, block});
    if (colour[to] == white) open(to);
  }
  std::sort(found.edges.begin(), found.edges.end());
  return found;
}

std::vector<BlockId> blocks_until(const Function& f, BlockId from, BlockId end) {
  std::vector<BlockId> blocks;
  std::vector<bool> seen(f.blocks.size());
  const auto enter = [&](BlockId b) {
    if (b == end || seen[b]) return;
    seen[b] = true;
    blocks.push_back(b);
  };
  enter(from);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (const BlockId s : f.blocks[blocks[i]].succs) enter(s);
  return blocks;
}

Dominators::Dominators(const Function& function, bool structured)
    : order_(reverse_postorder(function, structured)),
      idom_(function.blocks.size(), kNoBlock),
      position_(function.blocks.size(), kNoBlock),
      enter_(function.blocks.size(), 0),
      leave_(function.blocks.size(), 0) {
  for (std::uint32_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  if (order_.empty()) return;

  const BlockLists preds(function.blocks.size(), [&](auto&& add) {
    for (const BlockId b : order_) {
      const Block& block = function.blocks[b];
      for (const BlockId s : block.succs) add(s, b);
      if (structured && block.merge != Merge::none) {
        add(block.merge_block, b);
        if (block.merge == Merge::loop) add(block.continue_block, b);
      }
    }
  });

  // Nearest common ancestors by skew-binary jump pointers: a walk up the tree is logarithmic, which
  // the thousands of early exits into one block of large kernels need.
  std::vector<std::uint32_t> depth(function.blocks.size(), 0);
  std::vector<BlockId> jump(function.blocks.size(), order_[0]);
  const auto hang = [&](BlockId b, BlockId parent) {
    idom_[b] = parent;
    depth[b] = depth[parent] + 1;
    const BlockId j = jump[parent];
    jump[b] = depth[parent] - depth[j] == depth[j] - depth[jump[j]] ? jump[j] : parent;
  };
  const auto common = [&](BlockId a, BlockId b) {
    if (depth[a] < depth[b]) std::swap(a, b);
    while (depth[a] > depth[b]) a = depth[jump[a]] >= depth[b] ? jump[a] : idom_[a];
    while (a != b) {
      if (jump[a] != jump[b]) {
        a = jump[a];
        b = jump[b];
      } else {
        a = idom_[a];
        b = idom_[b];
      }
    }
    return a;
  };
  // Reducible graphs: predecessors that come later in the order are dominated by the block and do
  // not count.
  bool reducible = true;
  for (std::size_t i = 1; i < order_.size(); ++i) {
    BlockId dom = kNoBlock;
    for (const BlockId p : preds[order_[i]])
      if (position_[p] < i) dom = dom == kNoBlock ? p : common(dom, p);
    hang(order_[i], dom);
  }
  for (std::size_t i = 1; i < order_.size() && reducible; ++i)
    for (const BlockId p : preds[order_[i]])
      if (position_[p] >= i) reducible = reducible && common(order_[i], p) == order_[i];

  // Others by iteration, walking the tree by positions, which stays right while the tree changes.
  const auto walk = [&](BlockId a, BlockId b) {
    while (a != b) {
      while (position_[a] > position_[b]) a = idom_[a];
      while (position_[b] > position_[a]) b = idom_[b];
    }
    return a;
  };
  for (bool changed = !reducible; changed;) {
    changed = false;
    for (std::size_t i = 1; i < order_.size(); ++i) {
      BlockId dom = idom_[order_[i]];
      for (const BlockId p : preds[order_[i]]) dom = walk(dom, p);
      changed = changed || dom != idom_[order_[i]];
      idom_[order_[i]] = dom;
    }
  }

  const BlockLists children(function.blocks.size(), [&](auto&& add) {
    for (std::size_t i = 1; i < order_.size(); ++i) add(idom_[order_[i]], order_[i]);
  });
  std::uint32_t clock = 0;
  std::vector<std::pair<BlockId, std::size_t>> stack{{order_[0], 0}};
  enter_[order_[0]] = clock++;
  preorder_.push_back(order_[0]);
  while (!stack.empty()) {
    auto& [b, next] = stack.back();
    const std::span<const BlockId> list = children[b];
    if (next == list.size()) {
      leave_[b] = clock++;
      stack.pop_back();
      continue;
    }
    const BlockId c = list[next++];
    enter_[c] = clock++;
    preorder_.push_back(c);
    stack.push_back({c, 0});
  }
}

}  // namespace ptx2spv::ir
