// What a physical device can do: the profile from its features, its exactness from its driver's
// table.
#include <fmt/format.h>

#include <sys/resource.h>
#include <algorithm>
#include <cstring>
#include <vector>

#include "src/device/calibrate.hpp"
#include "src/device/device.hpp"
#include "src/device/features.hpp"
#include "src/device/host_limits.hpp"

namespace ptx2spv::runtime {

namespace {

/// Storage buffers of a kernel that reads parameters, may trap, and reaches memory by address where
/// the device has none: what Vulkan guarantees holds them, and one surface.
constexpr std::uint32_t kFewestBuffers = 4;

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

/// A family that computes: best one that does nothing else and has several queues, beside one that
/// draws too; else that one. False: there is none.
bool choose_queue_family(const InstanceFunctions& vk, VkPhysicalDevice physical,
                         PhysicalTraits& traits) {
  std::uint32_t families = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(physical, &families, nullptr);
  std::vector<VkQueueFamilyProperties> family(families);
  vk.GetPhysicalDeviceQueueFamilyProperties(physical, &families, family.data());
  constexpr VkQueueFlags kDraws = VK_QUEUE_GRAPHICS_BIT, kComputes = VK_QUEUE_COMPUTE_BIT;
  const auto binds = [&](std::uint32_t i) {
    return (family[i].queueFlags & VK_QUEUE_SPARSE_BINDING_BIT) != 0;
  };
  std::optional<std::uint32_t> best, apart;
  for (std::uint32_t i = 0; i < families; ++i) {
    if (!(family[i].queueFlags & kComputes)) continue;
    const auto draws = [&](std::uint32_t each) { return family[each].queueFlags & kDraws; };
    if (!best || (draws(i) && !draws(*best))) best = i;
    if (!draws(i) && !apart) apart = i;
  }
  if (!best) return false;
  traits.queue_family = traits.drawing_family = *best;
  constexpr std::uint32_t kMost = 8;
  if (apart && apart != best) {
    traits.side_family = *apart;
    traits.side_queues = std::min(family[*apart].queueCount, kMost);
    // On an H100, queues of the graphics family run one at a time. An idle one slows an H200's
    // short kernels by a sixth, and those with much shared memory by up to seven tenths.
    if (traits.side_queues > 1 && binds(*apart) == binds(*best)) {
      traits.queue_family = *apart;
      --traits.side_queues;
    }
  }
  traits.timestamp_bits = family[traits.queue_family].timestampValidBits;
  const bool splits = traits.queue_family != *best;
  for (std::uint32_t i = 0; i < families && splits && !traits.copy_queues; ++i) {
    constexpr VkQueueFlags kOnly = VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT;
    if (!(family[i].queueFlags & VK_QUEUE_TRANSFER_BIT) || family[i].queueFlags & ~kOnly) continue;
    traits.copy_family = i;
    traits.copy_queues = std::min(family[i].queueCount, 2u);
  }
  if (binds(traits.queue_family)) traits.binding_family = traits.queue_family;
  for (std::uint32_t i = 0; i < families && !traits.binding_family; ++i)
    if (binds(i) && !(traits.side_queues && i == traits.side_family) &&
        !(traits.copy_queues && i == traits.copy_family))
      traits.binding_family = i;
  return true;
}

/// A known driver keeps its profile's no, which may be a choice rather than a lack.
void allow(const Profile& profile, bool& field, bool has) {
  field = has && (profile.name == "portable" || field);
}

/// What Vulkan reports; of a driver that is not known no more than that.
void fill_features(const InstanceFunctions& vk, VkPhysicalDevice physical,
                   const FeatureChain& chain, Profile& profile) {
  const VkPhysicalDeviceFeatures& core = chain.features.features;
  const auto allow = [&profile](bool& field, bool has) { runtime::allow(profile, field, has); };
  allow(profile.features.device_addresses, chain.addresses.bufferDeviceAddress);
  allow(profile.features.int64, core.shaderInt64);
  allow(profile.features.float64, core.shaderFloat64);
  allow(profile.features.float16, chain.int8.shaderFloat16);
  allow(profile.features.storage8, chain.storage8.storageBuffer8BitAccess && chain.int8.shaderInt8);
  allow(profile.features.storage16, chain.storage16.storageBuffer16BitAccess && core.shaderInt16);
  allow(profile.features.shared_layout,
        chain.shared_layout.workgroupMemoryExplicitLayout &&
            chain.shared_layout.workgroupMemoryExplicitLayout8BitAccess &&
            chain.shared_layout.workgroupMemoryExplicitLayout16BitAccess && chain.int8.shaderInt8 &&
            core.shaderInt16);
  allow(profile.features.buffer_atomics64, chain.atomic_int64.shaderBufferInt64Atomics);
  allow(profile.features.shared_atomics64, chain.atomic_int64.shaderSharedInt64Atomics);
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
  allow(profile.features.indexed_samplers,
        core.shaderSampledImageArrayDynamicIndexing &&
            chain.indexing.shaderSampledImageArrayNonUniformIndexing &&
            chain.indexing.runtimeDescriptorArray);
  allow(profile.features.robust_images, chain.image_robustness.robustImageAccess);
  allow(profile.features.shader_clock, chain.clock.shaderSubgroupClock);
  allow(profile.features.device_clock, chain.clock.shaderDeviceClock);
  allow(profile.features.maximal_reconvergence, chain.reconvergence.shaderMaximalReconvergence);
  profile.features.shader_fma16 = chain.fma.shaderFmaFloat16;
  profile.features.shader_fma32 = chain.fma.shaderFmaFloat32;
  profile.features.shader_fma64 = chain.fma.shaderFmaFloat64;
}

/// Which products of matrices subgroups make, in modules of Vulkan's memory model.
void fill_matrices(const Instance& instance, VkPhysicalDevice physical, const FeatureChain& chain,
                   Profile& profile) {
  const auto get = reinterpret_cast<GetCooperativeMatrixProperties>(
      instance.get_proc(instance.handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  std::vector<CooperativeMatrixProperties> all;
  std::uint32_t count = 0;
  if (chain.matrices.cooperativeMatrix && chain.memory_model.vulkanMemoryModel &&
      chain.memory_model.vulkanMemoryModelDeviceScope && get &&
      get(physical, &count, nullptr) == VK_SUCCESS) {
    all.resize(count);
    if (get(physical, &count, all.data()) != VK_SUCCESS) count = 0;
    all.resize(count);
  }
  const auto has = [&all](std::uint32_t n, std::uint32_t k, ComponentType factor,
                          ComponentType sum) {
    return std::ranges::any_of(all, [&](const CooperativeMatrixProperties& each) {
      return each.m == 16 && each.n == n && each.k == k && each.scope == kSubgroupScope &&
             each.a == factor && each.b == factor && each.c == sum && each.result == sum;
    });
  };
  using enum ComponentType;
  allow(profile, profile.features.matrices_f16,
        has(8, 8, f16, f16) && has(8, 8, f16, f32) && has(8, 16, f16, f16) &&
            has(8, 16, f16, f32) && chain.int8.shaderFloat16);
  allow(profile, profile.features.matrices_bf16,
        has(16, 16, bf16, f32) && chain.bfloat16.shaderBFloat16CooperativeMatrix);
  allow(profile, profile.features.matrices_s8,
        has(8, 32, s8, s32) && has(8, 32, u8, u32) && chain.int8.shaderInt8);
}

/// Denormals, rounding and special values that modules may ask to be kept.
void fill_float_controls(const VkPhysicalDeviceFloatControlsProperties& has, Features& features) {
  // Where the widths depend on each other, those that do are declared or none.
  const auto set = [](bool& has16, bool& has32, bool& has64, VkBool32 in16, VkBool32 in32,
                      VkBool32 in64, VkShaderFloatControlsIndependence independence) {
    const bool apart = independence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    has16 = in16 && (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL ||
                     (in64 && (apart || in32)));
    has32 = in32 && (apart || in64);
    has64 = in64 && (apart || in32);
  };
  set(features.preserves_denormals16, features.preserves_denormals32,
      features.preserves_denormals64, has.shaderDenormPreserveFloat16,
      has.shaderDenormPreserveFloat32, has.shaderDenormPreserveFloat64,
      has.denormBehaviorIndependence);
  set(features.rounds_even16, features.rounds_even32, features.rounds_even64,
      has.shaderRoundingModeRTEFloat16, has.shaderRoundingModeRTEFloat32,
      has.shaderRoundingModeRTEFloat64, has.roundingModeIndependence);
  features.keeps_specials16 = has.shaderSignedZeroInfNanPreserveFloat16;
  features.keeps_specials32 = has.shaderSignedZeroInfNanPreserveFloat32;
  features.keeps_specials64 = has.shaderSignedZeroInfNanPreserveFloat64;
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

void FeatureChain::link(const std::vector<VkExtensionProperties>& extensions,
                        std::uint32_t version) {
  void** next = &features.pNext;
  auto add = [&next](auto& part) {
    *next = &part;
    next = &part.pNext;
  };
  // Part of Vulkan since `since`, an extension before; 0: an extension still.
  auto extension = [&](std::uint32_t since, const char* name) {
    if (since && version >= since) return true;
    if (!has_extension(extensions, name)) return false;
    names.push_back(name);
    return true;
  };
  constexpr std::uint32_t v12 = VK_API_VERSION_1_2, v13 = VK_API_VERSION_1_3;
  add(storage16);
  if (extension(v12, VK_KHR_8BIT_STORAGE_EXTENSION_NAME)) add(storage8);
  if (extension(v12, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) add(int8);
  if (extension(v12, VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME)) add(atomic_int64);
  if (extension(v12, VK_EXT_DESCRIPTOR_INDEXING_EXTENSION_NAME)) add(indexing);
  if (extension(v12, VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME)) add(addresses);
  if (extension(v12, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME)) add(timeline);
  extension(v12, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  if (extension(v13, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) add(subgroup_size);
  if (extension(v13, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME)) add(dots);
  if (extension(v13, VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) add(maintenance4);
  if (extension(v13, VK_EXT_IMAGE_ROBUSTNESS_EXTENSION_NAME)) add(image_robustness);
  if (extension(0, VK_EXT_SHADER_IMAGE_ATOMIC_INT64_EXTENSION_NAME)) add(image_atomic64);
  if (extension(0, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) add(atomic_float);
  if (extension(0, VK_EXT_NON_SEAMLESS_CUBE_MAP_EXTENSION_NAME)) add(cubes_with_seams);
  if (extension(0, VK_EXT_CUSTOM_BORDER_COLOR_EXTENSION_NAME)) add(borders);
  if (extension(0, VK_KHR_SHADER_CLOCK_EXTENSION_NAME)) add(clock);
  if (has_extension(extensions, kCooperativeMatrix) &&
      extension(v12, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME)) {
    names.push_back(kCooperativeMatrix);
    add(memory_model);
    add(matrices);
    if (extension(0, kShaderBfloat16)) add(bfloat16);
  }
  if (extension(0, kMaximalReconvergence)) add(reconvergence);
  if (extension(0, kShaderFma)) add(fma);
  if (has_extension(extensions, VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME) &&
      extension(v12, VK_KHR_SPIRV_1_4_EXTENSION_NAME)) {
    names.push_back(VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME);
    add(shared_layout);
  }
  extension(0, VK_NV_SHADER_SUBGROUP_PARTITIONED_EXTENSION_NAME);
  if (has_extension(extensions, kMapMemoryPlaced) && extension(0, kMapMemory2)) {
    names.push_back(kMapMemoryPlaced);
    add(placed);
  }
  extension(v13, VK_KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME);
  extension(0, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  imports_pages = extension(0, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  extension(0, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
}

namespace {

/// Whether full subgroups of 32 threads can be had, and whether a pipeline has to ask for them.
bool has_warps(const VkPhysicalDeviceSubgroupProperties& subgroups,
               const VkPhysicalDeviceSubgroupSizeControlProperties& sizes,
               const VkPhysicalDeviceSubgroupSizeControlFeatures& has, bool& ask) {
  constexpr VkSubgroupFeatureFlags kWarp = VK_SUBGROUP_FEATURE_BASIC_BIT |
                                           VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                                           VK_SUBGROUP_FEATURE_BALLOT_BIT;
  if ((subgroups.supportedOperations & kWarp) != kWarp ||
      !(subgroups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT))
    return false;
  ask = has.subgroupSizeControl && has.computeFullSubgroups && sizes.minSubgroupSize <= 32 &&
        sizes.maxSubgroupSize >= 32 &&
        (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
  // Without that choice a size that never varies does.
  return ask || (subgroups.subgroupSize == 32 &&
                 (sizes.maxSubgroupSize == 0 || sizes.minSubgroupSize == sizes.maxSubgroupSize));
}

/// What the runtime asks of a device's properties, by way of the extensions that brought them.
struct PropertyChain {
  VkPhysicalDeviceIDProperties id{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroups{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties allocations{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceFloatControlsProperties floats{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceShaderIntegerDotProductProperties dots{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV processors{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceCustomBorderColorPropertiesEXT borders{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_PROPERTIES_EXT};

  void query(const InstanceFunctions& vk, VkPhysicalDevice physical, std::uint32_t version,
             const std::vector<VkExtensionProperties>& extensions) {
    VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    void** next = &all.pNext;
    auto add = [&](auto& part, std::uint32_t since, const char* name) {
      if (version < since && !has_extension(extensions, name)) return;
      *next = &part;
      next = &part.pNext;
    };
    add(id, 0, "");
    add(subgroups, 0, "");
    add(allocations, 0, "");
    add(driver, VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    add(floats, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
    add(sizes, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    add(dots, VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    add(processors, UINT32_MAX, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME);
    add(borders, UINT32_MAX, VK_EXT_CUSTOM_BORDER_COLOR_EXTENSION_NAME);
    vk.GetPhysicalDeviceProperties2(physical, &all);
  }
};

/// SwiftShader keeps the code of kernels in a file without a name and ends in SIGBUS where that may
/// not grow. Most kernels have less code than this.
constexpr rlim_t kSwiftShaderCode = 512 * 1024;

/// Why the runtime cannot use a device, or empty.
std::string rejection(const FeatureChain& chain, const VkPhysicalDeviceLimits& limits,
                      std::uint32_t buffers, VkDriverId driver) {
  rlimit files{};
  if (driver == VK_DRIVER_ID_GOOGLE_SWIFTSHADER && ::getrlimit(RLIMIT_FSIZE, &files) == 0 &&
      files.rlim_cur < kSwiftShaderCode)
    return fmt::format(
        "it keeps code in a file, and files are limited to {} bytes (ulimit -f); {} are needed",
        files.rlim_cur, kSwiftShaderCode);
  if (!chain.timeline.timelineSemaphore) return "it has no timelineSemaphore";
  if (limits.maxPushConstantsSize < abi::kPushWords * 4)
    return fmt::format("it has {} bytes of push constants, and {} are needed",
                       limits.maxPushConstantsSize, abi::kPushWords * 4);
  if (buffers < kFewestBuffers)
    return fmt::format("it has {} storage buffers per stage, and {} are needed", buffers,
                       kFewestBuffers);
  return {};
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
  if (basic.apiVersion < VK_API_VERSION_1_1)
    return fmt::format("it has Vulkan {}.{}, and 1.1 is needed",
                       VK_API_VERSION_MAJOR(basic.apiVersion),
                       VK_API_VERSION_MINOR(basic.apiVersion));

  auto extensions = device_extensions(instance, physical);
  PropertyChain has;
  has.query(vk, physical, basic.apiVersion, extensions);
  traits.driver = has.driver.driverID;
  traits.driver_name = has.driver.driverName;
  traits.driver_info = has.driver.driverInfo;
  traits.max_allocation = has.allocations.maxMemoryAllocationSize;
  info.driver = has.driver.driverName;
  if (*has.driver.driverInfo) info.driver += fmt::format(" {}", has.driver.driverInfo);
  info.multiprocessors = has.processors.shaderSMCount;
  info.multiprocessor_threads = has.processors.shaderWarpsPerSM * 32;
  std::memcpy(info.uuid.data(), has.id.deviceUUID, info.uuid.size());

  VkPhysicalDeviceMemoryProperties memory{};
  vk.GetPhysicalDeviceMemoryProperties(physical, &memory);
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      info.memory_bytes += memory.memoryHeaps[i].size;
  // A CPU's driver gives a figure of its own, 2 GiB for one, whatever the machine has.
  if (info.kind == DeviceKind::cpu) info.memory_bytes = host_memory() / 4 * 3;

  FeatureChain chain;
  chain.link(extensions, basic.apiVersion);
  vk.GetPhysicalDeviceFeatures2(physical, &chain.features);
  const VkPhysicalDeviceFeatures& core = chain.features.features;

  if (!choose_queue_family(vk, physical, traits)) return "it has no compute queue";
  traits.storage_image_formats = core.shaderStorageImageExtendedFormats;
  traits.anisotropy = core.samplerAnisotropy;
  traits.cube_arrays = core.imageCubeArray;
  // SwiftShader takes texels of the wrong face there (docs/reference/drivers.md).
  traits.seamless_cubes = traits.driver != VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
  traits.cubes_with_seams = chain.cubes_with_seams.nonSeamlessCubeMap;
  traits.border_colours =
      chain.borders.customBorderColors ? has.borders.maxCustomBorderColorSamplers : 0;

  Profile profile = find_profile(profile_of(traits.driver)).value_or(Profile());
  fill_features(vk, physical, chain, profile);
  fill_matrices(instance, physical, chain, profile);
  fill_float_controls(has.floats, profile.features);
  const bool dots = chain.dots.shaderIntegerDotProduct;
  profile.features.dot4_u8 = dots && has.dots.integerDotProduct4x8BitPackedUnsignedAccelerated;
  profile.features.dot4_s8 = dots && has.dots.integerDotProduct4x8BitPackedSignedAccelerated;
  profile.features.dot4_mixed =
      dots && has.dots.integerDotProduct4x8BitPackedMixedSignednessAccelerated;
  profile.features.subgroup_ops =
      has_warps(has.subgroups, has.sizes, chain.subgroup_size, traits.choose_subgroups);
  profile.features.subgroup_arithmetic =
      has.subgroups.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
  profile.features.subgroup_partition =
      has_extension(extensions, VK_NV_SHADER_SUBGROUP_PARTITIONED_EXTENSION_NAME) &&
      (has.subgroups.supportedOperations & VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV);
  profile.subgroup_size = has.subgroups.subgroupSize;
  const VkPhysicalDeviceLimits& limits = basic.limits;
  profile.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  profile.max_shared_bytes = limits.maxComputeSharedMemorySize;
  // A kernel that reaches every binding of set 0 leaves the others to slots; one that has more
  // surfaces reaches those by address.
  traits.storage_buffers =
      std::min(limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers);
  const std::uint32_t common = abi::kBindings - (profile.features.device_addresses ? 1 : 0);
  const std::uint32_t slots = traits.storage_buffers > common ? traits.storage_buffers - common : 0;
  profile.max_slots =
      std::min({slots, limits.maxPerStageDescriptorStorageImages, std::uint32_t{8}});
  presume(traits, info, profile);
  info.profile = profile;

  return rejection(chain, limits, traits.storage_buffers, traits.driver);
}

}  // namespace ptx2spv::runtime
