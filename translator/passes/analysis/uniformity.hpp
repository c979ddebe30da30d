// Which values and branches are the same for a whole block, or for a warp.
#pragma once

#include <vector>

#include "translator/ir/loops.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Branches that keep threads from what follows for good: those in `arms` never meet the others'
/// barriers again, so the rest is uniform among those who are left.
struct EarlyExits {
  std::vector<BlockId> heads;  ///< blocks that end in such a branch
  std::vector<BlockId> arms;   ///< blocks that only the threads who leave are in
};

/// Whose threads are compared.
struct Scope {
  bool warp = false;      ///< 32 threads, from a multiple of 32 on; else the block
  bool x_is_row = false;  ///< of a warp: tid.x is a multiple of 32 and then the lane, and tid.y and
                          ///< tid.z are the same in all its threads
  /// Threads read memory at the same time: they get the same of one address.
  bool lock_step = false;
  /// By value: loads that settle though threads may not have waited alike (agree_on_loads).
  const std::vector<bool>* agreed = nullptr;
};

/// Divergence of a structured function in SSA form. Parameters, push constants, workgroup numbers
/// and read-only memory at uniform addresses are uniform, and settled loads there; thread numbers,
/// other memory, atomics and warp operations are not. In a warp, so are its number and votes,
/// reductions and the active mask under a uniform mask.
///
/// A load is settled if it is weak and nothing between it and the barriers before can have waited
/// for another thread. All threads that come by together get the same then: a store that only some
/// of them see is ordered with no load of the others, which is a race. Of global memory this is
/// taken for a warp alone, whose lanes read at the same time.
class Uniformity {
 public:
  explicit Uniformity(const Function& function, const EarlyExits& early = {},
                      const Scope& scope = {});
  bool divergent(Value value) const { return values_[value]; }
  /// Whether some threads of the scope may be in the block while others are not.
  bool divergent_block(BlockId block) const { return blocks_[block]; }

 private:
  /// Whether the value tells warps apart, but not a warp's threads, though its operands do: a
  /// thread's number without its low five bits, or beside a multiple of 32.
  bool whole_warps(Value v) const;
  bool source(Value v) const;
  void find_settled();
  struct Work;
  bool follows(Value user, std::size_t i) const;
  void find_uses(Work& work) const;
  void spread();
  void visit_branch(BlockId block);
  std::uint32_t unmarked(std::uint32_t place);
  void mark_value(Value v);
  void mark_blocks(std::uint32_t first, std::uint32_t end);
  void mark_join(BlockId block);
  void leave_unevenly(std::uint32_t loop);

  const Function& f_;
  const Scope scope_;
  std::vector<bool> values_, blocks_, joins_, early_;
  std::vector<bool> settled_;  ///< by value: a load that is
  const StructuredLoops nest_;
  std::vector<std::uint32_t> next_;  ///< by place: that, or a later one before which all are marked
  std::vector<bool> left_unevenly_;  ///< by loop
  std::vector<BlockId> home_;        ///< by value: its block
  Work* work_ = nullptr;             ///< while the constructor runs
};

/// Whether a barrier of the function may be reached by some threads of a block only, or in
/// different iterations. Takes the function before structurizing, calls inlined; works on a copy.
bool barriers_diverge(const Function& function, Module& module);
/// The warp operations that some threads of a warp may miss, in blocks whose rows are whole warps
/// or in any, without those of order_warp_accesses, which lanes may miss. Works on a copy, as well.
std::vector<Value> divergent_warp_operations(const Function& function, Module& module,
                                             bool rows = true);

}  // namespace ptx2spv::passes
