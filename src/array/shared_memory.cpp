#include "src/array/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "src/array/buffer.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
    VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

PFN_vkGetMemoryFdKHR get_memory_fd(const DeviceState& device) {
  return reinterpret_cast<PFN_vkGetMemoryFdKHR>(
      device.instance->vk.GetDeviceProcAddr(device.handle, "vkGetMemoryFdKHR"));
}

/// What the device does with buffers of such memory; an error where it cannot do `wanted`.
Result<VkExternalMemoryFeatureFlags> buffer_features(const DeviceState& device,
                                                     VkExternalMemoryFeatureFlags wanted) {
  if (!device.profile.features.device_addresses) return lacks(device, "buffer addresses");
  constexpr const char* kQuery = "vkGetPhysicalDeviceExternalBufferProperties";
  const auto query = reinterpret_cast<PFN_vkGetPhysicalDeviceExternalBufferProperties>(
      device.instance->get_proc(device.instance->handle, kQuery));
  if (!query) return lacks(device, kQuery);
  VkPhysicalDeviceExternalBufferInfo info{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO};
  info.usage = kUsage;
  info.handleType = kSharedMemory;
  VkExternalBufferProperties has{VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
  query(device.physical, &info, &has);
  const auto features = has.externalMemoryProperties.externalMemoryFeatures;
  if (Status status = check_sharing(device, features, wanted, "buffers"); !status)
    return status.error();
  return features;
}

Status create_buffer(SharedMemory& shared, std::uint64_t bytes, VkMemoryRequirements& needs,
                     VkExternalMemoryHandleTypeFlags handles = kSharedMemory) {
  const DeviceState& device = shared.device;
  VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
  external.handleTypes = handles;
  VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  create.pNext = &external;
  device.share(create);
  create.size = bytes;
  create.usage = kUsage;
  const VkResult result = device.vk.CreateBuffer(device.handle, &create, nullptr, &shared.buffer);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateBuffer");
  device.vk.GetBufferMemoryRequirements(device.handle, shared.buffer, &needs);
  return {};
}

/// `link` says whether the allocation is exported or imported.
template <typename Link>
Status allocate(SharedMemory& shared, Link& link) {
  const DeviceState& device = shared.device;
  VkMemoryDedicatedAllocateInfo dedicated{VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
  dedicated.buffer = shared.buffer;
  dedicated.image = shared.image;
  dedicated.pNext = &link;
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = shared.buffer ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0;
  flags.pNext = shared.dedicated ? static_cast<const void*>(&dedicated) : &link;
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.pNext = &flags;
  info.allocationSize = shared.bytes;
  info.memoryTypeIndex = shared.type;
  VkResult result = device.vk.AllocateMemory(device.handle, &info, nullptr, &shared.memory);
  if (result != VK_SUCCESS) return vulkan_error(result, "AllocateMemory");
  if (shared.image) {
    result = device.vk.BindImageMemory(device.handle, shared.image, shared.memory, shared.offset);
    return result == VK_SUCCESS ? Status() : vulkan_error(result, "BindImageMemory");
  }
  result = device.vk.BindBufferMemory(device.handle, shared.buffer, shared.memory, 0);
  return result == VK_SUCCESS ? Status() : vulkan_error(result, "BindBufferMemory");
}

Result<Buffer> buffer_over(const Device& device, std::shared_ptr<SharedMemory> shared,
                           std::uint64_t offset, std::uint64_t bytes) {
  auto buffer = buffer_in(device, vulkan::BufferRange{shared->buffer, offset, bytes});
  if (buffer) buffer->state()->shared = std::move(shared);
  return buffer;
}

}  // namespace

SharedMemory::~SharedMemory() {
  // Kernels may still reach it by its address.
  (void)device.queue.wait(device.queue.submitted());
  if (buffer) device.vk.DestroyBuffer(device.handle, buffer, nullptr);
  if (image) device.vk.DestroyImage(device.handle, image, nullptr);
  if (memory) device.vk.FreeMemory(device.handle, memory, nullptr);
}

Error lacks(const DeviceState& device, std::string_view what) {
  return make_error(ErrorCode::unsupported, "{} has no {}", device.info.name, what);
}

Status check_sharing(const DeviceState& device, VkExternalMemoryFeatureFlags features,
                     VkExternalMemoryFeatureFlags wanted, const char* what) {
  if (!get_memory_fd(device)) return lacks(device, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  if ((features & wanted) == wanted) return {};
  return lacks(device, fmt::format("{} in memory of opaque descriptors", what));
}

Status check_descriptor(const vulkan::MemoryDescriptor& memory) {
  if (memory.fd >= 0 && memory.bytes) return {};
  return bad_argument("the descriptor is negative, or its memory empty");
}

Status allocate_exportable(SharedMemory& shared, VkExternalMemoryFeatureFlags features,
                           const VkMemoryRequirements& needs) {
  shared.exportable = true;
  shared.dedicated = features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
  const int type = shared.device.heap.pick_type(MemoryKind::device, needs.memoryTypeBits);
  if (type < 0) return lacks(shared.device, "suitable memory type");
  shared.type = static_cast<std::uint32_t>(type);
  shared.bytes = needs.size;
  VkExportMemoryAllocateInfo link{VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO};
  link.handleTypes = kSharedMemory;
  return allocate(shared, link);
}

namespace {

Status import_as(SharedMemory& shared, int fd) {
  VkImportMemoryFdInfoKHR link{VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR};
  link.handleType = kSharedMemory;
  // The driver takes what it imports, so that a copy of it leaves the caller's to the caller until
  // nothing can fail any more.
  link.fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (link.fd < 0) return bad_argument("the descriptor is not open");
  Status status = allocate(shared, link);
  if (!shared.memory) ::close(link.fd);
  return status;
}

}  // namespace

Status allocate_imported(SharedMemory& shared, const vulkan::MemoryDescriptor& memory,
                         const VkMemoryRequirements& needs) {
  const char* what = shared.image ? "image" : "buffer";
  shared.bytes = memory.bytes;
  shared.dedicated = memory.dedicated;
  const bool any = memory.memory_type == VK_MAX_MEMORY_TYPES;
  if (!any && (memory.memory_type > 31 || !(needs.memoryTypeBits >> memory.memory_type & 1)))
    return bad_argument("no {} can lie in memory of type {}", what, memory.memory_type);
  if (shared.offset % needs.alignment)
    return bad_argument("the {} lies at multiples of {} bytes", what, needs.alignment);
  if (shared.offset > memory.bytes || needs.size > memory.bytes - shared.offset)
    return bad_argument("the {} needs {} bytes at {}, and the allocation has {}", what, needs.size,
                        shared.offset, memory.bytes);
  // The type is the exporter's, which need not be known: a driver refuses others.
  Status status;
  for (std::uint32_t type = 0; type < VK_MAX_MEMORY_TYPES; ++type) {
    if (any ? !(needs.memoryTypeBits >> type & 1) : type != memory.memory_type) continue;
    shared.type = type;
    status = import_as(shared, memory.fd);
    if (status || shared.memory) return status;
  }
  return status;
}

namespace {

constexpr VkExternalMemoryHandleTypeFlagBits kPages =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

PFN_vkGetMemoryHostPointerPropertiesEXT get_page_properties(const DeviceState& device) {
  return reinterpret_cast<PFN_vkGetMemoryHostPointerPropertiesEXT>(
      device.instance->vk.GetDeviceProcAddr(device.handle, "vkGetMemoryHostPointerPropertiesEXT"));
}

std::uint64_t page_alignment(const DeviceState& device) {
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT pages{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  properties.pNext = &pages;
  device.instance->vk.GetPhysicalDeviceProperties2(device.physical, &properties);
  return std::max<std::uint64_t>(pages.minImportedHostPointerAlignment, 1);
}

/// `start` is of a page, and so is the end of its `shared.bytes`.
Status allocate_over(SharedMemory& shared, std::byte* start, const VkMemoryRequirements& needs) {
  const DeviceState& device = shared.device;
  VkMemoryHostPointerPropertiesEXT takes{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  const VkResult result = get_page_properties(device)(device.handle, kPages, start, &takes);
  if (result != VK_SUCCESS) return vulkan_error(result, "GetMemoryHostPointerPropertiesEXT");
  const int type =
      device.heap.pick_type(MemoryKind::readback, takes.memoryTypeBits & needs.memoryTypeBits);
  if (type < 0 || needs.size > shared.bytes)
    return lacks(device, "memory type for pages of the process");
  shared.type = static_cast<std::uint32_t>(type);
  VkImportMemoryHostPointerInfoEXT link{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
  link.handleType = kPages;
  link.pHostPointer = start;
  return allocate(shared, link);
}

}  // namespace

bool imports_pages(const DeviceState& device) {
  return device.profile.features.device_addresses && get_page_properties(device);
}

Result<Buffer> import_pages(const Device& device, std::byte* memory, std::uint64_t bytes) {
  DeviceState& state = *device.state();
  if (!imports_pages(state)) return lacks(state, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  const std::uint64_t page = page_alignment(state);
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(memory) % page;
  auto shared = std::make_shared<SharedMemory>(state);
  VkMemoryRequirements needs{};
  if (Status status = create_buffer(*shared, offset + bytes, needs, kPages); !status)
    return status.error();
  shared->bytes = (offset + bytes + page - 1) / page * page;
  if (Status status = allocate_over(*shared, memory - offset, needs); !status)
    return status.error();
  auto buffer = buffer_over(device, std::move(shared), offset, bytes);
  if (buffer) buffer->state()->mapped = memory - offset;
  return buffer;
}

std::array<std::uint8_t, VK_UUID_SIZE> driver_uuid(const Device& device) {
  const DeviceState& state = *device.state();
  VkPhysicalDeviceIDProperties id{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  properties.pNext = &id;
  state.instance->vk.GetPhysicalDeviceProperties2(state.physical, &properties);
  std::array<std::uint8_t, VK_UUID_SIZE> uuid{};
  std::copy_n(id.driverUUID, uuid.size(), uuid.begin());
  return uuid;
}

Result<vulkan::MemoryDescriptor> export_descriptor(const SharedMemory* shared) {
  if (!shared || !shared->exportable)
    return bad_argument("the memory cannot be exported: create_exportable makes what can");
  const DeviceState& device = shared->device;
  VkMemoryGetFdInfoKHR info{VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR};
  info.memory = shared->memory;
  info.handleType = kSharedMemory;
  vulkan::MemoryDescriptor descriptor{-1, shared->bytes, shared->type, shared->dedicated};
  const VkResult result = get_memory_fd(device)(device.handle, &info, &descriptor.fd);
  if (result != VK_SUCCESS) return vulkan_error(result, "GetMemoryFdKHR");
  return descriptor;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv::vulkan {

Result<Buffer> create_exportable(const Device& device, std::uint64_t bytes) {
  if (!bytes) return bad_argument("the buffer is empty");
  DeviceState& state = *device.state();
  auto features = buffer_features(state, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
  if (!features) return features.error();
  auto shared = std::make_shared<SharedMemory>(state);
  VkMemoryRequirements needs{};
  // Kernels read and write whole words.
  if (Status status = create_buffer(*shared, (bytes + 3) / 4 * 4, needs); !status)
    return status.error();
  if (Status status = allocate_exportable(*shared, *features, needs); !status)
    return status.error();
  return buffer_over(device, std::move(shared), 0, bytes);
}

Result<MemoryDescriptor> export_memory(const Buffer& buffer) {
  return export_descriptor(buffer.state()->shared.get());
}

Result<Buffer> import_memory(const Device& device, const MemoryDescriptor& memory,
                             std::uint64_t offset, std::uint64_t bytes) {
  if (Status status = check_descriptor(memory); !status) return status.error();
  if (!bytes) return bad_argument("the buffer is empty");
  if (offset % 4) return bad_argument("an imported buffer starts at a multiple of 4");
  if (offset > memory.bytes || bytes > memory.bytes - offset)
    return bad_argument("{} bytes at {} do not lie in an allocation of {} bytes", bytes, offset,
                        memory.bytes);
  DeviceState& state = *device.state();
  auto features = buffer_features(state, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT);
  if (!features) return features.error();
  auto shared = std::make_shared<SharedMemory>(state);
  VkMemoryRequirements needs{};
  if (Status status = create_buffer(*shared, memory.bytes, needs); !status) return status.error();
  if (Status status = allocate_imported(*shared, memory, needs); !status) return status.error();
  auto buffer = buffer_over(device, std::move(shared), offset, bytes);
  if (buffer) ::close(memory.fd);
  return buffer;
}

}  // namespace ptx2spv::vulkan
