// Between which bounds values lie.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// An unsigned interval.
struct Range {
  std::uint64_t low = 0, high = ~0ull;
  bool single() const { return low == high; }
  bool below(const Range& other) const { return high < other.low; }
};

/// Ranges by value: a table of numbers, which grows, and what they number.
class RangeTable {
 public:
  /// What was put in for `v`; null for nothing. Good until the next put().
  const Range* find(Value v) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(v)];
    return slot.number ? &ranges_[slot.number - 1] : nullptr;
  }
  void put(Value v, const Range& range);

 private:
  struct Slot {
    Value value = 0;
    std::uint32_t number = 0;  ///< place in ranges_ plus 1; 0: empty
  };
  /// Where `v` is, or where it would be.
  std::size_t place(Value v) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = v * std::size_t{0x9e3779b1u} >> 7 & mask;
    while (slots_[at].number != 0 && slots_[at].value != v) at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;  ///< a power of two of them, half of them empty at least
  std::vector<Range> ranges_;
};

/// Worked out when asked for, and kept: what is found stays true while passes replace values by
/// equal ones. Needs SSA form.
class Ranges {
 public:
  explicit Ranges(const Function& function) : f_(function) {}
  /// Takes `v` for `start`: what a loop's phi is in the first iteration.
  void assume(Value v, Value start) { ranges_.put(v, range(start, 0)); }
  /// The value where it can be one only.
  std::optional<std::uint64_t> constant(Value v);
  Range of(Value v) { return range(v, 0); }

 private:
  Range range(Value v, unsigned depth);
  Range compute(const Inst& inst, Value v, unsigned depth, const Range& any);

  const Function& f_;
  RangeTable ranges_;
};

}  // namespace ptx2spv::passes
