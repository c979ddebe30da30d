#include "translator/passes/analysis/uniformity.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

bool readonly(const Inst& inst) {
  switch (inst.mem.space) {
    case Space::param:
    case Space::constant:
    case Space::push:
    case Space::table:
    case Space::textures: return true;
    default: return inst.mem.readonly && !inst.mem.is_volatile;
  }
}

constexpr std::uint32_t kNoLoop = StructuredLoops::kNone;

/// Whether a thread may learn from the instruction that another one has stored.
bool may_wait(const Inst& inst) {
  const bool read = inst.op == Op::load && inst.mem.is_volatile;
  const unsigned flags = info(inst.op).flags;
  const bool plain = inst.op == Op::get_var || inst.op == Op::set_var || inst.op == Op::load ||
                     inst.op == Op::store || inst.op == Op::progress ||
                     inst.op == Op::memory_barrier || inst.op == Op::nanosleep ||
                     inst.op == Op::surf_query ||
                     (is_warp_operation(inst.op) && inst.op != Op::warp_sync);
  return read || (!plain && (flags & (flag::R | flag::W)));
}

/// Whether all threads of the block meet at it.
bool meets_all(const Function& f, Value v) {
  const Inst& inst = f.insts[v];
  if (inst.op != Op::bar_sync) return is_barrier(inst.op);
  const bool counted =
      inst.count > 1 && (f.insts[f.arg(v, 1)].op != Op::constant || f.insts[f.arg(v, 1)].imm != 0);
  return !counted && inst.imm != static_cast<std::uint64_t>(BarKind::arrive);
}

}  // namespace

/// A load settles where on no way from a barrier, or from the kernel's start, a thread may wait.
void Uniformity::find_settled() {
  std::vector<bool> waited(f_.blocks.size(), false);
  const auto walk = [&](BlockId b, const auto& each) {
    bool may = waited[b];
    for (const Value v : f_.blocks[b].insts) {
      each(v, may);
      may = !meets_all(f_, v) && (may || may_wait(f_.insts[v]));
    }
    return may;
  };
  std::vector<BlockId> work(f_.order.rbegin(), f_.order.rend());
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    if (!walk(b, [](Value, bool) {})) continue;
    for (const BlockId next : f_.blocks[b].succs) {
      if (waited[next]) continue;
      waited[next] = true;
      work.push_back(next);
    }
  }
  for (const BlockId b : f_.order)
    (void)walk(b, [&](Value v, bool may) {
      const Inst& inst = f_.insts[v];
      const bool shares =
          inst.mem.space == Space::shared || (scope_.warp && inst.mem.space == Space::global);
      settled_[v] = (inst.op == Op::load && shares && !inst.mem.is_volatile && !may) ||
                    (scope_.agreed && (*scope_.agreed)[v]);
    });
}

/// Whether the operation itself makes threads differ, whatever its operands are.
bool Uniformity::source(Value v) const {
  const Inst& inst = f_.insts[v];
  switch (inst.op) {
    case Op::builtin:
      switch (inst.builtin) {
        case Builtin::local_id_y:
        case Builtin::local_id_z: return !scope_.x_is_row;
        case Builtin::local_id_x:
        case Builtin::local_index:
        case Builtin::global_id_x:
        case Builtin::global_id_y:
        case Builtin::global_id_z:
        case Builtin::subgroup_lane: return true;
        default: return false;
      }
    case Op::load:
      return !readonly(inst) && !settled_[v] &&
             (!scope_.lock_step || inst.mem.space == Space::local);
    case Op::bar_sync: return false;
    case Op::warp_vote:
    case Op::warp_redux:
    case Op::warp_active: return !scope_.warp;
    default: {
      const unsigned flags = info(inst.op).flags;
      return inst.type != Type::none && (flags & (flag::W | flag::R)) && inst.op != Op::surf_query;
    }
  }
}

bool Uniformity::whole_warps(Value v) const {
  const Inst& inst = f_.insts[v];
  if (!scope_.warp || inst.count != 2) return false;
  const Value a = f_.arg(v, 0), b = f_.arg(v, 1);
  const auto number = [&](Value of) {
    const Inst& each = f_.insts[of];
    return each.op == Op::builtin && (each.builtin == Builtin::local_index ||
                                      (scope_.x_is_row && each.builtin == Builtin::local_id_x));
  };
  const bool left = number(a);
  const Inst& other = f_.insts[left ? b : a];
  if ((!left && !number(b)) || other.op != Op::constant) return false;
  const auto known = static_cast<std::uint32_t>(other.imm);
  switch (inst.op) {
    case Op::lshr:
    case Op::ashr: return left && known >= 5;
    case Op::udiv: return left && known != 0 && known % 32 == 0;
    case Op::and_: return known % 32 == 0;
    // t < n and n <= t, t <= n and n < t
    case Op::ult:
    case Op::slt: return (known + (left ? 0 : 1)) % 32 == 0;
    case Op::ule:
    case Op::sle: return (known + (left ? 1 : 0)) % 32 == 0;
    default: return false;
  }
}

