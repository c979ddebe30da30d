// VK_LAYER_PTX2SPV_semaphores: a Vulkan layer that gives devices without them semaphores with
// opaque file descriptors, within a process: what an application shares with CUDA. Drivers of CPUs
// have none, or binary ones alone. Where there are only CPUs, it calls them discrete GPUs, which
// applications made for NVIDIA's demand.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "src/cuda/semaphore_layer/semaphores.hpp"
#include "src/cuda/semaphore_layer/submissions.hpp"
#include "src/vulkan/layer.hpp"

namespace ptx2spv::semaphore_layer {
namespace {

constexpr const char* kExtensions[] = {VK_KHR_EXTERNAL_SEMAPHORE_EXTENSION_NAME,
                                       VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
constexpr VkExternalSemaphoreHandleTypeFlagBits kOpaque =
    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr VkExternalSemaphoreFeatureFlags kBothWays =
    VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;

struct Instance : layer::NextInstance {
  PFN_vkGetPhysicalDeviceFeatures2 features = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkEnumeratePhysicalDevices physical_devices = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
  PFN_vkGetPhysicalDeviceExternalSemaphoreProperties semaphores = nullptr;
  bool for_cuda = false;  ///< the application's, not what serves CUDA or OpenGL to it
};

std::mutex guard;
// By their dispatch tables. Applications may end devices when this library's objects are gone.
auto& instances = *new std::map<const void*, Instance>;
auto& devices = *new std::map<const void*, std::unique_ptr<Device>>;

Instance instance_of(const void* object) {
  std::lock_guard lock(guard);
  return instances.at(layer::dispatch_table(object));
}
Device& device_of(const void* object) {
  std::lock_guard lock(guard);
  return *devices.at(layer::dispatch_table(object));
}

/// Whether an instance may call CPUs GPUs: the runtime's own tells its CPUs by their kind, as does
/// OpenGL over Vulkan where the environment asks it for a CPU.
bool is_for_cuda(const VkInstanceCreateInfo& create) {
  const char* engine = create.pApplicationInfo ? create.pApplicationInfo->pEngineName : nullptr;
  return !(engine && !std::strcmp(engine, "ptx2spv")) && !std::getenv("LIBGL_ALWAYS_SOFTWARE");
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* create,
                                               const VkAllocationCallbacks* allocator,
                                               VkInstance* instance) {
  Instance made;
  if (const VkResult result = made.create(create, allocator, instance); result != VK_SUCCESS)
    return result;
  made.load(made.features, "vkGetPhysicalDeviceFeatures2");
  made.load(made.properties, "vkGetPhysicalDeviceProperties");
  made.load(made.properties2, "vkGetPhysicalDeviceProperties2");
  made.load(made.physical_devices, "vkEnumeratePhysicalDevices");
  made.load(made.extensions, "vkEnumerateDeviceExtensionProperties");
  made.load(made.semaphores, "vkGetPhysicalDeviceExternalSemaphoreProperties");
  made.for_cuda = is_for_cuda(*create);
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

/// Changes what the application is told of the device.
void tell_kind(const Instance& instance, VkPhysicalDeviceProperties& device) {
  if (device.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU || !instance.for_cuda) return;
  std::uint32_t count = 0;
  instance.physical_devices(instance.handle, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  instance.physical_devices(instance.handle, &count, all.data());
  all.resize(count);
  const bool cpus = std::ranges::all_of(all, [&](VkPhysicalDevice each) {
    VkPhysicalDeviceProperties properties{};
    instance.properties(each, &properties);
    return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  });
  if (cpus) device.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}
VKAPI_ATTR void VKAPI_CALL device_properties(VkPhysicalDevice physical,
                                             VkPhysicalDeviceProperties* properties) {
  const Instance instance = instance_of(physical);
  instance.properties(physical, properties);
  tell_kind(instance, *properties);
}
VKAPI_ATTR void VKAPI_CALL device_properties2(VkPhysicalDevice physical,
                                              VkPhysicalDeviceProperties2* properties) {
  const Instance instance = instance_of(physical);
  instance.properties2(physical, properties);
  tell_kind(instance, properties->properties);
}

/// Whether the layer makes semaphores of the kind: the driver has timeline semaphores of its own,
/// but no descriptors for the kind.
bool serves(const Instance& instance, VkPhysicalDevice physical, bool timeline) {
  VkPhysicalDeviceProperties properties{};
  instance.properties(physical, &properties);
  if (properties.apiVersion < VK_API_VERSION_1_2 || !instance.features || !instance.semaphores)
    return false;
  VkPhysicalDeviceTimelineSemaphoreFeatures has{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &has, {}};
  instance.features(physical, &features);
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY;
  VkPhysicalDeviceExternalSemaphoreInfo info{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO, &type, kOpaque};
  VkExternalSemaphoreProperties driver{VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
  instance.semaphores(physical, &info, &driver);
  return has.timelineSemaphore && !(driver.externalSemaphoreFeatures & kBothWays);
}

VKAPI_ATTR void VKAPI_CALL semaphore_properties(VkPhysicalDevice physical,
                                                const VkPhysicalDeviceExternalSemaphoreInfo* info,
                                                VkExternalSemaphoreProperties* properties) {
  const Instance instance = instance_of(physical);
  instance.semaphores(physical, info, properties);
  if (info->handleType != kOpaque || !serves(instance, physical, is_timeline(info->pNext))) return;
  properties->exportFromImportedHandleTypes = kOpaque;
  properties->compatibleHandleTypes = kOpaque;
  properties->externalSemaphoreFeatures = kBothWays;
}

std::vector<VkExtensionProperties> extensions_of(const Instance& instance,
                                                 VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  instance.extensions(physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> list(count);
  instance.extensions(physical, nullptr, &count, list.data());
  list.resize(count);
  return list;
}

bool lists(const std::vector<VkExtensionProperties>& list, const char* name) {
  return std::ranges::any_of(list, [&](const VkExtensionProperties& each) {
    return !std::strcmp(each.extensionName, name);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_extensions(VkPhysicalDevice physical, const char* name,
                                                    std::uint32_t* count,
                                                    VkExtensionProperties* list) {
  const Instance instance = instance_of(physical);
  if (name) return instance.extensions(physical, name, count, list);
  std::vector<VkExtensionProperties> all = extensions_of(instance, physical);
  if (serves(instance, physical, false) || serves(instance, physical, true))
    for (const char* each : kExtensions) {
      if (lists(all, each)) continue;
      VkExtensionProperties more{};
      std::strncpy(more.extensionName, each, sizeof more.extensionName - 1);
      more.specVersion = 1;
      all.push_back(more);
    }
  if (!list) {
    *count = static_cast<std::uint32_t>(all.size());
    return VK_SUCCESS;
  }
  const std::uint32_t room = *count;
  *count = std::min(room, static_cast<std::uint32_t>(all.size()));
  std::copy_n(all.begin(), *count, list);
  return room < all.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

/// The flag in a chain of features that switches timeline semaphores on; null: there is none.
VkBool32* timeline_feature(const void* chain) {
  for (auto* each = static_cast<const VkBaseInStructure*>(chain); each; each = each->pNext) {
    auto* writable = const_cast<VkBaseInStructure*>(each);
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
      return &reinterpret_cast<VkPhysicalDeviceVulkan12Features*>(writable)->timelineSemaphore;
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
      return &reinterpret_cast<VkPhysicalDeviceTimelineSemaphoreFeatures*>(writable)
                  ->timelineSemaphore;
  }
  return nullptr;
}

/// What the driver is asked for in place of what the application asks for: without the extensions
/// that the layer adds, and with timeline semaphores. The application's chain is as before in the
/// end.
class Request {
 public:
  Request(const VkDeviceCreateInfo& given, const std::vector<VkExtensionProperties>& driver)
      : changed_(given), flag_(timeline_feature(given.pNext)), before_(flag_ ? *flag_ : VK_FALSE) {
    constexpr const char* kTimeline = VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME;
    bool has_timeline = !lists(driver, kTimeline);
    for (std::uint32_t i = 0; i < given.enabledExtensionCount; ++i) {
      const char* name = given.ppEnabledExtensionNames[i];
      const bool ours = std::ranges::any_of(
          kExtensions, [&](const char* each) { return !std::strcmp(each, name); });
      if (!ours || lists(driver, name)) names_.push_back(name);
      has_timeline |= !std::strcmp(name, kTimeline);
    }
    if (!has_timeline) names_.push_back(kTimeline);  // whose functions Vulkan 1.0 and 1.1 lack
    changed_.enabledExtensionCount = static_cast<std::uint32_t>(names_.size());
    changed_.ppEnabledExtensionNames = names_.data();
    if (flag_) {
      *flag_ = VK_TRUE;
      return;
    }
    more_.timelineSemaphore = VK_TRUE;
    more_.pNext = const_cast<void*>(given.pNext);
    changed_.pNext = &more_;
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() {
    if (flag_) *flag_ = before_;
  }
  const VkDeviceCreateInfo* info() const { return &changed_; }

 private:
  VkDeviceCreateInfo changed_;
  std::vector<const char*> names_;
  VkPhysicalDeviceTimelineSemaphoreFeatures more_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkBool32* flag_;
  VkBool32 before_;
};

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                             const VkDeviceCreateInfo* create,
                                             const VkAllocationCallbacks* allocator,
                                             VkDevice* device) {
  auto* link = layer::link_info<VkLayerDeviceCreateInfo>(
      create->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const Instance instance = instance_of(physical);
  const auto create_next =
      reinterpret_cast<PFN_vkCreateDevice>(next(instance.handle, "vkCreateDevice"));
  if (!create_next) return VK_ERROR_INITIALIZATION_FAILED;
  const bool binary = serves(instance, physical, false),
             timeline = serves(instance, physical, true);
  std::optional<Request> request;
  if (binary || timeline) request.emplace(*create, extensions_of(instance, physical));
  const VkResult result =
      create_next(physical, request ? request->info() : create, allocator, device);
  if (result != VK_SUCCESS) return result;
  auto made = std::make_unique<Device>(Calls(*device, next_device), binary, timeline);
  std::lock_guard lock(guard);
  devices[layer::dispatch_table(*device)] = std::move(made);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  if (!device) return;
  std::unique_ptr<Device> known;
  {
    std::lock_guard lock(guard);
    known = std::move(devices.at(layer::dispatch_table(device)));
    devices.erase(layer::dispatch_table(device));
  }
  known->forget_all();
  known->calls().DestroyDevice(device, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice device,
                                                const VkSemaphoreCreateInfo* create,
                                                const VkAllocationCallbacks* allocator,
                                                VkSemaphore* semaphore) {
  return device_of(device).create(*create, allocator, semaphore);
}
VKAPI_ATTR void VKAPI_CALL destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                                             const VkAllocationCallbacks* allocator) {
  device_of(device).destroy(semaphore, allocator);
}
VKAPI_ATTR VkResult VKAPI_CALL get_fd(VkDevice device, const VkSemaphoreGetFdInfoKHR* info,
                                      int* fd) {
  return device_of(device).get_fd(*info, fd);
}
VKAPI_ATTR VkResult VKAPI_CALL import_fd(VkDevice device, const VkImportSemaphoreFdInfoKHR* info) {
  return device_of(device).import_fd(*info);
}
VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(VkDevice device, const VkSemaphoreWaitInfo* info,
                                               std::uint64_t timeout) {
  return device_of(device).wait(*info, timeout);
}
VKAPI_ATTR VkResult VKAPI_CALL signal_semaphore(VkDevice device,
                                                const VkSemaphoreSignalInfo* info) {
  return device_of(device).signal(*info);
}
VKAPI_ATTR VkResult VKAPI_CALL counter_value(VkDevice device, VkSemaphore semaphore,
                                             std::uint64_t* value) {
  Device& known = device_of(device);
  return known.calls().GetSemaphoreCounterValue(device, known.handle_of(semaphore), value);
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, std::uint32_t count,
                                            const VkSubmitInfo* batches, VkFence fence) {
  Device& device = device_of(queue);
  return submit(device, count, batches, [&](const VkSubmitInfo* list) {
    return device.calls().QueueSubmit(queue, count, list, fence);
  });
}
VKAPI_ATTR VkResult VKAPI_CALL bind_sparse(VkQueue queue, std::uint32_t count,
                                           const VkBindSparseInfo* batches, VkFence fence) {
  Device& device = device_of(queue);
  return submit(device, count, batches, [&](const VkBindSparseInfo* list) {
    return device.calls().QueueBindSparse(queue, count, list, fence);
  });
}
VKAPI_ATTR VkResult VKAPI_CALL queue_submit2(VkQueue queue, std::uint32_t count,
                                             const VkSubmitInfo2* batches, VkFence fence) {
  Device& device = device_of(queue);
  return submit2(device, count, batches, [&](const VkSubmitInfo2* list) {
    return device.calls().QueueSubmit2(queue, count, list, fence);
  });
}
VKAPI_ATTR VkResult VKAPI_CALL present(VkQueue queue, const VkPresentInfoKHR* info) {
  return semaphore_layer::present(device_of(queue), queue, *info);
}
VKAPI_ATTR VkResult VKAPI_CALL acquire(VkDevice device, VkSwapchainKHR swapchain,
                                       std::uint64_t timeout, VkSemaphore semaphore, VkFence fence,
                                       std::uint32_t* index) {
  Device& known = device_of(device);
  return semaphore_layer::acquire(known, semaphore, fence, [&](VkSemaphore driver, VkFence then) {
    return known.calls().AcquireNextImageKHR(device, swapchain, timeout, driver, then, index);
  });
}
VKAPI_ATTR VkResult VKAPI_CALL acquire2(VkDevice device, const VkAcquireNextImageInfoKHR* info,
                                        std::uint32_t* index) {
  Device& known = device_of(device);
  return semaphore_layer::acquire(
      known, info->semaphore, info->fence, [&](VkSemaphore driver, VkFence then) {
        VkAcquireNextImageInfoKHR changed = *info;
        changed.semaphore = driver;
        changed.fence = then;
        return known.calls().AcquireNextImage2KHR(device, &changed, index);
      });
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char* name) {
  static const layer::Own own[] = {
      layer::own("GetDeviceProcAddr", get_device_proc),
      layer::own("DestroyDevice", destroy_device),
      layer::own("CreateSemaphore", create_semaphore),
      layer::own("DestroySemaphore", destroy_semaphore),
      layer::own("GetSemaphoreFdKHR", get_fd),
      layer::own("ImportSemaphoreFdKHR", import_fd),
      layer::own("WaitSemaphores", wait_semaphores),
      layer::own("WaitSemaphoresKHR", wait_semaphores),
      layer::own("SignalSemaphore", signal_semaphore),
      layer::own("SignalSemaphoreKHR", signal_semaphore),
      layer::own("GetSemaphoreCounterValue", counter_value),
      layer::own("GetSemaphoreCounterValueKHR", counter_value),
      layer::own("QueueSubmit", queue_submit),
      layer::own("QueueSubmit2", queue_submit2),
      layer::own("QueueSubmit2KHR", queue_submit2),
      layer::own("QueueBindSparse", bind_sparse),
      layer::own("QueuePresentKHR", present),
      layer::own("AcquireNextImageKHR", acquire),
      layer::own("AcquireNextImage2KHR", acquire2),
  };
  const Device& known = device_of(device);
  const PFN_vkVoidFunction next = known.calls().get(device, name);
  const PFN_vkVoidFunction found = known.serves_any() ? layer::find(own, name) : nullptr;
  const bool added = found == own[4].function || found == own[5].function;
  if (found && (next || added)) return found;
  // They end what create_device began.
  return !std::strcmp(name, "vkDestroyDevice")       ? own[1].function
         : !std::strcmp(name, "vkGetDeviceProcAddr") ? own[0].function
                                                     : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char* name) {
  static const layer::Own own[] = {
      layer::own("GetInstanceProcAddr", get_instance_proc),
      layer::own("GetDeviceProcAddr", get_device_proc),
      layer::own("CreateInstance", create_instance),
      layer::own("DestroyInstance", destroy_instance),
      layer::own("EnumerateDeviceExtensionProperties", enumerate_extensions),
      layer::own("GetPhysicalDeviceExternalSemaphoreProperties", semaphore_properties),
      layer::own("GetPhysicalDeviceExternalSemaphorePropertiesKHR", semaphore_properties),
      layer::own("GetPhysicalDeviceProperties", device_properties),
      layer::own("GetPhysicalDeviceProperties2", device_properties2),
      layer::own("GetPhysicalDeviceProperties2KHR", device_properties2),
      layer::own("CreateDevice", create_device),
  };
  if (const PFN_vkVoidFunction function = layer::find(own, name)) return function;
  return instance ? instance_of(instance).next(instance, name) : nullptr;
}

}  // namespace
}  // namespace ptx2spv::semaphore_layer

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* with) {
  using namespace ptx2spv;
  return layer::negotiate(*with, semaphore_layer::get_instance_proc,
                          semaphore_layer::get_device_proc);
}
