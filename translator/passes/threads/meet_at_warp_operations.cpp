// Threads of a warp that miss a warp operation do not matter to it once they have ended. Subgroup
// operations need all lanes: so a block of the kernel that only some threads run, before all do
// nothing but end, is cut at its warp operations. All come by those together, and members are the
// threads that run the block.
//
//     from --> block with two operations --> end      from --> 1 --> op --> 2 --> op --> 3 --> end
//        \------------------------------------^          \-----------^-\-----------^-\---------^
#include <algorithm>

#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

class Meetings {
 public:
  explicit Meetings(Function& function) : f_(function), b_(function) { f_.compute_preds(); }

  /// Cuts the blocks that have one of these operations. False where that is not possible.
  bool cut(const std::vector<Value>& missed) {
    std::vector<bool> is_missed(f_.insts.size());
    for (const Value v : missed) is_missed[v] = true;
    std::vector<BlockId> blocks;
    for (BlockId b = 0; b < f_.blocks.size(); ++b)
      if (std::ranges::any_of(f_.blocks[b].insts, [&](Value v) { return is_missed[v]; }))
        blocks.push_back(b);
    if (blocks.size() > kMostBlocks) return false;
    for (const BlockId b : blocks)
      if (!can_cut(b)) return false;
    for (const BlockId b : blocks) cut(b);
    demote_to_stack(f_);
    return true;
  }

 private:
  bool meets(Value v) const {
    return is_warp_operation(f_.insts[v].op) || is_barrier(f_.insts[v].op) ||
           f_.insts[v].op == Op::bar_sync || f_.insts[v].op == Op::yield;
  }

  /// Whether threads in the block do nothing from there on that others could wait for.
  bool only_ends(BlockId from, BlockId not_by) const {
    std::vector<bool> seen(f_.blocks.size());
    std::vector<BlockId> work{from};
    seen[from] = true;
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      if (b == not_by || std::ranges::any_of(f_.blocks[b].insts, [&](Value v) { return meets(v); }))
        return false;
      for (const BlockId s : f_.blocks[b].succs)
        if (!seen[s]) seen[s] = true, work.push_back(s);
    }
    return true;
  }

  bool can_cut(BlockId block) const {
    const Block& x = f_.blocks[block];
    if (x.preds.size() != 1) return false;
    const BlockId from = x.preds[0];
    const Block& before = f_.blocks[from];
    if (before.term != Term::cond_br || before.succs[0] == before.succs[1]) return false;
    const BlockId other = before.succs[before.succs[0] == block ? 1 : 0];
    return std::ranges::all_of(x.insts,
                               [&](Value v) {
                                 const Op op = f_.insts[v].op;
                                 return !meets(v) ||
                                        (is_warp_operation(op) && op != Op::warp_active);
                               }) &&
           only_ends(other, from) &&
           std::ranges::all_of(x.succs, [&](BlockId s) { return only_ends(s, from); });
  }

  std::uint32_t variable(Type type, const char* name) {
    f_.vars.push_back({type, name});
    return static_cast<std::uint32_t>(f_.vars.size() - 1);
  }
  Value zero(Type type) {
    if (type == Type::i1) return b_.i1(false);
    return type == Type::i64 ? b_.i64(0) : b_.i32(0);
  }

  void cut(BlockId block) {
    const BlockId from = f_.blocks[block].preds[0];
    const unsigned side = f_.blocks[from].succs[0] == block ? 0 : 1;
    const BlockId other = f_.blocks[from].succs[1 - side];
    inside_ = variable(Type::i1, "meet.inside");
    members_ = variable(Type::i32, "meet.members");
    b_.at(from);
    Value cond = f_.blocks[from].cond;
    if (side == 1) cond = b_.inst(Op::not_, Type::i1, {cond});
    b_.set(inside_, cond);
    const Value ballot = b_.inst(Op::warp_vote, Type::i32, {cond, b_.i32(~0u)},
                                 static_cast<std::uint64_t>(VoteMode::ballot));
    b_.set(members_, ballot);
    const Block whole = f_.blocks[block];
    BlockId part = block;
    f_.blocks[part].insts.clear();
    b_.at(part);
    unsigned last = side;  // which of the last branch's successors goes on without the block
    BlockId branch = from;
    for (const Value v : whole.insts) {
      if (!is_warp_operation(f_.insts[v].op)) {
        f_.blocks[part].insts.push_back(v);
        continue;
      }
      const BlockId meeting = b_.new_block(), next = b_.new_block();
      pass_operands(v, from);
      b_.br(meeting);
      f_.blocks[branch].succs[1 - last] = meeting;
      b_.at(meeting);
      take_operands(v);
      f_.blocks[meeting].insts.push_back(v);
      b_.cond_br(b_.get(inside_), next, other);
      branch = meeting, last = 0, part = next;
      b_.at(part);
    }
    Block& end = f_.blocks[part];
    end.term = whole.term, end.cond = whole.cond, end.succs = whole.succs, end.loc = whole.loc;
  }

  /// What the threads of the block compute for the operation becomes variables, which are 0 in the
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
  static constexpr std::size_t kMostBlocks = 16;  ///< for each the rest of the kernel is looked at

  Function& f_;
  Builder b_;
  std::uint32_t inside_ = 0, members_ = 0;
  std::vector<std::uint32_t> passed_;  ///< by operand of the operation in work
};

}  // namespace

bool warp_operations_are_missed(const Function& function, Module& module, bool rows) {
  const std::vector<Value> missed = divergent_warp_operations(function, module, rows);
  if (missed.empty()) return false;
  Function copy = function;
  return !Meetings(copy).cut(missed) || !divergent_warp_operations(copy, module, rows).empty();
}

void meet_at_warp_operations(Function& function, Module& module, bool rows) {
  const std::vector<Value> missed = divergent_warp_operations(function, module, rows);
  if (!missed.empty()) Meetings(function).cut(missed);
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
