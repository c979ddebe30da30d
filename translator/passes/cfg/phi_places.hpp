// Where SSA construction puts the phis of a variable, and the variables that would have too many.
#pragma once

#include <cstdint>
#include <vector>

#include "translator/ir/cfg.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// The blocks that need a phi of a variable: the iterated dominance frontiers of its writes,
/// without those where it is dead if that is found within kLiveBlocks. The function, whose
/// predecessors are known, keeps its blocks while this is in use.
class PhiPlaces {
 public:
  PhiPlaces(const Function& function, const Dominators& dominators);

  /// Calls `visit` with each block that needs a phi of `var`, until it returns false. Returns
  /// whether it never did.
  template <typename Visit>
  bool visit(std::uint32_t var, Visit&& visit) {
    if (reads_[var].empty()) return true;
    ++turn_;
    for (const BlockId b : writes_[var]) queued_[b] = turn_;
    const bool pruned = find_live(var);
    work_ = writes_[var];
    while (!work_.empty()) {
      const BlockId b = work_.back();
      work_.pop_back();
      for (const BlockId d : frontier_[b]) {
        if (has_phi_[d] == turn_ || (pruned && live_[d] != turn_)) continue;
        has_phi_[d] = turn_;
        if (!visit(d)) return false;
        if (queued_[d] == turn_) continue;
        queued_[d] = turn_;
        work_.push_back(d);
      }
    }
    return true;
  }

 private:
  /// Most blocks that a variable is followed through. Most variables live in fewer, and of the
  /// others phis that nobody needs are dropped later.
  static constexpr std::size_t kLiveBlocks = 64;

  /// Marks the blocks at whose start `var` is live; false where there are too many. Expects the
  /// blocks that write it in queued_.
  bool find_live(std::uint32_t var);

  const Function* f_;
  std::vector<std::vector<BlockId>> frontier_;
  std::vector<std::vector<BlockId>> writes_;  ///< by variable
  std::vector<std::vector<BlockId>> reads_;   ///< by variable: blocks that read it first
  /// By block: the last turn that put it there.
  std::vector<std::uint32_t> has_phi_, queued_, live_;
  std::vector<BlockId> work_;
  std::uint32_t turn_ = 0;
};

/// Operands of phis that a function may have whatever its size.
inline constexpr std::size_t kPhiOperands = std::size_t{1} << 17;

/// Moves variables to local memory where the phis of all have more operands than kPhiOperands and
/// 16 for each instruction: a variable that is written and read all over a graph has an operand for
/// each edge of it. Those with the most operands move. Returns whether any did, after which
/// `places` no longer holds.
bool spill_many_phis(Function& function, PhiPlaces& places);

}  // namespace ptx2spv::passes
