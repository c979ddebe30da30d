// The manifests by which the Vulkan loader finds drivers.
#pragma once

#include <string>
#include <vector>

namespace ptx2spv::tools {

/// A line for each manifest that the loader would read and that is no manifest of a driver: the
/// loader passes over it without a word, and some releases over others too.
std::vector<std::string> damaged_driver_manifests();

}  // namespace ptx2spv::tools
