// Warp operations as the device's own, where its subgroups are warps: 32 threads in the order of
// their numbers. Only for operations that all threads of a warp reach together (uniformity of
// control flow), so every lane that has not ended takes part, and member masks are applied to what
// the lanes give. A barrier of the subgroup brings lanes back together that a device lets run apart
// after a branch; no branch can come to stand between operations that have only simple ones between
// them.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes {

namespace {

class NativeWarps {
 public:
  NativeWarps(Function& function, bool arithmetic, bool all_come)
      : f_(function),
        arithmetic_(arithmetic),
        all_come_(all_come),
        rewriter_(function),
        b_(rewriter_.builder()),
        lanes_(b_) {}

  bool run() {
    bool any = false;
    find_set_once();
    find_sets();
    find_agreed();
    rewriter_.run([&](Value v) {
      const Op op = f_.insts[v].op;
      if (!is_warp_operation(op)) {
        if (!is_simple(op)) met_ = kNoBlock;
        return rewriter_.keep(v);
      }
      any = true;
      lower(v);
    });
    return any;
  }

 private:
  /// Whether it stays one instruction on every device.
  static bool is_simple(Op op) {
    return is_within(op, Op::constant, Op::set_var) || is_within(op, Op::add, Op::mulhi_s) ||
           is_within(op, Op::and_, Op::extract) || op == Op::load || op == Op::store;
  }
  /// The values of registers that are set once.
  void find_set_once() {
    std::vector<unsigned> sets(f_.vars.size());
    set_once_.assign(f_.vars.size(), 0);
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op != Op::set_var) continue;
        set_once_[inst.imm] = ++sets[inst.imm] == 1 ? f_.arg(v, 0) : 0;
      }
  }
  static constexpr unsigned kDepth = 8;
  /// What the value was before it came into registers.
  Value source_of(Value v) const {
    for (unsigned i = 0; i < kDepth && f_.insts[v].op == Op::get_var; ++i) {
      const Value set = set_once_[f_.insts[v].imm];
      if (!set) break;
      v = set;
    }
    return v;
  }
  std::optional<std::uint64_t> constant(Value v) const {
    const Inst& inst = f_.insts[source_of(v)];
    return inst.op == Op::constant ? std::optional(inst.imm) : std::nullopt;
  }
  void find_sets();
  /// So many low bits the value has at most.
  unsigned width(Value v, unsigned depth = 0) const;
  /// Reductions whose members all lanes agree on, though they are no constant.
  void find_agreed();
  bool agrees(BlockId block, Value v);
  bool agrees(std::uint32_t var);
  /// The bits that the value shares with the lane's number, if it has no other ones of `within`.
  /// Needs rows of whole warps.
  std::optional<std::uint32_t> lane_bits(Value v, std::uint32_t within, unsigned depth = 0) const {
    constexpr std::uint32_t kLane = 31;
    if (depth == kDepth) return std::nullopt;
    v = source_of(v);
    const Inst& inst = f_.insts[v];
    const bool low = within <= kLane;
    if (inst.op == Op::constant && !(inst.imm & within)) return 0;
    if (inst.op == Op::builtin && inst.builtin == Builtin::local_id_x && low) return within;
    for (const unsigned i : {0u, 1u}) {
      if (inst.op == Op::and_) {
        if (const auto mask = constant(f_.arg(v, i)))
          return lane_bits(f_.arg(v, 1 - i), within & static_cast<std::uint32_t>(*mask), depth + 1);
      } else if (inst.op == Op::mul && low) {
        const Inst& factor = f_.insts[source_of(f_.arg(v, i))];
        if (factor.op == Op::builtin && factor.builtin == Builtin::workgroup_size_x) return 0;
      } else if (inst.op == Op::add && low && lane_bits(f_.arg(v, i), kLane, depth + 1) == 0u) {
        return lane_bits(f_.arg(v, 1 - i), within, depth + 1);
      }
    }
    return std::nullopt;
  }
  /// A member mask of each lane, if its number alone decides it. Needs rows of whole warps.
  std::optional<std::array<std::uint32_t, 32>> masks_by_lane(Value mask) const {
    std::array<std::uint32_t, 32> masks{};
    const auto fill = [&](std::uint64_t bits, std::uint32_t shifts) {
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        masks[lane] = static_cast<std::uint32_t>(bits) << (lane & shifts);
      return masks;
    };
    if (const auto all = constant(mask)) return fill(*all, 0);
    mask = source_of(mask);
    if (f_.insts[mask].op != Op::shl) return std::nullopt;
    const auto bits = constant(f_.arg(mask, 0));
    const auto shift = lane_bits(f_.arg(mask, 1), ~0u);
    return bits && shift ? std::optional(fill(*bits, *shift)) : std::nullopt;
  }
  static constexpr std::uint32_t kAll = 0xffffffff;
  bool is_all(Value lanes) const {
    return f_.insts[lanes].op == Op::constant && f_.insts[lanes].imm == kAll;
  }
  Value word(std::uint32_t value) { return b_.i32(value); }
  Value lane() { return b_.builtin(Builtin::subgroup_lane); }
  Value ballot(Value truth) { return b_.inst(Op::subgroup_ballot, Type::i32, {truth}); }
  Value from_lane(Value value, Value lane) {
    return b_.inst(Op::subgroup_shuffle, Type::i32, {value, lane});
  }

  /// Lanes that are apart come together.
  void meet() {
    if (met_ == b_.block()) return;
    b_.inst(Op::subgroup_barrier, Type::none, {}, 0);
    met_ = b_.block();
  }
  /// The lanes that have not ended.
  Value active() {
    if (all_come_) return word(kAll);
    if (active_in_ != b_.block()) active_ = ballot(b_.i1(true));
    active_in_ = b_.block();
    return active_;
  }

  void lower(Value v);
  Value shuffle(const Inst& inst, const std::vector<Value>& args, Value present);
  Value match(const Inst& inst, Value value, Value present);
  Value reduce(const Inst& inst, Value value, Value mask, bool agreed, Value present);

  Function& f_;
  const bool arithmetic_, all_come_;
  CfgRewriter rewriter_;
  Builder& b_;
  warp::Lanes lanes_;
  /// By variable: what it is set to but 0, of one such set where and to what, and whether that
  /// agrees where it is known.
  struct Set {
    std::vector<Value> values;
    BlockId block = kNoBlock;
    std::optional<bool> agrees;
  };
  std::vector<Set> sets_;
  std::vector<bool> agreed_;                       ///< by instruction, as they came
  std::vector<Value> set_once_;                    ///< by variable; 0: another number of times
  BlockId met_ = kNoBlock, active_in_ = kNoBlock;  ///< of what block that holds
  Value active_ = 0;
};

