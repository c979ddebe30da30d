#include "translator/backend/host/shape.hpp"

#include <algorithm>

#include "translator/ir/cfg.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/threads/spin_loops.hpp"

namespace ptx2spv::interpreter::llvm {

namespace {

constexpr std::uint32_t kNone = ir::StructuredLoops::kNone;
/// Rounds of a search that ends early in kernels as compilers write them.
constexpr unsigned kRounds = 8;

passes::Scope scope_of(bool rows) { return {.warp = true, .x_is_row = rows, .lock_step = true}; }

/// Whether it reads what another thread may store meanwhile. Atomics that change something make
/// progress alone.
bool reads_stores(const ir::Inst& inst) {
  return inst.op == Op::load && passes::reads_others(inst);
}

/// By value: computed from what other threads write, by way of memory, too.
std::vector<bool> computed_from_others(const ir::Function& f) {
  for (std::uint64_t through = 0;;) {
    const auto in = [](const ir::Inst& inst) {
      return std::uint64_t{1} << static_cast<unsigned>(inst.mem.space);
    };
    std::size_t steps = 0;
    std::vector<bool> values = passes::computed_from(
        f,
        [&](const ir::Inst& inst) {
          return passes::reads_others(inst) || (inst.op == Op::load && (through & in(inst)));
        },
        steps);
    std::uint64_t more = through;
    for (const BlockId b : f.order)
      for (const Value v : f.blocks[b].insts)
        if (ir::is_access(f.insts[v].op) && f.insts[v].op != Op::load &&
            std::ranges::any_of(f.args(v), [&](Value a) { return values[a]; }))
          more |= in(f.insts[v]);
    if (more == through) return values;
    through = more;
  }
}

/// Whether the lanes of a warp do the operation together, or wait for others of the block.
bool together(Op op) { return is_barrier(op) || is_warp_operation(op); }

/// Whether other threads or the host can see it; nobody reads the trap record in a launch.
bool is_visible(const ir::Inst& inst) {
  return is_access(inst.op) && inst.op != Op::load && inst.mem.space != ir::Space::trap &&
         inst.mem.space != ir::Space::local;
}

/// Of a structured function in SSA form, with preds: branches outside of loops, one side of which
/// alone has operations of a whole warp. Lanes on the other side never come to them, so nobody
/// waits for them; where the operations are barriers, these lanes do nothing any more that others
/// could see.
class EarlyExitFinder {
 public:
  EarlyExitFinder(const ir::Function& f, const ir::StructuredLoops& nest,
                  const passes::Scope& scope)
      : f_(f), nest_(nest), scope_(scope) {}

  passes::EarlyExits run() {
    for (std::size_t left = kMost; left-- > 0 && add_one();) continue;
    return std::move(early_);
  }

 private:
  static constexpr std::size_t kMost = 16;

  /// The outermost branch that keeps lanes from the first operation that some miss.
  bool add_one() {
    const passes::Uniformity uniformity(f_, early_, scope_);
    const auto missed = [&](BlockId b) {
      return uniformity.divergent_block(b) &&
             has(b, [](const ir::Inst& inst) { return together(inst.op); });
    };
    const auto late = std::ranges::find_if(f_.order, missed);
    if (late == f_.order.end()) return false;
    for (auto b = f_.order.begin(); b != late; ++b) {
      const ir::Block& block = f_.blocks[*b];
      if (block.term != ir::Term::cond_br || block.merge != ir::Merge::selection ||
          uniformity.divergent_block(*b) || !uniformity.divergent(block.cond) ||
          std::ranges::find(early_.heads, *b) != early_.heads.end() ||
          nest_.place[block.merge_block] <= nest_.place[*late])
        continue;
      return add(*b);
    }
    return false;
  }

  template <typename Is>
  bool has(BlockId block, Is&& is) const {
    return std::ranges::any_of(f_.blocks[block].insts, [&](Value v) { return is(f_.insts[v]); });
  }

  bool quiet(const std::vector<BlockId>& blocks) const {
    return std::ranges::none_of(blocks, [&](BlockId b) {
      return has(b, [](const ir::Inst& inst) { return together(inst.op) || is_visible(inst); });
    });
  }

