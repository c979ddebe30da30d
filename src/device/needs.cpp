#include "src/device/needs.hpp"

#include <algorithm>
#include <cstring>

namespace ptx2spv::runtime {

namespace {

/// A feature, the capability that rests on it, and where it stands. Without a capability the
/// runtime cannot do without.
struct FeatureRow {
  const char *name, *capability;
  VkBool32& (*in)(FeatureChain&);
};

#define PTX2SPV_ROW(name, capability, part)                                              \
  {                                                                                      \
#name, capability, [](FeatureChain & chain) -> VkBool32& { return chain.part.name; } \
  }
const FeatureRow kFeatures[] = {
    PTX2SPV_ROW(timelineSemaphore, "", timeline),
    PTX2SPV_ROW(bufferDeviceAddress, "device_addresses", addresses),
    PTX2SPV_ROW(shaderInt64, "int64", features.features),
    PTX2SPV_ROW(shaderFloat64, "float64", features.features),
    PTX2SPV_ROW(shaderFloat16, "float16", int8),
    PTX2SPV_ROW(shaderInt8, "storage8", int8),
    PTX2SPV_ROW(storageBuffer8BitAccess, "storage8", storage8),
    PTX2SPV_ROW(shaderInt16, "storage16", features.features),
    PTX2SPV_ROW(storageBuffer16BitAccess, "storage16", storage16),
    PTX2SPV_ROW(shaderBufferInt64Atomics, "buffer_atomics64", atomic_int64),
    PTX2SPV_ROW(shaderSharedInt64Atomics, "shared_atomics64", atomic_int64),
    PTX2SPV_ROW(shaderImageInt64Atomics, "image_atomics64", image_atomic64),
    PTX2SPV_ROW(robustImageAccess, "robust_images", image_robustness),
    PTX2SPV_ROW(shaderBufferFloat32AtomicAdd, "buffer_atomic_f32_add", atomic_float),
    PTX2SPV_ROW(shaderBufferFloat64AtomicAdd, "buffer_atomic_f64_add", atomic_float),
    PTX2SPV_ROW(shaderSampledImageArrayDynamicIndexing, "indexed_samplers", features.features),
    PTX2SPV_ROW(shaderSampledImageArrayNonUniformIndexing, "indexed_samplers", indexing),
    PTX2SPV_ROW(runtimeDescriptorArray, "indexed_samplers", indexing),
    PTX2SPV_ROW(shaderIntegerDotProduct, "dot4_u8", dots),
    PTX2SPV_ROW(shaderIntegerDotProduct, "dot4_s8", dots),
    PTX2SPV_ROW(shaderIntegerDotProduct, "dot4_mixed", dots),
    PTX2SPV_ROW(shaderSubgroupClock, "shader_clock", clock),
    PTX2SPV_ROW(shaderDeviceClock, "device_clock", clock),
    PTX2SPV_ROW(shaderInt8, "shared_layout", int8),
    PTX2SPV_ROW(shaderInt16, "shared_layout", features.features),
    PTX2SPV_ROW(workgroupMemoryExplicitLayout, "shared_layout", shared_layout),
    PTX2SPV_ROW(workgroupMemoryExplicitLayout8BitAccess, "shared_layout", shared_layout),
    PTX2SPV_ROW(workgroupMemoryExplicitLayout16BitAccess, "shared_layout", shared_layout),
    PTX2SPV_ROW(shaderMaximalReconvergence, "maximal_reconvergence", reconvergence),
    PTX2SPV_ROW(shaderFmaFloat16, "shader_fma16", fma),
    PTX2SPV_ROW(shaderFmaFloat32, "shader_fma32", fma),
    PTX2SPV_ROW(shaderFmaFloat64, "shader_fma64", fma),
    PTX2SPV_ROW(subgroupSizeControl, "subgroup_ops", subgroup_size),
    PTX2SPV_ROW(computeFullSubgroups, "subgroup_ops", subgroup_size),
};
#undef PTX2SPV_ROW

/// Extensions without a feature that translations may declare, and the capability that rests on
/// one.
constexpr struct {
  const char *name, *capability;
} kDeclared[] = {{VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, ""},
                 {VK_KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME, ""},
                 {VK_KHR_SPIRV_1_4_EXTENSION_NAME, "shared_layout"},
                 {VK_NV_SHADER_SUBGROUP_PARTITIONED_EXTENSION_NAME, "subgroup_partition"}};

/// Keeps of what the device has what modules, copies and the runtime use.
void keep_used_features(FeatureChain& chain) {
  VkPhysicalDeviceFeatures all = chain.features.features;
  VkPhysicalDeviceFeatures& core = chain.features.features = {};
  core.shaderInt64 = all.shaderInt64;
  core.shaderInt16 = all.shaderInt16;
  core.shaderFloat64 = all.shaderFloat64;
  core.shaderStorageImageExtendedFormats = all.shaderStorageImageExtendedFormats;
  core.shaderStorageImageWriteWithoutFormat = all.shaderStorageImageWriteWithoutFormat;
  core.samplerAnisotropy = all.samplerAnisotropy;
  core.imageCubeArray = all.imageCubeArray;
  core.shaderSampledImageArrayDynamicIndexing = all.shaderSampledImageArrayDynamicIndexing;
  const bool binds = all.sparseBinding && all.sparseResidencyBuffer && all.sparseResidencyAliased;
  core.sparseBinding = core.sparseResidencyBuffer = core.sparseResidencyAliased = binds;
  chain.storage16 = {chain.storage16.sType, chain.storage16.pNext,
                     chain.storage16.storageBuffer16BitAccess};
  chain.storage8 = {chain.storage8.sType, chain.storage8.pNext,
                    chain.storage8.storageBuffer8BitAccess};
  chain.matrices.cooperativeMatrixRobustBufferAccess = VK_FALSE;
  chain.bfloat16.shaderBFloat16DotProduct = VK_FALSE;
  chain.memory_model.vulkanMemoryModelAvailabilityVisibilityChains = VK_FALSE;
  const VkBool32 nonuniform = chain.indexing.shaderSampledImageArrayNonUniformIndexing,
                 arrays = chain.indexing.runtimeDescriptorArray;
  chain.indexing = {chain.indexing.sType, chain.indexing.pNext};
  chain.indexing.shaderSampledImageArrayNonUniformIndexing = nonuniform;
  chain.indexing.runtimeDescriptorArray = arrays;
  // Capture and replay of addresses costs address space and serves debuggers only.
  chain.addresses.bufferDeviceAddressCaptureReplay =
      chain.addresses.bufferDeviceAddressMultiDevice = VK_FALSE;
  chain.shared_layout.workgroupMemoryExplicitLayoutScalarBlockLayout = VK_FALSE;
  chain.image_atomic64.sparseImageInt64Atomics = VK_FALSE;
  chain.atomic_float.sparseImageFloat32Atomics = VK_FALSE;
  chain.atomic_float.sparseImageFloat32AtomicAdd = VK_FALSE;
  chain.placed.memoryMapRangePlaced = chain.placed.memoryUnmapReserve = VK_FALSE;
}

/// Copies a struct of the application's chain, if it is the one of `part`'s type.
template <typename Part>
void take(const VkBaseInStructure& from, Part& part) {
  if (from.sType != part.sType) return;
  void* next = part.pNext;
  std::memcpy(&part, &from, sizeof part);
  part.pNext = next;
}

template <typename Part>
const Part* as(const VkBaseInStructure& from, VkStructureType type) {
  return from.sType == type ? reinterpret_cast<const Part*>(&from) : nullptr;
}

/// The structs that gather the features of one Vulkan version.
void take_gathered(const VkBaseInStructure& from, FeatureChain& to) {
  if (const auto* v11 = as<VkPhysicalDeviceVulkan11Features>(
          from, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES))
    to.storage16.storageBuffer16BitAccess = v11->storageBuffer16BitAccess;
  if (const auto* v12 = as<VkPhysicalDeviceVulkan12Features>(
          from, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)) {
    to.storage8.storageBuffer8BitAccess = v12->storageBuffer8BitAccess;
    to.int8.shaderInt8 = v12->shaderInt8;
    to.int8.shaderFloat16 = v12->shaderFloat16;
    to.memory_model.vulkanMemoryModel = v12->vulkanMemoryModel;
    to.memory_model.vulkanMemoryModelDeviceScope = v12->vulkanMemoryModelDeviceScope;
    to.atomic_int64.shaderBufferInt64Atomics = v12->shaderBufferInt64Atomics;
    to.atomic_int64.shaderSharedInt64Atomics = v12->shaderSharedInt64Atomics;
    to.indexing.shaderSampledImageArrayNonUniformIndexing =
        v12->shaderSampledImageArrayNonUniformIndexing;
    to.indexing.runtimeDescriptorArray = v12->runtimeDescriptorArray;
    to.addresses.bufferDeviceAddress = v12->bufferDeviceAddress;
    to.timeline.timelineSemaphore = v12->timelineSemaphore;
  }
  if (const auto* v13 = as<VkPhysicalDeviceVulkan13Features>(
          from, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES)) {
    to.subgroup_size.subgroupSizeControl = v13->subgroupSizeControl;
    to.subgroup_size.computeFullSubgroups = v13->computeFullSubgroups;
    to.dots.shaderIntegerDotProduct = v13->shaderIntegerDotProduct;
    to.maintenance4.maintenance4 = v13->maintenance4;
    to.image_robustness.robustImageAccess = v13->robustImageAccess;
  }
}

bool enables(const VkDeviceCreateInfo& created, const char* extension) {
  for (std::uint32_t i = 0; i < created.enabledExtensionCount; ++i)
    if (!std::strcmp(created.ppEnabledExtensionNames[i], extension)) return true;
  return false;
}

}  // namespace

void query_needs(const Instance& instance, VkPhysicalDevice physical, FeatureChain& chain) {
  VkPhysicalDeviceProperties properties{};
  instance.vk.GetPhysicalDeviceProperties(physical, &properties);
  chain.link(device_extensions(instance, physical), properties.apiVersion);
  instance.vk.GetPhysicalDeviceFeatures2(physical, &chain.features);
  keep_used_features(chain);
}

void read_created(const VkDeviceCreateInfo& created, FeatureChain& chain) {
  if (created.pEnabledFeatures) chain.features.features = *created.pEnabledFeatures;
  for (const auto* each = static_cast<const VkBaseInStructure*>(created.pNext); each;
       each = each->pNext) {
    take(*each, chain.features);
    take(*each, chain.storage16);
    take(*each, chain.storage8);
    take(*each, chain.int8);
    take(*each, chain.atomic_int64);
    take(*each, chain.indexing);
    take(*each, chain.addresses);
    take(*each, chain.timeline);
    take(*each, chain.subgroup_size);
    take(*each, chain.dots);
    take(*each, chain.maintenance4);
    take(*each, chain.image_robustness);
    take(*each, chain.image_atomic64);
    take(*each, chain.atomic_float);
    take(*each, chain.clock);
    take(*each, chain.reconvergence);
    take(*each, chain.fma);
    take(*each, chain.cubes_with_seams);
    take(*each, chain.borders);
    take(*each, chain.memory_model);
    take(*each, chain.shared_layout);
    take(*each, chain.matrices);
    take(*each, chain.bfloat16);
    take_gathered(*each, chain);
  }
}

std::string missing_needs(const VkDeviceCreateInfo& created, FeatureChain& needs,
                          const Profile& profile) {
  FeatureChain has;
  read_created(created, has);
  std::string missing;
  const auto lacks = [&](const char* name, const char* by) {
    const Capability* capability = find_capability(by);
    if (capability && !capability->value(profile)) return;
    missing += (missing.empty() ? "" : ", ") + std::string(name) +
               (capability ? " (or disable '" + std::string(by) + "')" : std::string());
  };
  for (const FeatureRow& row : kFeatures)
    if (row.in(needs) && !row.in(has)) lacks(row.name, row.capability);
  for (const auto& [name, capability] : kDeclared) {
    const auto same = [name = name](const char* each) { return !std::strcmp(each, name); };
    if (std::ranges::any_of(needs.names, same) && !enables(created, name)) lacks(name, capability);
  }
  return missing;
}

/// What DeviceNeeds keeps.
struct NeedsState {
  FeatureChain chain;
  std::uint32_t queue_family = 0;
};

}  // namespace ptx2spv::runtime

