// The runtime beside an application's own Vulkan: what its device needs, handles by their types,
// semaphores, launches in its command buffers, memory by file descriptors. It includes Vulkan's
// headers (Debian: libvulkan-dev). docs/user/engine.md says who owns what.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::runtime {
struct ExternalSemaphoreState;
struct NeedsState;
struct RecordingState;
}  // namespace ptx2spv::runtime

namespace ptx2spv::vulkan {

/// What an application has to create its VkDevice with, so that the runtime can use all of it.
class DeviceNeeds {
 public:
  /// `get` and `instance` are the application's. no_device where `physical` cannot serve at all.
  static Result<DeviceNeeds> query(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                   VkPhysicalDevice physical);
  /// For VkDeviceCreateInfo::pNext, with pEnabledFeatures null. The application may set more
  /// features in the chain, and put structs of its own in front of it; as long as this object.
  VkPhysicalDeviceFeatures2* features() const;
  /// For ppEnabledExtensionNames, beside the application's own; as long as this object.
  std::span<const char* const> extensions() const;
  /// A family with compute, and with graphics where the device has such a one.
  std::uint32_t queue_family() const;
  explicit DeviceNeeds(std::shared_ptr<runtime::NeedsState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::NeedsState> state_;
};

/// The application's device, for adopt. The handles must outlive the Device.
struct AdoptedDevice {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;
  /// What the device was created with. Vulkan cannot be asked for it. Null: with all of
  /// DeviceNeeds.
  const VkDeviceCreateInfo* created = nullptr;
  /// Called around every queue operation, for applications that use the queue too. May be empty.
  std::function<void()> lock_queue, unlock_queue;
};

/// With `created`, no_device names each feature and extension that is missing, and the capability
/// (profiles.md) that DeviceOptions::disable turns off to go without.
Result<Device> adopt(const AdoptedDevice& external, const DeviceOptions& options = {});

/// The device's own handles; `created` and the locks are empty.
AdoptedDevice handles(const Device& device);

/// A range of a VkBuffer, in bytes.
struct BufferRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0, bytes = 0;
};
BufferRange buffer_of(const Buffer& buffer);
/// The application's buffer was created with storage, transfer and device address usage.
Result<Buffer> import(const Device& device, const BufferRange& range);

/// An image, in VK_IMAGE_LAYOUT_GENERAL whenever the runtime uses it.
struct ImageHandle {
  VkImage image = VK_NULL_HANDLE;
  VkFormat format = VK_FORMAT_UNDEFINED;
};
/// The array is image-backed, which is an error if not, and stays where it is from now on.
Result<ImageHandle> image_of(const Array& array);
/// The image has storage, sampled and transfer usage, a mutable format and layout general.
Result<Array> import(const Device& device, const ImageHandle& image, const ArrayDesc& desc);

/// A semaphore of the application. `value` is a timeline semaphore's; a binary one has none.
struct SemaphoreValue {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  std::uint64_t value = 0;
};
/// Work that is given to the device from now on, by this stream and by every other one, starts when
/// the semaphores are signalled and sees what was written before that. A timeline value may be
/// signalled later, but not by work of this device.
Status wait(const Stream& stream, std::span<const SemaphoreValue> semaphores);
/// Signals once all work that was given to the device before is over, with its memory available.
Status signal(const Stream& stream, std::span<const SemaphoreValue> semaphores);

/// Launches in command buffers of the application's, which submits them when and as often as it
/// likes, to a queue of the device's family, never twice at once. It must outlive their execution.
/// While it has launches no array of the device moves between memory and images. Not thread-safe.
class Recording {
 public:
  static Result<Recording> create(const Device& device);
  /// Records barriers and the launch outside of a render pass. Before it everything earlier in
  /// submission order is waited for, behind it everything later waits. It leaves a compute pipeline
  /// and descriptor sets bound. The arguments are read now; their objects stay alive as long as
  /// this. unsupported: a kernel that takes handles out of memory, and launches with the
  /// sanitizer's checks.
  Status launch(VkCommandBuffer commands, const Kernel& kernel, const LaunchConfig& config,
                const Args& args);
  /// The first trap since the last check, in order of recording; prints what kernels printed. To
  /// be called when no submission of the launches runs.
  Status check();

 private:
  explicit Recording(std::shared_ptr<runtime::RecordingState> state) : state_(std::move(state)) {}
  std::shared_ptr<runtime::RecordingState> state_;
};

/// An allocation by an opaque file descriptor, which other APIs and processes on the same device
/// and driver import: as VkImportMemoryFdInfoKHR with OPAQUE_FD, cudaImportExternalMemory.
struct MemoryDescriptor {
  int fd = -1;
  std::uint64_t bytes = 0;  ///< of the whole allocation
  /// Index of VkPhysicalDeviceMemoryProperties. VK_MAX_MEMORY_TYPES to import what fits.
  std::uint32_t memory_type = 0;
  bool dedicated = false;  ///< to one VkBuffer of `bytes` bytes, or to one VkImage
};
/// A buffer in an allocation of its own that can be exported. unsupported where the device has no
/// VK_KHR_external_memory_fd or no buffer addresses.
Result<Buffer> create_exportable(const Device& device, std::uint64_t bytes);
/// The caller owns the descriptor. invalid_argument for a buffer of another kind.
Result<MemoryDescriptor> export_memory(const Buffer& buffer);
/// A buffer over `bytes` bytes from `offset`, a multiple of 4, of somebody's allocation. On success
/// the driver owns the descriptor.
Result<Buffer> import_memory(const Device& device, const MemoryDescriptor& memory,
                             std::uint64_t offset, std::uint64_t bytes);
/// The same of an array in an image of its own, which stays in VK_IMAGE_LAYOUT_GENERAL.
/// unsupported where the device has no VK_KHR_external_memory_fd, or no such image in that memory.
Result<Array> create_exportable(const Device& device, const ArrayDesc& desc);
Result<MemoryDescriptor> export_memory(const Array& array);
/// `desc` has the fields that the array was created with. The contents are what the other side has
/// written before.
Result<Array> import_memory(const Device& device, const MemoryDescriptor& memory,
                            const ArrayDesc& desc);

/// A semaphore that other processes and APIs on the same device and driver have too, by an opaque
/// file descriptor (cudaImportExternalSemaphore): it orders their work and that of streams. It
/// lives until all work that was given to the device is over.
class ExternalSemaphore {
 public:
  /// unsupported, with what is missing, where the device exports no such semaphores.
  static Result<ExternalSemaphore> create(const Device& device, bool timeline);
  /// Somebody's, of the same kind. On success the driver owns the descriptor.
  static Result<ExternalSemaphore> import(const Device& device, int fd, bool timeline);
  /// The caller owns the descriptor.
  Result<int> export_descriptor() const;
  /// For wait and signal of streams. A binary semaphore has no value; its signal is given to a
  /// device before its wait is.
  SemaphoreValue at(std::uint64_t value = 0) const;

 private:
  explicit ExternalSemaphore(std::shared_ptr<runtime::ExternalSemaphoreState> state)
      : state_(std::move(state)) {}
  std::shared_ptr<runtime::ExternalSemaphoreState> state_;
};

}  // namespace ptx2spv::vulkan
