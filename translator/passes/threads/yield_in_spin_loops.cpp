#include <algorithm>

#include "translator/passes/threads/spin_loops.hpp"

namespace ptx2spv::passes {

namespace {

/// Levels of operations behind an address. Deeper ones count as changing.
constexpr unsigned kMostLevels = 32;

class Yields {
 public:
  explicit Yields(Function& f)
      : f_(f),
        inside_(f.blocks.size(), 0),
        reached_(f.blocks.size(), 0),
        sets_(f.vars.size()),
        same_(f.insts.size()) {}

  /// Whether the loop got one. The predecessors stay those from before the first loop.
  bool add(const SpinLoop& loop) {
    enter(loop);
    if (yields_already(loop)) return false;
    const bool seeded = std::any_of(loop.body.begin(), loop.body.end(), [&](BlockId b) {
      return std::ranges::any_of(f_.blocks[b].insts, [&](Value v) {
        return reads_others(f_.insts[v]) && unchanged(f_.arg(v, 0));
      });
    });
    if (!seeded) return false;
    const std::vector<BlockId> latches = retries(loop.header);
    if (latches.empty()) return false;
    Builder b(f_);
    for (const BlockId latch : latches) {
      const BlockId pause = b.new_block();
      grow();
      std::ranges::replace(f_.blocks[latch].succs, loop.header, pause);
      b.at(pause);
      b.set_loc(f_.insts[loop.seed].loc);
      b.inst(Op::yield, Type::none, {}, kSpinYield);
      b.br(loop.header);
    }
    // A thread that comes to wait has done something before.
    for (const BlockId before : f_.blocks[loop.header].preds) {
      if (inside_[before] == stamp_) continue;
      b.at(before);
      b.inst(Op::progress, Type::none, {});
    }
    return true;
  }

 private:
  /// As waits for mbarrier objects do.
  bool yields_already(const SpinLoop& loop) const {
    return std::ranges::any_of(loop.body, [&](BlockId b) {
      return std::ranges::any_of(f_.blocks[b].insts, [&](Value v) {
        return f_.insts[v].op == Op::yield && f_.insts[v].imm == kMbarrierYield;
      });
    });
  }

  struct Sets {
    std::uint32_t stamp = 0, count = 0;
    Value value = 0;
  };
  struct Same {
    std::uint32_t stamp = 0;
    bool is = false;
  };

  void grow() {
    inside_.resize(f_.blocks.size(), 0);
    reached_.resize(f_.blocks.size(), 0);
    same_.resize(f_.insts.size());
  }

  void enter(const SpinLoop& loop) {
    grow();
    ++stamp_;
    for (const BlockId b : loop.body) {
      inside_[b] = stamp_;
      for (const Value v : f_.blocks[b].insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op != Op::set_var) continue;
        Sets& sets = sets_[inst.imm];
        if (sets.stamp != stamp_) sets = {stamp_, 0, 0};
        ++sets.count;
        sets.value = f_.arg(v, 0);
      }
    }
  }

  /// Whether the value is the same in every iteration, but for the first.
  bool unchanged(Value v, unsigned levels = kMostLevels) {
    if (same_[v].stamp == stamp_) return same_[v].is;
    same_[v] = {stamp_, false};  // what depends on itself changes
    const Inst& inst = f_.insts[v];
    bool is = false;
    if (inst.op == Op::get_var) {
      const Sets& sets = sets_[inst.imm];
      is = sets.stamp != stamp_ || (sets.count == 1 && levels && unchanged(sets.value, levels - 1));
    } else if ((info(inst.op).flags & flag::P) || (inst.op == Op::load && inst.mem.readonly)) {
      is = levels != 0;
      for (const Value operand : f_.args(v)) is = is && unchanged(operand, levels - 1);
    }
    same_[v].is = is;
    return is;
  }

  /// Whether memory stays as it is, or the loop's next try would change it likewise.
  bool without_effect(Value v) {
    const Inst& inst = f_.insts[v];
    if (!(info(inst.op).flags & flag::W)) return true;
    const auto operands_stay = [&] {
      return std::ranges::all_of(f_.args(v), [&](Value operand) { return unchanged(operand); });
    };
    switch (inst.op) {
      case Op::set_var:
      case Op::nanosleep:
      case Op::memory_barrier: return true;
      case Op::store: return inst.mem.space == Space::local;
      case Op::atomic_cas: return operands_stay();
      case Op::atomic:
        switch (inst.mem.atomic) {
          case AtomicOp::and_:
          case AtomicOp::or_:
          case AtomicOp::umin:
          case AtomicOp::umax:
          case AtomicOp::smin:
          case AtomicOp::smax:
          case AtomicOp::exch: return operands_stay();
          case AtomicOp::add: return is_zero(f_.arg(v, 1)) && operands_stay();
          default: return false;
        }
      default: return false;
    }
  }

  bool is_zero(Value v) const {
    const Inst* inst = &f_.insts[v];
    if (inst->op == Op::get_var) {
      const Sets& sets = sets_[inst->imm];
      if (sets.stamp != stamp_ || sets.count != 1) return false;
      inst = &f_.insts[sets.value];
    }
    return inst->op == Op::constant && inst->imm == 0;
  }

  /// The ends of the ways through the loop that only try again.
  std::vector<BlockId> retries(BlockId header) {
    std::vector<BlockId> work = {header}, latches;
    reached_[header] = stamp_;
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      const Block& block = f_.blocks[b];
      if (!std::ranges::all_of(block.insts, [&](Value v) { return without_effect(v); })) continue;
      if (std::ranges::find(block.succs, header) != block.succs.end()) latches.push_back(b);
      for (const BlockId next : block.succs) {
        if (inside_[next] != stamp_ || reached_[next] == stamp_) continue;
        reached_[next] = stamp_;
        work.push_back(next);
      }
    }
    return latches;
  }

  Function& f_;
  std::uint32_t stamp_ = 0;  ///< of the loop in work, for all that follows
  std::vector<std::uint32_t> inside_, reached_;
  std::vector<Sets> sets_;  ///< by variable: what the loop sets it to
  std::vector<Same> same_;  ///< by value
};

}  // namespace

bool yield_in_spin_loops(Function& function) {
  std::size_t steps = 0;
  const std::vector<SpinLoop> loops = find_spin_loops(function, steps);
  Yields yields(function);
  bool any = false;
  for (const SpinLoop& loop : loops) any = (loop.waits_alone && yields.add(loop)) || any;
  if (any) function.compute_preds();
  return any;
}

}  // namespace ptx2spv::passes
