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
  if (given)
    handle_ = given;
  else
    device_.vk.GetDeviceQueue(device_.handle, family, index, &handle_);
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  create.pNext = &type;
  if (Status status =
          check(device_.vk.CreateSemaphore(device_.handle, &create, nullptr, &timeline_),
                "CreateSemaphore");
      !status)
    return status;
  shared_ = given != VK_NULL_HANDLE;
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family;
  return check(device_.vk.CreateCommandPool(device_.handle, &pool, nullptr, &pool_),
               "CreateCommandPool");
}

void Queue::close() {
  if (submitted()) (void)wait(submitted());
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  if (pool_) device_.vk.DestroyCommandPool(device_.handle, pool_, nullptr);
  pool_ = VK_NULL_HANDLE;
  if (timeline_) device_.vk.DestroySemaphore(device_.handle, timeline_, nullptr);
  timeline_ = VK_NULL_HANDLE;
}

Status Queue::check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return {};
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  return vulkan_error(result, what);
}

/// With a `signal_value` of 0 no signal, without `commands` nothing but one.
VkResult Queue::send(std::span<const VkCommandBuffer> commands, std::uint64_t signal_value) {
  if (lost()) return VK_ERROR_DEVICE_LOST;
  VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  if (signal_value) {
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &signal_value;
    submit.pNext = &timeline;
    submit.signalSemaphoreCount = 1;
    submit.pSignalSemaphores = &timeline_;
  }
  submit.commandBufferCount = static_cast<std::uint32_t>(commands.size());
  submit.pCommandBuffers = commands.data();
  return send(submit);
}

VkResult Queue::send(const VkSubmitInfo& submit) {
  if (lock_outside) lock_outside();
  VkResult result = device_.vk.QueueSubmit(handle_, 1, &submit, VK_NULL_HANDLE);
  if (unlock_outside) unlock_outside();
  return result;
}

Result<std::uint64_t> Queue::push(Semaphores semaphores) {
  std::lock_guard lock(mutex_);
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "QueueSubmit");
  const bool waits = !semaphores.waits.empty();
  if (Status status = flush_locked(waits); !status) return status.error();
  // A later signal would wait for the others, and whoever waits for earlier work with it.
  if (waits)
    if (Status status = check(signal_sent(), "QueueSubmit"); !status) return status.error();
  const std::uint64_t value = submitted_.load(std::memory_order_relaxed) + 1;
  semaphores.signals.push_back(timeline_);
  semaphores.signal_values.push_back(value);
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
  const Status status = check(send(submit), "QueueSubmit");
  if (!status) return status.error();
  submitted_.store(value, std::memory_order_release);
  sent_.store(value, std::memory_order_release);
  note_signal(value);
  if (waits) waiting_.store(value, std::memory_order_release);
  return value;
}

Status Queue::bind(PFN_vkQueueBindSparse function, const VkSparseBufferMemoryBindInfo& part) {
  std::lock_guard lock(mutex_);
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "QueueBindSparse");
  if (Status status = flush_locked(true); !status) return status;
  if (Status status = check(signal_sent(), "QueueSubmit"); !status) return status;
  const std::uint64_t before = sent_.load(std::memory_order_relaxed), value = before + 1;
  VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  timeline.waitSemaphoreValueCount = timeline.signalSemaphoreValueCount = 1;
  timeline.pWaitSemaphoreValues = &before;
  timeline.pSignalSemaphoreValues = &value;
  VkBindSparseInfo bind{VK_STRUCTURE_TYPE_BIND_SPARSE_INFO};
  bind.pNext = &timeline;
  bind.waitSemaphoreCount = bind.signalSemaphoreCount = bind.bufferBindCount = 1;
  bind.pWaitSemaphores = bind.pSignalSemaphores = &timeline_;
  bind.pBufferBinds = &part;
  if (lock_outside) lock_outside();
  const VkResult result = function(handle_, 1, &bind, VK_NULL_HANDLE);
  if (unlock_outside) unlock_outside();
  if (result != VK_SUCCESS) return check(result, "QueueBindSparse");
  submitted_.store(value, std::memory_order_release);
  sent_.store(value, std::memory_order_release);
  note_signal(value);
  // What is submitted later does not wait for it by itself.
  VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  wait.semaphoreCount = 1;
  wait.pSemaphores = &timeline_;
  wait.pValues = &value;
  return check(device_.vk.WaitSemaphores(device_.handle, &wait, UINT64_MAX), "WaitSemaphores");
}

Result<std::uint64_t> Queue::push(VkCommandBuffer commands) {
  std::lock_guard lock(mutex_);
  if (Status status = check(send_recorded(commands, true), "QueueSubmit"); !status)
    return status.error();
  return submitted_.load(std::memory_order_relaxed);
}

