// What warp operations compute for one thread, as the manual has it (9.7.9), whoever runs the warp:
// the device's subgroup, or invocations that meet in shared memory.
#pragma once

#include <array>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes::warp {

/// The operand of a warp operation that holds its members' mask; 0 for activemask.
Value members(const Function& function, Value operation);

/// Whether each warp operation that names members names all 32 lanes, as a constant.
bool names_all_lanes(const Function& function);

/// What Lanes::source gives with constant operands, by lane.
struct KnownSource {
  std::uint32_t lane;
  bool inside;
};
std::array<KnownSource, 32> sources(ShflMode mode, std::uint32_t b, std::uint32_t c);

/// Writes the operations of a thread at the builder's place.
class Lanes {
 public:
  explicit Lanes(Builder& builder) : b_(builder) {}

  struct Source {
    Value lane;    ///< i32, below 32: whose value a thread gets, its own where out of range
    Value inside;  ///< i1: shfl's predicate
  };
  /// Of lane `self` with shfl's operands b and c (9.7.9.6). `always`: none is out of range.
  Source source(ShflMode mode, Value self, Value b, Value c, bool always = false);
  /// What a shuffle gives where lane `lane` has value `theirs`: 0 where mask `present` lacks the
  /// lane, as on an H200 (tests/data/hardware/warps.txt.gz); the manual leaves it open.
  Value shuffled(Value present, Value lane, Value theirs);
  /// i32. `votes`: lanes of `present` whose predicate holds.
  Value vote(VoteMode mode, Value votes, Value present);
  /// v2 of the members' mask and the predicate. `same`: lanes of `present` with the thread's value.
  Value match(MatchMode mode, Value same, Value present);
  /// The lowest lane of `present`.
  Value leader(Value present);

  /// i1: whether the mask has the lane.
  Value has(Value mask, Value lane);
  Value flag(Value condition) { return b_.inst(Op::zext, Type::i32, {condition}); }
  Value pair(Value first, Value second) { return b_.inst(Op::compose, Type::v2, {first, second}); }

 private:
  Builder& b_;
};

/// The operation of a warp_redux and the value that changes nothing.
struct Reduction {
  Op op;
  std::uint32_t identity;
};
Reduction reduction(AtomicOp op);

}  // namespace ptx2spv::passes::warp
