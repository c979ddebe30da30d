// Loops in which a thread waits for another one. Where threads advance independently they work as
// in CUDA. A CPU driver runs the other threads after this one, so that the loop never ends, or
// drops the loop as one without effect. There such a loop counts its iterations and traps past a
// bound. It also traps as soon as another thread has trapped, so that a grid of waiting blocks ends
// with the first of them.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "translator/ir/loops.hpp"
#include "translator/ir/trap_state.hpp"
#include "translator/passes/traps/lower_traps.hpp"

namespace ptx2spv::passes {

using ir::BlockId;
using ir::Op;
using ir::Space;
using ir::Term;
using ir::Type;
using ir::Value;

namespace {

constexpr std::uint32_t kNoLoop = 0xffffffffu;

struct Loop : ir::NaturalLoop {
  Value seed = 0;  ///< what it waits on, the first that stands in no inner loop
  bool waits = false;
};

// Reads what another thread may write at any time.
bool is_seed(const ir::Inst& inst) {
  const bool visible = inst.mem.space == Space::global || inst.mem.space == Space::shared;
  if (inst.mem.space == Space::global && inst.mem.slot == ir::kHeapSlot) return false;
  if (inst.op == Op::load) return visible && inst.mem.is_volatile;
  return visible && (inst.op == Op::atomic || inst.op == Op::atomic_cas);
}

/// By value: computed from what a seed gave. Memory in between is not followed.
std::vector<bool> depending(const ir::Function& f, std::size_t& steps) {
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
  for (const ir::Block& block : f.blocks)
    for (const Value v : block.insts) {
      const ir::Inst& inst = f.insts[v];
      ++steps;
      if (inst.op == Op::get_var) use(of_var[inst.imm], v);
      for (const Value operand : f.args(v)) use(of_value[operand], v);
      if (is_seed(inst)) mark(v);
    }
  const auto mark_users = [&](std::uint32_t list) {
    for (; list; list = uses[list].next, ++steps) mark(uses[list].user);
  };
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    mark_users(of_value[v]);
    const ir::Inst& inst = f.insts[v];
    if (inst.op != Op::set_var || var[inst.imm]) continue;
    var[inst.imm] = true;
    mark_users(of_var[inst.imm]);
  }
  return value;
}

/// Adds the bounds. Blocks keep their numbers and predecessors as they were before the first one;
/// `ends` says where a block's end has moved to.
class Bounds {
 public:
  Bounds(ir::Function& f, std::size_t& steps)
      : f_(f), steps_(steps), inside_(f.blocks.size(), 0), ends_(f.blocks.size()) {
    for (BlockId b = 0; b < ends_.size(); ++b) ends_[b] = b;
  }

  void add(const Loop& loop, std::uint32_t iterations, std::uint32_t site) {
    ir::Builder b(f_);
    f_.vars.push_back({Type::i32, "waited"});
    const auto waited = static_cast<std::uint32_t>(f_.vars.size() - 1);
    ++stamp_;
    for (const BlockId each : loop.body) {
      inside_[each] = stamp_;
      ++steps_;
    }
    for (const BlockId p : f_.blocks[loop.header].preds) {
      ++steps_;
      if (inside_[p] == stamp_) continue;
      b.at(ends_[p]);
      b.set(waited, b.i32(0));
    }
    const BlockId rest = b.new_block(), trap = b.new_block();
    ir::Block& head = f_.blocks[loop.header];
    ir::Block& tail = f_.blocks[rest];
    tail.insts = std::exchange(head.insts, {});
    tail.term = head.term;
    tail.cond = std::exchange(head.cond, 0);
    tail.succs = std::move(head.succs);
    tail.loc = head.loc;
    ends_[loop.header] = rest;
    b.at(loop.header);
    b.set_loc(f_.insts[loop.seed].loc);
    const Value now = b.op2(Op::add, b.get(waited), b.i32(1));
    b.set(waited, now);
    const Value trapped = b.load(Type::i32, b.i32(abi::t_count * 4),
                                 {.space = Space::trap, .bytes = 4, .is_volatile = true});
    b.cond_br(
        b.op2(Op::or_, b.cmp(Op::ult, b.i32(iterations), now), b.cmp(Op::ne, trapped, b.i32(0))),
        trap, rest);
    b.at(trap);
    b.inst(Op::thread_trap, Type::none, {}, ir::trap_code(site, abi::TrapKind::no_progress));
    f_.blocks[trap].term = Term::unreachable;
  }

 private:
  ir::Function& f_;
  std::size_t& steps_;
  std::vector<std::uint32_t> inside_;  ///< by block: the last loop that it was seen in
  std::vector<BlockId> ends_;
  std::uint32_t stamp_ = 0;
};

}  // namespace

std::size_t bound_spin_loops(ir::Function& function, EntryInfo& info, std::uint32_t iterations) {
  std::size_t steps = 0;
  const bool any =
      std::any_of(function.blocks.begin(), function.blocks.end(), [&](const ir::Block& block) {
        return std::any_of(block.insts.begin(), block.insts.end(),
                           [&](Value v) { return is_seed(function.insts[v]); });
      });
  if (!any) return steps;
  function.compute_preds();
  std::vector<Loop> loops;
  for (ir::NaturalLoop& each : ir::natural_loops(function)) loops.push_back({std::move(each)});
  std::vector<std::uint32_t> inner(function.blocks.size(), kNoLoop);
  for (std::uint32_t i = 0; i < loops.size(); ++i)
    for (const BlockId b : loops[i].body) {
      ++steps;
      if (inner[b] == kNoLoop || loops[i].body.size() < loops[inner[b]].body.size()) inner[b] = i;
    }
  const std::vector<bool> depends = depending(function, steps);
  for (BlockId b = 0; b < function.blocks.size(); ++b) {
    if (inner[b] == kNoLoop) continue;
    Loop& loop = loops[inner[b]];
    for (const Value v : function.blocks[b].insts)
      if (!loop.seed && is_seed(function.insts[v])) loop.seed = v;
    const Value cond = function.blocks[b].cond;
    loop.waits = loop.waits || (cond && depends[cond]);
  }
  Bounds bounds(function, steps);
  for (const Loop& loop : loops) {
    if (!loop.waits || !loop.seed) continue;
    const std::uint32_t loc = function.insts[loop.seed].loc;
    TrapSite site;
    site.line = function.locs[loc].line;
    site.source_line = function.locs[loc].source_line;
    site.function = info.name;
    site.message =
        "a thread made " + std::to_string(iterations) +
        " iterations of this loop; one that waits for another thread's store needs a device "
        "whose threads advance independently";
    const auto number = static_cast<std::uint32_t>(info.trap_sites.size());
    info.trap_sites.push_back(std::move(site));
    info.trap_site_locs.push_back(loc);
    bounds.add(loop, iterations, number);
  }
  function.compute_preds();
  return steps;
}

}  // namespace ptx2spv::passes
