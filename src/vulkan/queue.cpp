#include "src/vulkan/queue.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace ptx2spv::runtime {

namespace {

/// After so many nanoseconds a wait looks whether the device still takes work.
constexpr std::uint64_t kLookAtDevice = 1'000'000'000;

using std::chrono::microseconds;
/// Between submissions passes this many times what one takes, as long as commands follow closely,
/// and no less and no more than this.
constexpr int kCosts = 8;
constexpr microseconds kLeastGap{20}, kMostGap{200};
/// The same while the lane has something to do, of a device that is asked for it.
constexpr microseconds kBusyGap{80};
/// Such a device without anything to do gets what takes it this many times what a submission takes.
constexpr int kWorth = 2;
/// So long after it began what was recorded is submitted, though nothing follows and nobody waits.
constexpr microseconds kLeftAlone{100};
/// So long a wait asks before it sleeps.
constexpr microseconds kPoll{1000};
/// So often the thread that sees to this looks in vain before it has to be woken.
constexpr int kLinger = 20;

bool lacks_memory(VkResult result) {
  return result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

/// Makes a call again that lacked memory, after 1, 2, 4 ... 128 milliseconds.
template <class Call>
VkResult persist(Call&& call) {
  VkResult result = call();
  for (int pause = 1; lacks_memory(result) && pause <= 128; pause *= 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    result = call();
  }
  return result;
}

}  // namespace

Status Queue::open(std::uint32_t family, VkQueue given, std::uint32_t index) {
  family_ = family;
  shared_ = given != VK_NULL_HANDLE;
  return open_lane(lanes_[kFirst], family, given, index);
}

Status Queue::open_lane(Lane& lane, std::uint32_t family, VkQueue given, std::uint32_t index) {
  if (given)
    lane.handle = given;
  else
    device_.vk.GetDeviceQueue(device_.handle, family, index, &lane.handle);
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  create.pNext = &type;
  if (!lane.timeline)
    if (Status status =
            check(device_.vk.CreateSemaphore(device_.handle, &create, nullptr, &lane.timeline),
                  "CreateSemaphore");
        !status)
      return status;
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family;
  Status status = check(device_.vk.CreateCommandPool(device_.handle, &pool, nullptr, &lane.pool),
                        "CreateCommandPool");
  if (!status) return status;
  lane.open.store(true, std::memory_order_release);
  if (&lane != &lanes_[kFirst]) split_.store(true, std::memory_order_release);
  return {};
}

void Queue::close() {
  if (last_.load(std::memory_order_acquire)) (void)wait(submitted());
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  for (Lane& lane : lanes_) {
    if (lane.pool) device_.vk.DestroyCommandPool(device_.handle, lane.pool, nullptr);
    lane.pool = VK_NULL_HANDLE;
    if (lane.timeline) device_.vk.DestroySemaphore(device_.handle, lane.timeline, nullptr);
    lane.timeline = VK_NULL_HANDLE;
    lane.open = false;
  }
}

Status Queue::check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return {};
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  return vulkan_error(result, what);
}

void Queue::waited(Lane& lane) {
  lane.waits.fill(0);
  lane.waiting = false;
}

/// With a `signal_value` of 0 no signal, without `commands` nothing but one.
VkResult Queue::send(Lane& lane, std::span<const VkCommandBuffer> commands,
                     std::uint64_t signal_value, bool waits) {
  if (lost()) return VK_ERROR_DEVICE_LOST;
  VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  std::array<VkSemaphore, kMostLanes> semaphores;
  std::array<std::uint64_t, kMostLanes> numbers;
  std::array<VkPipelineStageFlags, kMostLanes> stages;
  waits = waits && lane.waiting;
  if (waits) {
    std::uint32_t count = 0;
    for (unsigned i = 0; i < kMostLanes; ++i) {
      if (!lane.waits[i]) continue;
      semaphores[count] = lanes_[i].timeline;
      stages[count] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
      numbers[count++] = lane.waits[i];
    }
    submit.pNext = &timeline;
    submit.waitSemaphoreCount = timeline.waitSemaphoreValueCount = count;
    submit.pWaitSemaphores = semaphores.data();
    submit.pWaitDstStageMask = stages.data();
    timeline.pWaitSemaphoreValues = numbers.data();
  }
  if (signal_value) {
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &signal_value;
    submit.pNext = &timeline;
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = &lane.timeline;
  }
  submit.commandBufferCount = static_cast<std::uint32_t>(commands.size());
  submit.pCommandBuffers = commands.data();
  const VkResult result = send(lane, submit);
  if (result == VK_SUCCESS && waits) waited(lane);
  return result;
}

