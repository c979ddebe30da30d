// Blocks of structured code, cut in two.
#pragma once

#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Cuts blocks and keeps Function::order: what comes between the parts of a block stands behind it.
class BlockCutter {
 public:
  BlockCutter(Function& f, Builder& b) : f_(f), b_(b) {}
  /// The next cuts are in block `first` and in what becomes of it.
  void start(BlockId first) { first_ = first; }
  /// What ended `from` now ends `to`, which is new, and so are `between`: they follow `from` in the
  /// order. `from` is left without an end. A loop's header keeps its phis and its merge.
  void move_end(BlockId from, BlockId to, const std::vector<BlockId>& between);
  /// Puts all that is new into the order.
  void finish();

 private:
  Function& f_;
  Builder& b_;
  BlockId first_ = 0;
  std::vector<std::vector<BlockId>> behind_;  ///< by block
  std::vector<BlockId> nowhere_;              ///< by block: kNoBlock: none
};

/// A loop of one iteration of an empty body, behind what stands in the block now: drivers that work
/// on straight lines see two of them. Result: the block behind it; its end is that of `from`.
BlockId cut_line(BlockCutter& cutter, Builder& b, BlockId from, std::uint32_t number);

/// Predecessors in the order of Function::compute_preds, and operands of phis with them.
void order_preds(Function& f);

}  // namespace ptx2spv::passes
