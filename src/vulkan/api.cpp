#include "src/vulkan/api.hpp"

#include <fmt/format.h>

namespace ptx2spv::runtime {

const char* InstanceFunctions::load(PFN_vkGetInstanceProcAddr get, VkInstance instance) {
#define PTX2SPV_VK_INSTANCE(name)                                   \
  name = reinterpret_cast<PFN_vk##name>(get(instance, "vk" #name)); \
  if (!name) return "vk" #name;
#define PTX2SPV_VK_OPTIONAL(name) name = reinterpret_cast<PFN_vk##name>(get(instance, "vk" #name));
#include "src/vulkan/functions.def"
  return nullptr;
}

const char* DeviceFunctions::load(PFN_vkGetDeviceProcAddr get, VkDevice device) {
#define PTX2SPV_VK_DEVICE(name)                                   \
  name = reinterpret_cast<PFN_vk##name>(get(device, "vk" #name)); \
  if (!name) return "vk" #name;
#define PTX2SPV_VK_DEVICE_KHR(name)                               \
  name = reinterpret_cast<PFN_vk##name>(get(device, "vk" #name)); \
  if (!name) name = reinterpret_cast<PFN_vk##name>(get(device, "vk" #name "KHR"));
#include "src/vulkan/functions.def"
  return nullptr;
}

std::string to_text(VkResult result) {
  switch (result) {
#define PTX2SPV_CASE(name) \
  case name: return #name;
    PTX2SPV_CASE(VK_SUCCESS)
    PTX2SPV_CASE(VK_NOT_READY)
    PTX2SPV_CASE(VK_TIMEOUT)
    PTX2SPV_CASE(VK_INCOMPLETE)
    PTX2SPV_CASE(VK_ERROR_OUT_OF_HOST_MEMORY)
    PTX2SPV_CASE(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    PTX2SPV_CASE(VK_ERROR_INITIALIZATION_FAILED)
    PTX2SPV_CASE(VK_ERROR_DEVICE_LOST)
    PTX2SPV_CASE(VK_ERROR_MEMORY_MAP_FAILED)
    PTX2SPV_CASE(VK_ERROR_LAYER_NOT_PRESENT)
    PTX2SPV_CASE(VK_ERROR_EXTENSION_NOT_PRESENT)
    PTX2SPV_CASE(VK_ERROR_FEATURE_NOT_PRESENT)
    PTX2SPV_CASE(VK_ERROR_INCOMPATIBLE_DRIVER)
    PTX2SPV_CASE(VK_ERROR_TOO_MANY_OBJECTS)
    PTX2SPV_CASE(VK_ERROR_FORMAT_NOT_SUPPORTED)
    PTX2SPV_CASE(VK_ERROR_FRAGMENTED_POOL)
    PTX2SPV_CASE(VK_ERROR_OUT_OF_POOL_MEMORY)
#undef PTX2SPV_CASE
    default: return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

void DeviceFunctions::keep_everything() {
  FreeCommandBuffers = [](VkDevice, VkCommandPool, std::uint32_t, const VkCommandBuffer*) {};
  DestroyDevice = [](VkDevice, const VkAllocationCallbacks*) {};
  const auto keep = [](auto& function) {
    function = [](VkDevice, auto, const VkAllocationCallbacks*) {};
  };
  keep(FreeMemory), keep(DestroyBuffer), keep(DestroyImage), keep(DestroyImageView);
  keep(DestroySampler), keep(DestroyShaderModule), keep(DestroyPipelineCache);
  keep(DestroyPipeline), keep(DestroyPipelineLayout), keep(DestroyDescriptorSetLayout);
  keep(DestroyDescriptorPool), keep(DestroyCommandPool), keep(DestroySemaphore);
  keep(DestroyQueryPool);
}

Error vulkan_error(VkResult result, const char* what) {
  ErrorCode code = ErrorCode::internal;
  if (result == VK_ERROR_DEVICE_LOST) code = ErrorCode::device_lost;
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
      result == VK_ERROR_MEMORY_MAP_FAILED || result == VK_ERROR_TOO_MANY_OBJECTS ||
      result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL)
    code = ErrorCode::out_of_memory;
  return Error{code, fmt::format("vk{} failed with {}", what, to_text(result)), {}, nullptr};
}

Instance::~Instance() {
  if (!handle || !owned) return;
  if (messenger) vk.DestroyDebugUtilsMessengerEXT(handle, messenger, nullptr);
  vk.DestroyInstance(handle, nullptr);
}

}  // namespace ptx2spv::runtime
