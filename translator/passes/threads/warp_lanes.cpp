#include "translator/passes/threads/warp_lanes.hpp"

#include <vector>

#include "translator/passes/subgroups.hpp"

namespace ptx2spv::passes::warp {

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

std::array<KnownSource, 32> sources(ShflMode mode, std::uint32_t b, std::uint32_t c) {
  std::array<KnownSource, 32> all{};
  const std::uint32_t segment = c >> 8 & 31, rest = ~segment & 31;
  b &= 31;
  for (std::uint32_t self = 0; self < 32; ++self) {
    const std::uint32_t low = self & segment, high = low | (c & rest);
    std::uint32_t from = 0;
    switch (mode) {
      case ShflMode::up: from = self - b; break;
      case ShflMode::down: from = self + b; break;
      case ShflMode::bfly: from = self ^ b; break;
      case ShflMode::idx: from = low | (b & rest); break;
    }
    const bool up = mode == ShflMode::up;
    const bool inside =
        static_cast<std::int32_t>(up ? high : from) <= static_cast<std::int32_t>(up ? from : high);
    all[self] = {inside ? from : self, inside};
  }
  return all;
}

Value Lanes::has(Value mask, Value lane) {
  // Masked, so that the shift needs no comparison.
  const Value bit = b_.op2(Op::lshr, mask, b_.op2(Op::and_, lane, b_.i32(31)));
  return b_.cmp(Op::ne, b_.op2(Op::and_, bit, b_.i32(1)), b_.i32(0));
}

Lanes::Source Lanes::source(ShflMode mode, Value self, Value b, Value c, bool always) {
  b = b_.op2(Op::and_, b, b_.i32(31));
  const Value segment = b_.op2(Op::and_, b_.op2(Op::lshr, c, b_.i32(8)), b_.i32(31));
  const Value rest = b_.inst(Op::not_, Type::i32, {segment});
  const Value low = b_.op2(Op::and_, self, segment);
  const Value high = b_.op2(Op::or_, low, b_.op2(Op::and_, b_.op2(Op::and_, c, b_.i32(31)), rest));
  Value from = 0;
  switch (mode) {
    case ShflMode::up: from = b_.op2(Op::sub, self, b); break;
    case ShflMode::down: from = b_.op2(Op::add, self, b); break;
    case ShflMode::bfly: from = b_.op2(Op::xor_, self, b); break;
    case ShflMode::idx: from = b_.op2(Op::or_, low, b_.op2(Op::and_, b, rest)); break;
  }
  if (always) return {from, b_.i1(true)};
  const bool up = mode == ShflMode::up;
  const Value inside = b_.cmp(Op::sle, up ? high : from, up ? from : high);
  return {b_.inst(Op::select, Type::i32, {inside, from, self}), inside};
}

Value Lanes::shuffled(Value present, Value lane, Value theirs) {
  return b_.select(has(present, lane), theirs, b_.i32(0));
}

Value Lanes::vote(VoteMode mode, Value votes, Value present) {
  const auto all = [&] { return b_.cmp(Op::eq, votes, present); };
  switch (mode) {
    case VoteMode::all: return flag(all());
    case VoteMode::any: return flag(b_.cmp(Op::ne, votes, b_.i32(0)));
    case VoteMode::uni:
      return flag(b_.inst(Op::or_, Type::i1, {all(), b_.cmp(Op::eq, votes, b_.i32(0))}));
    case VoteMode::ballot: break;
  }
  return votes;
}

Value Lanes::match(MatchMode mode, Value same, Value present) {
  if (mode == MatchMode::any) return pair(same, b_.i32(0));
  const Value every = b_.cmp(Op::eq, same, present);
  return pair(b_.inst(Op::select, Type::i32, {every, same, b_.i32(0)}), flag(every));
}

Value Lanes::leader(Value present) { return lowest_lane(b_, present); }

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
