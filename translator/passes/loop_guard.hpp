// What passes share of loops that a driver may end (passes/workarounds/detect_loop_cutoff.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// For drivers that silently end loops after a number of iterations of all of a thread's loops
/// together. Each loop has a word of local memory. A thread writes the loop's number there before
/// it enters, and 0 inside the loop, on the path to an exit. A driver that cuts a loop off takes
/// none of these paths: at the end of a thread that was cut off, some word is not 0.
struct LoopGuard {
  bool on = false;
  std::uint32_t first_word = 0;        ///< byte offset in local memory
  std::uint32_t first_number = 1;      ///< of the first loop
  std::vector<std::uint32_t> headers;  ///< by block: the location of the loop that it is header of
  std::vector<std::uint32_t> loops;    ///< in the order of their numbers: locations
  BlockId check = kNoBlock;            ///< the end: gets what sets `found` to the largest word
  std::uint32_t found = 0;
};

}  // namespace ptx2spv::passes