VkResult Queue::send(Lane& lane, const VkSubmitInfo& submit) {
  if (lock_outside) lock_outside();
  VkResult result = device_.vk.QueueSubmit(lane.handle, 1, &submit, VK_NULL_HANDLE);
  if (unlock_outside) unlock_outside();
  return result;
}

void Queue::note_submitted(Lane& lane, std::uint64_t number) {
  last_.store(std::max(number, last_.load(std::memory_order_relaxed)), std::memory_order_release);
  lane.submitted.store(number, std::memory_order_release);
}

Result<std::uint64_t> Queue::push(Semaphores semaphores) {
  std::lock_guard lock(mutex_);
  Lane& lane = lanes_[kFirst];
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "QueueSubmit");
  if (Status status = check(order(lane, {}, true), "QueueSubmit"); !status) return status.error();
  const bool waits = !semaphores.waits.empty();
  if (Status status = flush_locked(lane, waits); !status) return status.error();
  // A later signal would wait for the others, and whoever waits for earlier work with it.
  if (waits)
    if (Status status = check(signal_sent(lane), "QueueSubmit"); !status) return status.error();
  const std::uint64_t number = last_.load(std::memory_order_relaxed) + 1;
  for (unsigned i = 0; i < kMostLanes; ++i)
    if (lane.waits[i]) {
      semaphores.waits.push_back(lanes_[i].timeline);
      semaphores.wait_values.push_back(lane.waits[i]);
    }
  semaphores.signals.push_back(lane.timeline);
  semaphores.signal_values.push_back(number);
  const std::vector<VkPipelineStageFlags> stages(semaphores.waits.size(),
                                                 VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  timeline.waitSemaphoreValueCount = static_cast<std::uint32_t>(semaphores.wait_values.size());
  timeline.pWaitSemaphoreValues = semaphores.wait_values.data();
  timeline.signalSemaphoreValueCount = static_cast<std::uint32_t>(semaphores.signal_values.size());
  timeline.pSignalSemaphoreValues = semaphores.signal_values.data();
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.pNext = &timeline;
  submit.waitSemaphoreCount = static_cast<std::uint32_t>(semaphores.waits.size());
  submit.pWaitSemaphores = semaphores.waits.data();
  submit.pWaitDstStageMask = stages.data();
  submit.signalSemaphoreCount = static_cast<std::uint32_t>(semaphores.signals.size());
  submit.pSignalSemaphores = semaphores.signals.data();
  const Status status = check(send(lane, submit), "QueueSubmit");
  if (!status) return status.error();
  waited(lane);
  note_submitted(lane, number);
  lane.sent.store(number, std::memory_order_release);
  note_signal(lane, number);
  note_begun(lane, Takes::little, true);
  const std::uint64_t value = value_of(kFirst, number);
  if (waits) waiting_.store(value, std::memory_order_release);
  return value;
}

