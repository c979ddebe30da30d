// What a translation may become, whatever its text asks for: a bound on time and memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "translator/ir/ir.hpp"

namespace ptx2spv {

/// The size that functions reach, for the kernels of one translation. Memory
/// goes with a kernel's instructions, 250 bytes each where most is taken. Time goes with the
/// instructions and blocks of all kernels; a block costs as much as two dozen instructions, because
/// passes search and order the graph.
class Growth {
 public:
  /// `text_bytes`: of the module.
  explicit Growth(std::size_t text_bytes) : left_(kWork + kWorkOfByte * text_bytes) {}

  /// Lets no pass make more of `function` than fits.
  void limit(ir::Function& function) const {
    function.most_insts = kInstructions + 1;
    function.most_blocks = left_ / kWorkOfBlock + 1;
  }
  /// Whether the kernel that has come to `function` may go on.
  bool fits(const ir::Function& function) {
    instructions_ = function.insts.size();
    const std::size_t work = instructions_ + kWorkOfBlock * function.blocks.size();
    work_ = std::max(work_, work);
    return instructions_ <= kInstructions && work <= left_;
  }
  /// Why the last one did not.
  std::string refusal() const {
    if (instructions_ > kInstructions)
      return fmt::format("its instructions expand to more than {} simple ones: divide it",
                         kInstructions);
    if (!before_)
      return "its instructions expand to more than a module of this size may have: divide it";
    return "its instructions and those of the kernels before it expand to more than a module of "
           "this size may have: divide the module, or translate its kernels one by one";
  }
  /// Counts the kernel and begins the next one.
  void next_kernel() {
    left_ -= std::min(left_, work_);
    instructions_ = work_ = 0;
    before_ = true;
  }

 private:
  static constexpr std::size_t kInstructions = 3'500'000;
  static constexpr std::size_t kWork = 5'000'000, kWorkOfByte = 3, kWorkOfBlock = 24;

  std::size_t left_, instructions_ = 0, work_ = 0;
  bool before_ = false;  ///< there was another kernel
};

}  // namespace ptx2spv
