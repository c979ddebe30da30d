#include "translator/passes/threads/spin_loops.hpp"

#include <algorithm>
#include <utility>

#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

std::vector<bool> computed_from(const Function& f,
                                const std::function<bool(const Inst& inst)>& source,
                                std::size_t& steps) {
  // Who reads a value, as a list threaded through all operands; who reads a variable.
  struct Use {
    Value user = 0;
    std::uint32_t next = 0;
  };
  std::vector<Use> uses(1);
  std::vector<std::uint32_t> of_value(f.insts.size(), 0), of_var(f.vars.size(), 0);
  std::vector<bool> value(f.insts.size(), false), var(f.vars.size(), false);
  std::vector<Value> work;
  const auto use = [&](std::uint32_t& list, Value user) {
    uses.push_back({user, list});
    list = static_cast<std::uint32_t>(uses.size() - 1);
  };
  const auto mark = [&](Value v) {
    if (value[v]) return;
    value[v] = true;
    work.push_back(v);
  };
  for (const Block& block : f.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = f.insts[v];
      ++steps;
      if (inst.op == Op::get_var) use(of_var[inst.imm], v);
      for (const Value operand : f.args(v)) use(of_value[operand], v);
      if (source(inst)) mark(v);
    }
  const auto mark_users = [&](std::uint32_t list) {
    for (; list; list = uses[list].next, ++steps) mark(uses[list].user);
  };
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    mark_users(of_value[v]);
    const Inst& inst = f.insts[v];
    if (inst.op != Op::set_var || var[inst.imm]) continue;
    var[inst.imm] = true;
    mark_users(of_var[inst.imm]);
  }
  return value;
}

namespace {

constexpr std::uint32_t kNoLoop = 0xffffffffu;

bool is_clock(const Inst& inst) { return inst.op == Op::clock; }

/// By block: whether it is in a loop that ends by what a clock says.
std::vector<bool> in_clock_loops(Function& function) {
  std::vector<bool> inside(function.blocks.size(), false);
  std::size_t steps = 0;
  const std::vector<bool> depends = computed_from(function, is_clock, steps);
  function.compute_preds();
  for (const NaturalLoop& loop : natural_loops(function)) {
    std::vector<bool> body(function.blocks.size(), false);
    for (const BlockId b : loop.body) body[b] = true;
    const bool ends = std::ranges::any_of(loop.body, [&](BlockId b) {
      const Block& block = function.blocks[b];
      return block.cond && depends[block.cond] &&
             std::ranges::any_of(block.succs, [&](BlockId next) { return !body[next]; });
    });
    for (const BlockId b : loop.body) inside[b] = inside[b] || ends;
  }
  return inside;
}

}  // namespace

bool waits_for_clock(Function& function) {
  const std::vector<bool> inside = in_clock_loops(function);
  return std::ranges::find(inside, true) != inside.end();
}

void yield_at_clocks(Function& function) {
  const std::vector<bool> inside = in_clock_loops(function);
  CfgRewriter rewriter(function);
  rewriter.run([&](Value v) {
    const BlockId block = rewriter.builder().block();
    if (is_clock(function.insts[v]) && inside[block])
      rewriter.builder().inst(Op::yield, Type::none, {}, kClockYield);
    rewriter.keep(v);
  });
}

bool reads_others(const Inst& inst) {
  const bool visible = inst.mem.space == Space::global || inst.mem.space == Space::shared;
  if (inst.mem.space == Space::global && inst.mem.slot == kHeapSlot) return false;
  if (inst.op == Op::load) return visible && inst.mem.is_volatile;
  return visible && is_atomic(inst.op);
}

std::vector<SpinLoop> find_spin_loops(Function& function, std::size_t& steps) {
  const bool any =
      std::any_of(function.blocks.begin(), function.blocks.end(), [&](const Block& block) {
        return std::any_of(block.insts.begin(), block.insts.end(),
                           [&](Value v) { return reads_others(function.insts[v]); });
      });
  if (!any) return {};
  function.compute_preds();
  std::vector<SpinLoop> loops;
  for (NaturalLoop& each : natural_loops(function)) loops.push_back({std::move(each)});
  std::vector<std::uint32_t> inner(function.blocks.size(), kNoLoop);
  for (std::uint32_t i = 0; i < loops.size(); ++i)
    for (const BlockId b : loops[i].body) {
      ++steps;
      if (inner[b] == kNoLoop || loops[i].body.size() < loops[inner[b]].body.size()) inner[b] = i;
    }
  const std::vector<bool> depends = computed_from(function, reads_others, steps);
  std::vector<bool> waits(loops.size(), false);
  for (BlockId b = 0; b < function.blocks.size(); ++b) {
    if (inner[b] == kNoLoop) continue;
    SpinLoop& loop = loops[inner[b]];
    for (const Value v : function.blocks[b].insts)
      if (!loop.seed && reads_others(function.insts[v])) loop.seed = v;
    const Value cond = function.blocks[b].cond;
    if (cond && depends[cond]) waits[inner[b]] = true;
  }
  std::vector<std::uint32_t> inside(function.blocks.size(), kNoLoop);
  std::vector<SpinLoop> found;
  for (std::uint32_t i = 0; i < loops.size(); ++i) {
    if (!waits[i] || !loops[i].seed) continue;
    for (const BlockId b : loops[i].body) inside[b] = i;
    for (const BlockId b : loops[i].body) {
      const Block& block = function.blocks[b];
      ++steps;
      const bool leaves = std::any_of(block.succs.begin(), block.succs.end(),
                                      [&](BlockId successor) { return inside[successor] != i; });
      if (leaves && !(block.cond && depends[block.cond])) loops[i].waits_alone = false;
    }
    found.push_back(std::move(loops[i]));
  }
  return found;
}

}  // namespace ptx2spv::passes
