#include "translator/passes/cfg/phi_places.hpp"

#include <algorithm>

#include "translator/passes/cfg/spill_variables.hpp"

namespace ptx2spv::passes {

namespace {

std::vector<std::vector<BlockId>> dominance_frontiers(const Function& f, const Dominators& doms) {
  std::vector<std::vector<BlockId>> frontiers(f.blocks.size());
  for (const BlockId b : doms.order()) {
    const std::vector<BlockId>& preds = f.blocks[b].preds;
    if (preds.size() < 2) continue;
    for (BlockId p : preds) {
      if (!doms.reachable(p)) continue;
      // A frontier that has the block already was walked from here on by another predecessor.
      for (; p != doms.idom(b); p = doms.idom(p)) {
        if (!frontiers[p].empty() && frontiers[p].back() == b) break;
        frontiers[p].push_back(b);
      }
    }
  }
  return frontiers;
}

/// Finds the variables that have to move.
class Chooser {
 public:
  Chooser(Function& function, PhiPlaces& places)
      : f_(function), places_(places), moves_(function.vars.size()) {}

  bool run() {
    std::size_t instructions = 0;
    for (const Block& block : f_.blocks) instructions += block.insts.size();
    most_ = kPhiOperands + 16 * instructions;
    // What a trial walks is bounded, and the last one succeeds: so few operands for each variable
    // are not too many together.
    std::size_t each = most_;
    while (!fits(each)) each /= 2;
    if (std::ranges::find(moves_, true) == moves_.end()) return false;
    spill_variables(f_, moves_, 0);
    return true;
  }

 private:
  /// Whether the variables of at most `each` operands have no more than `most_` together.
  bool fits(std::size_t each) {
    std::size_t kept = 0, walked = 0;
    for (std::uint32_t var = 0; var < moves_.size(); ++var) {
      std::size_t operands = 0;
      const bool stays = places_.visit(var, [&](BlockId d) {
        operands += f_.blocks[d].preds.size();
        return operands <= each;
      });
      moves_[var] = !stays;
      if (stays) kept += operands;
      walked += std::min(operands, each);
      if (kept > most_ || (walked > 4 * most_ && each > 0)) return false;
    }
    return true;
  }

  Function& f_;
  PhiPlaces& places_;
  std::vector<bool> moves_;  ///< by variable
  std::size_t most_ = 0;
};

}  // namespace

PhiPlaces::PhiPlaces(const Function& f, const Dominators& doms)
    : f_(&f),
      frontier_(dominance_frontiers(f, doms)),
      writes_(f.vars.size()),
      reads_(f.vars.size()),
      has_phi_(f.blocks.size()),
      queued_(f.blocks.size()),
      live_(f.blocks.size()) {
  // A block stands at the end of a variable's list if it is in it at all.
  const auto is_last = [](const std::vector<BlockId>& list, BlockId b) {
    return !list.empty() && list.back() == b;
  };
  for (const BlockId b : doms.order()) {
    for (const Value v : f.blocks[b].insts) {
      const Inst& inst = f.insts[v];
      if (inst.op != Op::get_var && inst.op != Op::set_var) continue;
      if (is_last(writes_[inst.imm], b)) continue;
      auto& list = inst.op == Op::set_var ? writes_[inst.imm] : reads_[inst.imm];
      if (!is_last(list, b)) list.push_back(b);
    }
  }
}

bool PhiPlaces::find_live(std::uint32_t var) {
  work_ = reads_[var];
  if (work_.size() > kLiveBlocks) return false;
  std::size_t steps = 0;
  for (const BlockId b : work_) live_[b] = turn_;
  while (!work_.empty()) {
    const BlockId b = work_.back();
    work_.pop_back();
    steps += f_->blocks[b].preds.size();
    if (steps > kLiveBlocks) return false;
    for (const BlockId p : f_->blocks[b].preds) {
      if (live_[p] == turn_ || queued_[p] == turn_) continue;
      live_[p] = turn_;
      work_.push_back(p);
    }
  }
  return true;
}

bool spill_many_phis(Function& function, PhiPlaces& places) {
  return Chooser(function, places).run();
}

}  // namespace ptx2spv::passes