void NativeWarps::find_sets() {
  sets_.assign(f_.vars.size(), {});
  for (BlockId b = 0; b < f_.blocks.size(); ++b)
    for (const Value v : f_.blocks[b].insts) {
      const Inst& inst = f_.insts[v];
      if (inst.op != Op::set_var) continue;
      const Inst& from = f_.insts[f_.arg(v, 0)];
      if (from.op == Op::constant && from.imm == 0) continue;
      Set& set = sets_[inst.imm];
      set.values.push_back(f_.arg(v, 0)), set.block = b;
    }
}

unsigned NativeWarps::width(Value v, unsigned depth) const {
  const Inst& inst = f_.insts[v];
  const unsigned all = inst.type == Type::i64 ? 64 : inst.type == Type::i1 ? 1 : 32;
  constexpr std::size_t kMostSets = 8;
  if (++depth > kDepth) return all;
  const auto of = [&](unsigned i) { return width(f_.arg(v, i), depth); };
  switch (inst.op) {
    case Op::constant: return static_cast<unsigned>(std::bit_width(inst.imm));
    case Op::get_var: {
      const std::vector<Value>& values = sets_[inst.imm].values;
      if (values.size() > kMostSets) return all;
      unsigned most = 0;
      for (const Value each : values) most = std::max(most, width(each, depth));
      return most;
    }
    case Op::load: return std::min(all, 8u * inst.mem.bytes);
    case Op::popcount: return 7;
    case Op::zext: return of(0);
    case Op::trunc: return std::min(all, of(0));
    case Op::and_:
    case Op::umin: return std::min(of(0), of(1));
    case Op::or_:
    case Op::xor_:
    case Op::umax: return std::max(of(0), of(1));
    case Op::select: return std::max(of(1), of(2));
    case Op::lshr:
      if (const auto shift = constant(f_.arg(v, 1)))
        return of(0) - static_cast<unsigned>(std::min<std::uint64_t>(of(0), *shift));
      return of(0);
    default: return all;
  }
}

