// The chain of feature structs that is both queried and, masked, enabled.
#pragma once

#include <vector>

#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

struct FeatureChain {
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceShaderImageAtomicInt64FeaturesEXT image_atomic64{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_IMAGE_ATOMIC_INT64_FEATURES_EXT};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceShaderClockFeaturesKHR clock{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR};
  VkPhysicalDeviceNonSeamlessCubeMapFeaturesEXT cubes_with_seams{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NON_SEAMLESS_CUBE_MAP_FEATURES_EXT};
  std::vector<const char*> names;  ///< extensions that the chain needs

  FeatureChain() = default;
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;
  /// Chains the structs that a device with `extensions` knows.
  void link(const std::vector<VkExtensionProperties>& extensions, bool version13);
};

bool has_extension(const std::vector<VkExtensionProperties>& all, const char* name);
std::vector<VkExtensionProperties> device_extensions(const Instance& instance,
                                                     VkPhysicalDevice physical);

}  // namespace ptx2spv::runtime
