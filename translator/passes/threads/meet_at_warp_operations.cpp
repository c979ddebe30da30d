// Threads of a warp that miss a warp operation do not matter to it once they have ended. Subgroup
// operations need all lanes: so the part of a kernel that only some threads run, before all do
// nothing but end, is cut at its warp operations. All come by those together, and members are the
// threads that run the part.
//
//     from --> part with two operations --> end       from --> 1 --> op --> 2 --> op --> 3 --> end
//        \-----------------------------------^           \-----------^-\-----------^-\---------^
#include <algorithm>

#include "translator/ir/cfg.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

class Meetings {
 public:
  explicit Meetings(Function& function) : f_(function), b_(function) { f_.compute_preds(); }

  /// Cuts the innermost parts that have some of these operations. False where that is not possible.
  bool cut(const std::vector<Value>& missed) {
    std::vector<bool> is_missed(f_.insts.size());
    for (const Value v : missed) is_missed[v] = true;
    std::vector<Part> parts;
    const Dominators dominators(f_, false);
    for (const BlockId b : dominators.order()) {
      if (std::ranges::none_of(f_.blocks[b].insts, [&](Value v) { return is_missed[v]; })) continue;
      const Part part = part_of(b, dominators);
      if (part.from == kNoBlock) return false;
      if (std::ranges::find(parts, part.from, &Part::from) == parts.end()) parts.push_back(part);
    }
    // Of parts within each other the inner one comes first.
    const std::vector<Part> all = parts;
    std::erase_if(parts, [&](const Part& outer) {
      return std::ranges::any_of(all, [&](const Part& inner) {
        return inner.first != outer.first && dominators.dominates(outer.first, inner.first);
      });
    });
    if (parts.size() > kMostParts) return false;
    for (Part& part : parts)
      if (!find_operations(part, dominators)) return false;
    for (const Part& part : parts) cut(part);
    demote_to_stack(f_);
    return true;
  }

 private:
  /// What some threads run behind the branch of `from`, from block `first` on; the others only end,
  /// in `other`.
  struct Part {
    BlockId from = kNoBlock, first = kNoBlock, other = kNoBlock;
    std::vector<BlockId>
        blocks;         ///< with warp operations, in the order that all threads run them in
    bool bare = false;  ///< `other` looks at nothing
  };

  static bool meets(const Inst& inst) {
    if (inst.op == Op::warp_active && inst.imm == kOrdersAccesses) return false;
    return is_warp_operation(inst.op) || is_barrier(inst.op) || inst.op == Op::bar_sync ||
           inst.op == Op::yield;
  }
  bool meets(BlockId block) const {
    return std::ranges::any_of(f_.blocks[block].insts, [&](Value v) { return meets(f_.insts[v]); });
  }

