// Allocations that other APIs and processes have too, by opaque file descriptors, and pages of this
// process.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "ptx2spv/vulkan.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::runtime {

inline constexpr VkExternalMemoryHandleTypeFlagBits kSharedMemory =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;

/// A VkBuffer or a VkImage over the whole of an allocation.
struct SharedMemory {
  explicit SharedMemory(DeviceState& owner) : device(owner) {}
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  DeviceState& device;  ///< which the buffer or array over it keeps alive
  VkBuffer buffer = VK_NULL_HANDLE;
  VkImage image = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< of the image in its memory
  std::uint32_t type = 0;
  bool dedicated = false, exportable = false;
};

/// unsupported: the device has no `what`.
Error lacks(const DeviceState& device, std::string_view what);
/// Whether the device has the extension for descriptors, and `features` all that are `wanted` of
/// `what`.
Status check_sharing(const DeviceState& device, VkExternalMemoryFeatureFlags features,
                     VkExternalMemoryFeatureFlags wanted, const char* what);
Status check_descriptor(const vulkan::MemoryDescriptor& memory);
/// An allocation for the buffer or image, which is bound to it.
Status allocate_exportable(SharedMemory& shared, VkExternalMemoryFeatureFlags features,
                           const VkMemoryRequirements& needs);
/// Somebody's allocation for it. The caller's descriptor stays open.
Status allocate_imported(SharedMemory& shared, const vulkan::MemoryDescriptor& memory,
                         const VkMemoryRequirements& needs);
/// import_memory of an image at an offset. `cube`: it was made compatible with cube maps; nothing:
/// it was where its shape allows that.
Result<Array> import_image(const Device& device, const vulkan::MemoryDescriptor& memory,
                           const ArrayDesc& desc, std::uint64_t offset, std::optional<bool> cube);
/// VkPhysicalDeviceIDProperties::driverUUID: with the device's, it tells who can import its memory.
std::array<std::uint8_t, VK_UUID_SIZE> driver_uuid(const Device& device);
/// Whether a device may reach pages of the process that it did not allocate.
bool imports_pages(const DeviceState& device);
/// A buffer over memory of the process, which is there as long as the buffer.
Result<Buffer> import_pages(const Device& device, std::byte* memory, std::uint64_t bytes);
/// Null is memory of another kind.
Result<vulkan::MemoryDescriptor> export_descriptor(const SharedMemory* shared);

}  // namespace ptx2spv::runtime
