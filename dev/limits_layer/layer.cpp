// VK_LAYER_PTX2SPV_limits: a Vulkan layer that makes a device look like a smaller one. It reports
// no more than the profile that PTX2SPV_DEBUG=limits=FILE names states, and refuses a device that
// is created with more. Below the validation layer, it makes that one hold every call and module
// against the smaller device.
#include <vulkan/vk_layer.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "dev/limits_layer/limits.hpp"
#include "ptx2spv/debug_setting.hpp"
#include "src/files.hpp"

namespace {

using ptx2spv::limits::Limits;

struct Instance {
  PFN_vkGetInstanceProcAddr next = nullptr;
  PFN_vkDestroyInstance destroy = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 features = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
  VkInstance handle = VK_NULL_HANDLE;
};
struct Device {
  PFN_vkGetDeviceProcAddr next = nullptr;
  PFN_vkDestroyDevice destroy = nullptr;
};

std::mutex guard;
// By the loader's dispatch table, which an object shares with those that it was made from.
std::map<const void*, Instance> instances;
std::map<const void*, Device> devices;

const void* key(const void* object) { return *static_cast<const void* const*>(object); }

Instance instance_of(const void* object) {
  std::lock_guard lock(guard);
  return instances.at(key(object));
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

template <typename Info>
Info* link_info(const void* chain, VkStructureType type) {
  for (auto* each = static_cast<const VkBaseInStructure*>(chain); each; each = each->pNext) {
    if (each->sType != type) continue;
    auto* info = const_cast<Info*>(reinterpret_cast<const Info*>(each));
    if (info->function == VK_LAYER_LINK_INFO) return info;
  }
  return nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* create,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* instance) {
  auto* link = link_info<VkLayerInstanceCreateInfo>(create->pNext,
                                                    VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (!link || !limits()) return VK_ERROR_INITIALIZATION_FAILED;
  Instance made;
  made.next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  auto create_next =
      reinterpret_cast<PFN_vkCreateInstance>(made.next(VK_NULL_HANDLE, "vkCreateInstance"));
  if (!create_next) return VK_ERROR_INITIALIZATION_FAILED;
  const VkResult result = create_next(create, allocator, instance);
  if (result != VK_SUCCESS) return result;
  made.handle = *instance;
  const auto load = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(made.next(*instance, name));
  };
  load(made.destroy, "vkDestroyInstance");
  load(made.features, "vkGetPhysicalDeviceFeatures2");
  load(made.properties, "vkGetPhysicalDeviceProperties2");
  load(made.extensions, "vkEnumerateDeviceExtensionProperties");
  std::lock_guard lock(guard);
  instances[key(*instance)] = made;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance,
                                            const VkAllocationCallbacks* allocator) {
  if (!instance) return;
  const Instance known = instance_of(instance);
  {
    std::lock_guard lock(guard);
    instances.erase(key(instance));
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
  const VkResult result = create_next(physical, create, allocator, device);
  if (result != VK_SUCCESS) return result;
  made.destroy = reinterpret_cast<PFN_vkDestroyDevice>(made.next(*device, "vkDestroyDevice"));
  std::lock_guard lock(guard);
  devices[key(*device)] = made;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  if (!device) return;
  Device known;
  {
    std::lock_guard lock(guard);
    known = devices.at(key(device));
    devices.erase(key(device));
  }
  known.destroy(device, allocator);
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
  if (too_new(name)) return nullptr;
  PFN_vkGetDeviceProcAddr next = nullptr;
  {
    std::lock_guard lock(guard);
    next = devices.at(key(device)).next;
  }
  return next(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char* name) {
  const struct {
    const char* name;
    PFN_vkVoidFunction function;
  } own[] = {
#define PTX2SPV_OWN(name, function) {"vk" #name, reinterpret_cast<PFN_vkVoidFunction>(function)},
      PTX2SPV_OWN(GetInstanceProcAddr, get_instance_proc) PTX2SPV_OWN(
          GetDeviceProcAddr, get_device_proc) PTX2SPV_OWN(CreateInstance, create_instance)
          PTX2SPV_OWN(DestroyInstance, destroy_instance)
              PTX2SPV_OWN(GetPhysicalDeviceFeatures, get_features)
                  PTX2SPV_OWN(GetPhysicalDeviceFeatures2, get_features2)
                      PTX2SPV_OWN(GetPhysicalDeviceFeatures2KHR, get_features2) PTX2SPV_OWN(
                          GetPhysicalDeviceProperties, get_properties)
                          PTX2SPV_OWN(GetPhysicalDeviceProperties2, get_properties2) PTX2SPV_OWN(
                              GetPhysicalDeviceProperties2KHR, get_properties2)
                              PTX2SPV_OWN(EnumerateDeviceExtensionProperties, enumerate_extensions)
                                  PTX2SPV_OWN(CreateDevice, create_device)
                                      PTX2SPV_OWN(DestroyDevice, destroy_device)
#undef PTX2SPV_OWN
  };
  for (const auto& each : own)
    if (!std::strcmp(name, each.name)) return each.function;
  if (!instance) return nullptr;
  return instance_of(instance).next(instance, name);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* negotiate) {
  if (negotiate->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
  negotiate->loaderLayerInterfaceVersion = 2;
  negotiate->pfnGetInstanceProcAddr = get_instance_proc;
  negotiate->pfnGetDeviceProcAddr = get_device_proc;
  negotiate->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
