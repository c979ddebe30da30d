// Blocks of structured code, cut in two.
#pragma once

#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

/// Cuts blocks and keeps Function::order: what comes between the parts of a block stands behind it.
class BlockCutter {
 public:
  BlockCutter(ir::Function& f, ir::Builder& b) : f_(f), b_(b) {}
  /// The next cuts are in block `first` and in what becomes of it.
  void start(ir::BlockId first) { first_ = first; }
  /// What ended `from` now ends `to`, which is new, and so are `between`: they follow `from` in the
  /// order. `from` is left without an end. A loop's header keeps its phis and its merge.
  void move_end(ir::BlockId from, ir::BlockId to, const std::vector<ir::BlockId>& between);
  /// Puts all that is new into the order.
  void finish();

 private:
  ir::Function& f_;
  ir::Builder& b_;
  ir::BlockId first_ = 0;
  std::vector<std::vector<ir::BlockId>> behind_;  ///< by block
  std::vector<ir::BlockId> nowhere_;              ///< by block: kNoBlock: none
};

/// A loop of one iteration of an empty body, behind what stands in the block now: drivers that work
/// on straight lines see two of them. Result: the block behind it; its end is that of `from`.
ir::BlockId cut_line(BlockCutter& cutter, ir::Builder& b, ir::BlockId from, std::uint32_t number);

}  // namespace ptx2spv::passes