Status Queue::bind(PFN_vkQueueBindSparse function, const VkSparseBufferMemoryBindInfo& part) {
  std::lock_guard lock(mutex_);
  Lane& lane = lanes_[kFirst];
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "QueueBindSparse");
  if (Status status = check(order(lane, {}, true), "QueueSubmit"); !status) return status;
  if (Status status = flush_locked(lane, true); !status) return status;
  // One signal tells of all that comes before.
  if (lane.waiting)
    if (Status status = check(send_recorded(lane, VK_NULL_HANDLE, true), "QueueSubmit"); !status)
      return status;
  if (Status status = check(signal_sent(lane), "QueueSubmit"); !status) return status;
  const std::uint64_t before = lane.sent.load(std::memory_order_relaxed),
                      number = last_.load(std::memory_order_relaxed) + 1;
  VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  timeline.waitSemaphoreValueCount = timeline.signalSemaphoreValueCount = 1;
  timeline.pWaitSemaphoreValues = &before;
  timeline.pSignalSemaphoreValues = &number;
  VkBindSparseInfo bind{VK_STRUCTURE_TYPE_BIND_SPARSE_INFO};
  bind.pNext = &timeline;
  bind.waitSemaphoreCount = bind.signalSemaphoreCount = bind.bufferBindCount = 1;
  bind.pWaitSemaphores = bind.pSignalSemaphores = &lane.timeline;
  bind.pBufferBinds = &part;
  if (lock_outside) lock_outside();
  const VkResult result = function(lane.handle, 1, &bind, VK_NULL_HANDLE);
  if (unlock_outside) unlock_outside();
  if (result != VK_SUCCESS) return check(result, "QueueBindSparse");
  note_submitted(lane, number);
  lane.sent.store(number, std::memory_order_release);
  note_signal(lane, number);
  note_begun(lane, Takes::little, true);
  // What is submitted later does not wait for it by itself.
  VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  wait.semaphoreCount = 1;
  wait.pSemaphores = &lane.timeline;
  wait.pValues = &number;
  return check(device_.vk.WaitSemaphores(device_.handle, &wait, UINT64_MAX), "WaitSemaphores");
}

Result<std::uint64_t> Queue::push(VkCommandBuffer commands, unsigned lane,
                                  std::span<const std::uint64_t> after) {
  std::lock_guard lock(mutex_);
  const bool alone = runs_alone() || lane == kAlone;
  Lane& to = lanes_[alone ? kFirst : lane];
  VkResult result = order(to, after, alone);
  if (result == VK_SUCCESS) result = send_recorded(to, commands, true);
  if (Status status = check(result, "QueueSubmit"); !status) return status.error();
  note_begun(to, Takes::more, alone);
  return value_of(index_of(to), to.submitted.load(std::memory_order_relaxed));
}

Result<VkCommandBuffer> Queue::take_buffer(Lane& lane) {
  if (lane.free.empty() && lane.in_flight.size() % kUnasked == kUnasked - 1) {
    std::uint64_t done = 0;
    (void)device_.vk.GetSemaphoreCounterValue(device_.handle, lane.timeline, &done);
    for (; !lane.in_flight.empty() && lane.in_flight.front().second <= done;
         lane.in_flight.pop_front())
      lane.free.push_back(lane.in_flight.front().first);
  }
  VkCommandBuffer commands = VK_NULL_HANDLE;
  if (!lane.free.empty()) {
    commands = lane.free.back();
    lane.free.pop_back();
    return commands;
  }
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = lane.pool;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  const VkResult result = device_.vk.AllocateCommandBuffers(device_.handle, &allocate, &commands);
  if (result != VK_SUCCESS) return vulkan_error(result, "AllocateCommandBuffers");
  return commands;
}

Result<Queue::Recording> Queue::begin(Work kind, unsigned index,
                                      std::span<const std::uint64_t> after, Takes takes,
                                      bool fenced) {
  std::unique_lock lock(mutex_);
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "QueueSubmit");
  const bool alone = runs_alone() || index == kAlone;
  if (alone) index = kFirst;
  Lane& lane = lanes_[index];
  if (index >= kToDevice) kind = Work::copy;
  VkResult ordered = order(lane, after, alone);
  const bool free = !alone && !fenced;
  // The device lets nothing run beside an earlier submission's commands in a lane.
  const bool beside = free && lane.recorded && lane.fenced != Work::none &&
                      has_all(lane.fenced, kind) && is_free(lane, after, lane.covered);
  if (ordered == VK_SUCCESS && lane.recorded && is_split() && takes == Takes::much && !beside)
    ordered = send_recorded(lane, VK_NULL_HANDLE, false);
  if (Status status = check(ordered, "QueueSubmit"); !status) return status.error();
  const bool apart =
      beside || (free && !lane.recorded &&
                 is_free(lane, after, lane.completed.load(std::memory_order_acquire)));
  if (!lane.recorded) {
    auto commands = take_buffer(lane);
    if (!commands) return commands.error();
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    const VkResult result = device_.vk.BeginCommandBuffer(*commands, &begin);
    if (result != VK_SUCCESS) {
      lane.free.push_back(*commands);
      return vulkan_error(result, "BeginCommandBuffer");
    }
    lane.recorded = *commands;
    lane.records = 0;
    lane.time = 0;
    lane.noticed = false;
    lane.bound = {};
    // A barrier's first scope reaches back over everything submitted to the queue before.
    lane.before = index < kToDevice ? Work::any : Work::copy;
    lane.fenced = Work::none;
  }
  if (beside) {
    lane.before = lane.before | kind;
  } else if (kind != Work::none) {
    barrier(device_, lane.recorded, std::exchange(lane.before, kind), kind);
    lane.fenced = kind;
    lane.covered = lane.submitted.load(std::memory_order_relaxed);
  }
  return Recording{.lock = std::move(lock),
                   .commands = lane.recorded,
                   .bound = &lane.bound,
                   .lane = index,
                   .takes = takes,
                   .alone = alone,
                   .beside = beside,
                   .apart = apart};
}

