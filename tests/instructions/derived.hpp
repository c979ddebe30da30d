// Instructions that no record of hardware holds, with what they have to give, worked out here: from
// the manual's words and the CPU's own arithmetic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/instructions/words.hpp"

namespace ptx2spv::tests {

/// Is given what all threads were given and left; empty where that is right.
using WordsCheck = std::function<std::string(const Words& in, const Words& out)>;

struct Derived {
  std::string name;  ///< letters, digits and _
  WordsKernel kernel;
  Words in;
  WordsCheck check;
};

/// Every thread's results out of its own operands.
WordsCheck each_thread(const WordsKernel& kernel,
                       std::function<void(const std::uint32_t* in, std::uint32_t* out)> right);
/// All results at once.
WordsCheck all_threads(std::function<Words(const Words& in)> right);

/// Floats of every size, zeros and infinities; NaN too where asked for.
Words some_floats(std::size_t count, bool nan);

std::vector<Derived> packed_rows();      ///< two floats in 64 bits, mixed precision, three operands
std::vector<Derived> conversion_rows();  ///< those that one architecture alone has
std::vector<Derived> warp_rows();        ///< votes, shuffles, reductions
std::vector<Derived> control_rows();     ///< hints and what ends or delays a thread; the stack
std::vector<Derived> approximate_rows();  ///< within the manual's bounds
std::vector<Derived> language_rows();     ///< constant expressions, masks, sums as operands
std::vector<Derived> async_rows();        ///< asynchronous copies, mbarrier objects
std::vector<Derived> derived_rows();      ///< all of them

}  // namespace ptx2spv::tests
