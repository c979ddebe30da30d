// Storage images behind arrays.
#include <fmt/format.h>

#include <utility>

#include "src/array/texture.hpp"

namespace ptx2spv::runtime {

namespace {

/// Why the device has no such image, or empty.
std::string refusal(const DeviceState& device, const ArrayDesc& desc,
                    const VkImageCreateInfo& create) {
  const VkPhysicalDeviceImageFormatInfo2 info = format_info(create);
  VkImageFormatProperties2 properties{VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
  if (device.instance->vk.GetPhysicalDeviceImageFormatProperties2(device.physical, &info,
                                                                  &properties) != VK_SUCCESS)
    return fmt::format("{} has no storage images with {} bytes a texel", device.info.name,
                       desc.texel_bytes());
  const VkImageFormatProperties& most = properties.imageFormatProperties;
  const VkExtent3D& extent = create.extent;
  if (extent.width > most.maxExtent.width || extent.height > most.maxExtent.height ||
      extent.depth > most.maxExtent.depth || create.arrayLayers > most.maxArrayLayers ||
      create.mipLevels > most.maxMipLevels)
    return fmt::format(
        "an image of {} x {} x {} with {} layers is larger than {} allows ({} x {} x {}, {})",
        extent.width, extent.height, extent.depth, create.arrayLayers, device.info.name,
        most.maxExtent.width, most.maxExtent.height, most.maxExtent.depth, most.maxArrayLayers);
  return {};
}

}  // namespace

VkPhysicalDeviceImageFormatInfo2 format_info(const VkImageCreateInfo& create) {
  VkPhysicalDeviceImageFormatInfo2 info{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2};
  info.format = create.format;
  info.type = create.imageType;
  info.tiling = create.tiling;
  info.usage = create.usage;
  info.flags = create.flags;
  return info;
}

Status enter_general(DeviceState& device, VkImage image, bool external) {
  VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  // From a layout that is undefined a driver need not keep contents.
  barrier.oldLayout = external ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_UNDEFINED;
  barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  barrier.srcQueueFamilyIndex = external ? VK_QUEUE_FAMILY_EXTERNAL : VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                              VK_REMAINING_ARRAY_LAYERS};
  return device.queue.run([&](VkCommandBuffer commands) {
    barrier.dstQueueFamilyIndex = external ? device.queue.family() : VK_QUEUE_FAMILY_IGNORED;
    device.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                 VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1,
                                 &barrier);
  });
}

Result<VkImageCreateInfo> image_info(const DeviceState& device, const ArrayDesc& desc) {
  VkFormat format = storage_format(desc.texel_bytes());
  bool extended = format != VK_FORMAT_R32_UINT && format != VK_FORMAT_R32G32B32A32_UINT;
  if (extended && !device.traits.storage_image_formats)
    return make_error(ErrorCode::unsupported, "{} has no storage images with {} bytes a texel",
                      device.info.name, desc.texel_bytes());
  VkImageCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  // Storage views are unsigned whatever the texels mean; sampled views need the format itself.
  create.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT;
  // The faces of a cube map are layers like others.
  if (desc.geometry == Geometry::a2d && desc.layers % 6 == 0 && desc.width == desc.height)
    create.flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
  create.imageType = image_type(device, desc.geometry);
  create.format = format;
  create.extent = {desc.width, desc.height, desc.depth};
  create.mipLevels = desc.levels;
  create.arrayLayers = desc.layers;
  create.samples = VK_SAMPLE_COUNT_1_BIT;
  create.tiling = VK_IMAGE_TILING_OPTIMAL;
  create.usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                 VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  create.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  if (std::string reason = refusal(device, desc, create); !reason.empty())
    return make_error(ErrorCode::unsupported, std::move(reason));
  return create;
}

Status create_image(ArrayState& array) {
  DeviceState& device = *array.device;
  if (array.linear && !array.linear.buffer())
    return make_error(ErrorCode::unsupported, "the array is too large for an image");
  auto create = image_info(device, array.desc);
  if (!create) return create.error();
  if (device.traits.splits()) device.share(*create);
  VkResult result = device.vk.CreateImage(device.handle, &*create, nullptr, &array.image);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateImage");
  VkMemoryRequirements needs{};
  device.vk.GetImageMemoryRequirements(device.handle, array.image, &needs);
  auto memory = device.heap.allocate_image(needs, array.image);
  if (!memory) return memory.error();
  array.image_memory = std::move(*memory);
  result = device.vk.BindImageMemory(device.handle, array.image, array.image_memory.memory(),
                                     array.image_memory.offset());
  if (result != VK_SUCCESS) return vulkan_error(result, "BindImageMemory");
  if (Status status = enter_general(device, array.image, false); !status) return status;
  return create_storage_views(array);
}

void destroy_image(ArrayState& array) {
  DeviceState& device = *array.device;
  for (TextureState* texture : array.textures) forget_sampled(*texture);
  for (Level& level : array.levels)
    for (VkImageView* view : {&level.storage_view, &level.storage_view64})
      if (*view) device.vk.DestroyImageView(device.handle, std::exchange(*view, {}), nullptr);
  if (array.image && !array.imported)
    device.vk.DestroyImage(device.handle, std::exchange(array.image, {}), nullptr);
  array.image_memory = Memory();
}

Status create_storage_views(ArrayState& array) {
  DeviceState& device = *array.device;
  const std::uint32_t texel = array.desc.texel_bytes();
  // An imported image need not have been made for views of other formats.
  const bool view64 =
      texel == 8 && (!array.imported || array.shared) && device.profile.features.image_atomics64;
  for (std::uint32_t i = 0; i < array.levels.size(); ++i) {
    VkImageViewUsageCreateInfo usage{VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO};
    usage.usage = VK_IMAGE_USAGE_STORAGE_BIT;
    VkImageViewCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
    create.pNext = &usage;
    create.image = array.image;
    create.viewType = view_type(device, array.desc.geometry);
    create.format = storage_format(texel);
    create.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, i, 1, 0, array.desc.layers};
    VkResult result =
        device.vk.CreateImageView(device.handle, &create, nullptr, &array.levels[i].storage_view);
    if (result == VK_SUCCESS && view64) {
      create.format = VK_FORMAT_R64_UINT;
      result = device.vk.CreateImageView(device.handle, &create, nullptr,
                                         &array.levels[i].storage_view64);
    }
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateImageView");
  }
  return {};
}

void ArrayState::record_copy(VkCommandBuffer commands, bool to_linear) {
  std::vector<VkBufferImageCopy> copies;
  for (std::uint32_t i = 0; i < levels.size(); ++i) {
    const Level& level = levels[i];
    VkBufferImageCopy copy{};
    copy.bufferOffset = linear.offset() + level.offset;
    copy.bufferRowLength = static_cast<std::uint32_t>(level.row_pitch / desc.texel_bytes());
    copy.bufferImageHeight = level.height;
    copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, i, 0, desc.layers};
    copy.imageExtent = {level.width, level.height, level.depth};
    copies.push_back(copy);
  }
  auto count = static_cast<std::uint32_t>(copies.size());
  if (to_linear)
    device->vk.CmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, linear.buffer(),
                                    count, copies.data());
  else
    device->vk.CmdCopyBufferToImage(commands, linear.buffer(), image, VK_IMAGE_LAYOUT_GENERAL,
                                    count, copies.data());
}

}  // namespace ptx2spv::runtime