bool Queue::is_due(Lane& lane, const Recording& recording, When when) {
  // What the lane has keeps the device busy, and others may come that run beside this.
  const bool spare = when == When::now && recording.apart && lasts(lane);
  if ((when < When::together && !spare) || shared_ || has_timeout() || lane.records == kTogether)
    return true;
  // What the event is to time follows: between two submissions the device would have nothing to do.
  if (when == When::noticed && lane.records == 1) return false;
  const Clock::duration since = Clock::now() - sent_at_;
  if (polls_) {
    // Between submissions the device has nothing to do for longer than a small launch takes.
    const std::uint64_t sent = lane.sent.load(std::memory_order_relaxed);
    if (!passed(value_of(recording.lane, sent))) return since >= kBusyGap;
    if (lane.awaited || recording.takes != Takes::little) return true;
    if (std::chrono::duration<float, std::micro>(lane.time) >= kWorth * cost_) return true;
  }
  const auto lanes = std::ranges::count_if(lanes_, [](const Lane& each) { return each.recorded; });
  const auto gap = std::clamp<Clock::duration>(lanes * kCosts * cost_, kLeastGap, kMostGap);
  return since >= gap;
}

Result<std::uint64_t> Queue::end(Recording&& recording, When when) {
  const std::unique_lock lock(std::move(recording.lock));
  Lane& lane = lanes_[recording.lane];
  const auto value = [&] {
    return value_of(recording.lane, lane.submitted.load(std::memory_order_relaxed));
  };
  ++lane.records;
  lane.time += recording.time;
  // The validation layer gives up waits for values that the timeline skips.
  lane.noticed = lane.noticed || when == When::noticed || lane.records > 1 ||
                 (recording.takes != Takes::little && !recording.alone);
  const bool due = is_due(lane, recording, when) || !watched();
  // A number for each, so that barriers are where they must be; one of others was promised before.
  if (lane.records > 1 ? is_split() : !due)
    note_submitted(lane, last_.load(std::memory_order_relaxed) + 1);
  if (due) {
    // Who waited for the last one may wait for this one: a signal later is a submission more.
    const bool expected = std::exchange(lane.awaited, false) && lane.records == 1;
    if (Status status = flush_locked(lane, when == When::awaited || expected); !status)
      return status.error();
    if (when >= When::together)
      for (Lane& each : lanes_) (void)flush_locked(each, false);
  } else if (lane.records == 1) {
    lane.began_at = Clock::now();
    if (!watching_) wake_.notify_one();
  }
  note_begun(lane, recording.takes, recording.alone);
  return value();
}

