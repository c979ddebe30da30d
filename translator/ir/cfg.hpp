// Orders and dominators of a control flow graph, shared by the validator and the passes.
#pragma once

#include <compare>
#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// Blocks reachable from the entry in reverse postorder. `structured` also follows the edges from
/// headers to their merge blocks and continue targets and puts constructs together: header, arms,
/// continue, merge.
std::vector<BlockId> reverse_postorder(const Function& function, bool structured);

/// The edges that a depth-first walk from the entry finds going back, by their targets.
struct BackEdges {
  struct Edge {
    BlockId to, from;
    auto operator<=>(const Edge&) const = default;
  };
  std::vector<Edge> edges;
  std::vector<bool> reached;  ///< by block: whether the walk came there
};
BackEdges back_edges(const Function& function);

/// The blocks from `from` on that come before `end`.
std::vector<BlockId> blocks_until(const Function& function, BlockId from, BlockId end);

/// The dominator tree of the blocks in an order as reverse_postorder gives it; needs preds.
class Dominators {
 public:
  /// `structured`: of the graph with the edges to merge blocks and continue targets added.
  Dominators(const Function& function, bool structured);

  const std::vector<BlockId>& order() const { return order_; }
  bool reachable(BlockId block) const { return position_[block] != kNoBlock; }
  /// Place in order(); kNoBlock when unreachable.
  std::uint32_t position(BlockId block) const { return position_[block]; }
  /// kNoBlock for the entry and for unreachable blocks.
  BlockId idom(BlockId block) const { return idom_[block]; }
  /// Whether every path to `b` passes `a`; both reachable. A block dominates itself.
  bool dominates(BlockId a, BlockId b) const {
    return enter_[a] <= enter_[b] && leave_[b] <= leave_[a];
  }
  /// Blocks in an order in which each comes after its immediate dominator, subtrees together.
  const std::vector<BlockId>& preorder() const { return preorder_; }

 private:
  std::vector<BlockId> order_, idom_, preorder_;
  std::vector<std::uint32_t> position_, enter_, leave_;
};

}  // namespace ptx2spv::ir
