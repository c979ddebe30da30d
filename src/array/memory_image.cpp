#include "src/array/memory_image.hpp"

#include "src/array/sampler.hpp"

namespace ptx2spv::runtime {

namespace {

VkImageCreateInfo image_info(const TextureState& texture) {
  VkImageCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  create.imageType = VK_IMAGE_TYPE_2D;
  create.format = sampled_format(texture);
  create.extent = {texture.record[abi::x_width], texture.record[abi::x_height], 1};
  create.mipLevels = create.arrayLayers = 1;
  create.samples = VK_SAMPLE_COUNT_1_BIT;
  create.tiling = VK_IMAGE_TILING_LINEAR;
  create.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
  // What the memory holds stays.
  create.initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED;
  return create;
}

bool device_has(const DeviceState& device, const VkImageCreateInfo& create) {
  VkPhysicalDeviceImageFormatInfo2 info{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2};
  info.format = create.format;
  info.type = create.imageType;
  info.tiling = create.tiling;
  info.usage = create.usage;
  VkImageFormatProperties2 properties{VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
  if (device.instance->vk.GetPhysicalDeviceImageFormatProperties2(device.physical, &info,
                                                                  &properties) != VK_SUCCESS)
    return false;
  const VkExtent3D& most = properties.imageFormatProperties.maxExtent;
  return create.extent.width <= most.width && create.extent.height <= most.height;
}

/// Whether the image's rows are the memory's, and it can be bound there.
bool fits(const TextureState& texture, VkImage image, const Block& block, std::uint64_t offset) {
  const DeviceState& device = *texture.device;
  const VkImageSubresource whole{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
  VkSubresourceLayout layout{};
  device.vk.GetImageSubresourceLayout(device.handle, image, &whole, &layout);
  if (layout.offset != 0 || layout.rowPitch != texture.record[abi::x_row_pitch]) return false;
  VkMemoryDedicatedRequirements dedicated{VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
  VkMemoryRequirements2 needs{VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  needs.pNext = &dedicated;
  VkImageMemoryRequirementsInfo2 of{VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2};
  of.image = image;
  device.vk.GetImageMemoryRequirements2(device.handle, &of, &needs);
  const VkMemoryRequirements& memory = needs.memoryRequirements;
  return !dedicated.requiresDedicatedAllocation && memory.memoryTypeBits >> block.type & 1 &&
         offset % memory.alignment == 0 && offset + memory.size <= block.size;
}

void transition(DeviceState& device, VkCommandBuffer commands, VkImage image) {
  VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT;
  barrier.oldLayout = VK_IMAGE_LAYOUT_PREINITIALIZED;
  barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  device.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                               VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1,
                               &barrier);
}

VkImage made(const TextureState& texture) {
  DeviceState& device = *texture.device;
  const bool rows = texture.record[abi::x_sampler] & abi::sample_rows;
  if (!texture.buffer || !rows) return VK_NULL_HANDLE;
  const std::uint64_t address =
      texture.record[abi::x_base_lo] | std::uint64_t{texture.record[abi::x_base_hi]} << 32;
  std::uint64_t offset = 0;
  const Block* block = device.heap.find(address, offset);
  VkImageCreateInfo create = image_info(texture);
  // An image of imported memory begins with no contents: Vulkan refuses it PREINITIALIZED.
  if (!block || !block->memory || block->imported || block->dedicated ||
      !device_has(device, create))
    return VK_NULL_HANDLE;
  VkImage image = VK_NULL_HANDLE;
  if (device.traits.splits()) device.share(create);
  if (device.vk.CreateImage(device.handle, &create, nullptr, &image) != VK_SUCCESS)
    return VK_NULL_HANDLE;
  const bool bound =
      fits(texture, image, *block, offset) &&
      device.vk.BindImageMemory(device.handle, image, block->memory, offset) == VK_SUCCESS &&
      device.queue.run([&](VkCommandBuffer commands) { transition(device, commands, image); });
  if (bound) return image;
  device.vk.DestroyImage(device.handle, image, nullptr);
  return VK_NULL_HANDLE;
}

}  // namespace

void make_memory_image(TextureState& texture) {
  {
    std::lock_guard lock(texture.sampled_mutex);
    if (texture.memory_image_tried) return;
    texture.memory_image_tried = true;
    texture.memory_image = made(texture);
  }
  if (!texture.memory_image) return;
  texture.record[abi::x_sampled] = table_bits(texture);
  texture.device->textures.update(texture.handle, texture.record);
}

}  // namespace ptx2spv::runtime
