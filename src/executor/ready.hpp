// Plans of the Vulkan executor that launches like an earlier one take as they are.
#pragma once

#include <optional>

#include "src/launch/plan.hpp"

namespace ptx2spv::runtime {

/// What a plan depends on beside the launch and what its arguments name.
struct ReadyTerms {
  FilterPolicy filter = FilterPolicy::exact;
  std::uint32_t texture_features = 0;  ///< DeviceState::texture_features
  std::uint64_t table_changes = 0;     ///< where handles out of memory name textures
  bool operator==(const ReadyTerms&) const = default;
};

/// What all launches of a kernel have alike that are of one shape and name the same surfaces and
/// textures, none of which wants to move.
struct ReadyPlan {
  std::vector<std::uint64_t> surfaces, textures;  ///< their handles
  std::vector<std::weak_ptr<const void>> table;   ///< the textures that others may name
  ReadyTerms terms;
  LaunchConfig config;
  FpPolicy fp = FpPolicy::exact;
  LaunchPlan plan;  ///< without facts, what it keeps and parameters, but with the slots' records
  bool is_bare = false;       ///< no array has a say
  bool needs_memory = false;  ///< of all arrays: handles out of memory name them
};

/// The plan for a launch, compiled; nothing where no earlier one fits.
std::optional<LaunchPlan> ready_plan(const Facts& facts);
/// Keeps a compiled plan for later launches, whose slots are still there.
void keep_ready(const LaunchPlan& plan);

}  // namespace ptx2spv::runtime
