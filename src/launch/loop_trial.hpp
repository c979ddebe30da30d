// Whether a launch's loops may exceed what the driver carries out (Profile::max_loop_iterations).
// The interpreter counts: it runs the first blocks of a launch whose size no earlier one had, and
// all blocks where their loops make many iterations. Blocks are taken to be alike; where one is
// not, the driver cuts its loop off, and the launch ends with a trap.
#pragma once

#include "src/launch/plan.hpp"

namespace ptx2spv::runtime {

/// Whether the launch, planned for the device, has to be tried so.
bool tries_loops(KernelState& kernel, const LaunchConfig& config, const LaunchPlan& plan);
/// Iterations of a warp that are too many for the device. 0: it has no limit.
std::uint64_t many_iterations(const KernelState& kernel, std::uint32_t threads_per_invocation);
/// Makes the interpreter's plan of it a trial.
void begin_trial(const KernelState& kernel, const LaunchConfig& config, const LaunchPlan& device,
                 LaunchPlan& plan);
/// Remembers a trial whose loops made so many iterations.
void end_trial(const LaunchPlan& plan, std::uint64_t iterations);

}  // namespace ptx2spv::runtime
