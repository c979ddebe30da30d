// VK_LAYER_PTX2SPV_limits: a Vulkan layer that makes a device look like a smaller one. It reports
// no more than the profile that PTX2SPV_DEBUG=limits=FILE names states, and refuses a device that
// is created with more. Below the validation layer, it makes that one hold every call and module
// against the smaller device. Where the profile states a vendor, a driver and sizes of subgroups,
// the device answers as that one: modules for it are chosen and compiled, though warps of other
// sizes run them. Where it states families of queues, the device seems to have those.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dev/limits_layer/limits.hpp"
#include "dev/limits_layer/queues.hpp"
#include "ptx2spv/debug_setting.hpp"
#include "src/files.hpp"
#include "src/vulkan/layer.hpp"

namespace {

namespace layer = ptx2spv::layer;
using layer::link_info;
using ptx2spv::limits::Limits;
using ptx2spv::limits::Queues;

struct Instance : layer::NextInstance {
  PFN_vkGetPhysicalDeviceFeatures2 features = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties families = nullptr;
};
struct Device {
  VkDevice handle = VK_NULL_HANDLE;
  PFN_vkGetDeviceProcAddr next = nullptr;
  PFN_vkDestroyDevice destroy = nullptr;
  PFN_vkCreateComputePipelines pipelines = nullptr;
  std::shared_ptr<Queues> queues;  ///< null: it shows its own
  template <typename F>
  F find(VkDevice device, const char* name) const {
    return reinterpret_cast<F>(next(device, name));
  }
};

std::mutex guard;
// By their dispatch tables.
std::map<const void*, Instance> instances;
std::map<const void*, Device> devices;

Instance instance_of(const void* object) {
  std::lock_guard lock(guard);
  return instances.at(layer::dispatch_table(object));
}

Device device_of(const void* object) {
  std::lock_guard lock(guard);
  return devices.at(layer::dispatch_table(object));
}

const Limits* limits() {
  static const std::optional<Limits> read = []() -> std::optional<Limits> {
    const std::string file(ptx2spv::debug_setting("limits"));
    std::string text;
    const std::string why = ptx2spv::runtime::read_file(file, ptx2spv::runtime::kMostText, text);
    if (!why.empty()) {
      std::fprintf(stderr, "PTX2SPV_DEBUG: limits is '%s': %s\n", file.c_str(), why.c_str());
      return std::nullopt;
    }
    std::string problem;
    auto made = Limits::parse(text, problem);
    if (!made)
      std::fprintf(stderr, "PTX2SPV_DEBUG: limits: %s %s\n", file.c_str(), problem.c_str());
    return made;
  }();
  return read ? &*read : nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* create,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* instance) {
  if (!limits()) return VK_ERROR_INITIALIZATION_FAILED;
  Instance made;
  if (const VkResult result = made.create(create, allocator, instance); result != VK_SUCCESS)
    return result;
  made.load(made.features, "vkGetPhysicalDeviceFeatures2");
  made.load(made.properties, "vkGetPhysicalDeviceProperties2");
  made.load(made.extensions, "vkEnumerateDeviceExtensionProperties");
  made.load(made.families, "vkGetPhysicalDeviceQueueFamilyProperties");
  std::lock_guard lock(guard);
  instances[layer::dispatch_table(*instance)] = made;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance,
                                            const VkAllocationCallbacks* allocator) {
  if (!instance) return;
  const Instance known = instance_of(instance);
  {
    std::lock_guard lock(guard);
    instances.erase(layer::dispatch_table(instance));
  }
  known.destroy(instance, allocator);
}

VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice physical,
                                         VkPhysicalDeviceFeatures2* features) {
  instance_of(physical).features(physical, features);
  limits()->restrict(features);
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice physical,
                                        VkPhysicalDeviceFeatures* features) {
  VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
  get_features2(physical, &all);
  *features = all.features;
}

VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice physical,
                                           VkPhysicalDeviceProperties2* properties) {
  instance_of(physical).properties(physical, properties);
  limits()->restrict(properties);
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice physical,
                                          VkPhysicalDeviceProperties* properties) {
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, nullptr, {}};
  get_properties2(physical, &all);
  *properties = all.properties;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_extensions(VkPhysicalDevice physical, const char* layer,
                                                    std::uint32_t* count,
                                                    VkExtensionProperties* list) {
  const Instance instance = instance_of(physical);
  if (layer) return instance.extensions(physical, layer, count, list);
  std::uint32_t all = 0;
  VkResult result = instance.extensions(physical, nullptr, &all, nullptr);
  std::vector<VkExtensionProperties> found(all);
  if (result == VK_SUCCESS) result = instance.extensions(physical, nullptr, &all, found.data());
  if (result < 0) return result;
  found.resize(all);
  std::erase_if(found, [](const VkExtensionProperties& each) {
    return !limits()->has_extension(each.extensionName);
  });
  if (!list) {
    *count = static_cast<std::uint32_t>(found.size());
    return VK_SUCCESS;
  }
  const std::uint32_t room = *count;
  *count = std::min(room, static_cast<std::uint32_t>(found.size()));
  std::copy_n(found.begin(), *count, list);
  return room < found.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL get_families(VkPhysicalDevice physical, std::uint32_t* count,
                                        VkQueueFamilyProperties* list) {
  const auto& stated = limits()->queue_families();
  if (stated.empty()) return instance_of(physical).families(physical, count, list);
  const auto all = static_cast<std::uint32_t>(stated.size());
  *count = list ? std::min(*count, all) : all;
  if (list) std::copy_n(stated.begin(), *count, list);
}

VKAPI_ATTR void VKAPI_CALL get_families2(VkPhysicalDevice physical, std::uint32_t* count,
                                         VkQueueFamilyProperties2* list) {
  std::vector<VkQueueFamilyProperties> plain(list ? *count : 0);
  get_families(physical, count, list ? plain.data() : nullptr);
  for (std::uint32_t i = 0; list && i < *count; ++i) list[i].queueFamilyProperties = plain[i];
}

/// What `create` asks for beyond the profile: its result and, on stderr, its name.
VkResult refusal(const VkDeviceCreateInfo& create) {
  for (std::uint32_t i = 0; i < create.enabledExtensionCount; ++i) {
    const char* name = create.ppEnabledExtensionNames[i];
    if (limits()->has_extension(name)) continue;
    std::fprintf(stderr, "PTX2SPV_DEBUG: limits: the device has no %s\n", name);
    return VK_ERROR_EXTENSION_NOT_PRESENT;
  }
  std::string exceeded = limits()->exceeded(create.pNext);
  if (exceeded.empty() && create.pEnabledFeatures) {
    VkPhysicalDeviceFeatures2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr,
                                   *create.pEnabledFeatures};
    exceeded = limits()->exceeded(&core);
  }
  if (exceeded.empty()) return VK_SUCCESS;
  std::fprintf(stderr, "PTX2SPV_DEBUG: limits: the device has no %s\n", exceeded.c_str());
  return VK_ERROR_FEATURE_NOT_PRESENT;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                             const VkDeviceCreateInfo* create,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* device) {
  auto* link = link_info<VkLayerDeviceCreateInfo>(create->pNext,
                                                  VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  if (const VkResult result = refusal(*create); result != VK_SUCCESS) return result;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  Device made;
  made.next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  auto create_next =
      reinterpret_cast<PFN_vkCreateDevice>(next(instance_of(physical).handle, "vkCreateDevice"));
  if (!create_next) return VK_ERROR_INITIALIZATION_FAILED;
  // Stated queues are all the driver's first one.
  const bool stated = !limits()->queue_families().empty();
  VkDeviceCreateInfo changed = *create;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  const float priority = 1;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  if (stated) {
    changed.queueCreateInfoCount = 1;
    changed.pQueueCreateInfos = &queue;
  }
  const VkResult result = create_next(physical, &changed, allocator, device);
  if (result != VK_SUCCESS) return result;
  made.handle = *device;
  made.destroy = reinterpret_cast<PFN_vkDestroyDevice>(made.next(*device, "vkDestroyDevice"));
  made.pipelines = reinterpret_cast<PFN_vkCreateComputePipelines>(
      made.next(*device, "vkCreateComputePipelines"));
  if (stated) {
    VkQueue driver = VK_NULL_HANDLE;
    made.find<PFN_vkGetDeviceQueue>(*device, "vkGetDeviceQueue")(*device, 0, 0, &driver);
    // As the loader does for those that it returns.
    *reinterpret_cast<const void**>(driver) = layer::dispatch_table(*device);
    made.queues = std::make_shared<Queues>(*device, driver,
                                           made.find<PFN_vkQueueSubmit>(*device, "vkQueueSubmit"));
  }
  std::lock_guard lock(guard);
  devices[layer::dispatch_table(*device)] = made;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  if (!device) return;
  Device known;
  {
    std::lock_guard lock(guard);
    known = devices.at(layer::dispatch_table(device));
    devices.erase(layer::dispatch_table(device));
  }
  known.queues.reset();
  known.destroy(device, allocator);
}

// Functions of a device with stated queues.

VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, std::uint32_t family, std::uint32_t index,
                                     VkQueue* queue) {
  *queue = device_of(device).queues->find(family, index);
}
VKAPI_ATTR void VKAPI_CALL get_queue2(VkDevice device, const VkDeviceQueueInfo2* info,
                                      VkQueue* queue) {
  get_queue(device, info->queueFamilyIndex, info->queueIndex, queue);
}
VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, std::uint32_t count,
                                            const VkSubmitInfo* list, VkFence fence) {
  device_of(queue).queues->submit(queue, count, list, fence);
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL queue_bind(VkQueue queue, std::uint32_t count,
                                          const VkBindSparseInfo* list, VkFence fence) {
  const Device known = device_of(queue);
  return known.queues->give_all([&](VkQueue driver) {
    return known.find<PFN_vkQueueBindSparse>(known.handle, "vkQueueBindSparse")(driver, count, list,
                                                                                fence);
  });
}
VKAPI_ATTR VkResult VKAPI_CALL queue_wait(VkQueue queue) {
  const Device known = device_of(queue);
  return known.queues->give_all(known.find<PFN_vkQueueWaitIdle>(known.handle, "vkQueueWaitIdle"));
}
VKAPI_ATTR VkResult VKAPI_CALL device_wait(VkDevice device) {
  const Device known = device_of(device);
  return known.queues->give_all([&](VkQueue) {
    return known.find<PFN_vkDeviceWaitIdle>(device, "vkDeviceWaitIdle")(device);
  });
}
VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device, const VkCommandPoolCreateInfo* create,
                                           const VkAllocationCallbacks* allocator,
                                           VkCommandPool* pool) {
  VkCommandPoolCreateInfo changed = *create;
  changed.queueFamilyIndex = 0;
  return device_of(device).find<PFN_vkCreateCommandPool>(device, "vkCreateCommandPool")(
      device, &changed, allocator, pool);
}
VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo* create,
                                             const VkAllocationCallbacks* allocator,
                                             VkBuffer* buffer) {
  VkBufferCreateInfo changed = *create;
  changed.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  return device_of(device).find<PFN_vkCreateBuffer>(device, "vkCreateBuffer")(device, &changed,
                                                                              allocator, buffer);
}