VkResult Queue::send_recorded(Lane& lane, VkCommandBuffer after, bool signal) {
  VkCommandBuffer buffers[2] = {};
  std::size_t count = 0;
  const VkCommandBuffer recorded = std::exchange(lane.recorded, VK_NULL_HANDLE);
  VkResult result = VK_SUCCESS;
  if (recorded) {
    host_barrier(device_, recorded, &lane < &lanes_[kToDevice] ? Work::any : Work::copy);
    result = device_.vk.EndCommandBuffer(recorded);
    buffers[count++] = recorded;
  }
  if (after) buffers[count++] = after;
  // Calls that recorded some of it have returned, and cannot fail any more.
  const bool promised =
      lane.submitted.load(std::memory_order_relaxed) > lane.sent.load(std::memory_order_relaxed);
  // One value stands for both.
  const std::uint64_t number = promised ? lane.submitted.load(std::memory_order_relaxed)
                                        : last_.load(std::memory_order_relaxed) + 1;
  signal = signal || polls_ || (recorded && lane.noticed) || lane.unsignalled + 1 >= kUnsignalled;
  const Clock::time_point start = Clock::now();
  const auto submit = [&] { return send(lane, {buffers, count}, signal ? number : 0, true); };
  if (result == VK_SUCCESS) result = promised ? persist(submit) : submit();
  if (result != VK_SUCCESS) {
    if (recorded) lane.free.push_back(recorded);
    if (promised) lose(result);
    return result;
  }
  sent_at_ = Clock::now();
  cost_ = (3 * cost_ + (sent_at_ - start)) / 4;
  if (recorded) lane.in_flight.emplace_back(recorded, number);
  lane.sent.store(number, std::memory_order_release);
  ++lane.unsignalled;
  note_submitted(lane, number);
  if (signal) note_signal(lane, number);
  return VK_SUCCESS;
}

Status Queue::flush_locked(Lane& lane, bool signal) {
  return lane.recorded ? check(send_recorded(lane, VK_NULL_HANDLE, signal), "QueueSubmit")
                       : Status();
}

Status Queue::flush(std::uint64_t value) {
  Status status;
  for_each_lane(value, [&](Lane& lane, std::uint64_t number) {
    if (number <= lane.sent.load(std::memory_order_acquire)) return true;
    std::lock_guard lock(mutex_);
    if (number > lane.sent.load(std::memory_order_relaxed)) status = flush_locked(lane, false);
    return status.ok();
  });
  return status;
}

VkQueue Queue::share() {
  std::lock_guard lock(mutex_);
  Lane& first = lanes_[kFirst];
  // What the application submits comes after all lanes.
  if (order(first, {}, true) == VK_SUCCESS && (first.recorded || first.waiting))
    (void)send_recorded(first, VK_NULL_HANDLE, true);
  shared_ = true;
  return first.handle;
}

bool Queue::is_shared() {
  std::lock_guard lock(mutex_);
  return shared_;
}

bool Queue::watched() {
  if (watcher_.joinable()) return true;
  // Signals sent to the process are for the program's own threads.
  sigset_t sent, before;
  sigfillset(&sent);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    sigdelset(&sent, own);
  if (pthread_sigmask(SIG_BLOCK, &sent, &before) != 0) return false;
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // There are too many threads.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return watcher_.joinable();
}

void Queue::watch() {
  std::unique_lock lock(mutex_);
  for (int idle = 0; !closing_;) {
    const Clock::time_point now = Clock::now();
    Clock::time_point next = Clock::time_point::max();
    for (Lane& lane : lanes_) {
      if (lane.recorded && now >= lane.began_at + kLeftAlone) (void)flush_locked(lane, false);
      if (lane.recorded) next = std::min(next, lane.began_at + kLeftAlone);
    }
    const bool recorded = next != Clock::time_point::max();
    idle = recorded ? 0 : idle + 1;
    watching_ = idle <= kLinger;
    if (watching_)
      wake_.wait_until(lock, recorded ? next : now + kLeftAlone);
    else
      wake_.wait(lock);
  }
}

Result<std::uint64_t> Queue::give(const std::function<void(VkCommandBuffer)>& record, When when) {
  auto recording = begin(Work::any);
  if (!recording) return recording.error();
  record(recording->commands);
  *recording->bound = {};
  return end(std::move(*recording), when);
}

Status Queue::run(const std::function<void(VkCommandBuffer)>& record) {
  const auto value = give(record);
  return value ? wait(*value) : Status(value.error());
}

