// The queues of a device that seems to have others than it has: all are the driver's first one.
// What is submitted to them is kept for a moment, and reaches the driver in the order that a
// program expects least: what came last first, as far as queues and semaphores allow.
#pragma once

#include <vulkan/vulkan_core.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace ptx2spv::limits {

/// Thread-safe.
class Queues {
 public:
  /// `driver`: the queue behind all, of `device`. Functions are the next layer's.
  Queues(VkDevice device, VkQueue driver, PFN_vkQueueSubmit next);
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
  ~Queues();

  VkQueue find(std::uint32_t family, std::uint32_t index);
  void submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* list, VkFence fence);
  /// Gives the driver all that is kept, and calls `then` for its queue.
  VkResult give_all(const std::function<VkResult(VkQueue)>& then);

 private:
  /// What a VkQueue points to.
  struct Queue {
    const void* dispatch_table;
  };
  struct Submission {
    Queue* queue;
    std::vector<VkCommandBuffer> commands;
    std::vector<std::pair<VkSemaphore, std::uint64_t>> waits, signals;
    std::vector<VkPipelineStageFlags> stages;
    VkFence fence;
  };
  // The caller has the lock.
  bool ready(const Submission& submission) const;
  void give_all();
  void give(const Submission& submission);
  void work();

  const VkDevice device_;
  const VkQueue driver_;
  const PFN_vkQueueSubmit submit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<Queue>> queues_;
  std::deque<Submission> kept_;                 ///< oldest first
  std::map<VkSemaphore, std::uint64_t> given_;  ///< the last values of signals
  bool ends_ = false;
  std::thread worker_;
};

}  // namespace ptx2spv::limits
