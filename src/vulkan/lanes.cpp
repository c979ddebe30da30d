// Which lane of a queue work goes to, and what it comes after there.
#include <algorithm>
#include <chrono>

#include "src/vulkan/queue.hpp"

namespace ptx2spv::runtime {

namespace {

/// So long after work that lasts more of it is expected, and so often its end is looked for.
constexpr std::chrono::microseconds kCalm{1000}, kLook{100};

}  // namespace

unsigned Queue::take_lane() {
  std::lock_guard lock(mutex_);
  if (runs_alone()) return kAlone;
  const unsigned next = stream_lanes_ + 1;
  if (next <= stream_queues_ && next < kToDevice &&
      open_lane(lanes_[next], family_, VK_NULL_HANDLE, next))
    stream_lanes_ = next;
  return stream_lanes_ ? 1 + streams_++ % stream_lanes_ : kAlone;
}

unsigned Queue::copy_lane(bool from_device, unsigned otherwise) {
  if (!copy_queues_ || otherwise == kAlone) return otherwise;
  const unsigned index = copy_queues_ > 1 && from_device ? kFromDevice : kToDevice;
  Lane& lane = lanes_[index];
  if (lane.open.load(std::memory_order_acquire)) return index;
  std::lock_guard lock(mutex_);
  if (runs_alone()) return otherwise;
  return lane.open || open_lane(lane, copy_family_, VK_NULL_HANDLE, index - kToDevice) ? index
                                                                                       : otherwise;
}

Status Queue::gather() {
  {
    std::lock_guard lock(mutex_);
    if (runs_alone() || !stream_queues_) return {};
  }
  if (Status status = wait(submitted()); !status) return status;
  std::lock_guard lock(mutex_);
  if (runs_alone()) return {};
  // What came meanwhile.
  for (Lane& lane : lanes_) {
    if (Status status = flush_locked(lane, true); !status) return status;
    if (Status status = check(signal_sent(lane), "QueueSubmit"); !status) return status;
    const std::uint64_t last = lane.sent.load(std::memory_order_relaxed);
    if (last <= lane.completed.load(std::memory_order_acquire)) continue;
    VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    wait.semaphoreCount = 1;
    wait.pSemaphores = &lane.timeline;
    wait.pValues = &last;
    if (Status status =
            check(device_.vk.WaitSemaphores(device_.handle, &wait, UINT64_MAX), "WaitSemaphores");
        !status)
      return status;
    note_completed(lane, last);
  }
  gathered_ = true;
  return {};
}

VkResult Queue::come_after(Lane& lane, Lane& other, std::uint64_t number) {
  const unsigned index = index_of(other);
  // What the host saw the end of is over for whatever is submitted later.
  if (&lane == &other || lane.after[index] >= number ||
      other.completed.load(std::memory_order_acquire) >= number)
    return VK_SUCCESS;
  // What was recorded before does not wait.
  VkResult result = lane.recorded ? send_recorded(lane, VK_NULL_HANDLE, false) : VK_SUCCESS;
  if (result == VK_SUCCESS && number > other.sent.load(std::memory_order_relaxed))
    result = send_recorded(other, VK_NULL_HANDLE, true);
  if (result == VK_SUCCESS && number > other.signalled.load(std::memory_order_relaxed))
    result = signal_sent(other);
  if (result != VK_SUCCESS) return result;
  lane.waits[index] = lane.after[index] = signal_for(other, number);
  lane.waiting = true;
  return VK_SUCCESS;
}

VkResult Queue::come_after(Lane& lane, std::uint64_t value) {
  VkResult result = VK_SUCCESS;
  for_each_lane(value, [&](Lane& other, std::uint64_t number) {
    result = come_after(lane, other, number);
    return result == VK_SUCCESS;
  });
  return result;
}

VkResult Queue::order(Lane& lane, std::span<const std::uint64_t> after, bool alone) {
  if (!is_split()) return VK_SUCCESS;
  if (alone) return come_after(lane, submitted());
  VkResult result = come_after(lane, lanes_[kFirst], alone_);
  for (std::size_t i = 0; i < after.size() && result == VK_SUCCESS; ++i)
    result = come_after(lane, after[i]);
  return result;
}

bool Queue::is_free(const Lane& lane, std::span<const std::uint64_t> after,
                    std::uint64_t number) const {
  if (&lane == &lanes_[kFirst] && alone_ > number) return false;
  return std::ranges::all_of(after, [&](std::uint64_t value) {
    return for_each_lane(value, [&](const Lane& other, std::uint64_t last) {
      return &other != &lane || last <= number;
    });
  });
}

unsigned Queue::brief_lane(unsigned own, std::span<const std::uint64_t> after) {
  if (own == kAlone || !is_split()) return own;
  std::lock_guard lock(mutex_);
  // Submissions of many lanes cost more than such work gains.
  if (is_calm()) return kFirst;
  std::uint64_t newest = value_of(kFirst, alone_);
  if (known_over(newest)) newest = 0;
  for (const std::uint64_t value : after)
    if (value > newest && !known_over(value)) newest = value;
  const auto lane = static_cast<unsigned>(newest & ((1u << kLaneBits) - 1));
  return newest && lane < kToDevice &&
                 newest >> kLaneBits == lanes_[lane].submitted.load(std::memory_order_relaxed)
             ? lane
             : own;
}

bool Queue::lasts(Lane& lane) {
  std::uint64_t done = lane.completed.load(std::memory_order_acquire);
  if (lane.lasting <= done) return false;
  // Its submission has a signal.
  if (device_.vk.GetSemaphoreCounterValue(device_.handle, lane.timeline, &done) == VK_SUCCESS)
    note_completed(lane, done);
  return lane.lasting > done;
}

bool Queue::is_calm() {
  const Clock::time_point now = Clock::now();
  if (now < lasting_at_ + kCalm || now < looked_at_ + kLook) return false;
  if (std::ranges::none_of(lanes_, [this](Lane& lane) { return lasts(lane); })) return true;
  looked_at_ = now;
  return false;
}

void Queue::note_begun(Lane& lane, Takes takes, bool alone) {
  const std::uint64_t number = lane.submitted.load(std::memory_order_relaxed);
  if (alone) {
    alone_ = number;
  } else if (takes != Takes::little) {
    lane.lasting = number;
    lasting_at_ = Clock::now();
  }
}

}  // namespace ptx2spv::runtime
