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
std::vector<bool> depending(const ir::Function& f) {
  std::vector<bool> value(f.insts.size(), false), var(f.vars.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const ir::Block& block : f.blocks)
      for (const Value v : block.insts) {
        const ir::Inst& inst = f.insts[v];
        if (value[v]) continue;
        bool depends = is_seed(inst) || (inst.op == Op::get_var && var[inst.imm]);
        for (const Value a : f.args(v)) depends = depends || value[a];
        if (!depends) continue;
        value[v] = changed = true;
        if (inst.op == Op::set_var) var[inst.imm] = true;
      }
  }
  return value;
}

/// The block that the header's instructions move to.
BlockId bound(ir::Function& f, const Loop& loop, std::uint32_t iterations, std::uint32_t site) {
  ir::Builder b(f);
  f.vars.push_back({Type::i32, "waited"});
  const auto waited = static_cast<std::uint32_t>(f.vars.size() - 1);
  for (const BlockId p : f.blocks[loop.header].preds) {
    if (std::find(loop.body.begin(), loop.body.end(), p) != loop.body.end()) continue;
    b.at(p);
    b.set(waited, b.i32(0));
  }
  const BlockId rest = b.new_block(), trap = b.new_block();
  ir::Block& head = f.blocks[loop.header];
  ir::Block& tail = f.blocks[rest];
  tail.insts = std::exchange(head.insts, {});
  tail.term = head.term;
  tail.cond = std::exchange(head.cond, 0);
  tail.succs = std::move(head.succs);
  tail.loc = head.loc;
  b.at(loop.header);
  b.set_loc(f.insts[loop.seed].loc);
  const Value now = b.op2(Op::add, b.get(waited), b.i32(1));
  b.set(waited, now);
  const Value trapped = b.load(Type::i32, b.i32(abi::t_count * 4),
                               {.space = Space::trap, .bytes = 4, .is_volatile = true});
  b.cond_br(
      b.op2(Op::or_, b.cmp(Op::ult, b.i32(iterations), now), b.cmp(Op::ne, trapped, b.i32(0))),
      trap, rest);
  b.at(trap);
  b.inst(Op::thread_trap, Type::none, {}, ir::trap_code(site, abi::TrapKind::no_progress));
  f.blocks[trap].term = Term::unreachable;
  return rest;
}

}  // namespace

void bound_spin_loops(ir::Function& function, EntryInfo& info, std::uint32_t iterations) {
  const bool any =
      std::any_of(function.blocks.begin(), function.blocks.end(), [&](const ir::Block& block) {
        return std::any_of(block.insts.begin(), block.insts.end(),
                           [&](Value v) { return is_seed(function.insts[v]); });
      });
  if (!any) return;
  function.compute_preds();
  std::vector<Loop> loops;
  for (ir::NaturalLoop& each : ir::natural_loops(function)) loops.push_back({std::move(each)});
  std::vector<std::uint32_t> inner(function.blocks.size(), kNoLoop);
  for (std::uint32_t i = 0; i < loops.size(); ++i)
    for (const BlockId b : loops[i].body)
      if (inner[b] == kNoLoop || loops[i].body.size() < loops[inner[b]].body.size()) inner[b] = i;
  const std::vector<bool> depends = depending(function);
  for (BlockId b = 0; b < function.blocks.size(); ++b) {
    if (inner[b] == kNoLoop) continue;
    Loop& loop = loops[inner[b]];
    for (const Value v : function.blocks[b].insts)
      if (!loop.seed && is_seed(function.insts[v])) loop.seed = v;
    const Value cond = function.blocks[b].cond;
    loop.waits = loop.waits || (cond && depends[cond]);
  }
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
    const BlockId rest = bound(function, loop, iterations, number);
    const BlockId header = loop.header;
    for (Loop& each : loops)
      if (std::find(each.body.begin(), each.body.end(), header) != each.body.end())
        each.body.push_back(rest);
    function.compute_preds();
  }
}

}  // namespace ptx2spv::passes
