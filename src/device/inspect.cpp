// What a physical device can do: the profile from its features, its exactness from its driver's
// table.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "src/device/calibrate.hpp"
#include "src/device/device.hpp"
#include "src/device/features.hpp"

namespace ptx2spv::runtime {

namespace {

/// Rounding, denormals and faults cannot be asked for; they are known by driver. Of a driver that
/// is not known nothing is presumed.
std::string_view profile_of(VkDriverId driver) {
  switch (driver) {
    case VK_DRIVER_ID_GOOGLE_SWIFTSHADER: return "swiftshader";
    case VK_DRIVER_ID_MESA_LLVMPIPE: return "lavapipe";
    case VK_DRIVER_ID_NVIDIA_PROPRIETARY: return "nvidia";
    default: return "portable";
  }
}

DeviceKind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceKind::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceKind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceKind::virtual_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceKind::cpu;
    default: return DeviceKind::other;
  }
}

/// A family that computes, best one that draws too, for that takes every copy. False: there is
/// none.
bool choose_queue_family(const InstanceFunctions& vk, VkPhysicalDevice physical,
                         PhysicalTraits& traits) {
  std::uint32_t families = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(physical, &families, nullptr);
  std::vector<VkQueueFamilyProperties> family(families);
  vk.GetPhysicalDeviceQueueFamilyProperties(physical, &families, family.data());
  int chosen = -1;
  for (std::uint32_t i = 0; i < families; ++i) {
    if (!(family[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    if (chosen < 0 || (family[i].queueFlags & VK_QUEUE_GRAPHICS_BIT &&
                       !(family[chosen].queueFlags & VK_QUEUE_GRAPHICS_BIT)))
      chosen = static_cast<int>(i);
  }
  if (chosen < 0) return false;
  traits.queue_family = static_cast<std::uint32_t>(chosen);
  traits.timestamp_bits = family[chosen].timestampValidBits;
  return true;
}

/// What Vulkan reports; of a driver that is not known no more than that.
void fill_features(const InstanceFunctions& vk, VkPhysicalDevice physical,
                   const FeatureChain& chain, Profile& profile) {
  const VkPhysicalDeviceFeatures& core = chain.features.features;
  const bool known = profile.name != "portable";
  // A known driver keeps its profile's no, which may be a choice rather than a lack.
  auto allow = [known](bool& field, bool has) { field = has && (!known || field); };
  allow(profile.features.int64, core.shaderInt64);
  allow(profile.features.float64, core.shaderFloat64);
  allow(profile.features.storage8, chain.v12.storageBuffer8BitAccess && chain.v12.shaderInt8);
  allow(profile.features.storage16, chain.v11.storageBuffer16BitAccess && core.shaderInt16);
  allow(profile.features.buffer_atomics64, chain.v12.shaderBufferInt64Atomics);
  allow(profile.features.shared_atomics64, chain.v12.shaderSharedInt64Atomics);
  allow(profile.features.image_atomics64, chain.image_atomic64.shaderImageInt64Atomics);
  allow(profile.features.buffer_atomic_f32_add, chain.atomic_float.shaderBufferFloat32AtomicAdd);
  allow(profile.features.buffer_atomic_f64_add, chain.atomic_float.shaderBufferFloat64AtomicAdd);
  VkFormatProperties wide{};
  vk.GetPhysicalDeviceFormatProperties(physical, VK_FORMAT_R64_UINT, &wide);
  const VkFormatFeatureFlags atomics =
      VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT | VK_FORMAT_FEATURE_STORAGE_IMAGE_ATOMIC_BIT;
  allow(profile.features.image_atomics64, (wide.optimalTilingFeatures & atomics) == atomics);
  VkPhysicalDeviceImageFormatInfo2 image{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2};
  image.format = VK_FORMAT_R32_UINT;
  image.type = VK_IMAGE_TYPE_1D;
  image.tiling = VK_IMAGE_TILING_OPTIMAL;
  image.usage = VK_IMAGE_USAGE_STORAGE_BIT;
  VkImageFormatProperties2 image_properties{VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
  allow(profile.features.image1d, vk.GetPhysicalDeviceImageFormatProperties2(
                                      physical, &image, &image_properties) == VK_SUCCESS);
  allow(profile.features.shader_clock, chain.clock.shaderSubgroupClock);
}

/// Denormals, rounding and special values that modules may ask to be kept.
void fill_float_controls(const VkPhysicalDeviceVulkan12Properties& v12, Features& features) {
  // Where the widths depend on each other, both are declared or neither.
  const auto set = [](bool& has32, bool& has64, VkBool32 in32, VkBool32 in64,
                      VkShaderFloatControlsIndependence independence) {
    const bool apart = independence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    has32 = in32 && (apart || in64);
    has64 = in64 && (apart || in32);
  };
  set(features.preserves_denormals32, features.preserves_denormals64,
      v12.shaderDenormPreserveFloat32, v12.shaderDenormPreserveFloat64,
      v12.denormBehaviorIndependence);
  set(features.rounds_even32, features.rounds_even64, v12.shaderRoundingModeRTEFloat32,
      v12.shaderRoundingModeRTEFloat64, v12.roundingModeIndependence);
  features.keeps_specials32 = v12.shaderSignedZeroInfNanPreserveFloat32;
  features.keeps_specials64 = v12.shaderSignedZeroInfNanPreserveFloat64;
}

}  // namespace

bool has_extension(const std::vector<VkExtensionProperties>& all, const char* name) {
  return std::any_of(all.begin(), all.end(), [name](const VkExtensionProperties& each) {
    return !std::strcmp(each.extensionName, name);
  });
}

std::vector<VkExtensionProperties> device_extensions(const Instance& instance,
                                                     VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  instance.vk.EnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  instance.vk.EnumerateDeviceExtensionProperties(physical, nullptr, &count, all.data());
  all.resize(count);
  return all;
}

void FeatureChain::link(const std::vector<VkExtensionProperties>& extensions, bool version13) {
  void** next = &features.pNext;
  auto add = [&next](auto& part) {
    *next = &part;
    next = &part.pNext;
  };
  add(v11);
  add(v12);
  if (version13) add(v13);
  if (has_extension(extensions, VK_EXT_SHADER_IMAGE_ATOMIC_INT64_EXTENSION_NAME)) {
    add(image_atomic64);
    names.push_back(VK_EXT_SHADER_IMAGE_ATOMIC_INT64_EXTENSION_NAME);
  }
  if (has_extension(extensions, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) {
    add(atomic_float);
    names.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  }
  if (has_extension(extensions, VK_EXT_NON_SEAMLESS_CUBE_MAP_EXTENSION_NAME)) {
    add(cubes_with_seams);
    names.push_back(VK_EXT_NON_SEAMLESS_CUBE_MAP_EXTENSION_NAME);
  }
  if (has_extension(extensions, VK_KHR_SHADER_CLOCK_EXTENSION_NAME)) {
    add(clock);
    names.push_back(VK_KHR_SHADER_CLOCK_EXTENSION_NAME);
  }
  if (has_extension(extensions, VK_KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME))
    names.push_back(VK_KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME);
}

namespace {

/// Whether full subgroups of 32 threads can be had, and whether a pipeline has to ask for them.
bool has_warps(const VkPhysicalDeviceVulkan11Properties& v11,
               const VkPhysicalDeviceVulkan13Properties& v13,
               const VkPhysicalDeviceVulkan13Features& has, bool& ask) {
  constexpr VkSubgroupFeatureFlags kWarp = VK_SUBGROUP_FEATURE_BASIC_BIT |
                                           VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                                           VK_SUBGROUP_FEATURE_BALLOT_BIT;
  if ((v11.subgroupSupportedOperations & kWarp) != kWarp ||
      !(v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT))
    return false;
  ask = has.subgroupSizeControl && has.computeFullSubgroups && v13.minSubgroupSize <= 32 &&
        v13.maxSubgroupSize >= 32 && (v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
  // Without that choice a size that never varies does.
  return ask || (v11.subgroupSize == 32 &&
                 (v13.maxSubgroupSize == 0 || v13.minSubgroupSize == v13.maxSubgroupSize));
}

}  // namespace

std::string inspect_device(const Instance& instance, VkPhysicalDevice physical,
                           PhysicalTraits& traits, DeviceInfo& info) {
  const InstanceFunctions& vk = instance.vk;
  vk.GetPhysicalDeviceProperties(physical, &traits.properties);
  const VkPhysicalDeviceProperties& basic = traits.properties;
  info.name = basic.deviceName;
  info.kind = kind_of(basic.deviceType);
  info.vendor = basic.vendorID;
  info.device = basic.deviceID;
  info.api_version = basic.apiVersion;
  info.driver_version = basic.driverVersion;
  if (basic.apiVersion < VK_API_VERSION_1_2)
    return fmt::format("it has Vulkan {}.{}, and 1.2 is needed",
                       VK_API_VERSION_MAJOR(basic.apiVersion),
                       VK_API_VERSION_MINOR(basic.apiVersion));

  VkPhysicalDeviceVulkan12Properties v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  VkPhysicalDeviceVulkan11Properties v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  properties.pNext = &v11;
  v11.pNext = &v12;
  VkPhysicalDeviceVulkan13Properties v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  if (basic.apiVersion >= VK_API_VERSION_1_3) v12.pNext = &v13;
  vk.GetPhysicalDeviceProperties2(physical, &properties);
  traits.driver = v12.driverID;
  traits.driver_name = v12.driverName;
  traits.driver_info = v12.driverInfo;
  info.driver = v12.driverName;
  if (*v12.driverInfo) info.driver += fmt::format(" {}", v12.driverInfo);
  std::memcpy(info.uuid.data(), v11.deviceUUID, info.uuid.size());

  VkPhysicalDeviceMemoryProperties memory{};
  vk.GetPhysicalDeviceMemoryProperties(physical, &memory);
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      info.memory_bytes += memory.memoryHeaps[i].size;

  auto extensions = device_extensions(instance, physical);
  FeatureChain chain;
  chain.link(extensions, basic.apiVersion >= VK_API_VERSION_1_3);
  vk.GetPhysicalDeviceFeatures2(physical, &chain.features);
  const VkPhysicalDeviceFeatures& core = chain.features.features;

  if (!choose_queue_family(vk, physical, traits)) return "it has no compute queue";
  traits.storage_image_formats = core.shaderStorageImageExtendedFormats;
  traits.anisotropy = core.samplerAnisotropy;
  traits.cube_arrays = core.imageCubeArray;
  traits.exact_samplers = traits.tiled_planes = traits.driver == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  traits.cubes_with_seams = chain.cubes_with_seams.nonSeamlessCubeMap;

  Profile profile = find_profile(profile_of(traits.driver)).value_or(Profile());
  fill_features(vk, physical, chain, profile);
  fill_float_controls(v12, profile.features);
  profile.features.subgroup_ops = has_warps(v11, v13, chain.v13, traits.choose_subgroups);
  profile.subgroup_size = v11.subgroupSize;
  const VkPhysicalDeviceLimits& limits = basic.limits;
  profile.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  profile.max_shared_bytes = limits.maxComputeSharedMemorySize;
  std::uint32_t buffers =
      std::min(limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers);
  std::uint32_t slots = buffers > abi::kBindings ? buffers - abi::kBindings : 0;
  profile.max_slots =
      std::min({slots, limits.maxPerStageDescriptorStorageImages, std::uint32_t{8}});
  presume(traits, info, profile);
  info.profile = profile;

  if (!chain.v12.bufferDeviceAddress) return "it has no bufferDeviceAddress";
  if (!chain.v12.timelineSemaphore) return "it has no timelineSemaphore";
  if (limits.maxPushConstantsSize < abi::kPushWords * 4)
    return fmt::format("it has {} bytes of push constants, and {} are needed",
                       limits.maxPushConstantsSize, abi::kPushWords * 4);
  if (slots == 0)
    return fmt::format("it has {} storage buffers per stage, and 7 are needed", buffers);
  return {};
}

}  // namespace ptx2spv::runtime
