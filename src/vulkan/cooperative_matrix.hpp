// VK_KHR_cooperative_matrix, and VK_KHR_shader_bfloat16 for matrices of bf16. Declared here because
// the headers of Debian 12 are older.
#pragma once

#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

inline constexpr const char* kCooperativeMatrix = "VK_KHR_cooperative_matrix";
inline constexpr const char* kShaderBfloat16 = "VK_KHR_shader_bfloat16";

/// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct CooperativeMatrixFeatures {
  VkStructureType sType;  ///< kCooperativeMatrixFeatures
  void* pNext;
  VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
};
inline constexpr auto kCooperativeMatrixFeatures = static_cast<VkStructureType>(1000506000);

/// VkPhysicalDeviceShaderBfloat16FeaturesKHR.
struct ShaderBfloat16Features {
  VkStructureType sType;  ///< kShaderBfloat16Features
  void* pNext;
  VkBool32 shaderBFloat16Type, shaderBFloat16DotProduct, shaderBFloat16CooperativeMatrix;
};
inline constexpr auto kShaderBfloat16Features = static_cast<VkStructureType>(1000141000);

/// VkComponentTypeKHR, those that are asked for.
enum class ComponentType : std::uint32_t {
  f16 = 0,
  f32 = 1,
  s8 = 3,
  s32 = 5,
  u8 = 7,
  u32 = 9,
  bf16 = 1000141000
};

/// VkCooperativeMatrixPropertiesKHR.
struct CooperativeMatrixProperties {
  VkStructureType sType = static_cast<VkStructureType>(1000506001);
  void* pNext = nullptr;
  std::uint32_t m = 0, n = 0, k = 0;
  ComponentType a{}, b{}, c{}, result{};
  VkBool32 saturating_accumulation = VK_FALSE;
  std::uint32_t scope = 0;  ///< VkScopeKHR
};
inline constexpr std::uint32_t kSubgroupScope = 3;  ///< VK_SCOPE_SUBGROUP_KHR

/// vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR.
using GetCooperativeMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*,
                                                            CooperativeMatrixProperties*);

}  // namespace ptx2spv::runtime
