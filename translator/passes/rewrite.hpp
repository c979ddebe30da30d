// Rewriting a function instruction by instruction, with a builder that stands where the instruction
// stood: CfgRewriter while registers are variables, which may split blocks, and SsaRewriter after,
// which may give a value another one's uses.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// What both have.
class Rewriter {
 public:
  Builder& builder() { return b_; }
  /// Appends the instruction itself.
  void keep(Value value) { f_.blocks[b_.block()].insts.push_back(value); }

 protected:
  explicit Rewriter(Function& function) : f_(function), b_(function) {}

  /// Empties the block and calls visit(value) for what was in it.
  template <typename Visit>
  void each(BlockId block, Visit&& visit) {
    const std::vector<Value> old = std::exchange(f_.blocks[block].insts, {});
    b_.at(block);
    for (const Value value : old) {
      b_.set_loc(f_.insts[value].loc);
      visit(value);
    }
  }

  Function& f_;
  Builder b_;
};

class CfgRewriter : public Rewriter {
 public:
  explicit CfgRewriter(Function& function) : Rewriter(function) {}

  /// Calls visit(value) for every instruction of every block that exists now. The visitor keeps
  /// the instruction or appends what it wants through builder(). New blocks are not visited.
  template <typename Visit>
  void run(Visit&& visit) {
    const auto count = static_cast<BlockId>(f_.blocks.size());
    for (BlockId block = 0; block < count; ++block) {
      tail_.term = f_.blocks[block].term;
      tail_.cond = f_.blocks[block].cond;
      tail_.succs = f_.blocks[block].succs;
      tail_.loc = f_.blocks[block].loc;
      ended_ = false;
      each(block, [&](Value value) {
        if (!ended_) visit(value);
      });
      if (ended_) continue;
      Block& last = f_.blocks[b_.block()];
      last.term = tail_.term;
      last.cond = tail_.cond;
      last.succs = tail_.succs;
      last.loc = tail_.loc;
    }
  }

  /// Makes `value` the result of a last operation, so that its uses stay valid.
  void replace(Value value, Op op, Type type, std::initializer_list<Value> args,
               std::uint64_t imm = 0) {
    const std::uint32_t loc = f_.insts[value].loc;
    const Value made = b_.inst(op, type, args, imm);
    f_.blocks[b_.block()].insts.back() = value;
    f_.insts[value] = f_.insts[made];
    f_.insts[value].loc = loc;
  }
  /// Makes `value` equal to `result`: a copy that simplification removes.
  void replace_by(Value value, Value result) {
    // A copy: what is added moves the others.
    const Inst inst = f_.insts[result];
    if (inst.op == Op::constant) {
      f_.insts[value] = inst;
      keep(value);
      return;
    }
    replace(value, Op::select, inst.type, {b_.i1(true), result, result});
  }

  /// if (cond) { body() }, as a branch.
  template <typename Body>
  void when(Value cond, Body&& body) {
    const BlockId then = b_.new_block();
    const BlockId join = b_.new_block();
    b_.cond_br(cond, then, join);
    b_.at(then);
    body();
    b_.br(join);
    b_.at(join);
  }
  /// The rest of the block is unreachable: the visitor has set the terminator itself.
  void end_block() { ended_ = true; }

 private:
  Block tail_;
  bool ended_ = false;
};

class SsaRewriter : public Rewriter {
 public:
  explicit SsaRewriter(Function& function) : Rewriter(function) {}

  /// Calls `replace` for every instruction, dominators first, its operands already replaced.
  /// Result: the value to use instead, the instruction's own to keep it, 0 to drop it.
  template <typename Replace>
  bool run(Replace&& replace) {
    alias_.assign(f_.insts.size(), 0);
    bool changed = false;
    std::vector<BlockId> order = f_.order;
    if (order.empty()) {
      order.resize(f_.blocks.size());
      std::iota(order.begin(), order.end(), 0);
    }
    for (const BlockId block : order)
      each(block, [&](Value v) {
        for (Value& a : f_.args(v)) a = resolve(a);
        const Value next = replace(v);
        if (next == v) return keep(v);
        changed = true;
        if (alias_.size() < f_.insts.size()) alias_.resize(f_.insts.size(), 0);
        alias_[v] = next;
      });
    if (!changed) return false;
    alias_.resize(f_.insts.size(), 0);
    for (Block& block : f_.blocks) {
      for (const Value v : block.insts)
        for (Value& a : f_.args(v)) a = resolve(a);
      if (block.cond) block.cond = resolve(block.cond);
    }
    return true;
  }

 private:
  Value resolve(Value v) const {
    while (v < alias_.size() && alias_[v]) v = alias_[v];
    return v;
  }

  std::vector<Value> alias_;
};

}  // namespace ptx2spv::passes
