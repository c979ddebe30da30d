#include "src/vulkan/queue.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace ptx2spv::runtime {

namespace {

/// After so many nanoseconds a wait looks whether the device still takes work.
constexpr std::uint64_t kLookAtDevice = 1'000'000'000;

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

Status Queue::open(std::uint32_t family, VkQueue given) {
  if (given)
    handle_ = given;
  else
    device_.vk.GetDeviceQueue(device_.handle, family, 0, &handle_);
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  create.pNext = &type;
  return check(device_.vk.CreateSemaphore(device_.handle, &create, nullptr, &timeline_),
               "CreateSemaphore");
}

void Queue::close() {
  if (submitted()) (void)wait(submitted());
  if (timeline_) device_.vk.DestroySemaphore(device_.handle, timeline_, nullptr);
  timeline_ = VK_NULL_HANDLE;
}

Status Queue::check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return {};
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  return vulkan_error(result, what);
}

/// With a `signal_value` of 0 no signal, without `commands` nothing but one.
VkResult Queue::send(VkCommandBuffer commands, std::uint64_t signal_value) {
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
  submit.commandBufferCount = commands ? 1 : 0;
  submit.pCommandBuffers = &commands;
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
  signalled_.store(value, std::memory_order_release);
  if (!semaphores.waits.empty()) waiting_.store(value, std::memory_order_release);
  return value;
}

Result<std::uint64_t> Queue::push(VkCommandBuffer commands, bool signal) {
  std::lock_guard lock(mutex_);
  std::uint64_t value = submitted_.load(std::memory_order_relaxed) + 1;
  signal = signal || value - signalled_.load(std::memory_order_relaxed) >= kUnsignalled;
  if (Status status = check(send(commands, signal ? value : 0), "QueueSubmit"); !status)
    return status.error();
  submitted_.store(value, std::memory_order_release);
  if (signal) signalled_.store(value, std::memory_order_release);
  return value;
}

VkResult Queue::signal(std::uint64_t value) {
  if (signalled_.load(std::memory_order_acquire) >= value) return VK_SUCCESS;
  std::lock_guard lock(mutex_);
  if (signalled_.load(std::memory_order_relaxed) >= value) return VK_SUCCESS;
  // A signal waits for everything submitted before it.
  std::uint64_t last = submitted_.load(std::memory_order_relaxed);
  const VkResult result = send(VK_NULL_HANDLE, last);
  if (result == VK_SUCCESS) signalled_.store(last, std::memory_order_release);
  return result;
}

Error Queue::give_up(VkResult result, const char* what) {
  std::lock_guard lock(mutex_);
  if (!lost_.exchange(true) && lacks_memory(result) &&
      persist([&] { return device_.vk.DeviceWaitIdle(device_.handle); }) != VK_SUCCESS)
    device_.vk.keep_everything();
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
    if (!lost_.exchange(true)) {
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
  }
  return make_error(
      ErrorCode::timed_out,
      fmt::format("{} did not end within {:g} seconds; the device is given up", what, timeout_));
}

Status Queue::wait(std::uint64_t value) {
  // What a lost device wrote before is lost too: memory that it shares with the host may not be
  // read.
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "WaitSemaphores");
  if (completed_.load(std::memory_order_acquire) >= value) return {};
  if (const VkResult result = persist([&] { return signal(value); }); result != VK_SUCCESS)
    return give_up(result, "QueueSubmit");
  VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  wait.semaphoreCount = 1;
  wait.pSemaphores = &timeline_;
  wait.pValues = &value;
  VkResult result = VK_TIMEOUT;
  using Clock = std::chrono::steady_clock;
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
    const VkResult taken = send(VK_NULL_HANDLE, 0);
    if (!lacks_memory(taken))
      if (Status status = check(taken, "QueueSubmit"); !status) return status;
  }
  if (result != VK_SUCCESS) return give_up(result, "WaitSemaphores");
  std::uint64_t old = completed_.load(std::memory_order_relaxed);
  while (old < value && !completed_.compare_exchange_weak(old, value, std::memory_order_release)) {
  }
  return {};
}

bool Queue::reached(std::uint64_t value) {
  if (completed_.load(std::memory_order_acquire) >= value) return true;
  // Nothing of a lost device runs any more.
  if (lost() || !timeline_) return true;
  if (!check(signal(value), "QueueSubmit")) return lost();
  std::uint64_t now = 0;
  if (!check(device_.vk.GetSemaphoreCounterValue(device_.handle, timeline_, &now), "wait"))
    return lost();
  std::uint64_t old = completed_.load(std::memory_order_relaxed);
  while (old < now && !completed_.compare_exchange_weak(old, now, std::memory_order_release)) {
  }
  return now >= value;
}

}  // namespace ptx2spv::runtime
