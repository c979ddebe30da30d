// Variables to values. Phis go to the iterated dominance frontiers of a variable's writes; those
// that no real use reaches are dropped at the end, so that only live ones remain.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "translator/ir/cfg.hpp"
#include "translator/passes/cfg/spill_variables.hpp"
#include "translator/passes/ir.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

/// The blocks that need a phi of a variable: the iterated dominance frontiers of its writes,
/// without those where it is dead if that is found within kLiveBlocks. The function, whose
/// predecessors are known, keeps its blocks while this is in use.
class PhiPlaces {
 public:
  PhiPlaces(const Function& function, const Dominators& dominators);

  /// Calls `visit` with each block that needs a phi of `var`, until it returns false. Returns
  /// whether it never did.
  template <typename Visit>
  bool visit(std::uint32_t var, Visit&& visit) {
    if (reads_[var].empty()) return true;
    ++turn_;
    for (const BlockId b : writes_[var]) queued_[b] = turn_;
    const bool pruned = find_live(var);
    work_ = writes_[var];
    while (!work_.empty()) {
      const BlockId b = work_.back();
      work_.pop_back();
      for (const BlockId d : frontier_[b]) {
        if (has_phi_[d] == turn_ || (pruned && live_[d] != turn_)) continue;
        has_phi_[d] = turn_;
        if (!visit(d)) return false;
        if (queued_[d] == turn_) continue;
        queued_[d] = turn_;
        work_.push_back(d);
      }
    }
    return true;
  }

 private:
  /// Most blocks that a variable is followed through. Most variables live in fewer, and of the
  /// others phis that nobody needs are dropped later.
  static constexpr std::size_t kLiveBlocks = 64;

  /// Marks the blocks at whose start `var` is live; false where there are too many. Expects the
  /// blocks that write it in queued_.
  bool find_live(std::uint32_t var);

  const Function* f_;
  std::vector<std::vector<BlockId>> frontier_;
  std::vector<std::vector<BlockId>> writes_;  ///< by variable
  std::vector<std::vector<BlockId>> reads_;   ///< by variable: blocks that read it first
  /// By block: the last turn that put it there.
  std::vector<std::uint32_t> has_phi_, queued_, live_;
  std::vector<BlockId> work_;
  std::uint32_t turn_ = 0;
};

/// Operands of phis that a function may have whatever its size.
constexpr std::size_t kPhiOperands = std::size_t{1} << 17;

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

/// Moves variables to local memory where the phis of all have more operands than kPhiOperands and
/// 16 for each instruction: a variable that is written and read all over a graph has an operand for
/// each edge of it. Those with the most operands move.
class Chooser {
 public:
  Chooser(Function& function, PhiPlaces& places)
      : f_(function), places_(places), moves_(function.vars.size()) {}

  /// Whether any did, after which `places` no longer holds.
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

class Ssa {
 public:
  Ssa(Function& function) : f_(function), doms_(function, false) {}
  void run();

 private:
  void insert_phis();
  void rename();
  void prune();
  Value zero(Type type);
  Value resolve(Value v);

