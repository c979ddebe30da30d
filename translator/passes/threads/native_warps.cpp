// Warp operations as the device's own, where its subgroups are warps: 32 threads in the order of
// their numbers. Only for operations that all threads of a warp reach together (uniformity of
// control flow), so every lane that has not ended takes part, and member masks are applied to what
// the lanes give. A barrier of the subgroup brings lanes back together that a device lets run apart
// after a branch; no branch can come to stand between operations that have only simple ones between
// them.
#include <optional>

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
    find_constants();
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
  /// Registers that are set once, to a constant.
  void find_constants() {
    std::vector<unsigned> sets(f_.vars.size());
    constant_.assign(f_.vars.size(), std::nullopt);
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op != Op::set_var) continue;
        const Inst& set = f_.insts[f_.arg(v, 0)];
        constant_[inst.imm].reset();
        if (++sets[inst.imm] == 1 && set.op == Op::constant) constant_[inst.imm] = set.imm;
      }
  }
  std::optional<std::uint64_t> constant(Value v) const {
    const Inst& inst = f_.insts[v];
    if (inst.op == Op::constant) return inst.imm;
    return inst.op == Op::get_var ? constant_[inst.imm] : std::nullopt;
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
  Value reduce(const Inst& inst, Value value, Value mask, Value present);

  Function& f_;
  const bool arithmetic_, all_come_;
  CfgRewriter rewriter_;
  Builder& b_;
  warp::Lanes lanes_;
  std::vector<std::optional<std::uint64_t>> constant_;  ///< by variable
  BlockId met_ = kNoBlock, active_in_ = kNoBlock;       ///< of what block that holds
  Value active_ = 0;
};

Value NativeWarps::shuffle(const Inst& inst, const std::vector<Value>& args, Value present) {
  const auto source = lanes_.source(static_cast<ShflMode>(inst.imm), lane(), args[1], args[2]);
  const Value theirs = from_lane(args[0], source.lane);
  const Value got = is_all(present) ? theirs : lanes_.shuffled(present, source.lane, theirs);
  return lanes_.pair(got, lanes_.flag(source.inside));
}

// Members one after the other: each lane's value is compared by all at once.
Value NativeWarps::match(const Inst& inst, Value value, Value present) {
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

Value NativeWarps::reduce(const Inst& inst, Value value, Value mask, Value present) {
  const warp::Reduction each = warp::reduction(static_cast<AtomicOp>(inst.imm));
  if (arithmetic_ && constant(mask)) {
    // Every lane has the same members.
    const Value own = b_.select(lanes_.has(mask, lane()), value, word(each.identity));
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
      const Value votes = b_.op2(Op::and_, ballot(args[0]), present);
      return rewriter_.replace_by(v, lanes_.vote(static_cast<VoteMode>(inst.imm), votes, present));
    }
    case Op::warp_match: return rewriter_.replace_by(v, match(inst, args[0], present));
    case Op::warp_redux: return rewriter_.replace_by(v, reduce(inst, args[0], args[1], present));
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
