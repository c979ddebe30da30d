// Loops with a known trip count need no guard (ir::LoopGuard): a driver that cuts loops off after a
// number of iterations cuts nothing off where the trip counts of all of a kernel's loops together
// stay below it. A trip count comes from constants, from the block's size, or from a parameter,
// which the host looks at before a launch (EntryInfo::loops.trip_count_params).
#include <algorithm>
#include <optional>

#include "translator/ir/cfg.hpp"
#include "translator/passes/analysis/ranges.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

/// What the iterations of a loop are less than or equal to.
struct Bound {
  std::uint64_t iterations = 0;        ///< without the parameter's
  std::optional<std::uint32_t> param;  ///< offset of the parameter word that bounds them too
};

class LoopTripCount {
 public:
  LoopTripCount(Function& f, std::uint32_t most)
      : f_(f), doms_(f, false), ranges_(f), most_(most) {}

  bool run(EntryInfo& info, bool assume) {
    // Loops follow each other where none stands in another.
    order_ = reverse_postorder(f_, true);
    place_.assign(f_.blocks.size(), 0);
    for (std::uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
    std::uint32_t end = 0;
    std::uint64_t iterations = 0;
    std::vector<std::uint32_t> params;
    for (const BlockId b : order_) {
      if (f_.blocks[b].merge != Merge::loop) continue;
      if (place_[b] < end) return false;
      end = place_[f_.blocks[b].merge_block];
      const auto bound = bound_of(b);
      if (!bound) return false;
      iterations += bound->iterations;
      if (bound->param) params.push_back(*bound->param);
    }
    if (iterations >= most_) return false;
    if (!params.empty()) {
      // Each of the loops that share a parameter makes its iterations.
      const auto limit = static_cast<std::uint32_t>((most_ - iterations) / params.size());
      if (!assume) {
        std::sort(params.begin(), params.end());
        params.erase(std::unique(params.begin(), params.end()), params.end());
        info.loops.trip_count_params = std::move(params);
        info.loops.trip_count_limit = limit;
        return false;
      }
    }
    drop_guard();
    return true;
  }

 private:
  /// An exit of the loop, or a block that only records that the thread took it.
  bool leaves(BlockId b, BlockId header) const {
    const BlockId merge = f_.blocks[header].merge_block;
    return b == merge || (f_.blocks[b].term == Term::br && f_.blocks[b].succs[0] == merge);
  }

  std::optional<Bound> bound_of(BlockId header) {
    const Block& head = f_.blocks[header];
    const BlockId latch = head.continue_block;
    if (head.preds.size() != 2 || (head.preds[0] != latch && head.preds[1] != latch))
      return std::nullopt;
    latch_operand_ = head.preds[0] == latch ? 0 : 1;
    // A construct's blocks stand together.
    for (std::uint32_t i = place_[header]; i < place_[head.merge_block]; ++i) {
      const BlockId b = order_[i];
      const Block& test = f_.blocks[b];
      if (test.term != Term::cond_br || !doms_.reachable(b) || !doms_.dominates(b, latch)) continue;
      for (unsigned side = 0; side < 2; ++side) {
        if (!leaves(test.succs[side], header) || leaves(test.succs[1 - side], header)) continue;
        if (const auto bound = bound_by(header, test.cond, side == 1)) return bound;
      }
    }
    return std::nullopt;
  }

  struct Counter {
    Range first;              ///< what is compared in the first iteration
    std::uint64_t least = 0;  ///< of what is added in an iteration, or taken away
    bool down = false;
  };

  /// `v` as a number that grows or shrinks with each iteration.
  std::optional<Counter> counter(BlockId header, Value v) {
    const Inst& inst = f_.insts[v];
    if (inst.op == Op::phi && is_in(header, v)) return of_phi(v);
    // Compared after its step.
    if (inst.op != Op::add) return std::nullopt;
    for (unsigned i = 0; i < 2; ++i) {
      const Value phi = f_.arg(v, i);
      if (f_.insts[phi].op != Op::phi || !is_in(header, phi)) continue;
      auto counted = of_phi(phi);
      const Range step = ranges_.of(f_.arg(v, 1 - i));
      if (!counted || !step.single()) continue;
      const std::int64_t by = static_cast<std::int32_t>(step.low);
      const std::int64_t low = static_cast<std::int64_t>(counted->first.low) + by,
                         high = static_cast<std::int64_t>(counted->first.high) + by;
      if (low < 0 || high > kMost) continue;
      counted->first = {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)};
      return counted;
    }
    return std::nullopt;
  }

  bool is_in(BlockId header, Value phi) const {
    const auto& insts = f_.blocks[header].insts;
    return std::find(insts.begin(), insts.end(), phi) != insts.end();
  }