  Function& f_;
  Dominators doms_;
  std::vector<std::vector<std::pair<Value, std::uint32_t>>>
      phis_;                            ///< by block: phi and its variable
  std::vector<std::uint32_t> phi_var_;  ///< by value
  std::vector<Value> alias_;            ///< by value: what replaces it, 0: itself
  Value zeros_[6] = {};
  std::vector<Value> entry_constants_;
};

void Ssa::insert_phis() {
  PhiPlaces places(f_, doms_);
  if (Chooser(f_, places).run()) places = PhiPlaces(f_, doms_);
  phis_.resize(f_.blocks.size());
  phi_var_.assign(f_.insts.size(), kNone);
  for (std::uint32_t var = 0; var < f_.vars.size(); ++var)
    places.visit(var, [&](BlockId d) {
      Inst phi;
      phi.op = Op::phi;
      phi.type = f_.vars[var].type;
      phi.count = static_cast<std::uint16_t>(f_.blocks[d].preds.size());
      phi.first = static_cast<std::uint32_t>(f_.operands.size());
      f_.operands.resize(f_.operands.size() + phi.count, 0);
      f_.insts.push_back(phi);
      phi_var_.push_back(var);
      phis_[d].push_back({static_cast<Value>(f_.insts.size() - 1), var});
      return true;
    });
}

Value Ssa::zero(Type type) {
  Value& value = zeros_[static_cast<std::size_t>(type)];
  if (value) return value;
  const auto add = [&](const Inst& inst) {
    f_.insts.push_back(inst);
    phi_var_.push_back(kNone);
    alias_.push_back(0);
    entry_constants_.push_back(static_cast<Value>(f_.insts.size() - 1));
    return entry_constants_.back();
  };
  Inst inst;
  inst.type = type;
  inst.op = Op::constant;
  if (type == Type::v2 || type == Type::v4) {
    const Value part = zero(Type::i32);
    inst.op = Op::compose;
    inst.count = type == Type::v2 ? 2 : 4;
    inst.first = static_cast<std::uint32_t>(f_.operands.size());
    f_.operands.resize(f_.operands.size() + inst.count, part);
  }
  return value = add(inst);
}

Value Ssa::resolve(Value v) {
  while (alias_[v]) v = alias_[v];
  return v;
}

void Ssa::rename() {
  alias_.assign(f_.insts.size(), 0);
  std::vector<Value> current(f_.vars.size(), 0);
  struct Undo {
    std::uint32_t var;
    Value before;
  };
  std::vector<Undo> undo;
  struct Frame {
    BlockId block;
    std::size_t mark;
  };
  std::vector<Frame> stack;
  const auto write = [&](std::uint32_t var, Value v) {
    undo.push_back({var, current[var]});
    current[var] = v;
  };
  // By block: the blocks with phis that it branches to, and which operands of these it gives.
  std::vector<std::vector<std::pair<BlockId, std::uint32_t>>> edges(f_.blocks.size());
  for (const BlockId s : doms_.order()) {
    if (phis_[s].empty()) continue;
    const std::vector<BlockId>& preds = f_.blocks[s].preds;
    for (std::uint32_t p = 0; p < preds.size(); ++p) edges[preds[p]].push_back({s, p});
  }
  for (const BlockId b : doms_.preorder()) {
    // Leave the subtrees that do not hold this block.
    while (!stack.empty() && !doms_.dominates(stack.back().block, b)) {
      for (; undo.size() > stack.back().mark; undo.pop_back())
        current[undo.back().var] = undo.back().before;
      stack.pop_back();
    }
    stack.push_back({b, undo.size()});
    Block& block = f_.blocks[b];
    for (const auto& [phi, var] : phis_[b]) write(var, phi);
    std::vector<Value> kept;
    kept.reserve(block.insts.size());
    for (const Value v : block.insts) {
      const Inst& inst = f_.insts[v];
      if (inst.op == Op::get_var) {
        const auto var = static_cast<std::uint32_t>(inst.imm);
        const Value value = current[var] ? current[var] : zero(f_.vars[var].type);
        alias_[v] = value;
        continue;
      }
      for (Value& a : f_.args(v)) a = resolve(a);
      if (inst.op == Op::set_var)
        write(static_cast<std::uint32_t>(inst.imm), f_.arg(v, 0));
      else
        kept.push_back(v);
    }
    block.insts = std::move(kept);
    if (block.cond) block.cond = resolve(block.cond);
    for (const auto& [s, operand] : edges[b])
      for (const auto& [phi, var] : phis_[s])
        f_.args(phi)[operand] = current[var] ? current[var] : zero(f_.vars[var].type);
  }
}

// Phis of one value are that value; phis that only phis use are dead.
void Ssa::prune() {
  std::vector<std::vector<Value>> users(f_.insts.size());
  std::vector<Value> work;
  for (const auto& list : phis_) {
    for (const auto& [phi, var] : list) {
      work.push_back(phi);
      for (const Value a : f_.args(phi))
        if (f_.insts[a].op == Op::phi) users[a].push_back(phi);
    }
  }
  while (!work.empty()) {
    const Value phi = work.back();
    work.pop_back();
    if (alias_[phi]) continue;
    Value same = 0;
    bool several = false;
    for (const Value operand : f_.args(phi)) {
      const Value a = operand ? resolve(operand) : 0;
      if (a == phi || a == same) continue;
      several = several || same != 0;
      same = a;
    }
    if (several || !same) continue;
    alias_[phi] = same;
    for (const Value u : users[phi]) work.push_back(u);
    if (f_.insts[same].op == Op::phi)
      users[same].insert(users[same].end(), users[phi].begin(), users[phi].end());
    users[phi].clear();
  }
  std::vector<bool> live(f_.insts.size());
  const auto use = [&](Value& a) {
    a = resolve(a);
    if (f_.insts[a].op == Op::phi && !live[a]) {
      live[a] = true;
      work.push_back(a);
    }
  };
  for (const BlockId b : doms_.order()) {
    for (const Value v : f_.blocks[b].insts)
      for (Value& a : f_.args(v)) use(a);
    if (f_.blocks[b].cond) use(f_.blocks[b].cond);
  }
  while (!work.empty()) {
    const Value phi = work.back();
    work.pop_back();
    for (Value& a : f_.args(phi)) use(a);
  }
  for (const BlockId b : doms_.order()) {
    std::vector<Value> insts;
    for (const auto& [phi, var] : phis_[b])
      if (live[phi] && !alias_[phi]) insts.push_back(phi);
    if (insts.empty()) continue;
    insts.insert(insts.end(), f_.blocks[b].insts.begin(), f_.blocks[b].insts.end());
    f_.blocks[b].insts = std::move(insts);
  }
  if (!entry_constants_.empty())
    f_.blocks[0].insts.insert(f_.blocks[0].insts.begin(), entry_constants_.begin(),
                              entry_constants_.end());
}

void Ssa::run() {
  insert_phis();
  rename();
  prune();
  f_.vars.clear();
}

}  // namespace

bool too_many_exits(const Function& function) {
  return std::any_of(function.blocks.begin(), function.blocks.end(),
                     [](const Block& block) { return block.preds.size() > 0xffff; });
}

bool ssa(Function& function, Module&) {
  function.compute_preds();
  // An instruction counts its operands in 16 bits; the caller reports it.
  if (too_many_exits(function)) return false;
  const bool any = !function.vars.empty();
  Ssa(function).run();
  return any;
}

}  // namespace ptx2spv::passes
