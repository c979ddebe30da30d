// The device's work: lanes, each a VkQueue with a timeline semaphore. Work runs side by side unless
// it is told to come after a value; what runs alone comes after all that was begun before it, and
// before all that is begun later. A submission takes longer than a small launch, so commands that
// follow one another closely in a lane are one submission, with barriers where they are in order.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
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

/// What commands take: less than a wait for another lane, more, or so much more that no others'
/// end should depend on it.
enum class Takes : std::uint8_t { little, more, much };

/// Thread-safe. A value names work: that of one lane up to a submission, or, from submitted(), that
/// of all lanes. Values grow in the order in which the work was begun.
class Queue {
 public:
  explicit Queue(VulkanDevice& device) : device_(device) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  /// Opens the first lane.
  Status open(std::uint32_t family, VkQueue given, std::uint32_t index = 0);
  void close();

  /// Streams have so many lanes, in the first lane's family.
  void add_lanes(std::uint32_t count) { stream_queues_ = count; }
  /// Copies have lanes of their own, in a family that does nothing else.
  void add_copy_lanes(std::uint32_t family, std::uint32_t count) {
    copy_family_ = family;
    copy_queues_ = count;
  }
  /// Lets all work run alone from now on, in the first lane. The queues of the others are free
  /// then.
  Status gather();
  /// A lane for work of a new stream.
  unsigned take_lane();
  /// A lane for work that takes little, of a stream with the lane `own`: the first one unless
  /// something takes more beside it, else best where the newest of what it has to come after is.
  unsigned brief_lane(unsigned own, std::span<const std::uint64_t> after);
  /// Whether there are more lanes than the first.
  bool is_split() const { return split_.load(std::memory_order_acquire); }
  /// A lane for large copies to the device's own memory, or from it; `otherwise` where there is
  /// none.
  unsigned copy_lane(bool from_device, unsigned otherwise);
  /// As a lane: the first one, for what runs alone.
  static constexpr unsigned kAlone = 15;

  /// Where commands are recorded that are submitted in the order of these calls. No other thread
  /// records or submits until end().
  struct Recording {
    std::unique_lock<std::mutex> lock;
    VkCommandBuffer commands;
    LaunchBound* bound;
    unsigned lane;
    Takes takes;
    bool alone;
    bool beside;     ///< they may run beside others of their submission
    bool apart;      ///< likewise, or beside what runs in their lane
    float time = 0;  ///< microseconds that they are known to take
  };
  /// Commands of the kind given come after the work of values `after`, and with `fenced` beside
  /// none of their submission.
  Result<Recording> begin(Work kind, unsigned lane = kAlone,
                          std::span<const std::uint64_t> after = {}, Takes takes = Takes::little,
                          bool fenced = false);
  /// The value that the timeline reaches when the commands are over, and the host sees what they
  /// wrote.
  Result<std::uint64_t> end(Recording&& recording, When when);
  /// Runs commands alone; the result is their value.
  Result<std::uint64_t> give(const std::function<void(VkCommandBuffer)>& record,
                             When when = When::awaited);
  /// The same, and waits for them.
  Status run(const std::function<void(VkCommandBuffer)>& record);
  /// Submits what was recorded where `value` is its end.
  Status flush(std::uint64_t value);
  /// Others submit to the queue, too: nothing that was recorded stays behind.
  VkQueue share();
  bool is_shared();

  /// Of the lanes but for those of copies.
  std::uint32_t family() const { return family_; }
  /// Submits `commands`, which come after the work of values `after`; the result is their value.
  Result<std::uint64_t> push(VkCommandBuffer commands, unsigned lane,
                             std::span<const std::uint64_t> after);
  /// Waits for semaphores of others, and signals some, alone. Values are those of timelines.
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
  /// Whether somebody saw its end.
  bool known_over(std::uint64_t value) const;
  /// Memory that kernels with atomic operations of system scope share with the host.
  PageGuard& guard() { return guard_; }
  /// A value for all that was begun.
  std::uint64_t submitted() const {
    return last_.load(std::memory_order_acquire) << kLaneBits | (is_split() ? kEvery : kFirst);
  }
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

  // A value's low bits are its lane, the others what the lane's timeline reaches.
  static constexpr unsigned kLaneBits = 4;
  static constexpr unsigned kFirst = 0;
  static constexpr std::uint64_t kEvery = 15;  ///< as a lane: all of them
  /// The first one, those of streams, and two for copies.
  static constexpr unsigned kMostLanes = 10, kToDevice = 8, kFromDevice = 9;

  /// A VkQueue, what was recorded for it, and how far it is. Its numbers are those of its timeline.
  struct Lane {
    VkQueue handle = VK_NULL_HANDLE;
    VkSemaphore timeline = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    std::atomic<bool> open{false};
    std::atomic<std::uint64_t> submitted{0}, sent{0}, signalled{0}, completed{0};
    std::deque<std::uint64_t> signals;  ///< later than `completed`, oldest first
    std::uint64_t unsignalled = 0;      ///< submissions since the last signal
    /// Of the other lanes: what its next submission waits for, and what that and earlier ones do.
    std::array<std::uint64_t, kMostLanes> waits{}, after{};
    bool waiting = false;       ///< there are `waits`
    std::uint64_t lasting = 0;  ///< the last that takes more than little

    std::deque<std::pair<VkCommandBuffer, std::uint64_t>> in_flight;
    std::vector<VkCommandBuffer> free;
    VkCommandBuffer recorded = VK_NULL_HANDLE;  ///< not submitted yet; its value is `submitted`
    std::uint32_t records = 0;                  ///< in it
    float time = 0;                             ///< microseconds that they take
    bool noticed = false;                       ///< recorded: a wait is for its very value
    bool awaited = false;                       ///< somebody waited for the last submission
    Work before = Work::any;                    ///< that its last barrier did not wait for
    Work fenced = Work::none;                   ///< kinds that its last barrier, if any, holds up
    std::uint64_t covered = 0;                  ///< the last number that this barrier waits for
    LaunchBound bound;
    Clock::time_point began_at{};  ///< recorded
  };

