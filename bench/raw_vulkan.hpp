// As little Vulkan as a hand-written program would use: the benchmark's other side. Ends the
// process on failure.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptx2spv/vulkan.hpp"

namespace ptx2spv::bench {

/// Null without such a device. A device that gives out its handles submits each launch at once: a
/// second one tells.
PFN_vkGetInstanceProcAddr loader_of(const DeviceOptions& options);

class RawVulkan {
 public:
  struct Buffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::uint64_t bytes = 0;
    std::byte* mapped = nullptr;  ///< where the host reaches the memory at full speed: CPU drivers
  };
  /// Commands to submit again and again, and what they need.
  struct Work {
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    VkDescriptorPool descriptors = VK_NULL_HANDLE;
    VkDescriptorSet set = VK_NULL_HANDLE;
    std::vector<VkPipeline> passes;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::uint32_t groups[3] = {1, 1, 1};
    std::byte push[20] = {};
  };
  using Words = std::vector<std::uint32_t>;

  RawVulkan() = default;
  RawVulkan(const RawVulkan&) = delete;
  RawVulkan& operator=(const RawVulkan&) = delete;
  ~RawVulkan();

  /// A device of its own on the hardware that is called `name`. False when there is none.
  bool open(PFN_vkGetInstanceProcAddr get_proc, const std::string& name);
  bool has_int64_atomics() const { return int64_atomics_; }

  Buffer buffer(std::uint64_t bytes);
  void destroy(Buffer& buffer);
  void upload(const Buffer& buffer, std::span<const std::byte> bytes);
  void download(const Buffer& buffer, std::span<std::byte> bytes);
  void fill(const Buffer& buffer, std::uint32_t word);

  /// Pipelines over two storage buffers and 20 bytes of push constants. Its commands run every pass
  /// `repeat` times, with a barrier between any two, and note the time before and after.
  Work prepare(std::span<const Words> passes, const Buffer& from, const Buffer& to,
               const void* push, const std::uint32_t (&groups)[3], int repeat = 1);
  void destroy(Work& work);
  /// Submits what was recorded and waits; milliseconds on the host from submission to completion.
  double run(const Work& work);
  /// Milliseconds on the device, by timestamps, of the last run; -1 where the device has none.
  double device_ms();
  /// Records one dispatch anew, submits it and waits: what a program does whose arguments change
  /// with each launch.
  double record_and_run(Work& work);
  /// Records and submits a dispatch `count` times over, then waits.
  double record_and_run_many(Work& work, int count);

 private:
  struct Table;
  VkCommandBuffer allocate_commands();
  void record(VkCommandBuffer commands, const Work& work, int repeat, bool timestamps);
  void copy(VkBuffer from, std::uint64_t from_offset, VkBuffer to, std::uint64_t to_offset,
            std::uint64_t bytes);
  void submit(VkCommandBuffer commands, VkFence fence);
  void wait();
  bool allocate(Buffer& out, VkBufferUsageFlags usage, VkMemoryPropertyFlags flags);
  template <class F>
  F get(const char* name);

  PFN_vkGetInstanceProcAddr get_proc_ = nullptr;
  Table* vk_ = nullptr;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer transfer_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  Buffer staging_;
  std::vector<VkCommandBuffer> many_;
  double tick_ns_ = 0;
  bool int64_atomics_ = false, host_memory_ = false;
};

/// The words of a compiled shader of that folder; empty, and why in `error`, where there are none.
RawVulkan::Words read_shader(const std::string& folder, const std::string& name,
                             std::string& error);

}  // namespace ptx2spv::bench
