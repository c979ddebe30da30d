// Small selections without side effects become selects. The CPU drivers run both sides of a branch
// in any case, and a select beats an if by 20 to 30 percent there; on a GPU a few instructions cost
// less than the branch.
#include <algorithm>

#include "translator/passes/blocks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

constexpr unsigned kMostInstructions = 10;  ///< of both sides together
constexpr unsigned kMostSelects = 6;

bool cheap(const Inst& inst) {
  if (!(info(inst.op).flags & flag::P) || (info(inst.op).flags & flag::S)) return false;
  switch (inst.op) {
    case Op::phi:
    case Op::library:
    case Op::udiv:
    case Op::sdiv:
    case Op::urem:
    case Op::srem:
    case Op::native_fdiv:
    case Op::native_fsqrt:
    case Op::native_unary: return false;
    default: return true;
  }
}

class Flattener {
 public:
  explicit Flattener(Function& function) : f_(function) {}

  bool run() {
    bool any = false;
    // Inner selections stand behind the headers of outer ones.
    for (auto b = f_.order.rbegin(); b != f_.order.rend(); ++b) any = flatten(*b) || any;
    if (any) remove_unreachable(f_);
    return any;
  }

 private:
  bool side(BlockId s, BlockId join, unsigned& cost) const {
    if (s == join) return true;
    const Block& block = f_.blocks[s];
    if (block.preds.size() != 1 || block.merge != Merge::none || block.term != Term::br ||
        block.succs[0] != join)
      return false;
    for (const Value v : block.insts) {
      if (!cheap(f_.insts[v])) return false;
      cost += f_.insts[v].op == Op::constant ? 0 : 1;
    }
    return true;
  }

  bool flatten(BlockId h) {
    Block& head = f_.blocks[h];
    if (head.merge != Merge::selection || head.term != Term::cond_br) return false;
    const BlockId join = head.merge_block;
    const BlockId yes = head.succs[0], no = head.succs[1];
    Block& after = f_.blocks[join];
    unsigned cost = 0, selects = 0;
    if (yes == no || after.preds.size() != 2 || !side(yes, join, cost) || !side(no, join, cost))
      return false;
    for (const Value v : after.insts) {
      if (f_.insts[v].op != Op::phi) break;
      if (f_.insts[v].type == Type::v2 || f_.insts[v].type == Type::v4) return false;
      ++selects;
    }
    if (cost > kMostInstructions || selects > kMostSelects) return false;

    const BlockId from_yes = yes == join ? h : yes, from_no = no == join ? h : no;
    if (after.merge == Merge::loop ||
        std::minmax(from_yes, from_no) != std::minmax(after.preds[0], after.preds[1]))
      return false;
    const unsigned place = after.preds[0] == from_yes ? 0 : 1;
    for (const BlockId s : {yes, no}) {
      if (s == join) continue;
      head.insts.insert(head.insts.end(), f_.blocks[s].insts.begin(), f_.blocks[s].insts.end());
      f_.blocks[s] = Block{};
      f_.blocks[s].term = Term::unreachable;
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
    // The block behind follows directly, so that an outer selection sees one block.
    head.insts.insert(head.insts.end(), after.insts.begin(), after.insts.end());
    head.term = after.term;
    head.cond = after.cond;
    head.succs = std::move(after.succs);
    head.merge = after.merge;
    head.merge_block = after.merge_block;
    head.continue_block = after.continue_block;
    for (const BlockId s : head.succs)
      std::replace(f_.blocks[s].preds.begin(), f_.blocks[s].preds.end(), join, h);
    after = Block{};
    after.term = Term::unreachable;
    return true;
  }

  Function& f_;
};

}  // namespace

bool flatten(Function& function, Module&) { return Flattener(function).run(); }

}  // namespace ptx2spv::passes
