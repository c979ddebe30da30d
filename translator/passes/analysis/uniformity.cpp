#include "translator/passes/analysis/uniformity.hpp"

#include <numeric>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

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

bool is_barrier(Op op) { return op == Op::control_barrier || op == Op::bar_sync; }

}  // namespace

/// Whether the operation itself makes threads differ, whatever its operands are.
bool Uniformity::source(const Inst& inst) const {
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
        case Builtin::subgroup_lane:
        case Builtin::clock_lo:
        case Builtin::clock_hi: return true;
        default: return false;
      }
    case Op::load: return !readonly(inst);
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
  while (visit_values() || visit_branches()) {
  }
}

bool Uniformity::visit_values() {
  bool any = false;
  for (const BlockId b : f_.order) {
    for (const Value v : f_.blocks[b].insts) {
      if (values_[v]) continue;
      const Inst& inst = f_.insts[v];
      bool differs = source(inst) || (inst.op == Op::phi && joins_[b]);
      if (whole_warps(v)) continue;
      // Of a warp operation whose result all members get, only the mask tells threads apart.
      const bool shared = inst.op == Op::warp_vote || inst.op == Op::warp_redux;
      for (const Value a : f_.args(v)) {
        if (differs) break;
        if (shared && a != f_.args(v).back()) continue;
        differs = values_[a];
        // A value of a loop that threads leave in different iterations differs outside.
        const BlockId home = home_[a];
        for (std::uint32_t l = home == kNoBlock ? kNoLoop : nest_.innermost[home];
             l != kNoLoop && !differs; l = nest_.loops[l].parent)
          differs = left_unevenly_[l] && nest_.place[b] >= nest_.loops[l].end;
      }
      if (!differs) continue;
      values_[v] = true;
      any = true;
    }
  }
  return any;
}

/// The first place from `place` on whose block is not marked, or the end.
std::uint32_t Uniformity::unmarked(std::uint32_t place) {
  while (next_[place] != place) {
    next_[place] = next_[next_[place]];
    place = next_[place];
  }
  return place;
}

bool Uniformity::mark_blocks(std::uint32_t first, std::uint32_t end) {
  bool any = false;
  for (std::uint32_t i = first; i < end && (i = unmarked(i)) < end;) {
    blocks_[f_.order[i]] = true;
    next_[i] = i + 1;
    any = true;
  }
  return any;
}

bool Uniformity::mark_join(BlockId block) {
  const bool fresh = !joins_[block];
  joins_[block] = true;
  return fresh;
}

bool Uniformity::visit_branches() {
  bool any = false;
  for (const BlockId b : f_.order) {
    const Block& block = f_.blocks[b];
    const bool splits = (block.term == Term::cond_br || block.term == Term::switch_) &&
                        values_[block.cond] && !early_[b];
    if (splits && block.merge == Merge::selection) {
      any = mark_join(block.merge_block) || any;
      if (!blocks_[b]) any = mark_blocks(nest_.place[b] + 1, nest_.place[block.merge_block]) || any;
    }
    const std::uint32_t l = nest_.innermost[b];
    if (l == kNoLoop || !(splits || blocks_[b])) continue;
    const Block& loop = f_.blocks[nest_.loops[l].header];
    for (const BlockId s : block.succs) {
      if (s == loop.continue_block) {
        // Threads that go on at once miss what follows in this iteration.
        any = mark_join(s) || any;
        any = mark_blocks(nest_.place[b] + 1, nest_.place[loop.continue_block]) || any;
      } else if (s == loop.merge_block && !left_unevenly_[l]) {
        left_unevenly_[l] = true;
        mark_join(s);
        mark_blocks(nest_.loops[l].first, nest_.loops[l].end);
        any = true;
      }
    }
  }
  return any;
}

namespace {

/// Whether some threads may miss an operation that `is_one` names while others reach it.
bool operations_diverge(const Function& function, Module& module, bool (*is_one)(Op),
                        const Scope& scope) {
  bool has = false;
  for (const Block& block : function.blocks)
    for (const Value v : block.insts) has = has || is_one(function.insts[v].op);
  if (!has) return false;
  Function copy = function;
  structurize(copy, module);
  ssa(copy, module);
  simplify(copy, module);
  const Uniformity uniformity(copy, {}, scope);
  for (const BlockId b : copy.order)
    for (const Value v : copy.blocks[b].insts)
      if (is_one(copy.insts[v].op) && uniformity.divergent_block(b)) return true;
  return false;
}

bool is_warp_operation(Op op) { return op >= Op::warp_shfl && op <= Op::warp_elect; }

}  // namespace

bool barriers_diverge(const Function& function, Module& module) {
  return operations_diverge(function, module, is_barrier, {});
}

bool warp_operations_diverge(const Function& function, Module& module) {
  return operations_diverge(function, module, is_warp_operation, {.warp = true, .x_is_row = true});
}

}  // namespace ptx2spv::passes