  /// Calls `enter` with the blocks reachable from one, without what is behind a block for which it
  /// is false.
  template <typename Enter>
  void walk(BlockId from, Enter&& enter) const {
    std::vector<bool> seen(f_.blocks.size());
    std::vector<BlockId> work{from};
    seen[from] = true;
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      if (!enter(b)) continue;
      for (const BlockId s : f_.blocks[b].succs)
        if (!seen[s]) seen[s] = true, work.push_back(s);
    }
  }

  /// Whether threads in the block do nothing from there on that others could wait for.
  bool only_ends(BlockId from, BlockId not_by) const {
    bool good = true;
    walk(from, [&](BlockId b) { return good = good && b != not_by && !meets(b); });
    return good;
  }

  /// The innermost part that the block is in.
  Part part_of(BlockId block, const Dominators& dominators) const {
    for (BlockId first = block; first != kNoBlock; first = dominators.idom(first)) {
      const BlockId from = dominators.idom(first);
      if (from == kNoBlock || !std::ranges::all_of(f_.blocks[first].preds, [&](BlockId p) {
            return p == from || !dominators.reachable(p) || dominators.dominates(first, p);
          }))
        continue;
      const Block& before = f_.blocks[from];
      if (before.term != Term::cond_br || before.succs[0] == before.succs[1]) continue;
      const BlockId other = before.succs[before.succs[0] == first ? 1 : 0];
      if (only_ends(other, from)) return {from, first, other, {}, false};
    }
    return {};
  }

  /// Whether all threads of the part come once by each of its warp operations.
  bool find_operations(Part& part, const Dominators& dominators) const {
    for (const BlockId b : dominators.order()) {
      if (!dominators.dominates(part.first, b) || !meets(b)) continue;
      for (const Value v : f_.blocks[b].insts)
        if (meets(f_.insts[v]) && !is_warp_operation(f_.insts[v].op)) return false;
      part.blocks.push_back(b);
    }
    bool passed = true;
    walk(part.first, [&](BlockId w) {
      return passed = passed && (dominators.dominates(part.first, w) || !meets(w));
    });
    BlockId at = part.first;
    for (const BlockId b : part.blocks) {
      // No way leads past the block, nor back to it.
      walk(at, [&](BlockId w) {
        if (w == b) return false;
        passed = passed && dominators.dominates(part.first, w) && !f_.blocks[w].succs.empty();
        return passed;
      });
      for (const BlockId s : f_.blocks[b].succs)
        walk(s, [&](BlockId w) { return passed = passed && w != b; });
      if (!passed) return false;
      at = b;
    }
    part.bare = true;
    walk(part.other, [&](BlockId w) {
      return part.bare = part.bare && std::ranges::all_of(f_.blocks[w].insts, [&](Value v) {
                           return f_.insts[v].op == Op::constant;
                         });
    });
    return true;
  }

  std::uint32_t variable(Type type, const char* name) {
    f_.vars.push_back({type, name});
    return static_cast<std::uint32_t>(f_.vars.size() - 1);
  }
  Value zero(Type type) {
    if (type == Type::i1) return b_.i1(false);
    return type == Type::i64 ? b_.i64(0) : b_.i32(0);
  }

  void cut(const Part& part) {
    const unsigned side = f_.blocks[part.from].succs[0] == part.first ? 0 : 1;
    inside_ = variable(Type::i1, "meet.inside");
    members_ = variable(Type::i32, "meet.members");
    b_.at(part.from);
    Value cond = f_.blocks[part.from].cond;
    if (side == 1) cond = b_.inst(Op::not_, Type::i1, {cond});
    b_.set(inside_, cond);
    const Value ballot = b_.inst(Op::warp_vote, Type::i32, {cond, b_.i32(~0u)},
                                 static_cast<std::uint64_t>(VoteMode::ballot));
    b_.set(members_, ballot);
    unsigned last = side;  // which of the last branch's successors goes on in the part
    BlockId branch = part.from;
    for (const BlockId block : part.blocks) {
      const Block whole = f_.blocks[block];
      f_.blocks[block].insts.clear();
      b_.at(block);
      bool all = false;  // whether all threads are here, as behind an operation
      for (std::size_t i = 0; i < whole.insts.size(); ++i) {
        const Value v = whole.insts[i];
        Inst& inst = f_.insts[v];
        if (!meets(inst)) {
          if (all && !goes_along(part, whole, i)) {
            const BlockId next = b_.new_block();
            b_.cond_br(b_.get(inside_), next, part.other);
            branch = b_.block(), last = 0, all = false;
            b_.at(next);
          }
          f_.blocks[b_.block()].insts.push_back(v);
          continue;
        }
        if (inst.op == Op::warp_active) {
          inst.op = Op::get_var, inst.imm = members_;
          f_.blocks[b_.block()].insts.push_back(v);
          continue;
        }
        if (all) {
          const std::size_t mask = inst.count - 1u;
          const Value members = b_.op2(Op::and_, f_.arg(v, mask), b_.get(members_));
          f_.args(v)[mask] = members;
        } else {
          const BlockId meeting = b_.new_block();
          pass_operands(v, part.from);
          b_.br(meeting);
          f_.blocks[branch].succs[1 - last] = meeting;
          b_.at(meeting);
          take_operands(v);
          all = true;
        }
        f_.blocks[b_.block()].insts.push_back(v);
      }
      if (all) {
        const BlockId next = b_.new_block();
        b_.cond_br(b_.get(inside_), next, part.other);
        branch = b_.block(), last = 0;
        b_.at(next);
      }
      Block& end = f_.blocks[b_.block()];
      end.term = whole.term, end.cond = whole.cond, end.succs = whole.succs, end.loc = whole.loc;
    }
  }

  /// Whether the others may do what stands between two operations, too: nothing that they see
  /// later.
  bool goes_along(const Part& part, const Block& block, std::size_t from) const {
    for (std::size_t i = from; part.bare && i < block.insts.size(); ++i) {
      const Inst& inst = f_.insts[block.insts[i]];
      if (meets(inst)) return true;
      if (!(info(inst.op).flags & flag::P) && inst.op != Op::get_var && inst.op != Op::set_var)
        return false;
    }
    return false;
  }

  /// What the threads of the part compute for the operation becomes variables, which are 0 in the
  /// others.
  void pass_operands(Value v, BlockId from) {
    passed_.assign(f_.insts[v].count, kConstant);
    const std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
    for (std::size_t i = 0; i < args.size(); ++i) {
      const Value a = args[i];
      const Type type = f_.insts[a].type;
      if (f_.insts[a].op == Op::constant) continue;
      passed_[i] = variable(type, "meet.operand");
      const BlockId here = b_.block();
      b_.at(from);
      b_.set(passed_[i], zero(type));
      b_.at(here);
      b_.set(passed_[i], a);
    }
  }
  void take_operands(Value v) {
    for (std::size_t i = 0; i < passed_.size(); ++i) {
      Value a = passed_[i] == kConstant ? f_.arg(v, i) : b_.get(passed_[i]);
      if (i + 1 == passed_.size()) a = b_.op2(Op::and_, a, b_.get(members_));
      f_.args(v)[i] = a;
    }
  }

  static constexpr std::uint32_t kConstant = 0xffffffffu;
  static constexpr std::size_t kMostParts = 16;  ///< for each the rest of the kernel is looked at

  Function& f_;
  Builder b_;
  std::uint32_t inside_ = 0, members_ = 0;
  std::vector<std::uint32_t> passed_;  ///< by operand of the operation in work
};

}  // namespace

