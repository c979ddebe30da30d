// As little Vulkan as a hand-written program would use: the benchmark's other side. Ends the process on failure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <vulkan/vulkan_core.h>

namespace ptx2spv::bench {

class RawVulkan {
 public:
  struct Buffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::uint64_t bytes = 0;
    std::byte* mapped = nullptr;
  };

  /// The device whose name holds `name`, out of the Vulkan library at `library`. False when there is none.
  bool open(const std::string& library, const std::string& name);
  Buffer buffer(std::uint64_t bytes);
  /// Builds a pipeline over two storage buffers and 20 bytes of push constants, and records one dispatch.
  void prepare(std::span<const std::uint32_t> words, const Buffer& from, const Buffer& to, const void* push,
               std::uint32_t x, std::uint32_t y, std::uint32_t z);
  /// Submits what was recorded and waits; milliseconds from submission to completion.
  double run();

 private:
  template <class F>
  F get(const char* name);
  PFN_vkGetInstanceProcAddr get_proc_ = nullptr;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace ptx2spv::bench
