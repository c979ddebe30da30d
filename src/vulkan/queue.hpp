// The one queue: submissions in order, each with a value of a timeline semaphore. A submission
// takes longer than a small launch, so commands that follow one another closely are one submission.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/vulkan/commands.hpp"
#include "src/vulkan/page_guard.hpp"

namespace ptx2spv::runtime {

/// What the last launch of a command buffer left bound.
struct LaunchBound {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSet slots = VK_NULL_HANDLE, textures = VK_NULL_HANDLE;
};

/// When recorded commands are submitted.
enum class When : std::uint8_t {
  awaited,   ///< at once: someone is about to wait for them
  now,       ///< at once
  together,  ///< with those that follow closely, or when someone waits: they are over soon
  noticed,   ///< likewise, and someone will ask for their end
};

/// Thread-safe.
class Queue {
 public:
  explicit Queue(VulkanDevice& device) : device_(device) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  Status open(std::uint32_t family, VkQueue given, std::uint32_t index = 0);
  void close();

  /// Where commands are recorded that are submitted in the order of these calls. No other thread
  /// records or submits until end().
  struct Recording {
    std::unique_lock<std::mutex> lock;
    VkCommandBuffer commands;
    LaunchBound* bound;
  };
  /// Commands of the kind given see all earlier work of the queue.
  Result<Recording> begin(Work kind);
  /// The value that the timeline reaches when the commands are over, and the host sees what they
  /// wrote.
  Result<std::uint64_t> end(Recording&& recording, When when);
  /// Runs commands and waits for them.
  Status run(const std::function<void(VkCommandBuffer)>& record);
  /// Submits what was recorded where `value` is its end.
  Status flush(std::uint64_t value);
  /// Others submit to the queue, too: nothing that was recorded stays behind.
  VkQueue share();

  /// Submits `commands`; the result is the value that the timeline reaches when they are done.
  Result<std::uint64_t> push(VkCommandBuffer commands);
  /// Waits for semaphores of others before all that is submitted later, and signals some once all
  /// that was submitted before is over. Values are those of timelines.
  struct Semaphores {
    std::vector<VkSemaphore> waits, signals;
    std::vector<std::uint64_t> wait_values, signal_values;
  };
  Result<std::uint64_t> push(Semaphores semaphores);
  /// Binds memory to a part of a buffer by vkQueueBindSparse, after all that was submitted, and
  /// before all that is submitted later.
  Status bind(PFN_vkQueueBindSparse function, const VkSparseBufferMemoryBindInfo& part);
  /// Whether something that was submitted may still wait for semaphores of others.
  bool waits_for_others() { return !reached(waiting_.load(std::memory_order_acquire)); }
  Status wait(std::uint64_t value);
  /// Submits nothing that was recorded.
  bool reached(std::uint64_t value);
  /// Whether the timeline is there, or never will be. Takes no lock of ours. Who asked reached()
  /// before sees the end.
  bool passed(std::uint64_t value) const;
  /// Memory that kernels with atomic operations of system scope share with the host.
  PageGuard& guard() { return guard_; }
  /// The value of the last commands, recorded ones among them.
  std::uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  /// After so many seconds of a wait in which nothing was completed, the wait is an error
  /// (timed_out) and the device lost, although its work goes on. 0: waits have no end.
  void set_timeout(double seconds) { timeout_ = seconds; }
  bool has_timeout() const { return timeout_ > 0; }
  double timeout() const { return timeout_; }
  /// What the submission does, for that error.
  void name(std::uint64_t value, std::string what);
  /// Gives the device up: what runs goes on, and nothing that it may use is freed.
  void abandon();
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  /// Waits ask again and again at first: waking up takes longer than a small kernel on a device
  /// that leaves the processors alone.
  void set_polls(bool polls) { polls_ = polls; }

  std::function<void()> lock_outside, unlock_outside;  ///< an application that shares the queue

 private:
  using Clock = std::chrono::steady_clock;
  /// Signals are this many submissions apart at most, so that what is over is noticed.
  static constexpr std::uint64_t kUnsignalled = 16;
  /// So many command buffers are in flight between polls for completion: a poll costs about as much
  /// as a small launch.
  static constexpr std::size_t kUnasked = 32;
  /// So many records of commands are one submission at most.
  static constexpr std::uint32_t kTogether = 64;

  Status check(VkResult result, const char* what);
  VkResult send(std::span<const VkCommandBuffer> commands, std::uint64_t signal_value);
  VkResult send(const VkSubmitInfo& submit);
  Result<VkCommandBuffer> take_buffer();
  /// Ends what was recorded and submits it with `after`, if there is one. The caller has the lock.
  VkResult send_recorded(VkCommandBuffer after, bool signal);
  Status flush_locked(bool signal);
  bool is_due(When when) const;
  /// Submits what was recorded and is left alone.
  void watch();
  bool watched();  ///< by a thread that does so, which it starts
  Error time_out();
  void abandon_locked();  ///< the caller has the lock
  /// Whether the timeline reaches `value` soon, where waits ask.
  bool polled(std::uint64_t value);
  /// Sees to it that the timeline will reach `value`.
  VkResult signal(std::uint64_t value);
  VkResult signal_sent();  ///< the same for all that was submitted; the caller has the lock
  void note_signal(std::uint64_t value);  ///< the caller has the lock
  void note_completed(std::uint64_t value);
  /// The value that the timeline has when it reaches `value`, which it may skip. The validation
  /// layer gives up waits for values that no submission signals.
  std::uint64_t signal_for(std::uint64_t value);
  /// The device counts as lost after `result`, because no wait can succeed any more. What may still
  /// run keeps its memory.
  Error give_up(VkResult result, const char* what);
  void lose(VkResult result);  ///< the same; the caller has the lock

  VulkanDevice& device_;
  PageGuard guard_{[this](std::uint64_t value) { return passed(value); }};
  double timeout_ = 0;
  bool polls_ = false;
  std::mutex mutex_;
  std::deque<std::pair<std::uint64_t, std::string>> names_;  ///< oldest first
  VkQueue handle_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::atomic<std::uint64_t> submitted_{0}, sent_{0}, signalled_{0}, completed_{0},
      waiting_{0};                     ///< the last submission that waits for others
  std::deque<std::uint64_t> signals_;  ///< later than completed_, oldest first
  std::atomic<bool> lost_{false};

  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::deque<std::pair<VkCommandBuffer, std::uint64_t>> in_flight_;
  std::vector<VkCommandBuffer> free_;
  VkCommandBuffer recorded_ = VK_NULL_HANDLE;  ///< not submitted yet; its value is submitted_
  std::uint32_t records_ = 0;                  ///< in it
  Work before_ = Work::any;                    ///< that its last barrier did not wait for
  LaunchBound bound_;
  bool shared_ = false, noticed_ = false;     ///< recorded_: a wait is for its very value
  Clock::time_point sent_at_{}, began_at_{};  ///< the last submission, and recorded_
  Clock::duration cost_{};                    ///< of a submission
  std::thread watcher_;
  std::condition_variable wake_;
  bool watching_ = false, closing_ = false;
};

}  // namespace ptx2spv::runtime
