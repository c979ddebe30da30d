#include "dev/limits_layer/queues.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "src/vulkan/layer.hpp"

namespace ptx2spv::limits {

namespace {

/// So long after the first one is kept what may still come before it.
constexpr std::chrono::microseconds kKept{400};

/// The values of a submission's semaphores; binary ones have none.
std::vector<std::pair<VkSemaphore, std::uint64_t>> pairs(const VkSemaphore* semaphores,
                                                         std::uint32_t count,
                                                         const std::uint64_t* values,
                                                         std::uint32_t value_count) {
  std::vector<std::pair<VkSemaphore, std::uint64_t>> list;
  for (std::uint32_t i = 0; i < count; ++i)
    list.emplace_back(semaphores[i], i < value_count ? values[i] : 0);
  return list;
}

}  // namespace

Queues::Queues(VkDevice device, VkQueue driver, PFN_vkQueueSubmit next)
    : device_(device), driver_(driver), submit_(next), worker_([this] { work(); }) {}

Queues::~Queues() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

VkQueue Queues::find(std::uint32_t family, std::uint32_t index) {
  std::lock_guard lock(mutex_);
  auto& queue = queues_[{family, index}];
  if (!queue) queue.reset(new Queue{layer::dispatch_table(device_)});
  return reinterpret_cast<VkQueue>(queue.get());
}

void Queues::submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* list, VkFence fence) {
  std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < count || (!count && !i); ++i) {
    const VkSubmitInfo info = count ? list[i] : VkSubmitInfo{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    for (auto* each = static_cast<const VkBaseInStructure*>(info.pNext); each; each = each->pNext)
      if (each->sType == values.sType)
        values = *reinterpret_cast<const VkTimelineSemaphoreSubmitInfo*>(each);
    kept_.push_back({reinterpret_cast<Queue*>(queue),
                     {info.pCommandBuffers, info.pCommandBuffers + info.commandBufferCount},
                     pairs(info.pWaitSemaphores, info.waitSemaphoreCount,
                           values.pWaitSemaphoreValues, values.waitSemaphoreValueCount),
                     pairs(info.pSignalSemaphores, info.signalSemaphoreCount,
                           values.pSignalSemaphoreValues, values.signalSemaphoreValueCount),
                     {info.pWaitDstStageMask, info.pWaitDstStageMask + info.waitSemaphoreCount},
                     i + 1 >= count ? fence : VK_NULL_HANDLE});
  }
  changed_.notify_all();
}

VkResult Queues::give_all(const std::function<VkResult(VkQueue)>& then) {
  std::lock_guard lock(mutex_);
  give_all();
  return then(driver_);
}

bool Queues::ready(const Submission& submission) const {
  // The first of its queue, whose semaphores nothing that is kept signals.
  for (const Submission& each : kept_) {
    if (&each == &submission) break;
    if (each.queue == submission.queue) return false;
  }
  return std::ranges::none_of(submission.waits, [&](const auto& wait) {
    const auto given = given_.find(wait.first);
    if (wait.second && given != given_.end() && given->second >= wait.second) return false;
    return std::ranges::any_of(kept_, [&](const Submission& each) {
      return each.queue != submission.queue &&
             std::ranges::any_of(each.signals, [&](const auto& signal) {
               return signal.first == wait.first && signal.second >= wait.second;
             });
    });
  });
}

void Queues::give_all() {
  while (!kept_.empty()) {
    auto last = kept_.end();
    for (auto each = kept_.begin(); each != kept_.end(); ++each)
      if (ready(*each)) last = each;
    // Semaphores may be others' to signal.
    if (last == kept_.end()) last = kept_.begin();
    give(*last);
    kept_.erase(last);
  }
}

void Queues::give(const Submission& submission) {
  std::vector<VkSemaphore> semaphores[2];
  std::vector<std::uint64_t> values[2];
  for (int i = 0; i < 2; ++i)
    for (const auto& [semaphore, value] : i ? submission.signals : submission.waits) {
      semaphores[i].push_back(semaphore);
      values[i].push_back(value);
    }
  VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  timeline.waitSemaphoreValueCount = static_cast<std::uint32_t>(values[0].size());
  timeline.pWaitSemaphoreValues = values[0].data();
  timeline.signalSemaphoreValueCount = static_cast<std::uint32_t>(values[1].size());
  timeline.pSignalSemaphoreValues = values[1].data();
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.pNext = &timeline;
  info.waitSemaphoreCount = static_cast<std::uint32_t>(semaphores[0].size());
  info.pWaitSemaphores = semaphores[0].data();
  info.pWaitDstStageMask = submission.stages.data();
  info.signalSemaphoreCount = static_cast<std::uint32_t>(semaphores[1].size());
  info.pSignalSemaphores = semaphores[1].data();
  info.commandBufferCount = static_cast<std::uint32_t>(submission.commands.size());
  info.pCommandBuffers = submission.commands.data();
  for (const auto& [semaphore, value] : submission.signals) given_[semaphore] = value;
  const VkResult result = submit_(driver_, 1, &info, submission.fence);
  if (result != VK_SUCCESS)
    std::fprintf(stderr, "PTX2SPV_DEBUG: limits: vkQueueSubmit failed: %d\n", result);
}

void Queues::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !kept_.empty(); });
    if (!ends_) changed_.wait_for(lock, kKept, [&] { return ends_; });
    give_all();
    if (ends_) return;
  }
}

}  // namespace ptx2spv::limits
