#include "translator/passes/threads/warp_lanes.hpp"

#include <vector>

#include "translator/ir/evaluate.hpp"

namespace ptx2spv::passes::warp {

using namespace ir;

Value members(const Function& function, Value operation) {
  const auto args = function.args(operation);
  return args.empty() ? 0 : args.back();
}

bool names_all_lanes(const Function& function) {
  const auto all = [&](Value v) {
    const Inst& inst = function.insts[v];
    return inst.op == Op::constant && static_cast<std::uint32_t>(inst.imm) == ~0u;
  };
  // By register: it is set to nothing else.
  std::vector<bool> full(function.vars.size(), true);
  for (const Block& block : function.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = function.insts[v];
      if (inst.op == Op::set_var && !all(function.arg(v, 0))) full[inst.imm] = false;
    }
  for (const Block& block : function.blocks)
    for (const Value v : block.insts) {
      if (!is_warp_operation(function.insts[v].op)) continue;
      const Value mask = members(function, v);
      if (!mask || all(mask)) continue;
      const Inst& inst = function.insts[mask];
      if (inst.op != Op::get_var || !full[inst.imm]) return false;
    }
  return true;
}

Value Lanes::op(Op code, Type type, std::initializer_list<Value> args) {
  const Function& f = b_.function();
  std::vector<Bits> bits;
  Type from = type;
  for (const Value a : args) {
    if (!known(a)) return b_.inst(code, type, args);
    bits.push_back(Bits{{static_cast<std::uint32_t>(f.insts[a].imm), 0, 0, 0}});
    if (bits.size() == 1) from = f.insts[a].type;
  }
  Inst pure;
  pure.op = code;
  pure.type = type;
  const auto result = evaluate(pure, from, bits);
  if (!result) return b_.inst(code, type, args);
  return type == Type::i1 ? b_.i1(result->w[0] != 0) : b_.i32(result->w[0]);
}

Value Lanes::has(Value mask, Value lane) {
  return cmp(Op::ne, op2(Op::and_, op2(Op::lshr, mask, lane), word(1)), word(0));
}

Lanes::Source Lanes::source(ShflMode mode, Value self, Value b, Value c) {
  b = op2(Op::and_, b, word(31));
  const Value segment = op2(Op::and_, op2(Op::lshr, c, word(8)), word(31));
  const Value rest = op(Op::not_, Type::i32, {segment});
  const Value low = op2(Op::and_, self, segment);
  const Value high = op2(Op::or_, low, op2(Op::and_, op2(Op::and_, c, word(31)), rest));
  Value from = 0;
  switch (mode) {
    case ShflMode::up: from = op2(Op::sub, self, b); break;
    case ShflMode::down: from = op2(Op::add, self, b); break;
    case ShflMode::bfly: from = op2(Op::xor_, self, b); break;
    case ShflMode::idx: from = op2(Op::or_, low, op2(Op::and_, b, rest)); break;
  }
  const bool up = mode == ShflMode::up;
  const Value inside = cmp(Op::sle, up ? high : from, up ? from : high);
  return {op(Op::select, Type::i32, {inside, from, self}), inside};
}

Value Lanes::shuffled(Value present, Value lane, Value theirs) {
  const Value there = has(present, lane);
  if (known(there)) return constant(there) ? theirs : word(0);
  return b_.select(there, theirs, word(0));
}

Value Lanes::vote(VoteMode mode, Value votes, Value present) {
  const auto all = [&] { return cmp(Op::eq, votes, present); };
  switch (mode) {
    case VoteMode::all: return flag(all());
    case VoteMode::any: return flag(cmp(Op::ne, votes, word(0)));
    case VoteMode::uni: return flag(op(Op::or_, Type::i1, {all(), cmp(Op::eq, votes, word(0))}));
    case VoteMode::ballot: break;
  }
  return votes;
}

Value Lanes::match(MatchMode mode, Value same, Value present) {
  if (mode == MatchMode::any) return pair(same, word(0));
  const Value every = cmp(Op::eq, same, present);
  return pair(op(Op::select, Type::i32, {every, same, word(0)}), flag(every));
}

Value Lanes::leader(Value present) {
  const Value lowest = op2(Op::and_, present, op(Op::neg, Type::i32, {present}));
  return op(Op::find_msb, Type::i32, {lowest});
}

Reduction reduction(AtomicOp op) {
  switch (op) {
    case AtomicOp::and_: return {Op::and_, 0xffffffff};
    case AtomicOp::or_: return {Op::or_, 0};
    case AtomicOp::xor_: return {Op::xor_, 0};
    case AtomicOp::umin: return {Op::umin, 0xffffffff};
    case AtomicOp::umax: return {Op::umax, 0};
    case AtomicOp::smin: return {Op::smin, 0x7fffffff};
    case AtomicOp::smax: return {Op::smax, 0x80000000};
    default: return {Op::add, 0};
  }
}

}  // namespace ptx2spv::passes::warp