namespace ptx2spv::vulkan {

Result<DeviceNeeds> DeviceNeeds::query(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                       VkPhysicalDevice physical) {
  if (!get || !instance || !physical)
    return bad_argument("vkGetInstanceProcAddr, the instance or the physical device is null");
  Instance borrowed;
  borrowed.get_proc = get;
  borrowed.handle = instance;
  borrowed.owned = false;
  if (const char* missing = borrowed.vk.load(get, instance))
    return make_error(ErrorCode::no_device, "the instance has no " + std::string(missing));
  PhysicalTraits traits;
  DeviceInfo info;
  const std::string reason = inspect_device(borrowed, physical, traits, info);
  if (!reason.empty())
    return make_error(ErrorCode::no_device, info.name + " cannot be used: " + reason);
  auto state = std::make_shared<NeedsState>();
  query_needs(borrowed, physical, state->chain);
  state->queue_family = traits.drawing_family;
  return DeviceNeeds(std::move(state));
}

VkPhysicalDeviceFeatures2* DeviceNeeds::features() const { return &state_->chain.features; }
std::span<const char* const> DeviceNeeds::extensions() const { return state_->chain.names; }
std::uint32_t DeviceNeeds::queue_family() const { return state_->queue_family; }

AdoptedDevice handles(const Device& device) {
  DeviceState& state = *device.state();
  AdoptedDevice all;
  all.get_instance_proc_addr = state.instance->get_proc;
  all.instance = state.instance->handle;
  all.physical_device = state.physical;
  all.device = state.handle;
  all.queue = state.queue.share();
  all.queue_family = state.traits.queue_family;
  return all;
}

}  // namespace ptx2spv::vulkan