Result<VkCommandBuffer> Queue::take_buffer() {
  if (free_.empty() && in_flight_.size() % kUnasked == kUnasked - 1) {
    std::uint64_t done = 0;
    (void)device_.vk.GetSemaphoreCounterValue(device_.handle, timeline_, &done);
    for (; !in_flight_.empty() && in_flight_.front().second <= done; in_flight_.pop_front())
      free_.push_back(in_flight_.front().first);
  }
  VkCommandBuffer commands = VK_NULL_HANDLE;
  if (!free_.empty()) {
    commands = free_.back();
    free_.pop_back();
    return commands;
  }
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool_;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  const VkResult result = device_.vk.AllocateCommandBuffers(device_.handle, &allocate, &commands);
  if (result != VK_SUCCESS) return vulkan_error(result, "AllocateCommandBuffers");
  return commands;
}

Result<Queue::Recording> Queue::begin(Work kind) {
  std::unique_lock lock(mutex_);
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "QueueSubmit");
  if (!recorded_) {
    auto commands = take_buffer();
    if (!commands) return commands.error();
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    const VkResult result = device_.vk.BeginCommandBuffer(*commands, &begin);
    if (result != VK_SUCCESS) {
      free_.push_back(*commands);
      return vulkan_error(result, "BeginCommandBuffer");
    }
    recorded_ = *commands;
    records_ = 0;
    noticed_ = false;
    bound_ = {};
    // A barrier's first scope reaches back over everything submitted to the queue before.
    before_ = Work::any;
  }
  if (kind != Work::none) barrier(device_, recorded_, std::exchange(before_, kind), kind);
  return Recording{std::move(lock), recorded_, &bound_};
}

bool Queue::is_due(When when) const {
  if (when < When::together || shared_ || has_timeout() || records_ == kTogether) return true;
  const auto gap = std::clamp<Clock::duration>(kCosts * cost_, kLeastGap, kMostGap);
  return Clock::now() - sent_at_ >= gap;
}

Result<std::uint64_t> Queue::end(Recording&& recording, When when) {
  const std::unique_lock lock(std::move(recording.lock));
  ++records_;
  // The validation layer gives up waits for values that the timeline skips.
  noticed_ = noticed_ || when == When::noticed || records_ > 1;
  if (is_due(when) || !watched()) {
    if (Status status = flush_locked(when == When::awaited); !status) return status.error();
    return submitted_.load(std::memory_order_relaxed);
  }
  if (records_ > 1) return submitted_.load(std::memory_order_relaxed);
  began_at_ = Clock::now();
  if (!watching_) wake_.notify_one();
  const std::uint64_t value = submitted_.load(std::memory_order_relaxed) + 1;
  submitted_.store(value, std::memory_order_release);
  return value;
}

VkResult Queue::send_recorded(VkCommandBuffer after, bool signal) {
  VkCommandBuffer buffers[2] = {};
  std::size_t count = 0;
  const VkCommandBuffer recorded = std::exchange(recorded_, VK_NULL_HANDLE);
  VkResult result = VK_SUCCESS;
  if (recorded) {
    host_barrier(device_, recorded);
    result = device_.vk.EndCommandBuffer(recorded);
    buffers[count++] = recorded;
  }
  if (after) buffers[count++] = after;
  // One value stands for both.
  const std::uint64_t value = sent_.load(std::memory_order_relaxed) + 1;
  signal = signal || (recorded && noticed_) ||
           value - signalled_.load(std::memory_order_relaxed) >= kUnsignalled;
  // Calls that recorded some of it have returned, and cannot fail any more.
  const bool promised = submitted_.load(std::memory_order_relaxed) >= value;
  const Clock::time_point start = Clock::now();
  const auto submit = [&] { return send({buffers, count}, signal ? value : 0); };
  if (result == VK_SUCCESS) result = promised ? persist(submit) : submit();
  if (result != VK_SUCCESS) {
    if (recorded) free_.push_back(recorded);
    if (promised) lose(result);
    return result;
  }
  sent_at_ = Clock::now();
  cost_ = (3 * cost_ + (sent_at_ - start)) / 4;
  if (recorded) in_flight_.emplace_back(recorded, value);
  sent_.store(value, std::memory_order_release);
  submitted_.store(value, std::memory_order_release);
  if (signal) note_signal(value);
  return VK_SUCCESS;
}

Status Queue::flush_locked(bool signal) {
  return recorded_ ? check(send_recorded(VK_NULL_HANDLE, signal), "QueueSubmit") : Status();
}

Status Queue::flush(std::uint64_t value) {
  if (value <= sent_.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(mutex_);
  return value > sent_.load(std::memory_order_relaxed) ? flush_locked(false) : Status();
}

VkQueue Queue::share() {
  std::lock_guard lock(mutex_);
  shared_ = true;
  (void)flush_locked(false);
  return handle_;
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
    if (recorded_ && now >= began_at_ + kLeftAlone) (void)flush_locked(false);
    idle = recorded_ ? 0 : idle + 1;
    watching_ = idle <= kLinger;
    if (watching_)
      wake_.wait_until(lock, (recorded_ ? began_at_ : now) + kLeftAlone);
    else
      wake_.wait(lock);
  }
}

