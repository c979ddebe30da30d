// Variables to values. Phis go to the iterated dominance frontiers of a variable's writes; those
// that no real use reaches are dropped at the end, so that only live ones remain.
#include <algorithm>
#include <utility>

#include "translator/ir/cfg.hpp"
#include "translator/passes/cfg/phi_places.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

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
  if (spill_many_phis(f_, places)) places = PhiPlaces(f_, doms_);
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
