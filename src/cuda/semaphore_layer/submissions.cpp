#include "src/cuda/semaphore_layer/submissions.hpp"

#include <unistd.h>

#include <system_error>
#include <utility>

namespace ptx2spv::semaphore_layer {
namespace {

constexpr std::uint64_t kForEver = ~0ULL;

const VkBaseInStructure* find(const void* chain, VkStructureType type) {
  const auto* each = static_cast<const VkBaseInStructure*>(chain);
  while (each && each->sType != type) each = each->pNext;
  return each;
}

/// Signals that the driver is about to be given.
class Signals {
 public:
  void add(const std::shared_ptr<Mirror>& mirror, std::uint64_t value) {
    list_.emplace_back(mirror, value);
  }
  VkResult submitted(VkResult result) const {
    if (result == VK_SUCCESS)
      for (const auto& [mirror, value] : list_) mirror->submitted(value);
    return result;
  }

 private:
  std::vector<std::pair<std::shared_ptr<Mirror>, std::uint64_t>> list_;
};

/// A batch's semaphores in terms of the driver's, with the values of those that were binary.
template <typename Batch>
class Translated {
 public:
  Translated(const Device& device, const Batch& batch, Signals& signals) : changed_(batch) {
    const auto* given = reinterpret_cast<const VkTimelineSemaphoreSubmitInfo*>(
        find(batch.pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO));
    for (std::uint32_t i = 0; i < batch.waitSemaphoreCount; ++i)
      add(waits_, device, batch.pWaitSemaphores[i],
          given && i < given->waitSemaphoreValueCount ? given->pWaitSemaphoreValues[i] : 0,
          nullptr);
    for (std::uint32_t i = 0; i < batch.signalSemaphoreCount; ++i)
      add(signals_, device, batch.pSignalSemaphores[i],
          given && i < given->signalSemaphoreValueCount ? given->pSignalSemaphoreValues[i] : 0,
          &signals);
    given_ = given;
  }

