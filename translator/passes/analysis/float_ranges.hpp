// What is known of single-precision values without running them: where neither denormals nor
// overflow can occur, a device's own operations are exact that are not everywhere.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Bounds of a value, each unknown unless set. Zero meets every bound.
struct FloatRange {
  /// The value is a multiple of 2^-grid, an infinity or a NaN.
  std::optional<int> grid;
  /// The value is finite, and its magnitude below 2^top.
  std::optional<int> top;
  /// The value is not below zero.
  bool positive = false;
  /// The magnitude is at least 2^least and finite, or the value is a NaN; zero does not meet this.
  std::optional<int> least = std::nullopt;

  /// No denormal, and no sum with another such value is one.
  bool normal() const { return grid && *grid <= 126; }
  bool finite() const { return top.has_value(); }
  bool zero() const { return top && *top <= -149; }

  /// Of the value, limited to 0 to 1; a NaN becomes 0.
  FloatRange saturated() const {
    return {.grid = grid, .top = 1, .positive = true, .least = std::nullopt};
  }

  static FloatRange constant(std::uint32_t bits);
  static FloatRange integer(int width) { return {.grid = 0, .top = width + 1}; }
  static FloatRange either(const FloatRange& a, const FloatRange& b);
  static FloatRange sum(const FloatRange& a, const FloatRange& b);
  static FloatRange product(const FloatRange& a, const FloatRange& b);
};

/// The bounds of a function's values, in i32 as their bits. Filled by a walk that meets operands
/// before their users; of a phi, known from the start is at most that it is no denormal.
class FloatRanges {
 public:
  explicit FloatRanges(const Function& function) : f_(function) {
    find_shared();
    find_phis();
  }
  FloatRange of(Value v) const;
  void set(Value v, const FloatRange& bounds);
  /// Those of the same function.
  void assign(const FloatRanges& other) { bounds_ = other.bounds_; }
  /// Bounds that follow from the operands': of sums, products, conversions, signs changed as bits,
  /// selections; and of words that come from shared memory.
  void follow(Value v);
  /// Bounds of a sum, a product, both in one, or the lesser or greater of two.
  FloatRange of_operation(const Inst& inst, std::span<const Value> args) const;
  /// The sum of a value of any size and one that is no smaller than 2^-101, as a constant or a
  /// selection of constants: as a device does it that flushes denormals (shaders/f32_fast.glsl),
  /// and what is then known of it.
  std::optional<FloatRange> sum_with_constant(Value a, Value b) const;
  /// Whether a b + c in one rounding comes out the same where the device flushes denormals, because
  /// c is no smaller than 2^-70, as a constant: a denormal factor's product has to be less than
  /// half of what c is rounded to, and a sum that is not 0 is no denormal. Or because a b is a
  /// constant that a denormal c does not round another way.
  bool fma_with_constants(Value a, Value b, Value c) const;
  /// Of that, whether the sign of what rounding left, a b + (c - the result), is what the device's
  /// own operations say of it. It never is below zero where the device says that it is zero.
  bool shows_remainder(Value a, Value b, Value c) const;
  /// The same of any c that is no smaller, because of the factors alone: where one is a denormal,
  /// the other is no larger than 2^31, as what a polynomial is of that one.
  bool are_small(Value a, Value b) const;
  static constexpr int kLeastAddend = -70;
  /// The same of a c that is one of the factors: zero, or so large that a sum that is not 0 is no
  /// denormal. A denormal other factor changes no c but an infinity.
  bool fma_with_factor(Value a, Value b, Value c) const;
  /// The other factor, if c is one, but for the sign.
  std::optional<Value> other_factor(Value a, Value b, Value c) const;
  /// The grid that c then needs.
  static constexpr int kFactorGrid = 78;
  /// The same of any c: product and sum are multiples of the least normal number.
  bool fma_of_normals(Value a, Value b, Value c) const;

 private:
  /// The exponent of a product of constants, if it is no tie and no sum with it is a denormal.
  std::optional<int> constant_product(Value a, Value b) const;
  void find_shared();
  void find_phis();
  void walk() {
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts) follow(v);
  }
  std::span<const Value> words_of(const Value& v) const;
  void follow_conversion(Value v);
  /// x where the value is -x or |x|.
  Value without_sign(Value v) const;
  /// The value's top where `tiny` is a denormal.
  std::optional<int> top_beside(Value v, Value tiny, unsigned& steps) const;
  const Function& f_;
  std::vector<FloatRange> bounds_;
  FloatRange shared_;  ///< of every word that the function stores to shared memory
};

}  // namespace ptx2spv::passes
