// Plans of the Vulkan executor that launches like an earlier one take as they are.
#pragma once

#include <optional>

#include "src/launch/plan.hpp"

namespace ptx2spv::runtime {

/// What all launches of a kernel have alike that are of one shape and name the same surfaces, none
/// of which wants to move.
struct ReadyPlan {
  std::vector<std::uint64_t> handles;  ///< of the surfaces
  LaunchConfig config;
  FpPolicy fp = FpPolicy::exact;
  LaunchPlan plan;  ///< without facts, what it keeps and parameters, but with the slots' records
};

/// The plan for a launch, compiled; nothing where no earlier one fits.
std::optional<LaunchPlan> ready_plan(const Facts& facts);
/// Keeps a compiled plan for later launches, whose slots are still there.
void keep_ready(const LaunchPlan& plan);

}  // namespace ptx2spv::runtime
