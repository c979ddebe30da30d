// The loops of a control flow graph and how they nest, as Havlak finds them: by the edges that go
// back in a depth-first walk.
#pragma once

#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

struct Loops {
  /// Needs preds. Linear but for the inverse Ackermann function. A loop that can be entered beside
  /// its header is known by the blocks that the header leads to first.
  explicit Loops(const Function& function);

  std::vector<BlockId> innermost;    ///< by block: header of the innermost loop; kNoBlock: none
  std::vector<BlockId> around;       ///< by header: the next loop outside; kNoBlock: none
  std::vector<std::uint32_t> depth;  ///< by block: so many loops hold it
};

}  // namespace ptx2spv::ir