VkResult Queue::signal(Lane& lane, std::uint64_t number) {
  if (lane.signalled.load(std::memory_order_acquire) >= number) return VK_SUCCESS;
  std::lock_guard lock(mutex_);
  return lane.signalled.load(std::memory_order_relaxed) >= number ? VK_SUCCESS : signal_sent(lane);
}

VkResult Queue::signal_sent(Lane& lane) {
  // A signal waits for everything submitted before it.
  const std::uint64_t last = lane.sent.load(std::memory_order_relaxed);
  if (lane.signalled.load(std::memory_order_relaxed) >= last) return VK_SUCCESS;
  const VkResult result = send(lane, {}, last, false);
  if (result == VK_SUCCESS) note_signal(lane, last);
  return result;
}

void Queue::note_signal(Lane& lane, std::uint64_t number) {
  const std::uint64_t done = lane.completed.load(std::memory_order_relaxed);
  while (!lane.signals.empty() && lane.signals.front() <= done) lane.signals.pop_front();
  lane.signals.push_back(number);
  lane.unsignalled = 0;
  lane.signalled.store(number, std::memory_order_release);
}

void Queue::note_completed(Lane& lane, std::uint64_t number) {
  guard_.reached(value_of(index_of(lane), number));
  std::uint64_t old = lane.completed.load(std::memory_order_relaxed);
  while (old < number &&
         !lane.completed.compare_exchange_weak(old, number, std::memory_order_release)) {
  }
}

std::uint64_t Queue::signal_for(const Lane& lane, std::uint64_t number) const {
  // Another wait may have taken its signal off the list: the next one is of later work.
  if (lane.completed.load(std::memory_order_acquire) >= number) return number;
  const auto found = std::ranges::lower_bound(lane.signals, number);
  return found == lane.signals.end() ? number : *found;
}

void Queue::lose(VkResult result) {
  if (!lost_.exchange(true) && lacks_memory(result) &&
      persist([&] { return device_.vk.DeviceWaitIdle(device_.handle); }) != VK_SUCCESS)
    device_.vk.keep_everything();
}

Error Queue::give_up(VkResult result, const char* what) {
  std::lock_guard lock(mutex_);
  lose(result);
  Error error = vulkan_error(result, what);
  if (lacks_memory(result)) error.text += "; nothing tells when the device ends, it is given up";
  return error;
}

void Queue::name(std::uint64_t value, std::string what) {
  if (!has_timeout()) return;
  std::lock_guard lock(mutex_);
  while (!names_.empty() && known_over(names_.front().first)) names_.pop_front();
  names_.emplace_back(value, std::move(what));
}

void Queue::abandon() {
  std::lock_guard lock(mutex_);
  abandon_locked();
}

void Queue::abandon_locked() {
  if (lost_.exchange(true)) return;
  device_.vk.keep_everything();
  if (device_.instance) device_.instance->owned = false;
  // A driver whose threads never end may wait for them when the process ends. Handlers that
  // were registered later run before this one.
  ::on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        ::_exit(status);
      },
      nullptr);
}

Error Queue::time_out() {
  std::string what = "what the device was given";
  {
    std::lock_guard lock(mutex_);
    for (const auto& [value, named] : names_)
      if (!passed(value)) {
        what = named;
        break;
      }
    abandon_locked();
  }
  return make_error(ErrorCode::timed_out,
                    "{} did not end within {:g} seconds; the device is given up", what, timeout_);
}

std::uint64_t Queue::progress() const {
  std::uint64_t all = 0;
  for (const Lane& lane : lanes_) {
    std::uint64_t now = 0;
    if (lane.open.load(std::memory_order_acquire))
      (void)device_.vk.GetSemaphoreCounterValue(device_.handle, lane.timeline, &now);
    all += now;
  }
  return all;
}

bool Queue::polled(const Lane& lane, std::uint64_t number) {
  if (!polls_) return false;
  const Clock::time_point end = Clock::now() + kPoll;
  std::uint64_t now = 0;
  do {
    if (device_.vk.GetSemaphoreCounterValue(device_.handle, lane.timeline, &now) != VK_SUCCESS)
      return false;
    if (now >= number) return true;
    std::this_thread::yield();
  } while (Clock::now() < end);
  return false;
}

