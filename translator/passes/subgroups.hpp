// What passes that write subgroup operations have in common.
#pragma once

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// The imm of subgroup operations that some lanes may come by without the others; else 0.
inline constexpr std::uint64_t kLanesApart = 1;

/// The lowest lane of a mask that has one.
inline Value lowest_lane(Builder& b, Value mask) {
  const Value lowest = b.op2(Op::and_, mask, b.inst(Op::neg, Type::i32, {mask}));
  return b.inst(Op::find_msb, Type::i32, {lowest});
}

/// Ticks of the clock of that scope, which the device has, the low word.
inline Value ticks_of(Builder& b, ClockScope scope) {
  const Value ticks = b.inst(Op::read_clock, Type::v2, {}, static_cast<std::uint64_t>(scope));
  return b.inst(Op::extract, Type::i32, {ticks}, 0);
}
inline Value subgroup_ticks(Builder& b) { return ticks_of(b, ClockScope::subgroup); }

/// A loop until so many ticks have gone by since `start`. Registers are variables.
inline void wait_by_ticks(Builder& b, Value start, Value ticks) {
  const BlockId wait = b.new_block(), done = b.new_block();
  b.br(wait);
  b.at(wait);
  b.cond_br(b.cmp(Op::ult, b.op2(Op::sub, subgroup_ticks(b), start), ticks), wait, done);
  b.at(done);
}

}  // namespace ptx2spv::passes
