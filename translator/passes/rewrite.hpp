// Replaces instructions of a function in SSA form, one walk with dominators first.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

class Rewrite {
 public:
  explicit Rewrite(ir::Function& function) : f_(function), b_(function) {}
  ir::Builder& builder() { return b_; }

  /// Calls `replace` for every instruction, its operands already replaced and the builder standing
  /// where it stood. Result: the value to use instead, the instruction's own to keep it, 0 to drop
  /// it.
  template <typename Replace>
  bool run(Replace&& replace) {
    alias_.assign(f_.insts.size(), 0);
    bool changed = false;
    std::vector<ir::BlockId> order = f_.order;
    if (order.empty()) {
      order.resize(f_.blocks.size());
      std::iota(order.begin(), order.end(), 0);
    }
    for (const ir::BlockId block : order) {
      const std::vector<ir::Value> old = std::exchange(f_.blocks[block].insts, {});
      b_.at(block);
      for (const ir::Value v : old) {
        for (ir::Value& a : f_.args(v)) a = resolve(a);
        b_.set_loc(f_.insts[v].loc);
        const ir::Value next = replace(v);
        if (next == v) {
          f_.blocks[block].insts.push_back(v);
        } else {
          changed = true;
          if (alias_.size() < f_.insts.size()) alias_.resize(f_.insts.size(), 0);
          alias_[v] = next;
        }
      }
    }
    if (!changed) return false;
    alias_.resize(f_.insts.size(), 0);
    for (ir::Block& block : f_.blocks) {
      for (const ir::Value v : block.insts)
        for (ir::Value& a : f_.args(v)) a = resolve(a);
      if (block.cond) block.cond = resolve(block.cond);
    }
    return true;
  }

 private:
  ir::Value resolve(ir::Value v) const {
    while (v < alias_.size() && alias_[v]) v = alias_[v];
    return v;
  }

  ir::Function& f_;
  ir::Builder b_;
  std::vector<ir::Value> alias_;
};

}  // namespace ptx2spv::passes
