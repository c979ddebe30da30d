// Which values of single precision a device that flushes denormals has to check, so that its own
// operations on them are exact: for checked_loops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ptx2spv/profile.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes::checked {

inline constexpr std::uint32_t kNone = 0xffffffffu;

/// What a check makes certain of a value that is not zero.
struct Bounds {
  int low;            ///< magnitude of at least 2^low
  std::uint32_t top;  ///< and at most this number, as bits
};
/// Of operands of sums and products: those of products are at least 2^-102, so that their sums are
/// zero or normal. Infinities and NaN are numbers here: an operation whose result is looked at
/// selects NVIDIA's NaN after it anyway.
inline constexpr Bounds kPlain{-51, 0x7fffffff};
/// Of fma, quotients and roots: the product and its parts are multiples of 2^-126, nothing
/// overflows (2^62).
inline constexpr Bounds kNarrow{-40, 0x5e800000};

/// Instructions of a check.
inline constexpr unsigned kCheck = 8;
/// Instructions that an exact operation takes beyond the device's own.
unsigned saved_by(Op op);
inline bool is_comparison(Op op) { return op == Op::feq || op == Op::flt || op == Op::fle; }

/// Bounds of values, from checks, and from operations whose operands have bounds. Nothing is known
/// at first, and again after forget().
class FloatChecks {
 public:
  FloatChecks(Function& function, const Profile& profile)
      : f_(function), p_(profile), facts_(function.insts.size()) {}

  /// Whether the device does the operation itself once its operands are what checks say.
  bool takes_part(const Inst& inst) const;
  /// Works out what follows for the value from its operands, and has them checked where that is
  /// not enough; of a sum the operand number `preferred` first. False where no check can help.
  bool follow(Value v, unsigned preferred = 0);
  /// Has the value checked; false for a constant that would fail.
  bool ground(Value v, const Bounds& bounds);
  /// Which operand of a sum is a constant so large that no denormal changes it: with any other
  /// operand it is the device's own (FloatRanges::sum_with_constant). None where there is none.
  std::optional<unsigned> large_constant(Value v) const;
  /// Takes the value to be within the bounds; the caller sees to it.
  void assume(Value v, const Bounds& bounds) { learn(v, bounds.low); }

  bool knows(Value v, const Bounds& bounds) const { return low(v) >= bounds.low; }
  bool is_unknown(Value v) const { return low(v) == kUnknown; }
  /// Whether the value is checked, by the narrow bounds or by either.
  bool is_narrow(Value v) const { return facts_[v].level == 2; }
  bool is_checked(Value v) const { return facts_[v].level != 0; }
  std::span<const Value> checks() const { return grounds_; }
  /// Operations that can be the device's own.
  std::span<const Value> native() const { return native_; }
  void forget();

 private:
  /// What is known of a value that is no denormal: unless it is zero, its magnitude is at least
  /// 2^low. A zero alone meets every bound. It is a multiple of 2^grid.
  struct Facts {
    int low = kUnknown, grid = kUnknown;
    std::uint8_t level = 0;  ///< checked: 1 plain, 2 narrow
  };
  static constexpr int kUnknown = -1000, kNormal = -126, kZero = 1000;

  int low(Value v) const;
  int grid(Value v) const;
  int least(std::span<const Value> values) const;
  void learn(Value v, int low, int grid = kUnknown);
  void follow_other(Value v);
  bool follow_product(Value v);
  bool follow_sum(Value v, unsigned preferred);

  Function& f_;
  const Profile& p_;
  std::vector<Facts> facts_;  ///< by value
  std::vector<Value> grounds_, native_, learnt_;
};

/// A word that is below zero where the value is neither zero nor within the bounds.
Value failure(Builder& b, Value v, const Bounds& bounds);

}  // namespace ptx2spv::passes::checked
