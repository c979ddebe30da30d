// What warp operations compute for one thread, as the manual has it (9.7.9), whoever runs the warp:
// the device's subgroup, or invocations that meet in shared memory.
#pragma once

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes::warp {

/// The operand of a warp operation that holds its members' mask; 0 for activemask.
ir::Value members(const ir::Function& function, ir::Value operation);

/// Whether each warp operation that names members names all 32 lanes, as a constant.
bool names_all_lanes(const ir::Function& function);

/// Writes the operations of a thread at the builder's place.
class Lanes {
 public:
  explicit Lanes(ir::Builder& builder) : b_(builder) {}

  struct Source {
    ir::Value lane;    ///< i32, below 32: whose value a thread gets, its own where out of range
    ir::Value inside;  ///< i1: shfl's predicate
  };
  /// Of lane `self` with shfl's operands b and c (9.7.9.6).
  Source source(ir::ShflMode mode, ir::Value self, ir::Value b, ir::Value c);
  /// What a shuffle gives where lane `lane` has value `theirs`: 0 where mask `present` lacks the
  /// lane, as on an H200 (tests/data/hardware/warps.txt.gz); the manual leaves it open.
  ir::Value shuffled(ir::Value present, ir::Value lane, ir::Value theirs);
  /// i32. `votes`: lanes of `present` whose predicate holds.
  ir::Value vote(ir::VoteMode mode, ir::Value votes, ir::Value present);
  /// v2 of the members' mask and the predicate. `same`: lanes of `present` with the thread's value.
  ir::Value match(ir::MatchMode mode, ir::Value same, ir::Value present);
  /// The lowest lane of `present`.
  ir::Value leader(ir::Value present);

  /// i1: whether the mask has the lane.
  ir::Value has(ir::Value mask, ir::Value lane);
  ir::Value flag(ir::Value condition) { return b_.inst(ir::Op::zext, ir::Type::i32, {condition}); }
  ir::Value pair(ir::Value first, ir::Value second) {
    return b_.inst(ir::Op::compose, ir::Type::v2, {first, second});
  }

 private:
  ir::Builder& b_;
};

/// The operation of a warp_redux and the value that changes nothing.
struct Reduction {
  ir::Op op;
  std::uint32_t identity;
};
Reduction reduction(ir::AtomicOp op);

}  // namespace ptx2spv::passes::warp