Status Queue::wait(std::uint64_t value) {
  // What a lost device wrote before is lost too: memory that it shares with the host may not be
  // read.
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "WaitSemaphores");
  Status status;
  for_each_lane(value, [&](Lane& lane, std::uint64_t number) {
    status = wait(lane, number);
    return status.ok();
  });
  return status;
}

Status Queue::wait(Lane& lane, std::uint64_t number) {
  const auto is_last = [&] { return number == lane.sent.load(std::memory_order_relaxed); };
  if (lane.completed.load(std::memory_order_acquire) >= number) {
    std::lock_guard lock(mutex_);
    lane.awaited = lane.awaited || is_last();
    return {};
  }
  if (number > lane.sent.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    if (Status status = flush_locked(lane, true); !status) return status;
  }
  if (const VkResult result = persist([&] { return signal(lane, number); }); result != VK_SUCCESS)
    return give_up(result, "QueueSubmit");
  {
    std::lock_guard lock(mutex_);
    lane.awaited = is_last();
    number = signal_for(lane, number);
  }
  if (polled(lane, number)) {
    note_completed(lane, number);
    return {};
  }
  VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  wait.semaphoreCount = 1;
  wait.pSemaphores = &lane.timeline;
  wait.pValues = &number;
  VkResult result = VK_TIMEOUT;
  Clock::time_point since = Clock::now();
  std::uint64_t last = 0;
  while (result == VK_TIMEOUT) {
    std::uint64_t most = kLookAtDevice;
    if (has_timeout()) {
      const std::chrono::duration<double> spent = Clock::now() - since;
      const double left = std::max(timeout_ - spent.count(), 0.001) * 1e9;
      // Compared as they are: a time limit may be more than any integer.
      if (left < static_cast<double>(kLookAtDevice)) most = static_cast<std::uint64_t>(left);
    }
    result = persist([&] { return device_.vk.WaitSemaphores(device_.handle, &wait, most); });
    // A device that was lost in the meantime may leave the wait as it is, but takes no more work.
    if (result != VK_TIMEOUT) break;
    if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "WaitSemaphores");
    if (has_timeout()) {
      const std::uint64_t now = progress();
      if (now != std::exchange(last, now)) since = Clock::now();
      if (std::chrono::duration<double>(Clock::now() - since).count() >= timeout_)
        return time_out();
      if (most < kLookAtDevice) continue;
    }
    std::lock_guard lock(mutex_);
    const VkResult taken = send(lane, {}, 0, false);
    if (!lacks_memory(taken))
      if (Status status = check(taken, "QueueSubmit"); !status) return status;
  }
  if (result != VK_SUCCESS) return give_up(result, "WaitSemaphores");
  note_completed(lane, number);
  return {};
}

bool Queue::known_over(std::uint64_t value) const {
  return for_each_lane(value, [](const Lane& lane, std::uint64_t number) {
    return lane.completed.load(std::memory_order_acquire) >= number;
  });
}

bool Queue::passed(std::uint64_t value) const {
  return lost() || for_each_lane(value, [this](const Lane& lane, std::uint64_t number) {
           std::uint64_t now = 0;
           return device_.vk.GetSemaphoreCounterValue(device_.handle, lane.timeline, &now) !=
                      VK_SUCCESS ||
                  now >= number;
         });
}

bool Queue::reached(std::uint64_t value) {
  return for_each_lane(value,
                       [this](Lane& lane, std::uint64_t number) { return reached(lane, number); });
}

bool Queue::reached(Lane& lane, std::uint64_t number) {
  if (lane.completed.load(std::memory_order_acquire) >= number) return true;
  // Nothing of a lost device runs any more.
  if (lost() || !lane.timeline) return true;
  if (number > lane.sent.load(std::memory_order_acquire)) return false;
  if (!check(signal(lane, number), "QueueSubmit")) return lost();
  std::uint64_t now = 0;
  if (!check(device_.vk.GetSemaphoreCounterValue(device_.handle, lane.timeline, &now), "wait"))
    return lost();
  note_completed(lane, now);
  return now >= number;
}

}  // namespace ptx2spv::runtime