void NativeWarps::find_agreed() {
  agreed_.assign(f_.insts.size(), false);
  for (BlockId b = 0; b < f_.blocks.size(); ++b)
    for (const Value v : f_.blocks[b].insts)
      if (f_.insts[v].op == Op::warp_redux) agreed_[v] = agrees(b, f_.args(v).back());
}

/// Whether a value of the block, which all lanes come by together, is the same in all that name
/// themselves in it.
bool NativeWarps::agrees(BlockId block, Value v) {
  const Inst& inst = f_.insts[v];
  switch (inst.op) {
    case Op::constant:
    case Op::warp_active: return true;
    case Op::warp_vote:
      return inst.imm == static_cast<std::uint64_t>(VoteMode::ballot) &&
             agrees(block, f_.args(v).back());
    case Op::and_: return agrees(block, f_.arg(v, 0)) && agrees(block, f_.arg(v, 1));
    case Op::get_var: {
      const std::vector<Value>& insts = f_.blocks[block].insts;
      for (auto at = std::ranges::find(insts, v); at != insts.begin();) {
        const Inst& before = f_.insts[*--at];
        if (before.op == Op::set_var && before.imm == inst.imm)
          return agrees(block, f_.arg(*at, 0));
      }
      return agrees(static_cast<std::uint32_t>(inst.imm));
    }
    default: return false;
  }
}

/// What is set once, in no loop, is that or 0, which names no lane.
bool NativeWarps::agrees(std::uint32_t var) {
  const Set& set = sets_[var];
  if (set.agrees) return *set.agrees;
  if (const Value once = set_once_[var]; once && f_.insts[once].op == Op::constant) return true;
  sets_[var].agrees = false;
  if (set.values.size() != 1) return false;
  std::vector<bool> seen(f_.blocks.size());
  std::vector<BlockId> work = f_.blocks[set.block].succs;
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    if (seen[b]) continue;
    seen[b] = true;
    work.insert(work.end(), f_.blocks[b].succs.begin(), f_.blocks[b].succs.end());
  }
  sets_[var].agrees = !seen[set.block] && agrees(set.block, set.values[0]);
  return *sets_[var].agrees;
}

Value NativeWarps::shuffle(const Inst& inst, const std::vector<Value>& args, Value present) {
  const auto mode = static_cast<ShflMode>(inst.imm);
  bool inside = false, members = is_all(present);
  if (const auto b = constant(args[1]), c = constant(args[2]); b && c) {
    const auto known =
        warp::sources(mode, static_cast<std::uint32_t>(*b), static_cast<std::uint32_t>(*c));
    inside = std::ranges::all_of(known, &warp::KnownSource::inside);
    if (const auto masks = all_come_ ? masks_by_lane(args[3]) : std::nullopt)
      members = std::ranges::equal(known, *masks, [](const auto& from, std::uint32_t mask) {
        return mask >> from.lane & 1;
      });
  }
  const auto source = lanes_.source(mode, lane(), args[1], args[2], inside);
  const Value theirs = from_lane(args[0], source.lane);
  const Value got = members ? theirs : lanes_.shuffled(present, source.lane, theirs);
  return lanes_.pair(got, lanes_.flag(source.inside));
}

