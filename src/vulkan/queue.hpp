// The one queue: submissions in order, each with a value of a timeline semaphore.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/vulkan/device.hpp"

namespace ptx2spv::runtime {

/// Thread-safe.
class Queue {
 public:
  explicit Queue(VulkanDevice& device) : device_(device) {}
  Status open(std::uint32_t family, VkQueue given);
  void close();

  /// Submits `commands`; the result is the value that the timeline reaches when they are done.
  /// `signal`: someone is about to wait. Otherwise the timeline may skip the value until someone
  /// asks: a signal costs some drivers as much as a small launch.
  Result<std::uint64_t> push(VkCommandBuffer commands, bool signal = true);
  /// Waits for semaphores of others before all that is submitted later, and signals some once all
  /// that was submitted before is over. Values are those of timelines.
  struct Semaphores {
    std::vector<VkSemaphore> waits, signals;
    std::vector<std::uint64_t> wait_values, signal_values;
  };
  Result<std::uint64_t> push(Semaphores semaphores);
  /// Whether something that was submitted may still wait for semaphores of others.
  bool waits_for_others() { return !reached(waiting_.load(std::memory_order_acquire)); }
  Status wait(std::uint64_t value);
  bool reached(std::uint64_t value);
  std::uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  VkQueue handle() const { return handle_; }
  /// After so many seconds of a wait in which nothing was completed, the wait is an error
  /// (timed_out) and the device lost, although its work goes on. 0: waits have no end.
  void set_timeout(double seconds) { timeout_ = seconds; }
  bool has_timeout() const { return timeout_ > 0; }
  double timeout() const { return timeout_; }
  /// What the submission does, for that error.
  void name(std::uint64_t value, std::string what);
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

  std::function<void()> lock_outside, unlock_outside;  ///< an application that shares the queue

 private:
  /// Signals are this many submissions apart at most, so that what is over is noticed.
  static constexpr std::uint64_t kUnsignalled = 16;
  Status check(VkResult result, const char* what);
  VkResult send(VkCommandBuffer commands, std::uint64_t signal_value);
  VkResult send(const VkSubmitInfo& submit);
  /// Gives the device up: what runs goes on, and nothing that it may use is freed.
  Error time_out();
  /// Sees to it that the timeline will reach `value`.
  VkResult signal(std::uint64_t value);
  /// The device counts as lost after `result`, because no wait can succeed any more. What may still
  /// run keeps its memory.
  Error give_up(VkResult result, const char* what);

  VulkanDevice& device_;
  double timeout_ = 0;
  std::mutex mutex_;
  std::deque<std::pair<std::uint64_t, std::string>> names_;  ///< oldest first
  VkQueue handle_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::atomic<std::uint64_t> submitted_{0}, signalled_{0}, completed_{0},
      waiting_{0};  ///< the last submission that waits for others
  std::atomic<bool> lost_{false};
};

}  // namespace ptx2spv::runtime
