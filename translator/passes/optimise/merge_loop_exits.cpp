// Merges the exits of a loop, for devices without Costs::skipped_branches. Where only arithmetic
// stands between one exit and the next, threads leave at the second. They compute the arithmetic in
// vain, as they do under a mask, but the mask is computed once.
#include <algorithm>

#include "translator/ir/cfg.hpp"
#include "translator/passes/cfg/blocks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

class MergeLoopExits {
 public:
  explicit MergeLoopExits(Function& f) : f_(f) {}

  bool run() {
    bool any = false;
    // A construct's blocks stand together.
    const std::vector<BlockId> order = reverse_postorder(f_, true);
    std::vector<std::uint32_t> place(f_.blocks.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (const BlockId h : order) {
      if (f_.blocks[h].merge != Merge::loop) continue;
      merge_ = f_.blocks[h].merge_block;
      latch_ = f_.blocks[h].continue_block;
      for (std::uint32_t i = place[h]; i < place[merge_]; ++i) any = join(order[i]) || any;
    }
    if (any) remove_unreachable(f_);
    return any;
  }

 private:
  /// The block by which a branch of `from` to `to` comes to the loop's merge block with nothing
  /// done on the way; kNoBlock when it does not.
  BlockId way_out(BlockId from, BlockId to) const {
    if (to == merge_) return from;
    const Block& block = f_.blocks[to];
    const auto nothing = [&](Value v) { return f_.insts[v].op == Op::constant; };
    const bool out = block.term == Term::br && block.succs[0] == merge_ && to != latch_ &&
                     block.merge == Merge::none && block.preds.size() == 1 &&
                     std::all_of(block.insts.begin(), block.insts.end(), nothing);
    return out ? to : kNoBlock;
  }
  /// The side of the branch that ends `b` by which the loop is left; 2: neither, or both.
  unsigned side_out(BlockId b) const {
    const Block& block = f_.blocks[b];
    if (block.term != Term::cond_br || block.succs[0] == block.succs[1]) return 2;
    const bool first = way_out(b, block.succs[0]) != kNoBlock,
               second = way_out(b, block.succs[1]) != kNoBlock;
    return first == second ? 2 : first ? 0 : 1;
  }

  bool only_arithmetic(BlockId b) const {
    return std::all_of(f_.blocks[b].insts.begin(), f_.blocks[b].insts.end(), [&](Value v) {
      const Inst& inst = f_.insts[v];
      return (info(inst.op).flags & flag::P) && inst.op != Op::phi && inst.op != Op::library;
    });
  }

  bool join(BlockId x) {
    const unsigned side = side_out(x);
    if (side == 2) return false;
    const BlockId way = way_out(x, f_.blocks[x].succs[side]);
    BlockId at = f_.blocks[x].succs[1 - side];
    if (f_.blocks[x].merge == Merge::selection && f_.blocks[x].merge_block != at &&
        f_.blocks[x].merge_block != way)
      return false;
    for (unsigned steps = 0;; ++steps) {
      const Block& block = f_.blocks[at];
      if (at == latch_ || at == merge_ || block.preds.size() != 1 || block.merge == Merge::loop ||
          steps == 8 || !only_arithmetic(at))
        return false;
      if (block.term != Term::br) break;
      at = block.succs[0];
    }
    const unsigned other = side_out(at);
    if (other == 2) return false;
    const BlockId last = way_out(at, f_.blocks[at].succs[other]);
    for (const Value phi : f_.blocks[merge_].insts) {
      const Inst& inst = f_.insts[phi];
      if (inst.op == Op::phi && (inst.type == Type::v2 || inst.type == Type::v4)) return false;
    }
    Builder b(f_);
    b.at(at);
    Block& first = f_.blocks[x];
    const Value leave = first.cond;
    const Value out = side == 0 ? leave : b.inst(Op::not_, Type::i1, {leave});
    const auto place = [&](BlockId pred) {
      const auto& preds = f_.blocks[merge_].preds;
      return static_cast<unsigned>(std::find(preds.begin(), preds.end(), pred) - preds.begin());
    };
    const unsigned from = place(way), to = place(last);
    for (const Value phi : f_.blocks[merge_].insts) {
      if (f_.insts[phi].op != Op::phi) break;
      const Value a = f_.arg(phi, from), c = f_.arg(phi, to);
      if (a == c) continue;
      const Value chosen = b.select(out, a, c);
      f_.args(phi)[to] = chosen;
    }
    const Value second = f_.blocks[at].cond;
    if (other == 0) {
      f_.blocks[at].cond = b.op2(Op::or_, second, out);
    } else {
      const Value stays = side == 0 ? b.inst(Op::not_, Type::i1, {leave}) : leave;
      f_.blocks[at].cond = b.op2(Op::and_, second, stays);
    }
    Block& straight = f_.blocks[x];
    straight.term = Term::br;
    straight.cond = 0;
    straight.succs.assign(1, straight.succs[1 - side]);
    if (straight.merge == Merge::selection) {
      straight.merge = Merge::none;
      straight.merge_block = kNoBlock;
    }
    return true;
  }

  Function& f_;
  BlockId merge_ = kNoBlock, latch_ = kNoBlock;
};

}  // namespace

bool merge_loop_exits(Function& f) { return MergeLoopExits(f).run(); }

}  // namespace ptx2spv::passes
