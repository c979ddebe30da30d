// What compiled code sees of a launch, a block and a warp. Compiled code knows the offsets.
#pragma once

#include <atomic>

#include "translator/backend/host/program.hpp"

namespace ptx2spv::interpreter {

/// A warp of a block whose warps take turns. Where one has to wait, it saves what it needs later,
/// and its turn ends.
struct Turn {
  std::uint32_t goes_on = 1;  ///< 0: it waits, or is over
  std::uint32_t from = 0;     ///< where: 0 at the beginning, else behind the stop of that number
  // How the last turn ended.
  std::uint32_t lanes = 0, came = 0;  ///< that came to a stop, by bits and in number
  std::uint32_t step = 0;             ///< the barrier or yield, where any came to one
  std::uint32_t barrier = 0, expected = 0, votes = 0;
  std::uint32_t result = 0;  ///< of the barrier that has opened
  // Of who lets them run.
  std::uint32_t live = 0;  ///< threads that have not ended
  bool waits = false, over = false;
};

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
  Turn* turns = nullptr;            ///< by warp, where they take turns
  std::byte* saved = nullptr;       ///< what they need later
  std::uint32_t saved_apart = 0;    ///< bytes from one warp's to the next
  std::uint64_t zeros[2] = {0, 0};  ///< what reads past the end of a region give
  const Program* program = nullptr;
  Lanes lanes;
  void* owner = nullptr;
};

/// Runs the warps [first_warp, end_warp) of the blocks [first_block, end_block), by their numbers;
/// where they take turns, a turn of each that goes on, of one block, and more as long as all of
/// them meet at one barrier. Gives the bytes that a warp
/// saves between turns, or kStopped.
using Compiled = std::uint32_t (*)(Frame*, std::uint64_t first_block, std::uint64_t end_block,
                                   std::uint32_t first_warp, std::uint32_t end_warp);

inline constexpr std::uint32_t kStopped = ~0u;

}  // namespace ptx2spv::interpreter
