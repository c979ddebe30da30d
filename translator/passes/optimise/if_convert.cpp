// Small selections without side effects become selects. The CPU drivers run both sides of a branch
// in any case, and a select beats an if by 20 to 30 percent there; on a GPU a few instructions cost
// less than the branch. So does a load from a robust image: of a thread that would not have made
// it, it names no texel.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/cfg/blocks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

constexpr unsigned kMostInstructions = 10;  ///< of both sides together
constexpr unsigned kMostSelects = 6;
constexpr unsigned kMostImageLoads = 2;

bool cheap(const Inst& inst) {
  if (!(info(inst.op).flags & flag::P) || (info(inst.op).flags & flag::S)) return false;
  return inst.op != Op::phi && inst.op != Op::library && inst.op != Op::native_fdiv &&
         inst.op != Op::native_fsqrt && inst.op != Op::native_unary &&
         !is_within(inst.op, Op::udiv, Op::srem);
}

class IfConverter {
 public:
  IfConverter(Function& function, bool robust_images)
      : f_(function), b_(function), targets_(f_.blocks.size()) {
    const auto loads = [&](const Block& block) {
      return std::ranges::any_of(block.insts,
                                 [&](Value v) { return f_.insts[v].op == Op::image_load; });
    };
    if (robust_images && std::ranges::any_of(f_.blocks, loads)) uniformity_.emplace(f_);
    for (const Block& block : f_.blocks) {
      if (block.merge == Merge::none) continue;
      ++targets_[block.merge_block];
      if (block.merge == Merge::loop) ++targets_[block.continue_block];
    }
  }

  bool run() {
    bool any = false;
    // Inner selections stand behind the headers of outer ones.
    for (auto b = f_.order.rbegin(); b != f_.order.rend(); ++b) any = convert(*b) || any;
    if (any) remove_unreachable(f_);
    return any;
  }

 private:
  /// One side of a selection: the blocks in a straight line that end at the join. What was
  /// converted before is such a line; it is put together only at the end, for to move it at each
  /// level would cost the square of its length.
  struct Side {
    std::array<BlockId, 16> blocks;
    unsigned count = 0;
  };
  /// Of both sides.
  struct Cost {
    unsigned instructions = 0, image_loads = 0;
  };

  bool collect(BlockId from, BlockId join, Side& side, Cost& cost) const {
    for (BlockId s = from; s != join; s = f_.blocks[s].succs[0]) {
      const Block& block = f_.blocks[s];
      if (side.count == side.blocks.size() || block.preds.size() != 1 || targets_[s] ||
          block.merge != Merge::none || block.term != Term::br)
        return false;
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op == Op::image_load && f_.insts[f_.arg(v, 0)].op == Op::compose && divides()) {
          if (++cost.image_loads > kMostImageLoads) return false;
          continue;
        }
        if (!cheap(inst)) return false;
        cost.instructions += inst.op == Op::constant ? 0 : 1;
        if (cost.instructions > kMostInstructions) return false;
      }
      side.blocks[side.count++] = s;
    }
    return true;
  }

  bool convert(BlockId h) {
    Block& head = f_.blocks[h];
    if (head.merge != Merge::selection || head.term != Term::cond_br) return false;
    const BlockId join = head.merge_block;
    condition_ = head.cond;
    Block& after = f_.blocks[join];
    unsigned selects = 0;
    Cost cost;
    Side yes, no;
    if (head.succs[0] == head.succs[1] || after.preds.size() != 2 || after.merge == Merge::loop ||
        !collect(head.succs[0], join, yes, cost) || !collect(head.succs[1], join, no, cost))
      return false;
    for (const Value v : after.insts) {
      if (f_.insts[v].op != Op::phi) break;
      if (f_.insts[v].type == Type::v2 || f_.insts[v].type == Type::v4) return false;
      ++selects;
    }
    if (selects > kMostSelects) return false;

    const BlockId from_yes = yes.count ? yes.blocks[yes.count - 1] : h,
                  from_no = no.count ? no.blocks[no.count - 1] : h;
    if (std::minmax(from_yes, from_no) != std::minmax(after.preds[0], after.preds[1])) return false;
    const unsigned place = after.preds[0] == from_yes ? 0 : 1;
    for (const bool enters : {true, false}) {
      const Side& side = enters ? yes : no;
      for (unsigned i = 0; i < side.count; ++i) {
        Block& block = f_.blocks[side.blocks[i]];
        for (const Value v : block.insts) {
          if (f_.insts[v].op == Op::image_load) load_where(h, v, enters);
          head.insts.push_back(v);
        }
        block = Block{};
        block.term = Term::unreachable;
      }
    }
    for (const Value v : after.insts) {
      Inst& inst = f_.insts[v];
      if (inst.op != Op::phi) break;
      const Value a = f_.arg(v, place), b = f_.arg(v, 1 - place);
      inst.op = Op::select;
      inst.first = static_cast<std::uint32_t>(f_.operands.size());
      inst.count = 3;
      f_.operands.insert(f_.operands.end(), {head.cond, a, b});
    }
    head.term = Term::br;
    head.cond = 0;
    head.succs.assign(1, join);
    head.merge = Merge::none;
    head.merge_block = kNoBlock;
    after.preds.assign(1, h);
    --targets_[join];
    return true;
  }

  /// Whether the head's threads may part. If all go one way, what only the other one loads costs
  /// nothing.
  bool divides() const { return uniformity_ && uniformity_->divergent(condition_); }

  /// Gives an image load coordinates outside of the image where the condition of `h` is not
  /// `enters`.
  void load_where(BlockId h, Value load, bool enters) {
    const Value coords = f_.arg(load, 0), condition = f_.blocks[h].cond;
    Value at[4];
    for (unsigned i = 0; i < 4; ++i) at[i] = f_.arg(coords, i);
    b_.at(h);
    const Value none = b_.i32(0xffffffffu);
    at[0] = enters ? b_.select(condition, at[0], none) : b_.select(condition, none, at[0]);
    const Value moved = b_.inst(Op::compose, Type::v4, {at[0], at[1], at[2], at[3]});
    f_.args(load)[0] = moved;
  }

  Function& f_;
  Builder b_;
  std::optional<Uniformity> uniformity_;  ///< where image loads may move: before any has
  Value condition_ = 0;                   ///< of the head
  std::vector<unsigned> targets_;  ///< by block: headers that name it as merge or continue block
};

}  // namespace

bool if_convert(Function& function, bool robust_images) {
  return IfConverter(function, robust_images).run();
}

}  // namespace ptx2spv::passes
