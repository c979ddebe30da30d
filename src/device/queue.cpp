#include "src/device/queue.hpp"

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

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

Result<std::uint64_t> Queue::submit(VkCommandBuffer commands) {
  std::lock_guard lock(mutex_);
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "QueueSubmit");
  std::uint64_t value = submitted_.load(std::memory_order_relaxed) + 1;
  VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.pNext = &timeline;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  submit.signalSemaphoreCount = 1;
  submit.pSignalSemaphores = &timeline_;
  if (lock_outside) lock_outside();
  VkResult result = device_.vk.QueueSubmit(handle_, 1, &submit, VK_NULL_HANDLE);
  if (unlock_outside) unlock_outside();
  if (Status status = check(result, "QueueSubmit"); !status) return status.error();
  submitted_.store(value, std::memory_order_release);
  return value;
}

Status Queue::wait(std::uint64_t value) {
  // What a lost device wrote before is lost too: memory that it shares with the host may not be
  // read.
  if (lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "WaitSemaphores");
  if (completed_.load(std::memory_order_acquire) >= value) return {};
  VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  wait.semaphoreCount = 1;
  wait.pSemaphores = &timeline_;
  wait.pValues = &value;
  VkResult result = device_.vk.WaitSemaphores(device_.handle, &wait, UINT64_MAX);
  if (Status status = check(result, "WaitSemaphores"); !status) return status;
  std::uint64_t old = completed_.load(std::memory_order_relaxed);
  while (old < value && !completed_.compare_exchange_weak(old, value, std::memory_order_release)) {
  }
  return {};
}

bool Queue::reached(std::uint64_t value) {
  if (completed_.load(std::memory_order_acquire) >= value) return true;
  // Nothing of a lost device runs any more.
  if (lost() || !timeline_) return true;
  std::uint64_t now = 0;
  if (!check(device_.vk.GetSemaphoreCounterValue(device_.handle, timeline_, &now), "wait"))
    return lost();
  std::uint64_t old = completed_.load(std::memory_order_relaxed);
  while (old < now && !completed_.compare_exchange_weak(old, now, std::memory_order_release)) {
  }
  return now >= value;
}

}  // namespace ptx2spv::runtime
