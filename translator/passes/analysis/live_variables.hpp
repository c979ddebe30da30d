// The blocks at whose start a variable is live: its value may still be read there.
#pragma once

#include <cstdint>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// One variable at a time, by walking back from its reads; work in proportion to the blocks found.
/// The function keeps its blocks, instructions and variables while this is in use.
class LiveVariables {
 public:
  /// A call writes its results' variables.
  explicit LiveVariables(const Function& function);

  /// Calls `visit` with each block at whose start `var` is live, until it returns false. Returns
  /// whether it never did.
  template <typename Visit>
  bool visit(std::uint32_t var, Visit&& visit) {
    ++turn_;
    for (const BlockId b : writes_[var]) writes_in_[b] = turn_;
    work_.clear();
    for (const BlockId b : reads_[var]) {
      live_[b] = turn_;
      work_.push_back(b);
    }
    while (!work_.empty()) {
      const BlockId b = work_.back();
      work_.pop_back();
      if (!visit(b)) return false;
      for (const BlockId p : preds_[b]) {
        if (writes_in_[p] == turn_ || live_[p] == turn_) continue;
        live_[p] = turn_;
        work_.push_back(p);
      }
    }
    return true;
  }

 private:
  std::vector<std::vector<BlockId>> reads_, writes_;  ///< by variable; read before any write
  std::vector<std::vector<BlockId>> preds_;
  std::vector<std::uint32_t> live_, writes_in_;  ///< by block: the last turn that it was so
  std::vector<BlockId> work_;
  std::uint32_t turn_ = 0;
};

}  // namespace ptx2spv::passes