PFN_vkVoidFunction find_for_queues(const char* name) {
  const layer::Own own[] = {
      layer::own("GetDeviceQueue", get_queue),      layer::own("GetDeviceQueue2", get_queue2),
      layer::own("QueueSubmit", queue_submit),      layer::own("QueueBindSparse", queue_bind),
      layer::own("QueueWaitIdle", queue_wait),      layer::own("DeviceWaitIdle", device_wait),
      layer::own("CreateCommandPool", create_pool), layer::own("CreateBuffer", create_buffer),
  };
  return layer::find(own, name);
}

/// The size of subgroups that a stage asks for; 0: it leaves that to the driver.
std::uint32_t asked_size(const VkPipelineShaderStageCreateInfo& stage) {
  for (auto* each = static_cast<const VkBaseInStructure*>(stage.pNext); each; each = each->pNext)
    if (each->sType == VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO)
      return reinterpret_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*>(each)
          ->requiredSubgroupSize;
  return 0;
}

/// Of stated sizes of subgroups the driver below knows nothing: a pipeline is held against them,
/// and made without.
VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache,
                                                std::uint32_t count,
                                                const VkComputePipelineCreateInfo* list,
                                                const VkAllocationCallbacks* allocator,
                                                VkPipeline* made) {
  const PFN_vkCreateComputePipelines next = device_of(device).pipelines;
  const auto least = limits()->property("minSubgroupSize"),
             most = limits()->property("maxSubgroupSize");
  std::vector<VkComputePipelineCreateInfo> plain(list, list + count);
  for (VkComputePipelineCreateInfo& each : plain) {
    const std::uint32_t size = asked_size(each.stage);
    if (!size || !least || !most) continue;
    const bool fits = size >= *least && size <= *most;
    std::fprintf(stderr, "PTX2SPV_DEBUG: limits: a pipeline asks for subgroups of %u%s\n", size,
                 fits ? "" : ", which the device has not");
    if (!fits) return VK_ERROR_INITIALIZATION_FAILED;
    each.stage.pNext = nullptr;
    each.stage.flags = 0;
  }
  return next(device, cache, count, plain.data(), allocator, made);
}

