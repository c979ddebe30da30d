// Loops in which a thread waits for another one. Where threads advance independently they work as
// in CUDA. A CPU driver runs the other threads after this one, so that the loop never ends, or
// drops the loop as one without effect. There such a loop counts its iterations and traps past a
// bound. It also traps as soon as another thread has trapped, so that a grid of waiting blocks ends
// with the first of them.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "translator/ir/trap_state.hpp"
#include "translator/passes/threads/spin_loops.hpp"
#include "translator/passes/traps/lower_traps.hpp"

namespace ptx2spv::passes {

namespace {

/// Adds the bounds. Blocks keep their numbers and predecessors as they were before the first one;
/// `ends` says where a block's end has moved to.
class Bounds {
 public:
  Bounds(Function& f, std::size_t& steps)
      : f_(f), steps_(steps), inside_(f.blocks.size(), 0), ends_(f.blocks.size()) {
    for (BlockId b = 0; b < ends_.size(); ++b) ends_[b] = b;
  }

  void add(const SpinLoop& loop, std::uint32_t iterations, std::uint32_t site) {
    Builder b(f_);
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
    Block& head = f_.blocks[loop.header];
    Block& tail = f_.blocks[rest];
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
    b.inst(Op::thread_trap, Type::none, {}, trap_code(site, abi::TrapKind::no_progress));
    f_.blocks[trap].term = Term::unreachable;
  }

 private:
  Function& f_;
  std::size_t& steps_;
  std::vector<std::uint32_t> inside_;  ///< by block: the last loop that it was seen in
  std::vector<BlockId> ends_;
  std::uint32_t stamp_ = 0;
};

}  // namespace

std::size_t bound_spin_loops(Function& function, EntryInfo& info, std::uint32_t iterations) {
  std::size_t steps = 0;
  std::vector<SpinLoop> loops = find_spin_loops(function, steps);
  // Outer loops first, so that a yield names the loop next to it.
  std::ranges::stable_sort(
      loops, [](const SpinLoop& a, const SpinLoop& b) { return a.body.size() > b.body.size(); });
  Bounds bounds(function, steps);
  for (const SpinLoop& loop : loops) {
    const std::uint32_t loc = function.insts[loop.seed].loc;
    TrapSite site;
    site.line = function.locs[loc].line;
    site.source_line = function.locs[loc].source_line;
    site.function = info.name;
    site.message = fmt::format(
        "this loop waits for a store that does not come: {} iterations of this loop, or thousands "
        "of rounds in which the block's threads did nothing but wait; one that waits for another "
        "block needs a device whose blocks advance independently",
        iterations);
    const auto number = static_cast<std::uint32_t>(info.trap_sites.size());
    info.trap_sites.push_back(std::move(site));
    info.trap_site_locs.push_back(loc);
    for (const BlockId b : loop.body)
      for (const Value v : function.blocks[b].insts)
        if (Inst& inst = function.insts[v]; inst.op == Op::yield)
          inst.imm = (inst.imm & ((1u << kYieldSite) - 1)) | std::uint64_t{number} << kYieldSite;
    bounds.add(loop, iterations, number);
  }
  if (!loops.empty()) function.compute_preds();
  return steps;
}

}  // namespace ptx2spv::passes
