// The loops of a function and how they nest: of any graph, and of one that is structured already.
#pragma once

#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// The loops of a control flow graph as Havlak finds them: by the edges that go back in a
/// depth-first walk.
struct Loops {
  /// Needs preds. Linear but for the inverse Ackermann function. A loop that can be entered beside
  /// its header is known by the blocks that the header leads to first.
  explicit Loops(const Function& function);

  std::vector<BlockId> innermost;    ///< by block: header of the innermost loop; kNoBlock: none
  std::vector<BlockId> around;       ///< by header: the next loop outside; kNoBlock: none
  std::vector<std::uint32_t> depth;  ///< by block: so many loops hold it
};

/// A header and all that leads back to it.
struct NaturalLoop {
  BlockId header = kNoBlock;
  std::vector<BlockId> body;  ///< with the header
};
/// One per target of edges that go back. Needs preds.
std::vector<NaturalLoop> natural_loops(const Function& function);

/// The loops of a structured function, read off an order that keeps constructs together: a loop is
/// all from its header up to its merge block.
struct StructuredLoops {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Loop {
    std::uint32_t first = 0, end = 0;  ///< places of the header and the merge block
    BlockId header = kNoBlock, merge = kNoBlock;
    std::uint32_t parent = kNone;
  };

  StructuredLoops(const Function& function, const std::vector<BlockId>& order);
  bool within(BlockId block, std::uint32_t loop) const {
    return place[block] >= loops[loop].first && place[block] < loops[loop].end;
  }

  std::vector<Loop> loops;               ///< outer ones first
  std::vector<std::uint32_t> place;      ///< by block: its place in the order
  std::vector<std::uint32_t> innermost;  ///< by block: a loop, or kNone
};

}  // namespace ptx2spv::ir
