// Command buffers: made, submitted and used again. And the barriers that order what they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "src/vulkan/device.hpp"
#include "src/vulkan/queue.hpp"

namespace ptx2spv::runtime {

/// What commands do. Drivers drain and flush what a barrier names, so it names no more than it
/// must.
enum class Work : std::uint8_t { kernel = 1, copy = 2, any = 3 };

/// What commands wrote is visible to the host once they are over.
void host_barrier(const VulkanDevice& device, VkCommandBuffer commands);
/// What is done before is over and visible before what follows. `before`: kinds of all commands
/// that the last barrier did not wait for, other submissions among them.
void barrier(const VulkanDevice& device, VkCommandBuffer commands, Work before, Work after);

/// Not thread-safe.
class CommandPool {
 public:
  /// How many submissions to make between polls for completion: a poll costs about as much as a
  /// small launch.
  static constexpr std::size_t kUnasked = 32;

  CommandPool(const VulkanDevice& device, Queue& queue) : device_(device), queue_(queue) {}
  CommandPool(const CommandPool&) = delete;
  CommandPool& operator=(const CommandPool&) = delete;
  ~CommandPool();
  Status open(std::uint32_t queue_family);

  /// A command buffer whose first commands, of the kind given, see all earlier work of the queue.
  Result<VkCommandBuffer> begin(Work first = Work::any);
  /// Ends and submits it; the host sees what it wrote once the value is reached. `signal`: as of
  /// the queue.
  Result<std::uint64_t> end(VkCommandBuffer commands, bool signal = true);

 private:
  const VulkanDevice& device_;
  Queue& queue_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::deque<std::pair<VkCommandBuffer, std::uint64_t>> in_flight_;
  std::vector<VkCommandBuffer> free_;
};

/// Runs commands and waits for them: copies that are complete when they return. Thread-safe.
class CommandRunner {
 public:
  CommandRunner(const VulkanDevice& device, Queue& queue) : queue_(queue), pool_(device, queue) {}
  Status open(std::uint32_t queue_family) { return pool_.open(queue_family); }
  Status run(const std::function<void(VkCommandBuffer)>& record);

 private:
  Queue& queue_;
  std::mutex mutex_;
  CommandPool pool_;
};

}  // namespace ptx2spv::runtime
