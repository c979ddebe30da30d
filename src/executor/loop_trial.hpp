// Whether a launch's loops may exceed what the driver carries out (Profile::max_loop_iterations).
// The host counts: it runs the first blocks of a launch whose size no earlier one had, and
// all blocks where their loops make many iterations. Blocks are taken to be alike; where one is
// not, the driver cuts its loop off, and the launch ends with a trap.
#pragma once

#include "src/launch/plan.hpp"

namespace ptx2spv::runtime {

/// Whether a launch that is planned for the device has to be tried so.
bool tries_loops(const LaunchPlan& device);
/// Iterations of a warp that are too many for the device. 0: it has no limit.
std::uint64_t many_iterations(const KernelState& kernel, std::uint32_t threads_per_invocation);
/// Makes the host's plan of it a trial.
void begin_trial(const LaunchPlan& device, LaunchPlan& host);
/// Remembers the size of a launch whose loops made few iterations.
void end_trial(const LaunchFacts& facts);

}  // namespace ptx2spv::runtime