  std::optional<Counter> of_phi(Value phi) {
    if (f_.insts[phi].type != Type::i32) return std::nullopt;
    const Value next = f_.arg(phi, latch_operand_);
    const Inst& inst = f_.insts[next];
    if (inst.op != Op::add) return std::nullopt;
    for (unsigned i = 0; i < 2; ++i) {
      if (f_.arg(next, i) != phi) continue;
      const Range step = ranges_.of(f_.arg(next, 1 - i));
      Counter counted{ranges_.of(f_.arg(phi, 1 - latch_operand_)), step.low, false};
      if (counted.first.high > kMost) return std::nullopt;
      if (step.single() && step.low == 0xffffffffu) {
        counted.least = 1;
        counted.down = true;
        return counted;
      }
      if (step.low >= 1 && step.high <= kMost) return counted;
    }
    return std::nullopt;
  }

  /// The bound that a condition sets: the loop goes on while it is `stay`.
  std::optional<Bound> bound_by(BlockId header, Value cond, bool stay) {
    const Inst& inst = f_.insts[cond];
    Op op = inst.op;
    if (op == Op::not_) return bound_by(header, f_.arg(cond, 0), !stay);
    if (inst.count != 2 || f_.insts[f_.arg(cond, 0)].type != Type::i32) return std::nullopt;
    Value a = f_.arg(cond, 0), b = f_.arg(cond, 1);
    // As (a < b) or (a <= b) or (a != b), whichever keeps the loop going.
    if (!stay) {
      switch (op) {
        case Op::slt: op = Op::sle; break;
        case Op::sle: op = Op::slt; break;
        case Op::ult: op = Op::ule; break;
        case Op::ule: op = Op::ult; break;
        case Op::eq: op = Op::ne; break;
        default: return std::nullopt;
      }
      if (op != Op::ne) std::swap(a, b);
    }
    if (op == Op::ne) return until(header, a, b);
    if (op != Op::slt && op != Op::sle && op != Op::ult && op != Op::ule) return std::nullopt;
    if (const auto up = counter(header, a); up && !up->down) return below(*up, b);
    if (const auto down = counter(header, b); down && down->down) {
      // While what shrinks is more than a number that is not negative: it passes no zero. A number
      // that is not compared as one without a sign may pass it.
      const Range least = ranges_.of(a);
      const bool is_signed = op == Op::slt || op == Op::sle;
      if (least.high > kMost || (!is_signed && (op == Op::ule && least.low == 0)))
        return std::nullopt;
      return Bound{down->first.high + 2, {}};
    }
    return std::nullopt;
  }

  /// Counting up to `top`.
  std::optional<Bound> below(const Counter& up, Value top) {
    if (const Range range = ranges_.of(top); range.high <= kMost) {
      const std::uint64_t way = range.high > up.first.low ? range.high - up.first.low : 0;
      return Bound{way / up.least + 2, {}};
    }
    const Inst& inst = f_.insts[top];
    if (inst.op != Op::load || inst.mem.space != Space::param || inst.mem.bytes != 4)
      return std::nullopt;
    const Inst& address = f_.insts[f_.arg(top, 0)];
    if (address.op != Op::constant) return std::nullopt;
    return Bound{2, static_cast<std::uint32_t>(address.imm)};
  }

  /// Counting down, by one, to `end` exactly.
  std::optional<Bound> until(BlockId header, Value a, Value b) {
    auto down = counter(header, a);
    if (!down) {
      std::swap(a, b);
      down = counter(header, a);
    }
    if (!down || !down->down) return std::nullopt;
    const Range end = ranges_.of(b);
    if (!end.single() || down->first.low < end.low) return std::nullopt;
    return Bound{down->first.high - end.low + 2, {}};
  }

  bool guards(const Inst& inst) const {
    return (inst.op == Op::load || inst.op == Op::store) && inst.mem.space == Space::local &&
           inst.mem.slot == kGuardSlot;
  }

  /// Nothing is written, and 0 is read.
  void drop_guard() {
    for (Block& block : f_.blocks) {
      std::erase_if(block.insts,
                    [&](Value v) { return guards(f_.insts[v]) && f_.insts[v].op == Op::store; });
      for (const Value v : block.insts) {
        Inst& inst = f_.insts[v];
        if (!guards(inst)) continue;
        inst.op = Op::constant;
        inst.count = 0;
        inst.mem = {};
        inst.imm = 0;
      }
    }
    f_.local_bytes = f_.loop_guard.first_word;
    f_.loop_guard.on = false;
  }

  /// Numbers that no step below takes past 2^31.
  static constexpr std::int64_t kMost = 1 << 24;

  Function& f_;
  const Dominators doms_;
  Ranges ranges_;
  const std::uint32_t most_;
  std::vector<BlockId> order_;  ///< structured, and each block's place in it
  std::vector<std::uint32_t> place_;
  unsigned latch_operand_ = 0;
};

}  // namespace

bool loop_trip_count(Function& f, std::uint32_t most, bool assume, EntryInfo& info) {
  return f.loop_guard.on && LoopTripCount(f, most).run(info, assume);
}

}  // namespace ptx2spv::passes
