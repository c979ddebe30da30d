// Which values have to be checked, so that fused multiply-adds are those of a device whose own
// lose denormals: for checked_fma and checked_loops.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "translator/passes/analysis/float_ranges.hpp"
#include "translator/passes/legalise/shared_words.hpp"

namespace ptx2spv::passes::checked {

class FmaChecks {
 public:
  /// A value that is to be a multiple of 2^-grid: at least that times 2^23.
  struct Check {
    Value value;
    int grid;
    bool stored = false;  ///< a word that was checked where it was stored
  };
  /// Grids of two factors whose product is a multiple of the least normal number, and of a sum.
  static constexpr int kFactor = 63, kSum = 126;
  /// So many operations are followed back.
  static constexpr unsigned kSteps = 4;

  explicit FmaChecks(const Function& function)
      : f_(function), known_(function), kept_(known_), assumed_(known_) {}

  /// An fma to nearest of single precision that keeps denormals.
  bool is_fma(Value v) const;
  /// Whether an fma is the device's own only if checks say so.
  bool rests_on_checks(Value v) const {
    return is_fma(v) && !f_.insts[v].fp.checked && !is_native(known_, f_.args(v));
  }
  /// Has operands checked, so that the fma is the device's own. False where a constant fails.
  bool check_operands(Value v);
  /// Whether an fma is the device's own once its addend, not a constant, is at least 2^-70, which
  /// is then checked: its factors are no larger than 2^31, by what is known or supposed.
  bool check_addend(Value v);
  /// Takes a condition to have come out so, for what is followed next: the sizes of what was
  /// compared, and of what went into it, are within those bounds, or one of them is a NaN.
  void suppose(Value condition, bool holds, unsigned steps = kSteps);
  /// What is supposed of a value: its magnitude is below 2^top, or it may be a NaN.
  struct Bound {
    std::optional<int> top;
    bool nan = false;
  };
  Bound supposed(Value v) const;
  void suppose(Value v, const Bound& bound);
  bool has_grid(Value v, int grid) const;
  void require(Value v, int grid);
  /// Words that are checked where they are stored, for good; null: none.
  void set_words(const SharedWords* words) { words_ = words; }
  /// Takes the value to have the grid; the caller sees to it.
  void assume(Value v, int grid);

  /// What follows from the operands whatever happens.
  void know(Value v) {
    known_.follow(v);
    kept_.follow(v);
  }
  /// What holds for good unless a check failed and says otherwise: the value is a multiple of the
  /// least normal number.
  void keep(Value v) {
    kept_.set(v, {.grid = kSum, .top = kept_.of(v).top});
    assumed_.set(v, kept_.of(v));
  }
  bool is_kept(Value v) const { return kept_.of(v).normal(); }
  bool is_known(Value v) const { return known_.of(v).normal(); }
  /// Whether what was followed since the last forget() rests on what was kept.
  bool relies() const { return relies_; }
  /// And if no check fails, until forget().
  void follow(Value v);
  /// The same once all checks are there: one that follows from the others goes.
  void drop_implied(Value v);
  void forget();
  /// As that one is, of the same function.
  void start_anew(const FmaChecks& other) {
    known_.assign(other.known_), kept_.assign(other.kept_), assumed_.assign(other.assumed_);
  }
  std::span<const Check> checks() const { return checks_; }

 private:
  static bool is_native(const FloatRanges& ranges, std::span<const Value> args) {
    return ranges.fma_of_normals(args[0], args[1], args[2]) ||
           ranges.fma_with_constants(args[0], args[1], args[2]) ||
           ranges.fma_with_factor(args[0], args[1], args[2]);
  }

  bool is_plain(Value v, Op op) const;
  bool is_square(Value v) const;
  bool is_positive(Value v, unsigned steps = kSteps) const;
  void limit(Value v, int top);
  void bound(Value v, const Bound& bound, unsigned steps = kSteps);
  bool spreads(Value v, Value nan, unsigned steps = kSteps) const;

  void note_operands(Value v);

  const Function& f_;
  FloatRanges known_, kept_, assumed_;
  bool relies_ = false;
  std::vector<Value> bounded_;  ///< what may be a NaN instead of within a supposed bound
  std::vector<Check> checks_;
  const SharedWords* words_ = nullptr;
  std::vector<Value> touched_;  ///< of assumed_
};

/// Whether the value is less than the least magnitude with the grid, as zeros are.
Value is_less(Builder& b, Value v, int grid);
/// Whether it is less, but not zero.
Value is_tiny(Builder& b, Value v, int grid);
/// Whether its magnitude is below that power of two, as that of no infinity or NaN is.
Value is_below(Builder& b, Value v, int power);

}  // namespace ptx2spv::passes::checked
