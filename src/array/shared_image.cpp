// Arrays whose images other APIs and processes have too, by file descriptors.
#include <unistd.h>

#include "src/array/array.hpp"
#include "src/array/shared_memory.hpp"

namespace ptx2spv::runtime {

namespace {

/// What the device does with such an image in shared memory; an error where it cannot do `wanted`.
Result<VkExternalMemoryFeatureFlags> image_features(const DeviceState& device,
                                                    const VkImageCreateInfo& create,
                                                    VkExternalMemoryFeatureFlags wanted) {
  VkPhysicalDeviceExternalImageFormatInfo external{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO};
  external.handleType = kSharedMemory;
  VkPhysicalDeviceImageFormatInfo2 info = format_info(create);
  info.pNext = &external;
  VkExternalImageFormatProperties has{VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
  VkImageFormatProperties2 properties{VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
  properties.pNext = &has;
  VkExternalMemoryFeatureFlags features = 0;
  if (device.instance->vk.GetPhysicalDeviceImageFormatProperties2(device.physical, &info,
                                                                  &properties) == VK_SUCCESS)
    features = has.externalMemoryProperties.externalMemoryFeatures;
  if (Status status = check_sharing(device, features, wanted, "such images"); !status)
    return status.error();
  return features;
}

struct MadeImage {
  std::shared_ptr<SharedMemory> shared;
  VkExternalMemoryFeatureFlags features = 0;
  VkMemoryRequirements needs{};
};

/// The image, without memory. Both sides make it of the same description.
Result<MadeImage> make_image(const Device& device, const ArrayDesc& desc,
                             VkExternalMemoryFeatureFlags wanted,
                             std::optional<bool> cube = std::nullopt) {
  if (Status status = check(desc); !status) return status.error();
  DeviceState& state = *device.state();
  auto create = image_info(state, desc);
  if (!create) return create.error();
  if (cube && !*cube) create->flags &= ~VkImageCreateFlags{VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT};
  auto features = image_features(state, *create, wanted);
  if (!features) return features.error();
  VkExternalMemoryImageCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO};
  external.handleTypes = kSharedMemory;
  create->pNext = &external;
  MadeImage made;
  made.shared = std::make_shared<SharedMemory>(state);
  made.features = *features;
  const VkResult result =
      state.vk.CreateImage(state.handle, &*create, nullptr, &made.shared->image);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateImage");
  state.vk.GetImageMemoryRequirements(state.handle, made.shared->image, &made.needs);
  return made;
}

}  // namespace

Result<Array> import_image(const Device& device, const vulkan::MemoryDescriptor& memory,
                           const ArrayDesc& desc, std::uint64_t offset, std::optional<bool> cube) {
  if (Status status = check_descriptor(memory); !status) return status.error();
  auto made = make_image(device, desc, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT, cube);
  if (!made) return made.error();
  made->shared->offset = offset;
  if (Status status = allocate_imported(*made->shared, memory, made->needs); !status)
    return status.error();
  if (Status status = enter_general(*device.state(), made->shared->image, true); !status)
    return status.error();
  auto array = array_over(device, made->shared->image, desc, made->shared);
  if (array) ::close(memory.fd);
  return array;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv::vulkan {

Result<Array> create_exportable(const Device& device, const ArrayDesc& desc) {
  auto made = make_image(device, desc, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
  if (!made) return made.error();
  if (Status status = allocate_exportable(*made->shared, made->features, made->needs); !status)
    return status.error();
  if (Status status = enter_general(*device.state(), made->shared->image, false); !status)
    return status.error();
  return array_over(device, made->shared->image, desc, made->shared);
}

Result<MemoryDescriptor> export_memory(const Array& array) {
  return export_descriptor(array.state()->shared.get());
}

Result<Array> import_memory(const Device& device, const MemoryDescriptor& memory,
                            const ArrayDesc& desc) {
  return import_image(device, memory, desc, 0, std::nullopt);
}

}  // namespace ptx2spv::vulkan
