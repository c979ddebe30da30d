// A VkDevice with its instance and functions: what queues, memory and commands need to know.
#pragma once

#include <memory>

#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

/// Destroys the VkDevice if it owns it; whatever was made from it is gone by then.
struct VulkanDevice {
  VulkanDevice() = default;
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;
  ~VulkanDevice() {
    if (handle && owned) vk.DestroyDevice(handle, nullptr);
  }

  std::shared_ptr<Instance> instance;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  DeviceFunctions vk;
  VkDevice handle = VK_NULL_HANDLE;
  bool owned = true;
};

}  // namespace ptx2spv::runtime
