// The chain of feature structs that is both queried and, masked, enabled.
#pragma once

#include <vector>

#include "src/vulkan/api.hpp"
#include "src/vulkan/cooperative_matrix.hpp"
#include "src/vulkan/map_placed.hpp"

namespace ptx2spv::runtime {

/// VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR, for which Debian 12's headers are too
/// old.
struct MaximalReconvergenceFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderMaximalReconvergence;
};
inline constexpr const char* kMaximalReconvergence = "VK_KHR_shader_maximal_reconvergence";

/// VkPhysicalDeviceShaderFmaFeaturesKHR.
struct ShaderFmaFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderFmaFloat16, shaderFmaFloat32, shaderFmaFloat64;
};
inline constexpr const char* kShaderFma = "VK_KHR_shader_fma";

struct FeatureChain {
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDevice16BitStorageFeatures storage16{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDevice8BitStorageFeatures storage8{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  VkPhysicalDeviceShaderFloat16Int8Features int8{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  VkPhysicalDeviceShaderAtomicInt64Features atomic_int64{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES};
  VkPhysicalDeviceDescriptorIndexingFeatures indexing{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_FEATURES};
  VkPhysicalDeviceBufferDeviceAddressFeatures addresses{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dots{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  VkPhysicalDeviceImageRobustnessFeatures image_robustness{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_ROBUSTNESS_FEATURES};
  VkPhysicalDeviceMaintenance4Features maintenance4{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES};
  VkPhysicalDeviceShaderImageAtomicInt64FeaturesEXT image_atomic64{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_IMAGE_ATOMIC_INT64_FEATURES_EXT};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceShaderClockFeaturesKHR clock{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR};
  MaximalReconvergenceFeatures reconvergence{static_cast<VkStructureType>(1000434000)};
  ShaderFmaFeatures fma{static_cast<VkStructureType>(1000579000)};
  VkPhysicalDeviceNonSeamlessCubeMapFeaturesEXT cubes_with_seams{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NON_SEAMLESS_CUBE_MAP_FEATURES_EXT};
  VkPhysicalDeviceCustomBorderColorFeaturesEXT borders{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_FEATURES_EXT};
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
  VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR shared_layout{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR};
  CooperativeMatrixFeatures matrices{kCooperativeMatrixFeatures};
  ShaderBfloat16Features bfloat16{kShaderBfloat16Features};
  MapMemoryPlacedFeatures placed;
  std::vector<const char*> names;  ///< extensions that the chain needs
  bool imports_pages = false;      ///< VK_EXT_external_memory_host is among them

  FeatureChain() = default;
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;
  /// Chains the structs that a device of Vulkan `version` with `extensions` knows. Each is of its
  /// own extension, which Vulkan 1.2 and 1.3 took over: 1.1 with the extensions is as good.
  void link(const std::vector<VkExtensionProperties>& extensions, std::uint32_t version);
};

bool has_extension(const std::vector<VkExtensionProperties>& all, const char* name);
std::vector<VkExtensionProperties> device_extensions(const Instance& instance,
                                                     VkPhysicalDevice physical);

}  // namespace ptx2spv::runtime
