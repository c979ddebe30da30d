// Which features and extensions the runtime wants enabled, and which a device was created with.
#pragma once

#include <string>

#include "ptx2spv/vulkan.hpp"
#include "src/device/device.hpp"
#include "src/device/features.hpp"

namespace ptx2spv::runtime {

/// Fills `chain` with what `physical` has of what modules, copies and the runtime use.
void query_needs(const Instance& instance, VkPhysicalDevice physical, FeatureChain& chain);

/// Sets in `chain` the features that a device was created with, in whichever structs those are.
void read_created(const VkDeviceCreateInfo& created, FeatureChain& chain);

/// What a device lacks that was created so: "shaderInt64 (or disable 'int64'), ..."; empty:
/// nothing. What a capability stands for that `profile` does not have is not asked for.
std::string missing_needs(const VkDeviceCreateInfo& created, FeatureChain& needs,
                          const Profile& profile);

}  // namespace ptx2spv::runtime
