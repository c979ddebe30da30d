// One condition for several faults.
#pragma once

#include <cstdint>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Holds where none of some faults is, and may fail to where none is, too: of a fault that needs a
/// coordinate out of range, the coordinate is looked at alone, and of coordinates that differ by
/// constants, the outermost two.
class FaultTest {
 public:
  explicit FaultTest(const Function& function) : f_(function) {}
  /// Adds the fault that is where `condition` holds, or does not hold if `inverted`.
  void add(Value condition, bool inverted);
  /// Comparisons and other truths that the test is made of.
  std::size_t terms() const;
  /// i1, made of values that the faults are made of, where `b` stands.
  Value make(Builder& b) const;

 private:
  /// base * factor + offset, modulo 2^32.
  struct Linear {
    Value base = 0;
    std::uint32_t factor = 1, offset = 0;
  };
  /// `low` and `high` are below `limit`, unsigned, and what lies between them is, too.
  struct Range {
    Value low = 0, high = 0, limit = 0;
    Linear at;  ///< of low
    std::uint32_t span = 0;
  };
  struct Truth {
    Value value = 0;
    bool inverted = false;
    bool operator==(const Truth&) const = default;
  };
  /// All that holds where there is no fault.
  struct Facts {
    std::vector<Range> ranges;
    std::vector<Truth> truths;
  };

  Linear linear(Value value) const;
  Facts facts(Value condition, bool inverted, unsigned& budget) const;
  void add(const Range& range);

  const Function& f_;
  Facts all_;
};

}  // namespace ptx2spv::passes
