// Which executor begins a launch, and when the other takes over. Nothing else knows of tiers: where
// a driver compiles for long, the host runs the kernel at once, until that has cost as much as
// compiling would; the device then runs the rest of that launch, and later ones.
#pragma once

#include "src/executor/executor.hpp"

namespace ptx2spv::runtime {

/// Prepares the launch by the executor whose turn it is.
Result<LaunchPlan> choose_plan(const Facts& facts);

/// Submits it, and what one executor leaves to the other: the queue's value when all is over. The
/// caller holds the stream's lock.
Result<std::uint64_t> submit_plan(StreamState& stream, LaunchPlan&& plan,
                                  const std::shared_ptr<Outcome>& outcome);

/// Whether modules of the kernel have to serve the rest of a grid, and grids of all sizes, because
/// they take long to compile.
bool serves_parts(const KernelState& kernel);

}  // namespace ptx2spv::runtime