Uniformity::Uniformity(const Function& f, const EarlyExits& early, const Scope& scope)
    : f_(f),
      scope_(scope),
      values_(f.insts.size()),
      blocks_(f.blocks.size()),
      joins_(f.blocks.size()),
      early_(f.blocks.size()),
      settled_(f.insts.size()),
      nest_(f, f.order),
      left_unevenly_(nest_.loops.size()),
      home_(f.insts.size(), kNoBlock) {
  for (BlockId b = 0; b < f.blocks.size(); ++b)
    for (const Value v : f.blocks[b].insts) home_[v] = b;
  next_.resize(f.order.size() + 1);
  std::iota(next_.begin(), next_.end(), 0u);
  for (const BlockId b : early.arms) {
    blocks_[b] = true;
    const std::uint32_t place = nest_.place[b];
    if (place < f.order.size() && f.order[place] == b) next_[place] = place + 1;
  }
  for (const BlockId b : early.heads) {
    early_[b] = true;
    joins_[f.blocks[b].merge_block] = true;
  }
  if (!scope_.lock_step) find_settled();
  spread();
}

/// What still has to be looked at, while the analysis runs, and where values are used. Every value
/// and every block is looked at once after it has become divergent.
struct Uniformity::Work {
  std::vector<Value> values;
  std::vector<BlockId> blocks;
  /// By value: its users, one list behind the other. A block whose branch it decides stands among
  /// them as its number and that of all values.
  std::vector<std::uint32_t> begin, users;
  /// A use behind the innermost loop that its operand is in, by the places of both blocks.
  struct Use {
    std::uint32_t from = 0, to = 0;
    Value user = 0;
  };
  std::vector<Use> outside;         ///< by `from`
  std::vector<std::uint32_t> last;  ///< a heap's tree over them: the largest `to`, and 0 once taken
  std::size_t leaves = 0;

  template <typename Each>
  void take(std::size_t node, std::size_t low, std::size_t high, std::size_t first, std::size_t end,
            std::uint32_t behind, const Each& each) {
    if (last[node] < behind || high <= first || end <= low) return;
    if (high - low == 1) {
      last[node] = 0;
      each(outside[low].user);
      return;
    }
    const std::size_t middle = low + (high - low) / 2;
    take(2 * node, low, middle, first, end, behind, each);
    take(2 * node + 1, middle, high, first, end, behind, each);
    last[node] = std::max(last[2 * node], last[2 * node + 1]);
  }
};

/// Whether the user's result follows operand `i`: of a warp operation whose result all members get,
/// only the mask tells threads apart.
bool Uniformity::follows(Value user, std::size_t i) const {
  const Inst& inst = f_.insts[user];
  if (inst.op == Op::bar_sync) return false;  // bar.red gives all threads the same
  const bool shared = inst.op == Op::warp_vote || inst.op == Op::warp_redux;
  return !shared || f_.args(user)[i] == f_.args(user).back();
}

void Uniformity::find_uses(Work& work) const {
  const auto each_use = [&](const auto& use) {
    for (const BlockId b : f_.order) {
      for (const Value v : f_.blocks[b].insts)
        for (std::size_t i = 0; i < f_.args(v).size(); ++i)
          if (follows(v, i)) use(f_.args(v)[i], v, b);
      const Term term = f_.blocks[b].term;
      if (term == Term::cond_br || term == Term::switch_)
        use(f_.blocks[b].cond, static_cast<std::uint32_t>(f_.insts.size()) + b, b);
    }
  };
  work.begin.assign(f_.insts.size() + 1, 0);
  each_use([&](Value of, std::uint32_t, BlockId) { ++work.begin[of]; });
  std::partial_sum(work.begin.begin(), work.begin.end(), work.begin.begin());
  work.users.resize(work.begin.back());
  each_use([&](Value of, std::uint32_t user, BlockId b) {
    work.users[--work.begin[of]] = user;
    const std::uint32_t loop = home_[of] == kNoBlock ? kNoLoop : nest_.innermost[home_[of]];
    if (loop != kNoLoop && user < f_.insts.size() && nest_.place[b] >= nest_.loops[loop].end)
      work.outside.push_back({nest_.place[home_[of]], nest_.place[b], user});
  });
  std::ranges::sort(work.outside, {}, &Work::Use::from);
  work.leaves = std::bit_ceil(std::max<std::size_t>(work.outside.size(), 1));
  work.last.assign(2 * work.leaves, 0);
  for (std::size_t i = 0; i < work.outside.size(); ++i)
    work.last[work.leaves + i] = work.outside[i].to;
  for (std::size_t node = work.leaves; node-- > 1;)
    work.last[node] = std::max(work.last[2 * node], work.last[2 * node + 1]);
}

