// Words of shared memory that are checked where they are stored, so that what takes them again and
// again need not check them: for checked_fma.
#pragma once

#include <vector>

#include "translator/passes/analysis/float_ranges.hpp"

namespace ptx2spv::passes::checked {

/// A word of the workgroup's own says whether a thread stored one that is neither zero nor at least
/// 2^-40. It never is cleared: who finds it clear behind a barrier has found no such word.
class SharedWords {
 public:
  /// What a word is a multiple of, 2^-63, unless the workgroup's own word says otherwise.
  static constexpr int kGrid = 63;

  /// `most_bytes`: shared memory that a workgroup may have.
  SharedWords(Function& function, std::uint32_t most_bytes);
  /// Whether the value is loaded from there, and is to be what was stored. None are if the function
  /// uses words as integers, parts of words, or atomics.
  bool has(Value v) const { return v < loaded_.size() && loaded_[v]; }
  /// How many words stores have that need a check.
  std::size_t to_check() const { return to_check_; }
  /// Checks what is stored, from the function's entry on.
  void check_stores();
  /// Whether a word failed.
  Value failed(Builder& b) const;

 private:
  static constexpr MemAttr kWord{.space = Space::shared, .bytes = 4};

  bool find();
  bool are_numbers() const;
  bool is_access(Value v) const {
    return ir::is_access(f_.insts[v].op) && f_.insts[v].mem.space == Space::shared;
  }
  Value flag(Builder& b) const { return b.i32(f_.shared_bytes - 8); }

  Function& f_;
  FloatRanges ranges_;  ///< if no word fails
  std::vector<bool> loaded_;
  std::size_t to_check_ = 0;
};

}  // namespace ptx2spv::passes::checked
