// All blocks of a launch.
#pragma once

#include "ptx2spv/interpreter.hpp"
#include "translator/backend/host/tier.hpp"

namespace ptx2spv::interpreter {

/// How the grid is run: InterpretedKernel::Launch has the meaning of each.
struct GridOptions {
  const char* kernel = "";  ///< its name
  std::uint32_t dynamic_shared = 0;
  unsigned threads = 1;
  double timeout = 0, stall = 2, patience = 0;
  const std::atomic<bool>* stop = nullptr;
  Tier* tier = nullptr;  ///< where machine code comes from; null: nowhere
  /// Seconds of the processor's that the kernel's last launch took for each of its threads; 0
  /// before there was one.
  std::atomic<double>* pace = nullptr;
};

/// The kernel that this thread runs, or null.
const char* running_kernel() noexcept;

/// Runs the grid on so many of the processor's threads.
InterpretedKernel::Ending run_grid(const Program& program, const Launch& launch,
                                   const GridOptions& options);

}  // namespace ptx2spv::interpreter
