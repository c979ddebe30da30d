// Allocations that other APIs and processes have too, by file descriptors.
#include <fmt/format.h>
#include <unistd.h>

#include "ptx2spv/vulkan.hpp"
#include "src/array/buffer.hpp"

namespace ptx2spv::runtime {

/// A VkBuffer over the whole of an allocation.
struct SharedMemory {
  explicit SharedMemory(DeviceState& owner) : device(owner) {}
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() {
    // Kernels may still reach it by its address.
    (void)device.queue.wait(device.queue.submitted());
    if (buffer) device.vk.DestroyBuffer(device.handle, buffer, nullptr);
    if (memory) device.vk.FreeMemory(device.handle, memory, nullptr);
  }

  DeviceState& device;  ///< which the buffer over it keeps alive
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::uint64_t bytes = 0;
  std::uint32_t type = 0;
  bool dedicated = false, exportable = false;
};

namespace {

constexpr VkExternalMemoryHandleTypeFlagBits kHandle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
    VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

PFN_vkGetMemoryFdKHR get_memory_fd(const DeviceState& device) {
  return reinterpret_cast<PFN_vkGetMemoryFdKHR>(
      device.instance->vk.GetDeviceProcAddr(device.handle, "vkGetMemoryFdKHR"));
}

/// What the device does with buffers of such memory; an error where it cannot do `wanted`.
Result<VkExternalMemoryFeatureFlags> features_of(const DeviceState& device,
                                                 VkExternalMemoryFeatureFlags wanted) {
  const auto refuse = [&device](const char* lack) {
    return make_error(ErrorCode::unsupported, device.info.name + " has no " + lack);
  };
  if (!device.profile.features.device_addresses) return refuse("buffer addresses");
  if (!get_memory_fd(device)) return refuse(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  const auto query =
      reinterpret_cast<PFN_vkGetPhysicalDeviceExternalBufferProperties>(device.instance->get_proc(
          device.instance->handle, "vkGetPhysicalDeviceExternalBufferProperties"));
  if (!query) return refuse("vkGetPhysicalDeviceExternalBufferProperties");
  VkPhysicalDeviceExternalBufferInfo info{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO};
  info.usage = kUsage;
  info.handleType = kHandle;
  VkExternalBufferProperties has{VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
  query(device.physical, &info, &has);
  const auto features = has.externalMemoryProperties.externalMemoryFeatures;
  if ((features & wanted) != wanted) return refuse("buffers in memory of opaque descriptors");
  return features;
}

/// The buffer, then memory for it: `next` is the head of what VkMemoryAllocateInfo chains.
Status create_buffer(SharedMemory& shared, std::uint64_t bytes, VkMemoryRequirements& needs) {
  const DeviceState& device = shared.device;
  VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
  external.handleTypes = kHandle;
  VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  create.pNext = &external;
  create.size = bytes;
  create.usage = kUsage;
  const VkResult result = device.vk.CreateBuffer(device.handle, &create, nullptr, &shared.buffer);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateBuffer");
  device.vk.GetBufferMemoryRequirements(device.handle, shared.buffer, &needs);
  return {};
}

template <typename Link>
Status allocate(SharedMemory& shared, Link& link) {
  const DeviceState& device = shared.device;
  VkMemoryDedicatedAllocateInfo dedicated{VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
  dedicated.buffer = shared.buffer;
  dedicated.pNext = &link;
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  flags.pNext = shared.dedicated ? static_cast<const void*>(&dedicated) : &link;
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.pNext = &flags;
  info.allocationSize = shared.bytes;
  info.memoryTypeIndex = shared.type;
  VkResult result = device.vk.AllocateMemory(device.handle, &info, nullptr, &shared.memory);
  if (result != VK_SUCCESS) return vulkan_error(result, "AllocateMemory");
  result = device.vk.BindBufferMemory(device.handle, shared.buffer, shared.memory, 0);
  return result == VK_SUCCESS ? Status() : vulkan_error(result, "BindBufferMemory");
}

Result<Buffer> buffer_over(const Device& device, std::shared_ptr<SharedMemory> shared,
                           std::uint64_t offset, std::uint64_t bytes) {
  auto buffer = vulkan::import(device, vulkan::BufferRange{shared->buffer, offset, bytes});
  if (buffer) buffer->state()->shared = std::move(shared);
  return buffer;
}

}  // namespace

}  // namespace ptx2spv::runtime

namespace ptx2spv::vulkan {

using namespace runtime;

Result<Buffer> create_exportable(const Device& device, std::uint64_t bytes) {
  if (!bytes) return make_error(ErrorCode::invalid_argument, "the buffer is empty");
  DeviceState& state = *device.state();
  auto features = features_of(state, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
  if (!features) return features.error();
  auto shared = std::make_shared<SharedMemory>(state);
  shared->exportable = true;
  shared->dedicated = *features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
  VkMemoryRequirements needs{};
  // Kernels read and write whole words.
  if (Status status = create_buffer(*shared, (bytes + 3) / 4 * 4, needs); !status)
    return status.error();
  const int type = state.heap.pick_type(MemoryKind::device, needs.memoryTypeBits);
  if (type < 0) return make_error(ErrorCode::unsupported, "the device has no suitable memory type");
  shared->type = static_cast<std::uint32_t>(type);
  shared->bytes = needs.size;
  VkExportMemoryAllocateInfo link{VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO};
  link.handleTypes = kHandle;
  if (Status status = allocate(*shared, link); !status) return status.error();
  return buffer_over(device, std::move(shared), 0, bytes);
}

Result<MemoryDescriptor> export_memory(const Buffer& buffer) {
  const auto& shared = buffer.state()->shared;
  if (!shared || !shared->exportable)
    return make_error(ErrorCode::invalid_argument,
                      "the buffer cannot be exported: create_exportable makes those that can");
  const DeviceState& device = shared->device;
  VkMemoryGetFdInfoKHR info{VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR};
  info.memory = shared->memory;
  info.handleType = kHandle;
  MemoryDescriptor descriptor{-1, shared->bytes, shared->type, shared->dedicated};
  const VkResult result = get_memory_fd(device)(device.handle, &info, &descriptor.fd);
  if (result != VK_SUCCESS) return vulkan_error(result, "GetMemoryFdKHR");
  return descriptor;
}

Result<Buffer> import_memory(const Device& device, const MemoryDescriptor& memory,
                             std::uint64_t offset, std::uint64_t bytes) {
  if (memory.fd < 0 || !memory.bytes || !bytes)
    return make_error(ErrorCode::invalid_argument,
                      "the descriptor is negative, or its memory or the buffer is empty");
  if (offset > memory.bytes || bytes > memory.bytes - offset)
    return make_error(ErrorCode::invalid_argument,
                      fmt::format("{} bytes at {} do not lie in an allocation of {} bytes", bytes,
                                  offset, memory.bytes));
  DeviceState& state = *device.state();
  auto features = features_of(state, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT);
  if (!features) return features.error();
  auto shared = std::make_shared<SharedMemory>(state);
  shared->bytes = memory.bytes;
  shared->type = memory.memory_type;
  shared->dedicated = memory.dedicated;
  VkMemoryRequirements needs{};
  if (Status status = create_buffer(*shared, memory.bytes, needs); !status) return status.error();
  if (memory.memory_type > 31 || !(needs.memoryTypeBits >> memory.memory_type & 1))
    return make_error(ErrorCode::invalid_argument,
                      fmt::format("no buffer can lie in memory of type {}", memory.memory_type));
  if (needs.size > memory.bytes)
    return make_error(
        ErrorCode::invalid_argument,
        fmt::format("a buffer over an allocation of {} bytes needs {}", memory.bytes, needs.size));
  VkImportMemoryFdInfoKHR link{VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR};
  link.handleType = kHandle;
  // The driver takes what it imports, so that a copy of it leaves the caller's to the caller until
  // nothing can fail any more.
  link.fd = ::dup(memory.fd);
  if (link.fd < 0) return make_error(ErrorCode::invalid_argument, "the descriptor is not open");
  Status status = allocate(*shared, link);
  if (!shared->memory) ::close(link.fd);
  if (!status) return status.error();
  auto buffer = buffer_over(device, std::move(shared), offset, bytes);
  if (buffer) ::close(memory.fd);
  return buffer;
}

}  // namespace ptx2spv::vulkan
