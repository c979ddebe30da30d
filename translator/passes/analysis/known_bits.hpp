// Which bits of each value are zero in every execution: alignments of addresses, upper halves of
// products.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

class KnownBits {
 public:
  explicit KnownBits(const Function& function);
  /// Mask of the bits of an integer value that are known to be 0. Bits above the value's width are
  /// set.
  std::uint64_t zeros(Value value) const { return value < zeros_.size() ? zeros_[value] : 0; }
  /// Known power of two that divides the value: 1, 2, 4, ...
  std::uint64_t alignment(Value value) const;
  /// The masks of all values, by value.
  std::vector<std::uint64_t> take() && { return std::move(zeros_); }

 private:
  void iterate(const Function& f, const std::vector<Value>& walk);
  std::uint64_t transfer(const Function& f, Value v) const;
  std::vector<std::uint64_t> zeros_;
};

}  // namespace ptx2spv::passes