  Status check(VkResult result, const char* what);
  Status open_lane(Lane& lane, std::uint32_t family, VkQueue given, std::uint32_t index);
  static std::uint64_t value_of(unsigned lane, std::uint64_t number) {
    return number << kLaneBits | lane;
  }
  unsigned index_of(const Lane& lane) const { return static_cast<unsigned>(&lane - lanes_.data()); }
  /// Calls `each(lane, number)` for the lanes that a value is of, as long as the result is true.
  template <class F>
  bool for_each_lane(std::uint64_t value, F&& each) const;

  // The caller has the lock, in all that follows until it is said.
  /// `waits`: the submission waits for what its lane has to.
  VkResult send(Lane& lane, std::span<const VkCommandBuffer> commands, std::uint64_t signal_value,
                bool waits);
  VkResult send(Lane& lane, const VkSubmitInfo& submit);
  void waited(Lane& lane);  ///< a submission waits for what its lane had to
  Result<VkCommandBuffer> take_buffer(Lane& lane);
  /// Lets the lane's next commands come after the other lanes' that they have to come after.
  VkResult order(Lane& lane, std::span<const std::uint64_t> after, bool alone);
  /// Whether none of the work that something in the lane comes after is of this lane and later than
  /// `number`.
  bool is_free(const Lane& lane, std::span<const std::uint64_t> after, std::uint64_t number) const;
  bool runs_alone() const { return shared_ || gathered_; }  ///< whatever comes
  VkResult come_after(Lane& lane, Lane& other, std::uint64_t number);
  VkResult come_after(Lane& lane, std::uint64_t value);
  /// Ends what was recorded and submits it with `after`, if there is one.
  VkResult send_recorded(Lane& lane, VkCommandBuffer after, bool signal);
  Status flush_locked(Lane& lane, bool signal);
  bool is_due(Lane& lane, const Recording& recording, When when);
  void note_begun(Lane& lane, Takes takes, bool alone);  ///< of what was begun last in a lane
  /// Whether something that takes more than little runs in the lane.
  bool lasts(Lane& lane);
  /// Whether there is no such lane, nor was shortly before.
  bool is_calm();
  VkResult signal_sent(Lane& lane);  ///< all that was submitted
  void note_signal(Lane& lane, std::uint64_t number);
  /// The number that the timeline has when it reaches `number`, which it may skip. The validation
  /// layer gives up waits for values that no submission signals.
  std::uint64_t signal_for(const Lane& lane, std::uint64_t number) const;
  void note_submitted(Lane& lane, std::uint64_t number);
  void abandon_locked();
  void lose(VkResult result);
  bool watched();  ///< by a thread that does what watch() says, which it starts
  // Until here.

  /// Submits what was recorded and is left alone.
  void watch();
  Error time_out();
  /// Whether the timeline reaches `number` soon, where waits ask.
  bool polled(const Lane& lane, std::uint64_t number);
  /// Sees to it that the timeline will reach `number`.
  VkResult signal(Lane& lane, std::uint64_t number);
  void note_completed(Lane& lane, std::uint64_t number);
  Status wait(Lane& lane, std::uint64_t number);
  bool reached(Lane& lane, std::uint64_t number);
  /// Where the timelines are, all together.
  std::uint64_t progress() const;
  /// The device counts as lost after `result`, because no wait can succeed any more. What may still
  /// run keeps its memory.
  Error give_up(VkResult result, const char* what);

  VulkanDevice& device_;
  PageGuard guard_{[this](std::uint64_t value) { return passed(value); }};
  double timeout_ = 0;
  bool polls_ = false;
  std::mutex mutex_;
  std::deque<std::pair<std::uint64_t, std::string>> names_;  ///< oldest first
  std::array<Lane, kMostLanes> lanes_;
  std::atomic<bool> split_{false};                   ///< more lanes than the first are open
  std::atomic<std::uint64_t> last_{0}, waiting_{0};  ///< the last number, and the value of the last
                                                     ///< submission that waits for others
  std::atomic<bool> lost_{false};

  std::uint32_t family_ = 0, copy_family_ = 0, copy_queues_ = 0;
  std::uint32_t stream_queues_ = 0;
  unsigned stream_lanes_ = 0, streams_ = 0;  ///< open lanes of streams, and streams so far
  bool shared_ = false, gathered_ = false;
  Clock::time_point sent_at_{};                   ///< the last submission
  Clock::time_point lasting_at_{}, looked_at_{};  ///< see is_calm()
  std::uint64_t alone_ = 0;                       ///< the last number of what runs alone
  Clock::duration cost_{};                        ///< of a submission
  std::thread watcher_;
  std::condition_variable wake_;
  bool watching_ = false, closing_ = false;
};

template <class F>
bool Queue::for_each_lane(std::uint64_t value, F&& each) const {
  const auto lane = static_cast<unsigned>(value & ((1u << kLaneBits) - 1));
  const std::uint64_t number = value >> kLaneBits;
  auto& lanes = const_cast<std::array<Lane, kMostLanes>&>(lanes_);
  if (lane != kEvery) return each(lanes[lane], number);
  for (Lane& one : lanes)
    if (one.open.load(std::memory_order_acquire) &&
        !each(one, std::min(number, one.submitted.load(std::memory_order_acquire))))
      return false;
  return true;
}

}  // namespace ptx2spv::runtime
