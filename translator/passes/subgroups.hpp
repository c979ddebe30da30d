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

}  // namespace ptx2spv::passes
