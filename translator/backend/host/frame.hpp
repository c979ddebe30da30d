// What compiled code sees of a launch, a block and a warp. Compiled code knows the offsets.
#pragma once

#include <atomic>

#include "translator/backend/host/program.hpp"

namespace ptx2spv::interpreter {

struct Frame {
  Region regions[kSpaces];  ///< by ir::Space; global and local memory have none here
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  const std::uint32_t* ids[3] = {};  ///< by axis: threads' numbers in their block, of whole warps
  std::uint32_t threads = 0;         ///< of a block
  std::uint32_t warps_apart = 0;     ///< bytes of local memory from one warp's to the next
  std::byte* local = nullptr;
  Row* rows = nullptr;                               ///< for operations that Step::masked does
  const std::atomic<std::uint32_t>* stop = nullptr;  ///< not 0: loops end the call
  /// Does a step of the program for the lanes of `mask`, whose operands lie in `rows`.
  void (*step)(Frame*, std::uint32_t step, std::uint32_t mask) = nullptr;
  /// Lets other warps run until the barrier opens; gives its result. The warp's other threads have
  /// ended, or do no more than that.
  std::uint32_t (*meet)(Frame*, std::uint32_t step, std::uint32_t mask, std::uint32_t barrier,
                        std::uint32_t expected, std::uint32_t votes) = nullptr;
  /// Lets other warps run, which this one waits for in a loop.
  void (*yield)(Frame*) = nullptr;
  std::uint64_t zeros[2] = {0, 0};  ///< what reads past the end of a region give
  const Program* program = nullptr;
  Lanes lanes;
  void* owner = nullptr;
};

/// Runs the warps [first_warp, end_warp) of the blocks [first_block, end_block), by their numbers.
/// Not 0: it was stopped.
using Compiled = std::uint32_t (*)(Frame*, std::uint64_t first_block, std::uint64_t end_block,
                                   std::uint32_t first_warp, std::uint32_t end_warp);

}  // namespace ptx2spv::interpreter
