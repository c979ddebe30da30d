// Which values and branches are the same for a whole workgroup.
#pragma once

#include <vector>

#include "translator/ir/loops.hpp"

namespace ptx2spv::passes {

/// Branches that keep threads from what follows for good: those in `arms` never meet the others'
/// barriers again, so the rest is uniform among those who are left.
struct EarlyExits {
  std::vector<ir::BlockId> heads;  ///< blocks that end in such a branch
  std::vector<ir::BlockId> arms;   ///< blocks that only the threads who leave are in
};

/// Divergence of a structured function in SSA form. Parameters, push constants, workgroup numbers
/// and read-only memory at uniform addresses are uniform; thread numbers, other memory, atomics and
/// warp operations are not.
class Uniformity {
 public:
  explicit Uniformity(const ir::Function& function, const EarlyExits& early = {});
  bool divergent(ir::Value value) const { return values_[value]; }
  /// Whether some threads of a workgroup may be in the block while others are not.
  bool divergent_block(ir::BlockId block) const { return blocks_[block]; }

 private:
  bool visit_values();
  bool visit_branches();
  bool mark_blocks(std::uint32_t first, std::uint32_t end);
  bool mark_join(ir::BlockId block);

  const ir::Function& f_;
  std::vector<bool> values_, blocks_, joins_, early_;
  const ir::StructuredLoops nest_;
  std::vector<bool> left_unevenly_;  ///< by loop
  std::vector<ir::BlockId> home_;    ///< by value: its block
};

/// Whether a barrier of the function may be reached by some threads of a block only, or in
/// different iterations. Takes the function before structurizing, calls inlined; works on a copy.
bool barriers_diverge(const ir::Function& function, ir::Module& module);
/// The same of warp operations.
bool warp_operations_diverge(const ir::Function& function, ir::Module& module);

}  // namespace ptx2spv::passes
