// Lanes of a subgroup that want one word, for atomics that they make as one. The device has
// subgroup_partition and maximal_reconvergence.
#pragma once

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// The lanes come one after the other by their numbers. Each works out what it finds, and the last
/// one leads: it reads the word and writes what they make of it.
struct LaneGroup {
  Value lanes = 0, below = 0;  ///< all of them, and those that come before this one
  Value first = 0, leads = 0;  ///< i1: whether this one is the first, the last
  Value before = 0, last = 0;  ///< numbers: of the one before this, of the last one
};

/// Writes what groups have in common. Registers are variables.
class LaneGroups {
 public:
  explicit LaneGroups(Builder& builder) : b_(builder) {}

  /// What another lane has, i32 or i64.
  Value from_lane(Value value, Value lane);
  /// The lanes that have the same.
  Value sharing(Value value);
  LaneGroup of(Value lanes);
  /// Sets the variable to what this lane finds, where the first one finds `now`; next(found) is
  /// what this one leaves.
  template <typename Next>
  void find(const LaneGroup& group, Value now, Next&& next, std::uint32_t v_old) {
    // Each time what one more lane finds is settled.
    const std::uint32_t v_open = variable("group.open");
    const BlockId ask = b_.new_block(), pass = b_.new_block(), settled = b_.new_block();
    b_.set(v_old, now);
    b_.set(v_open, but_lowest(group.lanes));
    b_.br(ask);
    b_.at(ask);
    const Value open = b_.get(v_open);
    b_.cond_br(b_.cmp(Op::eq, open, b_.i32(0)), settled, pass);
    b_.at(pass);
    const Value theirs = from_lane(next(b_.get(v_old)), group.before);
    b_.set(v_old, b_.select(group.first, now, theirs));
    b_.set(v_open, but_lowest(open));
    b_.br(ask);
    b_.at(settled);
  }

  /// A number below `count` by the clock. The device has shader_clock.
  Value draw(Value count);
  /// The variable for wait_at_random.
  std::uint32_t first_wait();
  /// Fewer ticks of the clock than the variable says, and twice as many the next time: else warps
  /// that want one word disturb each other more than they get done. The device has shader_clock.
  void wait_at_random(std::uint32_t v_span);

 private:
  std::uint32_t variable(const char* name);
  Value but_lowest(Value mask);

  Builder& b_;
};

}  // namespace ptx2spv::passes