void Uniformity::spread() {
  Work work;
  find_uses(work);
  work_ = &work;
  for (const BlockId b : f_.order) {
    if (blocks_[b]) work.blocks.push_back(b);
    for (const Value v : f_.blocks[b].insts)
      if (source(v) || (f_.insts[v].op == Op::phi && joins_[b]) || (blocks_[b] && settled_[v]))
        mark_value(v);
  }
  while (!work.values.empty() || !work.blocks.empty()) {
    if (work.values.empty()) {
      const BlockId b = work.blocks.back();
      work.blocks.pop_back();
      visit_branch(b);
      continue;
    }
    const Value v = work.values.back();
    work.values.pop_back();
    for (std::uint32_t u = work.begin[v]; u < work.begin[v + 1]; ++u) {
      const std::uint32_t user = work.users[u];
      if (user < f_.insts.size())
        mark_value(user);
      else
        visit_branch(static_cast<BlockId>(user - f_.insts.size()));
    }
  }
  work_ = nullptr;
}

void Uniformity::mark_value(Value v) {
  if (values_[v] || whole_warps(v)) return;
  values_[v] = true;
  work_->values.push_back(v);
}

/// The first place from `place` on whose block is not marked, or the end.
std::uint32_t Uniformity::unmarked(std::uint32_t place) {
  while (next_[place] != place) {
    next_[place] = next_[next_[place]];
    place = next_[place];
  }
  return place;
}

void Uniformity::mark_blocks(std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t i = first; i < end && (i = unmarked(i)) < end;) {
    blocks_[f_.order[i]] = true;
    work_->blocks.push_back(f_.order[i]);
    next_[i] = i + 1;
    for (const Value v : f_.blocks[f_.order[i]].insts)
      if (settled_[v]) mark_value(v);
  }
}

void Uniformity::mark_join(BlockId block) {
  if (joins_[block]) return;
  joins_[block] = true;
  for (const Value v : f_.blocks[block].insts)
    if (f_.insts[v].op == Op::phi) mark_value(v);
}

/// A value of a loop that threads leave in different iterations differs outside.
void Uniformity::leave_unevenly(std::uint32_t l) {
  if (left_unevenly_[l]) return;
  left_unevenly_[l] = true;
  const StructuredLoops::Loop& loop = nest_.loops[l];
  mark_join(loop.merge);
  mark_blocks(loop.first, loop.end);
  const auto at = [&](std::uint32_t place) {
    return static_cast<std::size_t>(
        std::ranges::lower_bound(work_->outside, place, {}, &Work::Use::from) -
        work_->outside.begin());
  };
  // A place behind a loop is never 0, which stands for a use that was taken.
  work_->take(1, 0, work_->leaves, at(loop.first), at(loop.end), loop.end,
              [&](Value user) { mark_value(user); });
}

void Uniformity::visit_branch(BlockId b) {
  const Block& block = f_.blocks[b];
  const bool splits = (block.term == Term::cond_br || block.term == Term::switch_) &&
                      values_[block.cond] && !early_[b];
  if (splits && block.merge == Merge::selection) {
    mark_join(block.merge_block);
    if (!blocks_[b]) mark_blocks(nest_.place[b] + 1, nest_.place[block.merge_block]);
  }
  const std::uint32_t l = nest_.innermost[b];
  if (l == kNoLoop || !(splits || blocks_[b])) return;
  const Block& loop = f_.blocks[nest_.loops[l].header];
  for (const BlockId s : block.succs) {
    if (s == loop.continue_block) {
      // Threads that go on at once miss what follows in this iteration.
      mark_join(s);
      mark_blocks(nest_.place[b] + 1, nest_.place[loop.continue_block]);
    } else if (s == loop.merge_block) {
      leave_unevenly(l);
    }
  }
}

namespace {

/// The operations that `is_one` names and that some threads may miss while others reach them.
std::vector<Value> divergent(const Function& function, Module& module, bool (*is_one)(const Inst&),
                             const Scope& scope) {
  std::vector<Value> found, all;
  for (const Block& block : function.blocks)
    for (const Value v : block.insts)
      if (is_one(function.insts[v])) all.push_back(v);
  // The copy's have numbers in a field that they do not need otherwise.
  if (all.empty() || all.size() > 0xffff) return all;
  Function copy = function;
  for (std::size_t i = 0; i < all.size(); ++i)
    copy.insts[all[i]].mem.slot = static_cast<std::uint16_t>(i);
  structurize(copy, module);
  ssa(copy, module);
  simplify(copy, module);
  const Uniformity uniformity(copy, {}, scope);
  for (const BlockId b : copy.order)
    for (const Value v : copy.blocks[b].insts)
      if (is_one(copy.insts[v]) && uniformity.divergent_block(b))
        found.push_back(all[copy.insts[v].mem.slot]);
  return found;
}

bool names_lanes(const Inst& inst) {
  return is_warp_operation(inst.op) && !(inst.op == Op::warp_active && inst.imm == kOrdersAccesses);
}

}  // namespace

bool barriers_diverge(const Function& function, Module& module) {
  return !divergent(function, module, [](const Inst& inst) { return is_barrier(inst.op); }, {})
              .empty();
}

std::vector<Value> divergent_warp_operations(const Function& function, Module& module, bool rows) {
  return divergent(function, module, names_lanes, {.warp = true, .x_is_row = rows});
}

}  // namespace ptx2spv::passes
