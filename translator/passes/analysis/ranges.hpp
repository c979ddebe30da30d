// Between which bounds values lie.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

/// An unsigned interval.
struct Range {
  std::uint64_t low = 0, high = ~0ull;
  bool single() const { return low == high; }
  bool below(const Range& other) const { return high < other.low; }
};

/// Worked out when asked for, and kept: what is found stays true while passes replace values by
/// equal ones. Needs SSA form.
class Ranges {
 public:
  explicit Ranges(const ir::Function& function) : f_(function) {}
  /// Takes `v` for `start`: what a loop's phi is in the first iteration.
  void assume(ir::Value v, ir::Value start) { ranges_[v] = range(start, 0); }
  /// The value where it can be one only.
  std::optional<std::uint64_t> constant(ir::Value v);
  Range of(ir::Value v) { return range(v, 0); }

 private:
  Range range(ir::Value v, unsigned depth);
  Range compute(const ir::Inst& inst, ir::Value v, unsigned depth, const Range& any);

  const ir::Function& f_;
  std::unordered_map<ir::Value, Range> ranges_;
};

}  // namespace ptx2spv::passes