/// Functions that came with Vulkan 1.2 and 1.3, of those that compute, by the names without KHR or
/// EXT.
bool too_new(std::string_view name) {
  constexpr std::string_view k12[] = {"vkGetBufferDeviceAddress",
                                      "vkGetBufferOpaqueCaptureAddress",
                                      "vkGetDeviceMemoryOpaqueCaptureAddress",
                                      "vkGetSemaphoreCounterValue",
                                      "vkResetQueryPool",
                                      "vkSignalSemaphore",
                                      "vkWaitSemaphores"};
  constexpr std::string_view k13[] = {"vkCmdCopyBuffer2",
                                      "vkCmdCopyBufferToImage2",
                                      "vkCmdCopyImage2",
                                      "vkCmdCopyImageToBuffer2",
                                      "vkCmdPipelineBarrier2",
                                      "vkCmdResetEvent2",
                                      "vkCmdSetEvent2",
                                      "vkCmdWaitEvents2",
                                      "vkCmdWriteTimestamp2",
                                      "vkGetDeviceBufferMemoryRequirements",
                                      "vkGetDeviceImageMemoryRequirements",
                                      "vkQueueSubmit2"};
  const std::uint32_t version = limits()->version();
  return (version < VK_API_VERSION_1_2 && std::ranges::find(k12, name) != std::end(k12)) ||
         (version < VK_API_VERSION_1_3 && std::ranges::find(k13, name) != std::end(k13));
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char* name) {
  if (!std::strcmp(name, "vkGetDeviceProcAddr"))
    return reinterpret_cast<PFN_vkVoidFunction>(get_device_proc);
  if (!std::strcmp(name, "vkDestroyDevice"))
    return reinterpret_cast<PFN_vkVoidFunction>(destroy_device);
  if (!std::strcmp(name, "vkCreateComputePipelines"))
    return reinterpret_cast<PFN_vkVoidFunction>(create_pipelines);
  if (too_new(name)) return nullptr;
  const Device known = device_of(device);
  const PFN_vkVoidFunction function = known.queues ? find_for_queues(name) : nullptr;
  return function ? function : known.next(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char* name) {
  const layer::Own own[] = {
      layer::own("GetInstanceProcAddr", get_instance_proc),
      layer::own("GetDeviceProcAddr", get_device_proc),
      layer::own("CreateInstance", create_instance),
      layer::own("DestroyInstance", destroy_instance),
      layer::own("GetPhysicalDeviceFeatures", get_features),
      layer::own("GetPhysicalDeviceFeatures2", get_features2),
      layer::own("GetPhysicalDeviceFeatures2KHR", get_features2),
      layer::own("GetPhysicalDeviceProperties", get_properties),
      layer::own("GetPhysicalDeviceProperties2", get_properties2),
      layer::own("GetPhysicalDeviceProperties2KHR", get_properties2),
      layer::own("GetPhysicalDeviceQueueFamilyProperties", get_families),
      layer::own("GetPhysicalDeviceQueueFamilyProperties2", get_families2),
      layer::own("GetPhysicalDeviceQueueFamilyProperties2KHR", get_families2),
      layer::own("EnumerateDeviceExtensionProperties", enumerate_extensions),
      layer::own("CreateDevice", create_device),
      layer::own("DestroyDevice", destroy_device),
  };
  if (const PFN_vkVoidFunction function = layer::find(own, name)) return function;
  if (!instance) return nullptr;
  return instance_of(instance).next(instance, name);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* with) {
  return layer::negotiate(*with, get_instance_proc, get_device_proc);
}