  const Batch& batch() {
    if (!shared_) return changed_;
    values_ = {VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    // Drivers look at the first structure of a type.
    values_.pNext = changed_.pNext == given_ && given_ ? given_->pNext : changed_.pNext;
    values_.waitSemaphoreValueCount = static_cast<std::uint32_t>(waits_.values.size());
    values_.pWaitSemaphoreValues = waits_.values.data();
    values_.signalSemaphoreValueCount = static_cast<std::uint32_t>(signals_.values.size());
    values_.pSignalSemaphoreValues = signals_.values.data();
    changed_.pNext = &values_;
    changed_.pWaitSemaphores = waits_.handles.data();
    changed_.pSignalSemaphores = signals_.handles.data();
    return changed_;
  }

 private:
  struct List {
    std::vector<VkSemaphore> handles;
    std::vector<std::uint64_t> values;
  };
  void add(List& list, const Device& device, VkSemaphore semaphore, std::uint64_t value,
           Signals* signals) {
    if (const auto mirror = device.mirror_of(semaphore)) {
      shared_ = true;
      Payload& payload = *mirror->payload();
      semaphore = mirror->handle();
      if (!payload.timeline()) value = signals ? payload.next_signal() : payload.next_wait();
      if (signals) signals->add(mirror, value);
    }
    list.handles.push_back(semaphore);
    list.values.push_back(value);
  }

  Batch changed_;
  List waits_, signals_;
  VkTimelineSemaphoreSubmitInfo values_{};
  const VkTimelineSemaphoreSubmitInfo* given_ = nullptr;
  bool shared_ = false;
};

template <typename Batch>
VkResult submit_batches(const Device& device, std::uint32_t count, const Batch* batches,
                        const Send<Batch>& send) {
  Signals signals;
  std::vector<Translated<Batch>> translated;
  translated.reserve(count);
  std::vector<Batch> list;
  for (std::uint32_t i = 0; i < count; ++i)
    list.push_back(translated.emplace_back(device, batches[i], signals).batch());
  return signals.submitted(send(list.data()));
}

}  // namespace

bool is_timeline(const void* chain) {
  const auto* type = reinterpret_cast<const VkSemaphoreTypeCreateInfo*>(
      find(chain, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO));
  return type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
}

std::shared_ptr<Mirror> Device::mirror_of(VkSemaphore semaphore) const {
  std::lock_guard lock(guard_);
  const auto found = mirrors_.find(semaphore);
  return found == mirrors_.end() ? nullptr : found->second;
}

VkSemaphore Device::handle_of(VkSemaphore semaphore) const {
  const auto mirror = mirror_of(semaphore);
  return mirror ? mirror->handle() : semaphore;
}

VkResult Device::make_timeline(std::uint64_t initial, VkSemaphore* semaphore) const {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  type.initialValue = initial;
  VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  create.pNext = &type;
  return calls_.CreateSemaphore(calls_.device, &create, nullptr, semaphore);
}

VkResult Device::create(const VkSemaphoreCreateInfo& create, const VkAllocationCallbacks* allocator,
                        VkSemaphore* semaphore) {
  const auto* exported = reinterpret_cast<const VkExportSemaphoreCreateInfo*>(
      find(create.pNext, VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO));
  const bool timeline = is_timeline(create.pNext), served = timeline ? timeline_ : binary_;
  if (!served || !exported ||
      !(exported->handleTypes & VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT)) {
    const VkResult result = calls_.CreateSemaphore(calls_.device, &create, allocator, semaphore);
    std::lock_guard lock(guard_);
    if (result == VK_SUCCESS && served) served_.insert(*semaphore);
    return result;
  }
  const auto* type = reinterpret_cast<const VkSemaphoreTypeCreateInfo*>(
      find(create.pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO));
  const VkResult result = make_timeline(timeline ? type->initialValue : 0, semaphore);
  if (result != VK_SUCCESS) return result;
  try {
    auto mirror = std::make_shared<Mirror>(calls_, std::make_shared<Payload>(timeline), *semaphore);
    std::lock_guard lock(guard_);
    mirrors_[*semaphore] = std::move(mirror);
  } catch (const std::system_error&) {  // no more threads
    calls_.DestroySemaphore(calls_.device, *semaphore, nullptr);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  return VK_SUCCESS;
}

std::shared_ptr<Mirror> Device::remove(VkSemaphore semaphore) {
  std::lock_guard lock(guard_);
  const auto found = mirrors_.find(semaphore);
  if (found == mirrors_.end()) return nullptr;
  auto mirror = std::move(found->second);
  mirrors_.erase(found);
  return mirror;
}

void Device::destroy(VkSemaphore semaphore, const VkAllocationCallbacks* allocator) {
  {
    std::lock_guard lock(guard_);
    served_.erase(semaphore);
  }
  const auto mirror = remove(semaphore);
  if (!mirror || mirror->handle() != semaphore)
    calls_.DestroySemaphore(calls_.device, semaphore, allocator);
}

VkResult Device::get_fd(const VkSemaphoreGetFdInfoKHR& info, int* fd) const {
  const auto mirror = mirror_of(info.semaphore);
  if (mirror) *fd = mirror->payload()->describe();
  if (mirror) return *fd >= 0 ? VK_SUCCESS : VK_ERROR_TOO_MANY_OBJECTS;
  return calls_.GetSemaphoreFdKHR ? calls_.GetSemaphoreFdKHR(calls_.device, &info, fd)
                                  : VK_ERROR_TOO_MANY_OBJECTS;
}

VkResult Device::import_fd(const VkImportSemaphoreFdInfoKHR& info) {
  const auto payload = Payload::described(info.fd);
  if (!payload) {
    std::unique_lock lock(guard_);
    const bool served = served_.contains(info.semaphore) || mirrors_.contains(info.semaphore);
    lock.unlock();
    return served || !calls_.ImportSemaphoreFdKHR
               ? VK_ERROR_INVALID_EXTERNAL_HANDLE
               : calls_.ImportSemaphoreFdKHR(calls_.device, &info);
  }
  // A temporary import would end with the first wait.
  if (info.flags & VK_SEMAPHORE_IMPORT_TEMPORARY_BIT) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  VkSemaphore handle = VK_NULL_HANDLE;
  const VkResult result = make_timeline(payload->value(), &handle);
  if (result != VK_SUCCESS) return result;
  std::shared_ptr<Mirror> before;  // whose end waits for its thread
  try {
    auto mirror = std::make_shared<Mirror>(calls_, payload, handle);
    std::lock_guard lock(guard_);
    before = std::exchange(mirrors_[info.semaphore], std::move(mirror));
  } catch (const std::system_error&) {
    calls_.DestroySemaphore(calls_.device, handle, nullptr);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  ::close(info.fd);
  return VK_SUCCESS;
}

VkResult Device::wait(const VkSemaphoreWaitInfo& info, std::uint64_t timeout) const {
  std::vector<VkSemaphore> handles;
  for (std::uint32_t i = 0; i < info.semaphoreCount; ++i)
    handles.push_back(handle_of(info.pSemaphores[i]));
  VkSemaphoreWaitInfo changed = info;
  changed.pSemaphores = handles.data();
  return calls_.WaitSemaphores(calls_.device, &changed, timeout);
}

VkResult Device::signal(const VkSemaphoreSignalInfo& info) const {
  const auto mirror = mirror_of(info.semaphore);
  return mirror ? mirror->signal(info.value) : calls_.SignalSemaphore(calls_.device, &info);
}

void Device::forget_all() {
  std::map<VkSemaphore, std::shared_ptr<Mirror>> all;
  std::lock_guard lock(guard_);
  all.swap(mirrors_);
}

VkResult submit(const Device& device, std::uint32_t count, const VkSubmitInfo* batches,
                const Send<VkSubmitInfo>& send) {
  return submit_batches(device, count, batches, send);
}

VkResult submit(const Device& device, std::uint32_t count, const VkBindSparseInfo* batches,
                const Send<VkBindSparseInfo>& send) {
  return submit_batches(device, count, batches, send);
}

VkResult submit2(const Device& device, std::uint32_t count, const VkSubmitInfo2* batches,
                 const Send<VkSubmitInfo2>& send) {
  Signals signals;
  std::deque<std::vector<VkSemaphoreSubmitInfo>> lists;
  std::vector<VkSubmitInfo2> changed(batches, batches + count);
  const auto translate = [&](const VkSemaphoreSubmitInfo* infos, std::uint32_t size, bool signal) {
    auto& list = lists.emplace_back(infos, infos + size);
    for (VkSemaphoreSubmitInfo& each : list)
      if (const auto mirror = device.mirror_of(each.semaphore)) {
        Payload& payload = *mirror->payload();
        each.semaphore = mirror->handle();
        if (!payload.timeline()) each.value = signal ? payload.next_signal() : payload.next_wait();
        if (signal) signals.add(mirror, each.value);
      }
    return list.data();
  };
  for (VkSubmitInfo2& each : changed) {
    each.pWaitSemaphoreInfos =
        translate(each.pWaitSemaphoreInfos, each.waitSemaphoreInfoCount, false);
    each.pSignalSemaphoreInfos =
        translate(each.pSignalSemaphoreInfos, each.signalSemaphoreInfoCount, true);
  }
  return signals.submitted(send(changed.data()));
}

VkResult present(const Device& device, VkQueue queue, const VkPresentInfoKHR& info) {
  const Calls& calls = device.calls();
  std::vector<VkSemaphore> driver, shared;
  std::vector<std::uint64_t> values;
  for (std::uint32_t i = 0; i < info.waitSemaphoreCount; ++i) {
    const auto mirror = device.mirror_of(info.pWaitSemaphores[i]);
    (mirror ? shared : driver).push_back(mirror ? mirror->handle() : info.pWaitSemaphores[i]);
    if (mirror) values.push_back(mirror->payload()->next_wait());
  }
  VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  wait.semaphoreCount = static_cast<std::uint32_t>(shared.size());
  wait.pSemaphores = shared.data();
  wait.pValues = values.data();
  const VkResult result =
      shared.empty() ? VK_SUCCESS : calls.WaitSemaphores(calls.device, &wait, kForEver);
  if (result != VK_SUCCESS) return result;
  VkPresentInfoKHR changed = info;
  changed.waitSemaphoreCount = static_cast<std::uint32_t>(driver.size());
  changed.pWaitSemaphores = driver.data();
  return calls.QueuePresentKHR(queue, &changed);
}

VkResult acquire(const Device& device, VkSemaphore semaphore, VkFence fence,
                 const std::function<VkResult(VkSemaphore, VkFence)>& next) {
  const auto mirror = device.mirror_of(semaphore);
  if (!mirror) return next(semaphore, fence);
  const Calls& calls = device.calls();
  VkFence own = VK_NULL_HANDLE;
  const VkFenceCreateInfo create{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkResult made = fence ? VK_SUCCESS : calls.CreateFence(calls.device, &create, nullptr, &own);
  if (made != VK_SUCCESS) return made;
  const VkFence then = fence ? fence : own;
  const VkResult result = next(VK_NULL_HANDLE, then);
  if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR) {
    made = calls.WaitForFences(calls.device, 1, &then, VK_TRUE, kForEver);
    if (made == VK_SUCCESS) made = mirror->signal(mirror->payload()->next_signal());
  }
  if (own) calls.DestroyFence(calls.device, own, nullptr);
  return made == VK_SUCCESS ? result : made;
}

}  // namespace ptx2spv::semaphore_layer