Status Queue::run(const std::function<void(VkCommandBuffer)>& record) {
  auto recording = begin(Work::any);
  if (!recording) return recording.error();
  record(recording->commands);
  const auto value = end(std::move(*recording), When::awaited);
  return value ? wait(*value) : Status(value.error());
}

VkResult Queue::signal(std::uint64_t value) {
  if (signalled_.load(std::memory_order_acquire) >= value) return VK_SUCCESS;
  std::lock_guard lock(mutex_);
  return signalled_.load(std::memory_order_relaxed) >= value ? VK_SUCCESS : signal_sent();
}

VkResult Queue::signal_sent() {
  // A signal waits for everything submitted before it.
  const std::uint64_t last = sent_.load(std::memory_order_relaxed);
  if (signalled_.load(std::memory_order_relaxed) >= last) return VK_SUCCESS;
  const VkResult result = send({}, last);
  if (result == VK_SUCCESS) note_signal(last);
  return result;
}

void Queue::note_signal(std::uint64_t value) {
  const std::uint64_t done = completed_.load(std::memory_order_relaxed);
  while (!signals_.empty() && signals_.front() <= done) signals_.pop_front();
  signals_.push_back(value);
  signalled_.store(value, std::memory_order_release);
}

void Queue::note_completed(std::uint64_t value) {
  guard_.reached(value);
  std::uint64_t old = completed_.load(std::memory_order_relaxed);
  while (old < value && !completed_.compare_exchange_weak(old, value, std::memory_order_release)) {
  }
}

std::uint64_t Queue::signal_for(std::uint64_t value) {
  std::lock_guard lock(mutex_);
  // Another wait may have taken its signal off the list: the next one is of later work.
  if (completed_.load(std::memory_order_acquire) >= value) return value;
  const auto found = std::ranges::lower_bound(signals_, value);
  return found == signals_.end() ? value : *found;
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
  const std::uint64_t done = completed_.load(std::memory_order_acquire);
  while (!names_.empty() && names_.front().first <= done) names_.pop_front();
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
  std::uint64_t done = 0;
  (void)device_.vk.GetSemaphoreCounterValue(device_.handle, timeline_, &done);
  std::string what = "what the device was given";
  {
    std::lock_guard lock(mutex_);
    for (const auto& [value, named] : names_)
      if (value > done) {
        what = named;
        break;
      }
    abandon_locked();
  }
  return make_error(ErrorCode::timed_out,
                    "{} did not end within {:g} seconds; the device is given up", what, timeout_);
}

bool Queue::polled(std::uint64_t value) {
  if (!polls_) return false;
  const Clock::time_point end = Clock::now() + kPoll;
  std::uint64_t now = 0;
  do {
    if (device_.vk.GetSemaphoreCounterValue(device_.handle, timeline_, &now) != VK_SUCCESS)
      return false;
    if (now >= value) return true;
    std::this_thread::yield();
  } while (Clock::now() < end);
  return false;
}

Status Queue::wait(std::uint64_t value) {
  // What a lost device wrote before is lost too: memory that it shares with the host may not be
  // read.
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "WaitSemaphores");
  if (completed_.load(std::memory_order_acquire) >= value) return {};
  if (value > sent_.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    if (Status status = flush_locked(true); !status) return status;
  }
  if (const VkResult result = persist([&] { return signal(value); }); result != VK_SUCCESS)
    return give_up(result, "QueueSubmit");
  value = signal_for(value);
  if (polled(value)) {
    note_completed(value);
    return {};
  }
  VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  wait.semaphoreCount = 1;
  wait.pSemaphores = &timeline_;
  wait.pValues = &value;
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
      std::uint64_t now = 0;
      (void)device_.vk.GetSemaphoreCounterValue(device_.handle, timeline_, &now);
      if (now != std::exchange(last, now)) since = Clock::now();
      if (std::chrono::duration<double>(Clock::now() - since).count() >= timeout_)
        return time_out();
      if (most < kLookAtDevice) continue;
    }
    std::lock_guard lock(mutex_);
    const VkResult taken = send({}, 0);
    if (!lacks_memory(taken))
      if (Status status = check(taken, "QueueSubmit"); !status) return status;
  }
  if (result != VK_SUCCESS) return give_up(result, "WaitSemaphores");
  note_completed(value);
  return {};
}

bool Queue::passed(std::uint64_t value) const {
  std::uint64_t now = 0;
  return lost() ||
         device_.vk.GetSemaphoreCounterValue(device_.handle, timeline_, &now) != VK_SUCCESS ||
         now >= value;
}

bool Queue::reached(std::uint64_t value) {
  if (completed_.load(std::memory_order_acquire) >= value) return true;
  // Nothing of a lost device runs any more.
  if (lost() || !timeline_) return true;
  if (value > sent_.load(std::memory_order_acquire)) return false;
  if (!check(signal(value), "QueueSubmit")) return lost();
  std::uint64_t now = 0;
  if (!check(device_.vk.GetSemaphoreCounterValue(device_.handle, timeline_, &now), "wait"))
    return lost();
  note_completed(now);
  return now >= value;
}

}  // namespace ptx2spv::runtime
