// Warp operations as the device's own, where its subgroups are warps: 32 threads in the order of
// their numbers. Only for operations that all threads of a block reach together (uniformity of
// control flow), so every lane that has not ended takes part, and member masks are applied to what
// the lanes give. A barrier of the subgroup before each operation brings lanes back together that a
// device lets run apart after a branch.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

class NativeWarps {
 public:
  explicit NativeWarps(Function& function)
      : f_(function), rewriter_(function), b_(rewriter_.builder()) {}

  bool run() {
    bool any = false;
    rewriter_.run([&](Value v) {
      const Op op = f_.insts[v].op;
      if (op < Op::warp_shfl || op > Op::warp_elect) return rewriter_.keep(v);
      any = true;
      lower(v);
    });
    return any;
  }

 private:
  Value op(Op code, Value a, Value c) { return b_.op2(code, a, c); }
  Value word(std::uint32_t value) { return b_.i32(value); }
  Value flag(Value v) { return b_.inst(Op::zext, Type::i32, {v}); }
  Value lane() { return b_.builtin(Builtin::subgroup_lane); }
  Value ballot(Value truth) { return b_.inst(Op::subgroup_ballot, Type::i32, {truth}); }
  Value from_lane(Value value, Value lane) {
    return b_.inst(Op::subgroup_shuffle, Type::i32, {value, lane});
  }
  Value pair(Value first, Value second) { return b_.inst(Op::compose, Type::v2, {first, second}); }

  void lower(Value v);
  Value shuffle(const Inst& inst, const std::vector<Value>& args, Value present);
  Value vote(const Inst& inst, Value truth, Value present);
  Value match(const Inst& inst, Value value, Value present);
  Value reduce(const Inst& inst, Value value, Value present);

  Function& f_;
  CfgRewriter rewriter_;
  Builder& b_;
};

// As the manual computes the source lane (9.7.9.6).
Value NativeWarps::shuffle(const Inst& inst, const std::vector<Value>& args, Value present) {
  const Value self = lane(), b = op(Op::and_, args[1], word(31));
  const Value segment = op(Op::and_, op(Op::lshr, args[2], word(8)), word(31));
  const Value rest = b_.inst(Op::not_, Type::i32, {segment});
  const Value low = op(Op::and_, self, segment);
  const Value high = op(Op::or_, low, op(Op::and_, op(Op::and_, args[2], word(31)), rest));
  Value from = 0, inside = 0;
  switch (static_cast<ShflMode>(inst.imm)) {
    case ShflMode::up:
      from = op(Op::sub, self, b);
      inside = b_.cmp(Op::sle, high, from);
      break;
    case ShflMode::down: from = op(Op::add, self, b); break;
    case ShflMode::bfly: from = op(Op::xor_, self, b); break;
    case ShflMode::idx: from = op(Op::or_, low, op(Op::and_, b, rest)); break;
  }
  if (!inside) inside = b_.cmp(Op::sle, from, high);
  from = b_.select(inside, from, self);
  // A lane that is not there has no value: the thread's own stands for it.
  const Value there = b_.cmp(Op::ne, op(Op::and_, op(Op::lshr, present, from), word(1)), word(0));
  from = b_.select(there, from, self);
  return pair(from_lane(args[0], from), flag(inside));
}

Value NativeWarps::vote(const Inst& inst, Value truth, Value present) {
  const Value votes = op(Op::and_, ballot(truth), present);
  const Value all = b_.cmp(Op::eq, votes, present), none = b_.cmp(Op::eq, votes, word(0));
  switch (static_cast<VoteMode>(inst.imm)) {
    case VoteMode::all: return flag(all);
    case VoteMode::any: return flag(b_.inst(Op::not_, Type::i1, {none}));
    case VoteMode::uni: return flag(op(Op::or_, all, none));
    case VoteMode::ballot: break;
  }
  return votes;
}

// Members one after the other: each lane's value is compared by all at once.
Value NativeWarps::match(const Inst& inst, Value value, Value present) {
  const bool wide = f_.insts[value].type == Type::i64;
  const Value low = wide ? b_.inst(Op::trunc, Type::i32, {value}) : value;
  const Value high = wide ? b_.inst(Op::high, Type::i32, {value}) : value;
  Value same = word(0);
  for (std::uint32_t l = 0; l < 32; ++l) {
    Value equal = b_.cmp(Op::eq, from_lane(low, word(l)), low);
    if (wide) equal = op(Op::and_, equal, b_.cmp(Op::eq, from_lane(high, word(l)), high));
    same = op(Op::or_, same, b_.select(equal, word(1u << l), word(0)));
  }
  same = op(Op::and_, same, present);
  if (static_cast<MatchMode>(inst.imm) == MatchMode::any) return pair(same, word(0));
  const Value every = b_.cmp(Op::eq, same, present);
  return pair(b_.select(every, same, word(0)), flag(every));
}

// Integers in any order: five exchanges where all 32 lanes are members, each with the identity
// where it is none. The members of a lane's own mask see a sum of that mask only.
Value NativeWarps::reduce(const Inst& inst, Value value, Value present) {
  Op code = Op::add;
  std::uint32_t identity = 0;
  switch (static_cast<AtomicOp>(inst.imm)) {
    case AtomicOp::and_: code = Op::and_, identity = 0xffffffff; break;
    case AtomicOp::or_: code = Op::or_; break;
    case AtomicOp::xor_: code = Op::xor_; break;
    case AtomicOp::umin: code = Op::umin, identity = 0xffffffff; break;
    case AtomicOp::umax: code = Op::umax; break;
    case AtomicOp::smin: code = Op::smin, identity = 0x7fffffff; break;
    case AtomicOp::smax: code = Op::smax, identity = 0x80000000; break;
    default: break;
  }
  Value sum = word(identity);
  for (std::uint32_t l = 0; l < 32; ++l) {
    const Value other = from_lane(value, word(l));
    const Value member = b_.cmp(Op::ne, op(Op::and_, present, word(1u << l)), word(0));
    sum = b_.select(member, op(code, sum, other), sum);
  }
  return sum;
}

void NativeWarps::lower(Value v) {
  const Inst inst = f_.insts[v];
  const std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
  if (inst.op == Op::warp_sync) {
    rewriter_.replace(v, Op::subgroup_barrier, Type::none, {}, 1);
    return;
  }
  b_.inst(Op::subgroup_barrier, Type::none, {}, 0);
  const Value active = ballot(b_.i1(true));
  if (inst.op == Op::warp_active) return rewriter_.replace_by(v, active);
  const Value present = op(Op::and_, active, args.back());
  switch (inst.op) {
    case Op::warp_shfl: return rewriter_.replace_by(v, shuffle(inst, args, present));
    case Op::warp_vote: return rewriter_.replace_by(v, vote(inst, args[0], present));
    case Op::warp_match: return rewriter_.replace_by(v, match(inst, args[0], present));
    case Op::warp_redux: return rewriter_.replace_by(v, reduce(inst, args[0], present));
    default: break;
  }
  const Value lowest = op(Op::and_, present, b_.inst(Op::neg, Type::i32, {present}));
  const Value leader = b_.inst(Op::find_msb, Type::i32, {lowest});
  rewriter_.replace_by(v, pair(leader, flag(b_.cmp(Op::eq, leader, lane()))));
}

}  // namespace

bool native_warps(Function& function) { return NativeWarps(function).run(); }

}  // namespace ptx2spv::passes
