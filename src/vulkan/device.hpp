// A VkDevice with its instance and functions: what queues, memory and commands need to know.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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
  std::vector<std::uint32_t> families;  ///< of its queues, the main one's first
  bool owned = true;

  /// All queues reach the buffer or the image.
  template <class Create>
  void share(Create& create) const {
    if (families.size() < 2) return;
    create.sharingMode = VK_SHARING_MODE_CONCURRENT;
    create.queueFamilyIndexCount = static_cast<std::uint32_t>(families.size());
    create.pQueueFamilyIndices = families.data();
  }
};

}  // namespace ptx2spv::runtime
