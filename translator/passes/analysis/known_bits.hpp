// Which bits of each value are zero in every execution: alignments of addresses, upper halves of
// products.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

class KnownBits {
 public:
  explicit KnownBits(const ir::Function& function);
  /// Mask of the bits of an integer value that are known to be 0. Bits above the value's width are
  /// set.
  std::uint64_t zeros(ir::Value value) const { return value < zeros_.size() ? zeros_[value] : 0; }
  /// Known power of two that divides the value: 1, 2, 4, ...
  std::uint64_t alignment(ir::Value value) const;
  /// The masks of all values, by value.
  std::vector<std::uint64_t> take() && { return std::move(zeros_); }

 private:
  void iterate(const ir::Function& f, const std::vector<ir::Value>& walk);
  std::uint64_t transfer(const ir::Function& f, ir::Value v) const;
  std::vector<std::uint64_t> zeros_;
};

}  // namespace ptx2spv::passes
