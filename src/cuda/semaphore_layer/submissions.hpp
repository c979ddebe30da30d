// A device's semaphores as the application names them, and its calls that wait for and signal them.
#pragma once

#include <functional>
#include <set>

#include "src/cuda/semaphore_layer/semaphores.hpp"

namespace ptx2spv::semaphore_layer {

/// Whether a semaphore with `chain` behind its creation is a timeline semaphore.
bool is_timeline(const void* chain);

class Device {
 public:
  /// The kinds of semaphores of which the layer makes those with descriptors.
  Device(const Calls& calls, bool binary, bool timeline)
      : calls_(calls), binary_(binary), timeline_(timeline) {}

  const Calls& calls() const { return calls_; }
  bool serves_any() const { return binary_ || timeline_; }
  /// Null: the semaphore is the driver's alone.
  std::shared_ptr<Mirror> mirror_of(VkSemaphore semaphore) const;
  /// The driver's semaphore behind the application's.
  VkSemaphore handle_of(VkSemaphore semaphore) const;

  // The functions of Vulkan with these names.
  VkResult create(const VkSemaphoreCreateInfo& create, const VkAllocationCallbacks* allocator,
                  VkSemaphore* semaphore);
  void destroy(VkSemaphore semaphore, const VkAllocationCallbacks* allocator);
  VkResult get_fd(const VkSemaphoreGetFdInfoKHR& info, int* fd) const;
  VkResult import_fd(const VkImportSemaphoreFdInfoKHR& info);
  VkResult wait(const VkSemaphoreWaitInfo& info, std::uint64_t timeout) const;
  VkResult signal(const VkSemaphoreSignalInfo& info) const;

  void forget_all();

 private:
  /// Of the driver's, with the value `initial`.
  VkResult make_timeline(std::uint64_t initial, VkSemaphore* semaphore) const;
  std::shared_ptr<Mirror> remove(VkSemaphore semaphore);

  const Calls calls_;
  const bool binary_, timeline_;
  mutable std::mutex guard_;
  std::map<VkSemaphore, std::shared_ptr<Mirror>> mirrors_;
  std::set<VkSemaphore> served_;  ///< that may be imported to, where the driver cannot
};

template <typename Batch>
using Send = std::function<VkResult(const Batch* batches)>;

/// Submits with `send` what the application submits, in terms of the driver's semaphores.
VkResult submit(const Device& device, std::uint32_t count, const VkSubmitInfo* batches,
                const Send<VkSubmitInfo>& send);
VkResult submit(const Device& device, std::uint32_t count, const VkBindSparseInfo* batches,
                const Send<VkBindSparseInfo>& send);
VkResult submit2(const Device& device, std::uint32_t count, const VkSubmitInfo2* batches,
                 const Send<VkSubmitInfo2>& send);

// Swapchains take binary semaphores alone, so the calling thread waits in place of the device.
VkResult present(const Device& device, VkQueue queue, const VkPresentInfoKHR& info);
VkResult acquire(const Device& device, VkSemaphore semaphore, VkFence fence,
                 const std::function<VkResult(VkSemaphore, VkFence)>& next);

}  // namespace ptx2spv::semaphore_layer