namespace {

/// False where operations stay that some threads miss.
bool meet(Function& function, Module& module, bool rows) {
  constexpr int kMostRounds = 4;  // ends within each other
  for (int round = 0;; ++round) {
    const std::vector<Value> missed = divergent_warp_operations(function, module, rows);
    if (missed.empty()) return true;
    if (round == kMostRounds || !Meetings(function).cut(missed)) return false;
  }
}

}  // namespace

bool warp_operations_are_missed(const Function& function, Module& module, bool rows) {
  Function copy = function;
  return !meet(copy, module, rows);
}

void meet_at_warp_operations(Function& function, Module& module, bool rows) {
  meet(function, module, rows);
}

namespace {

/// Invocations from number `threads` on end at once.
void end_from(Function& function, std::uint32_t threads) {
  Builder b(function);
  const BlockId body = b.new_block();
  // Edges never lead to the entry, so only the two blocks' places change.
  std::swap(function.blocks[body], function.blocks[0]);
  b.at(0);
  const Value inside = b.cmp(Op::ult, b.builtin(Builtin::local_index), b.i32(threads));
  const BlockId outside = b.new_block();
  b.cond_br(inside, body, outside);
  b.at(outside);
  b.exit();
}

}  // namespace

void number_in_one_row(Function& function, const std::uint32_t (&block)[3]) {
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value v) {
    const Inst& inst = function.insts[v];
    if (inst.op != Op::builtin) return rewriter.keep(v);
    const auto axis = [&](Builtin first) {
      return static_cast<unsigned>(inst.builtin) - static_cast<unsigned>(first);
    };
    if (const unsigned size = axis(Builtin::workgroup_size_x); size < 3)
      return rewriter.replace_by(v, b.i32(block[size]));
    const unsigned id = axis(Builtin::local_id_x);
    if (id > 2) return rewriter.keep(v);
    const std::uint32_t each = id == 0 ? 1 : id == 1 ? block[0] : block[0] * block[1];
    Value number = b.op2(Op::udiv, b.builtin(Builtin::local_index), b.i32(each));
    const std::uint32_t others = id == 0 ? block[1] * block[2] : id == 1 ? block[2] : 1;
    if (others != 1) number = b.op2(Op::urem, number, b.i32(block[id]));
    rewriter.replace_by(v, number);
  });
  const std::uint32_t threads = block[0] * block[1] * block[2];
  if (threads % 32 != 0) end_from(function, threads);
  function.block_size[0] = (threads + 31) / 32 * 32;
  function.block_size[1] = function.block_size[2] = 1;
}

}  // namespace ptx2spv::passes