  bool add(BlockId head) {
    const ir::Block& block = f_.blocks[head];
    if (nest_.innermost[head] != ir::StructuredLoops::kNone) return false;
    std::vector<BlockId> arms[2];
    bool barriers = false, meets[2] = {};
    for (unsigned i = 0; i < 2; ++i) {
      arms[i] = ir::blocks_until(f_, block.succs[i], block.merge_block);
      for (const BlockId b : arms[i]) {
        // Who leaves the construct by another way is not followed.
        if (b == head || f_.blocks[b].succs.empty() ||
            nest_.place[b] >= nest_.place[block.merge_block])
          return false;
        meets[i] = meets[i] || has(b, [](const ir::Inst& inst) { return together(inst.op); });
        barriers = barriers || has(b, [](const ir::Inst& inst) { return is_barrier(inst.op); });
      }
    }
    if (meets[0] == meets[1]) return false;
    const unsigned other = meets[0] ? 1 : 0;
    if (barriers &&
        !(quiet(arms[other]) && quiet(ir::blocks_until(f_, block.merge_block, ir::kNoBlock))))
      return false;
    early_.heads.push_back(head);
    early_.arms.insert(early_.arms.end(), arms[other].begin(), arms[other].end());
    return true;
  }

  const ir::Function& f_;
  const ir::StructuredLoops& nest_;
  const passes::Scope scope_;
  passes::EarlyExits early_;
};
}  // namespace

Shape::Shape(const ir::Function& f, bool rows)
    : f_(f),
      nest_(f, f.order),
      uniformity_(f, EarlyExitFinder(f, nest_, scope_of(rows)).run(), scope_of(rows)),
      home_(f.insts.size(), kNoBlock) {
  for (BlockId b = 0; b < f.blocks.size(); ++b)
    for (const Value v : f.blocks[b].insts) home_[v] = b;
  ends_once_ =
      std::ranges::count_if(f.order, [&](BlockId b) { return f.blocks[b].succs.empty(); }) == 1;
  find_zones();
  find_waits();
  find_uses();
  check();
}

bool Shape::splits(BlockId b) const {
  const ir::Block& block = f_.blocks[b];
  return (block.term == Term::cond_br || block.term == Term::switch_) && !uniform(block.cond);
}

/// A zone is what runs for some of the lanes that came to its head, while others may wait where it
/// ends.
void Shape::find_zones() {
  uneven_.assign(nest_.loops.size(), false);
  struct Open {
    std::uint32_t head = 0, end = 0;
  };
  std::vector<Open> open;
  std::vector<std::uint32_t> selection(places(), kNone);
  for (std::uint32_t i = 0; i < places(); ++i) {
    while (!open.empty() && open.back().end <= i) open.pop_back();
    const BlockId b = f_.order[i];
    const ir::Block& block = f_.blocks[b];
    selection[i] = open.empty() ? kNone : open.back().head;
    std::uint32_t end = i + 1;
    if (splits(b) && block.merge == ir::Merge::selection)
      end = std::max(end, nest_.place[block.merge_block]);
    for (const BlockId s : block.succs) {
      for (std::uint32_t l = nest_.innermost[b]; l != kNone && !nest_.within(s, l);
           l = nest_.loops[l].parent)
        if (splits(b) || (selection[i] != kNone && selection[i] >= nest_.loops[l].first))
          uneven_[l] = true;
      // Some wait there until the others come.
      if (splits(b) || (!open.empty() && nest_.place[s] > open.back().end))
        end = std::max(end, nest_.place[s]);
    }
    if (end > i + 1) open.push_back({i, end});
  }
  zone_.assign(places(), kNone);
  for (std::uint32_t i = 0; i < places(); ++i) {
    std::uint32_t loop = nest_.innermost[f_.order[i]];
    while (loop != kNone && !uneven_[loop]) loop = nest_.loops[loop].parent;
    const std::uint32_t first = loop == kNone ? kNone : nest_.loops[loop].first;
    // The inner one begins later. A loop's zone has an odd number.
    if (first != kNone && (selection[i] == kNone || first > selection[i]))
      zone_[i] = 2 * first + 1;
    else if (selection[i] != kNone)
      zone_[i] = 2 * selection[i];
  }
}

void Shape::find_waits() {
  waits_.assign(places(), false);
  for (std::uint32_t i = 0; i < places(); ++i)
    for (const BlockId s : f_.blocks[f_.order[i]].succs)
      if (const std::uint32_t to = nest_.place[s]; splits(f_.order[i]) || zone_[i] != zone_[to])
        waits_[to] = true;
  next_.assign(places() + 1, places());
  const auto number = [&] {
    for (std::uint32_t i = places(); i-- > 0;) next_[i] = waits_[i] ? i : next_[i + 1];
  };
  number();
  // Who may not go straight to a block comes to it by way of those in between.
  bool more = true;
  for (unsigned round = 0; more; ++round) {
    more = false;
    for (std::uint32_t i = 0; i < places(); ++i)
      for (const BlockId s : f_.blocks[f_.order[i]].succs) {
        const std::uint32_t to = nest_.place[s];
        if (to <= i || waits_[to] || (next_[i + 1] >= to && round < kRounds)) continue;
        waits_[to] = more = true;
      }
    number();
  }
}

bool Shape::escapes_to(Value v, std::uint32_t place) const {
  for (std::uint32_t l = nest_.innermost[home_[v]]; l != kNone; l = nest_.loops[l].parent)
    if (uneven_[l] && (place < nest_.loops[l].first || place >= nest_.loops[l].end)) return true;
  return false;
}

void Shape::find_uses() {
  crosses_.assign(f_.insts.size(), false);
  escapes_.assign(f_.insts.size(), false);
  const auto use = [&](Value v, BlockId at) {
    if (home_[v] == kNoBlock) return;
    if (home_[v] != at) crosses_[v] = true;
    if (escapes_to(v, nest_.place[at])) escapes_[v] = true;
  };
  for (const BlockId b : f_.order) {
    const ir::Block& block = f_.blocks[b];
    for (const Value v : block.insts) {
      if (f_.insts[v].op == Op::phi) {
        for (unsigned p = 0; p < block.preds.size(); ++p) use(f_.arg(v, p), block.preds[p]);
        continue;
      }
      for (const Value a : f_.args(v)) use(a, b);
    }
    if (block.term == Term::cond_br || block.term == Term::switch_) use(block.cond, b);
  }
}

bool Shape::keeps_phis(BlockId from, BlockId to) const {
  const std::uint32_t at = nest_.place[from], target = nest_.place[to];
  if (!waits_[target] || f_.blocks[to].merge == ir::Merge::loop) return false;
  const std::uint32_t loop = nest_.innermost[from];
  if (loop != kNone && !nest_.within(to, loop)) return true;
  for (const BlockId p : f_.blocks[to].preds)
    if (nest_.place[p] < at) return true;
  // One of several ways from the same block.
  return std::ranges::count(f_.blocks[to].preds, from) > 1;
}

/// Whether lanes go through a loop together, and none of the warp's are elsewhere.
bool Shape::whole_warp(std::uint32_t loop) const {
  for (std::uint32_t i = nest_.loops[loop].first; i < nest_.loops[loop].end; ++i)
    if (uniformity_.divergent_block(f_.order[i]) || splits(f_.order[i])) return false;
  return true;
}

/// Whether lanes that have gone on to the place `end`, or past it, may come to what `is` names.
/// `past_meetings`: after what all lanes do together, too.
template <typename Is>
bool Shape::finds_behind(std::uint32_t end, Is&& is, bool past_meetings) const {
  std::vector<BlockId> work;
  std::vector<bool> seen(f_.blocks.size(), false);
  const auto add = [&](BlockId b) {
    if (!seen[b]) work.push_back(b);
    seen[b] = true;
  };
  for (std::uint32_t i = 0; i < end; ++i)
    for (const BlockId s : f_.blocks[f_.order[i]].succs)
      if (nest_.place[s] >= end) add(s);
  while (!work.empty()) {
    const ir::Block& block = f_.blocks[work.back()];
    work.pop_back();
    bool met = false;
    for (auto v = block.insts.begin(); v != block.insts.end() && !met; ++v) {
      if (is(f_.insts[*v])) return true;
      met = !past_meetings && together(f_.insts[*v].op);
    }
    if (met) continue;
    for (const BlockId s : block.succs) add(s);
  }
  return false;
}

/// Whether lanes of the warp that stand behind a loop, in which others wait, may have to do
/// something for it to end. Before a barrier, which takes all, they do nothing that others see.
bool Shape::waits_for_itself(std::uint32_t loop) const {
  return !whole_warp(loop) && finds_behind(nest_.loops[loop].end, is_visible, false);
}

/// Whether the members of a warp operation are those that run here: by the active mask, from which
/// on none has left.
bool Shape::names_those_here(Value v) const {
  const ir::Inst& inst = f_.insts[v];
  if (inst.op == Op::warp_active) return true;
  const Value members = f_.arg(v, inst.count - 1u);
  if (f_.insts[members].op != Op::warp_active) return false;
  const std::uint32_t from = nest_.place[home_[members]], to = nest_.place[home_[v]];
  if (zone_[from] != zone_[to]) return false;
  for (std::uint32_t i = from; i < to; ++i)
    for (const BlockId s : f_.blocks[f_.order[i]].succs)
      if (nest_.place[s] <= i || nest_.place[s] > to) return false;
  return from <= to;
}

/// Whether lanes that miss the block have left a loop around it for good, and come to no operation
/// of a warp any more: to the others, they have ended.
bool Shape::others_are_through(BlockId b) const {
  const std::uint32_t loop = nest_.innermost[b];
  if (loop == kNone || nest_.loops[loop].parent != kNone) return false;
  const std::uint32_t first = nest_.loops[loop].first;
  for (const BlockId p : f_.blocks[f_.order[first]].preds)
    if (nest_.place[p] < first && uniformity_.divergent_block(p)) return false;
  // None passes it by within the loop.
  for (std::uint32_t i = first; i < nest_.place[b]; ++i)
    for (const BlockId s : f_.blocks[f_.order[i]].succs)
      if (nest_.place[s] > nest_.place[b] && nest_.place[s] < nest_.loops[loop].end) return false;
  const auto meets = [](const ir::Inst& inst) { return together(inst.op); };
  return !finds_behind(nest_.loops[loop].end, meets, true);
}

/// Whether the way through a loop may depend on what it reads of another thread's. Machine code
/// runs one warp after the other, so that store may never come, but for loops that yield.
bool Shape::may_wait() const {
  std::vector<bool> reads(nest_.loops.size(), false);  // of outermost loops
  const auto outermost = [&](BlockId b) {
    std::uint32_t loop = nest_.innermost[b];
    while (loop != kNone && nest_.loops[loop].parent != kNone) loop = nest_.loops[loop].parent;
    return loop;
  };
  for (const BlockId b : f_.order)
    if (const std::uint32_t loop = outermost(b); loop != kNone && !reads[loop])
      reads[loop] = std::ranges::any_of(f_.blocks[b].insts,
                                        [&](Value v) { return reads_stores(f_.insts[v]); });
  if (std::ranges::find(reads, true) == reads.end()) return false;
  const std::vector<bool> depends = computed_from_others(f_);
  return std::ranges::any_of(f_.order, [&](BlockId b) {
    const std::uint32_t loop = outermost(b);
    return loop != kNone && reads[loop] && f_.blocks[b].cond && depends[f_.blocks[b].cond] &&
           !yielding_[nest_.innermost[b]];
  });
}

void Shape::check_wait(Value yield, std::uint32_t loop) {
  const std::uint64_t reason = f_.insts[yield].imm & ((1u << passes::kYieldSite) - 1);
  if (loop != kNone) yielding_[loop] = true;
  if (reason == passes::kClockYield || (loop != kNone && waits_for_itself(loop)))
    problem_ = "threads may wait for one another in a loop";
}

void Shape::check() {
  yielding_.assign(nest_.loops.size(), false);
  for (std::uint32_t i = 0; i < places() && problem_.empty(); ++i) {
    const BlockId b = f_.order[i];
    const ir::Block& block = f_.blocks[b];
    if ((block.term == Term::cond_br || block.term == Term::switch_) && uniform(block.cond) &&
        home_[block.cond] != kNoBlock && escapes_to(block.cond, i))
      problem_ = "a branch follows what lanes leave a loop with one by one";
    for (const BlockId s : block.succs)
      if (nest_.place[s] <= i) {
        // What goes back comes last.
        const std::uint32_t l = nest_.innermost[s];
        if (l == kNone || nest_.loops[l].header != s || nest_.loops[l].end != i + 1)
          problem_ = "a loop does not end with the branch that goes back";
      }
    for (const Value v : block.insts)
      if (together(f_.insts[v].op) && uniformity_.divergent_block(b) &&
          !(ir::is_warp_operation(f_.insts[v].op) &&
            (names_those_here(v) || others_are_through(b))))
        problem_ = "threads of a warp may miss an operation that they do together";
      else if (f_.insts[v].op == Op::yield)
        check_wait(v, nest_.innermost[b]);
  }
  if (problem_.empty() && may_wait()) problem_ = "threads may wait for one another in a loop";
}

}  // namespace ptx2spv::interpreter::llvm
