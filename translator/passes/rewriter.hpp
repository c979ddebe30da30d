// Rewrites a function block by block while its registers are still variables: instructions are
// kept, dropped or replaced by sequences, and a block may be split for control flow in between.
#pragma once

#include <utility>
#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

class Rewriter {
 public:
  explicit Rewriter(ir::Function& function) : f_(function), b_(function) {}

  /// Calls visit(value) for every instruction of every block that exists now. The visitor appends
  /// what it wants through builder(); `keep(value)` appends the instruction itself. New blocks are
  /// not visited.
  template <typename Visit>
  void run(Visit&& visit) {
    const auto count = static_cast<ir::BlockId>(f_.blocks.size());
    for (ir::BlockId block = 0; block < count; ++block) {
      const std::vector<ir::Value> old = std::exchange(f_.blocks[block].insts, {});
      tail_.term = f_.blocks[block].term;
      tail_.cond = f_.blocks[block].cond;
      tail_.succs = f_.blocks[block].succs;
      tail_.loc = f_.blocks[block].loc;
      b_.at(block);
      ended_ = false;
      for (const ir::Value value : old) {
        if (ended_) break;
        b_.set_loc(f_.insts[value].loc);
        visit(value);
      }
      if (ended_) continue;
      ir::Block& last = f_.blocks[b_.block()];
      last.term = tail_.term;
      last.cond = tail_.cond;
      last.succs = tail_.succs;
      last.loc = tail_.loc;
    }
  }

  ir::Builder& builder() { return b_; }
  void keep(ir::Value value) { f_.blocks[b_.block()].insts.push_back(value); }

  /// Makes `value` the result of a last operation, so that its uses stay valid.
  void replace(ir::Value value, ir::Op op, ir::Type type, std::initializer_list<ir::Value> args,
               std::uint64_t imm = 0) {
    const std::uint32_t loc = f_.insts[value].loc;
    const ir::Value made = b_.inst(op, type, args, imm);
    f_.blocks[b_.block()].insts.back() = value;
    f_.insts[value] = f_.insts[made];
    f_.insts[value].loc = loc;
  }
  /// Makes `value` equal to `result`: a copy that simplification removes.
  void replace_by(ir::Value value, ir::Value result) {
    const ir::Inst& inst = f_.insts[result];
    if (inst.op == ir::Op::constant) {
      const ir::Inst copy = inst;
      f_.insts[value] = copy;
      keep(value);
      return;
    }
    replace(value, ir::Op::select, inst.type, {b_.i1(true), result, result});
  }

  /// if (cond) { body() }, as a branch.
  template <typename Body>
  void when(ir::Value cond, Body&& body) {
    const ir::BlockId then = b_.new_block();
    const ir::BlockId join = b_.new_block();
    b_.cond_br(cond, then, join);
    b_.at(then);
    body();
    b_.br(join);
    b_.at(join);
  }
  /// The rest of the block is unreachable: the visitor has set the terminator itself.
  void end_block() { ended_ = true; }

 private:
  ir::Function& f_;
  ir::Builder b_;
  ir::Block tail_;
  bool ended_ = false;
};

}  // namespace ptx2spv::passes
