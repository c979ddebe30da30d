// A launch as the dispatches that a device takes.
#pragma once

#include "src/launch/plan.hpp"

namespace ptx2spv::runtime {

/// Cuts a translated launch into dispatches, from its first block on, and finds how much shared and
/// local memory these keep in a buffer.
Status cut_launch(LaunchPlan& plan);

}  // namespace ptx2spv::runtime