// A few bits one after the other, or members one after the other: each lane's value is compared by
// all at once.
Value NativeWarps::match(const Inst& inst, Value value, Value present) {
  constexpr unsigned kFewBits = 16;
  if (const unsigned bits = width(value); bits <= kFewBits) {
    Value same = present;
    const Value low =
        f_.insts[value].type == Type::i64 ? b_.inst(Op::trunc, Type::i32, {value}) : value;
    for (unsigned bit = 0; bit < bits; ++bit) {
      const Value mine = b_.cmp(Op::ne, b_.op2(Op::and_, low, word(1u << bit)), word(0));
      const Value votes = ballot(mine);
      const Value others = b_.inst(Op::not_, Type::i32, {votes});
      same = b_.op2(Op::and_, same, b_.select(mine, votes, others));
    }
    return lanes_.match(static_cast<MatchMode>(inst.imm), same, present);
  }
  const bool wide = f_.insts[value].type == Type::i64;
  const Value low = wide ? b_.inst(Op::trunc, Type::i32, {value}) : value;
  const Value high = wide ? b_.inst(Op::high, Type::i32, {value}) : value;
  Value same = word(0);
  for (std::uint32_t l = 0; l < 32; ++l) {
    Value equal = b_.cmp(Op::eq, from_lane(low, word(l)), low);
    if (wide) equal = b_.op2(Op::and_, equal, b_.cmp(Op::eq, from_lane(high, word(l)), high));
    same = b_.op2(Op::or_, same, b_.select(equal, word(1u << l), word(0)));
  }
  same = b_.op2(Op::and_, same, present);
  return lanes_.match(static_cast<MatchMode>(inst.imm), same, present);
}

Value NativeWarps::reduce(const Inst& inst, Value value, Value mask, bool agreed, Value present) {
  const warp::Reduction each = warp::reduction(static_cast<AtomicOp>(inst.imm));
  if (arithmetic_ && agreed) {
    const Value own = constant(mask) == kAll
                          ? value
                          : b_.select(lanes_.has(present, lane()), value, word(each.identity));
    return b_.inst(Op::subgroup_reduce, Type::i32, {own}, inst.imm);
  }
  Value sum = word(each.identity);
  for (std::uint32_t l = 0; l < 32; ++l) {
    const Value other = from_lane(value, word(l));
    sum = b_.select(lanes_.has(present, word(l)), b_.op2(each.op, sum, other), sum);
  }
  return sum;
}

void NativeWarps::lower(Value v) {
  const Inst inst = f_.insts[v];
  const std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
  if (inst.op == Op::warp_sync) {
    rewriter_.replace(v, Op::subgroup_barrier, Type::none, {}, 1);
    met_ = b_.block();
    return;
  }
  if (inst.op == Op::warp_active && inst.imm == kOrdersAccesses) {
    b_.inst(Op::memory_barrier, Type::none, {}, 0);
    return rewriter_.replace_by(v, word(0));
  }
  meet();
  if (inst.op == Op::warp_product) return rewriter_.keep(v);
  if (inst.op == Op::warp_active) return rewriter_.replace_by(v, active());
  const Value here = active();
  const Value present = constant(args.back()) == kAll ? here
                        : is_all(here)                ? args.back()
                                                      : b_.op2(Op::and_, here, args.back());
  switch (inst.op) {
    case Op::warp_shfl: return rewriter_.replace_by(v, shuffle(inst, args, present));
    case Op::warp_vote: {
      const Value all = ballot(args[0]);
      const Value votes = constant(args.back()) == kAll ? all : b_.op2(Op::and_, all, present);
      return rewriter_.replace_by(v, lanes_.vote(static_cast<VoteMode>(inst.imm), votes, present));
    }
    case Op::warp_match: return rewriter_.replace_by(v, match(inst, args[0], present));
    case Op::warp_redux:
      return rewriter_.replace_by(v, reduce(inst, args[0], args[1], agreed_[v], present));
    default: break;
  }
  const Value leader = lanes_.leader(present);
  rewriter_.replace_by(v, lanes_.pair(leader, lanes_.flag(b_.cmp(Op::eq, leader, lane()))));
}

}  // namespace

bool native_warps(Function& function, bool arithmetic, bool all_come) {
  return NativeWarps(function, arithmetic, all_come).run();
}

}  // namespace ptx2spv::passes
