// A Vulkan driver for tests/faults: passes every call on to SwiftShader, and answers one of them
// with an error, as it is told to. It counts what is made and not destroyed. PTX2SPV_FAULT_DRIVER
// names SwiftShader's library.
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <tuple>

namespace {

std::atomic<std::uint64_t> calls{0}, fails_at{~std::uint64_t{0}};
std::atomic<std::int64_t> live{0};
std::atomic<int> error{0};
std::atomic<bool> sticky{false};
std::atomic<const char*> failed{nullptr};
std::atomic<VkDevice> device{nullptr};  ///< the last one made
std::atomic<PFN_vkDeviceWaitIdle> wait_idle{nullptr};

enum class Function {
#define PTX2SPV_VK_GLOBAL(name) name,
#define PTX2SPV_VK_INSTANCE(name) name,
#define PTX2SPV_VK_OPTIONAL(name) name,
#define PTX2SPV_VK_DEVICE(name) name,
#define PTX2SPV_VK_DEVICE_KHR(name) name,
#include "src/vulkan/functions.def"
};

constexpr const char* kNames[] = {
#define PTX2SPV_VK_GLOBAL(name) "vk" #name,
#define PTX2SPV_VK_INSTANCE(name) "vk" #name,
#define PTX2SPV_VK_OPTIONAL(name) "vk" #name,
#define PTX2SPV_VK_DEVICE(name) "vk" #name,
#define PTX2SPV_VK_DEVICE_KHR(name) "vk" #name,
#include "src/vulkan/functions.def"
};

/// Functions that Vulkan allows to fail by a lack of memory or a lost device.
bool may_fail(std::string_view name) {
  for (const char* part :
       {"Create", "Allocate", "Bind", "Map", "Submit", "Wait", "BeginCommand", "EndCommand",
        "GetSemaphoreCounterValue", "GetQueryPoolResults", "GetPipelineCacheData"})
    if (name.find(part) != name.npos) return true;
  return false;
}

/// Whether Vulkan lets this function answer `code`.
bool allows(std::string_view name, int code) {
  if (code != VK_ERROR_DEVICE_LOST)
    return name.find("Wait") == name.npos || code == VK_ERROR_OUT_OF_HOST_MEMORY;
  for (const char* part :
       {"Submit", "Wait", "CreateDevice", "GetSemaphoreCounterValue", "GetQueryPoolResults"})
    if (name.find(part) != name.npos) return true;
  return false;
}

/// One handle is made by a call of it; pools hold others, which go with them.
bool makes(std::string_view name) {
  return name.starts_with("vkCreate") || name == "vkAllocateMemory";
}
bool destroys(std::string_view name) {
  return name.starts_with("vkDestroy") || name == "vkFreeMemory";
}

template <Function number, class Type>
struct Wrap;

template <Function number, class... Args>
struct Wrap<number, VkResult (*)(Args...)> {
  static inline VkResult (*real)(Args...) = nullptr;
  static VkResult call(Args... args) {
    const char* name = kNames[static_cast<int>(number)];
    if (may_fail(name) && allows(name, error)) {
      const std::uint64_t at = calls++;
      if (at == fails_at || (sticky && at > fails_at)) {
        failed = name;
        // What a lost device ran has ended.
        if (error == VK_ERROR_DEVICE_LOST && device && wait_idle) wait_idle.load()(device);
        return static_cast<VkResult>(error.load());
      }
    }
    const VkResult result = real(args...);
    if (makes(name) && result == VK_SUCCESS) ++live;
    if constexpr (number == Function::CreateDevice)
      if (result == VK_SUCCESS) device = *std::get<3>(std::tie(args...));
    return result;
  }
};

template <class Handle, class... Args>
bool no_handle(VkDevice, Handle* handle, Args...) {
  return handle == nullptr;
}
bool no_handle(VkInstance handle, const VkAllocationCallbacks*) { return !handle; }
bool no_handle(VkDevice handle, const VkAllocationCallbacks*) { return !handle; }
template <class... Args>
bool no_handle(Args...) {
  return false;
}

template <Function number, class... Args>
struct Wrap<number, void (*)(Args...)> {
  static inline void (*real)(Args...) = nullptr;
  static void call(Args... args) {
    if (destroys(kNames[static_cast<int>(number)]) && !no_handle(args...)) --live;
    if constexpr (number == Function::DestroyDevice) device = nullptr;
    real(args...);
  }
};

template <Function number, class Result, class... Args>
struct Wrap<number, Result (*)(Args...)> {
  static inline Result (*real)(Args...) = nullptr;
  static Result call(Args... args) { return real(args...); }
};

template <Function number, class Type>
PFN_vkVoidFunction wrapped(PFN_vkVoidFunction real) {
  using It = Wrap<number, Type>;
  It::real = reinterpret_cast<Type>(real);
  if constexpr (number == Function::DeviceWaitIdle) wait_idle = It::real;
  return reinterpret_cast<PFN_vkVoidFunction>(&It::call);
}

PFN_vkVoidFunction wrap(std::string_view name, PFN_vkVoidFunction real);

/// A function that SwiftShader's library exports, or null.
void* exported(const char* name) {
  static void* const library = [] {
    const char* path = std::getenv("PTX2SPV_FAULT_DRIVER");
    return path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  }();
  return library ? dlsym(library, name) : nullptr;
}

PFN_vkGetInstanceProcAddr driver() {
  static const auto get =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(exported("vk_icdGetInstanceProcAddr"));
  return get;
}

PFN_vkGetDeviceProcAddr device_functions = nullptr;

PFN_vkVoidFunction VKAPI_PTR get_of_device(VkDevice device, const char* name) {
  return wrap(name, device_functions(device, name));
}

PFN_vkVoidFunction wrap(std::string_view name, PFN_vkVoidFunction real) {
  if (!real) return nullptr;
  if (name == "vkGetDeviceProcAddr") {
    device_functions = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
    return reinterpret_cast<PFN_vkVoidFunction>(&get_of_device);
  }
#define WRAP(function)                                        \
  if (name == "vk" #function || name == "vk" #function "KHR") \
    return wrapped<Function::function, PFN_vk##function>(real);
#define PTX2SPV_VK_GLOBAL(function) WRAP(function)
#define PTX2SPV_VK_INSTANCE(function) WRAP(function)
#define PTX2SPV_VK_OPTIONAL(function) WRAP(function)
#define PTX2SPV_VK_DEVICE(function) WRAP(function)
#define PTX2SPV_VK_DEVICE_KHR(function) WRAP(function)
#include "src/vulkan/functions.def"
  return real;
}

}  // namespace

extern "C" {

/// The call that fails, counted from now on and from 0; all ones: none. `stays`: all later ones do,
/// too.
void fault_set(std::uint64_t at, int code, bool stays) {
  calls = 0;
  fails_at = at;
  error = code;
  sticky = stays;
  failed = nullptr;
}
std::uint64_t fault_calls() { return calls; }
/// Handles that were made and not destroyed.
std::int64_t fault_live() { return live; }
/// The function that failed, or null.
const char* fault_name() { return failed; }

/// SwiftShader makes no instance of Vulkan 1.1 or later before it knows that its caller does.
VkResult vk_icdNegotiateLoaderICDInterfaceVersion(std::uint32_t* version) {
  static const auto negotiate = reinterpret_cast<VkResult (*)(std::uint32_t*)>(
      exported("vk_icdNegotiateLoaderICDInterfaceVersion"));
  return negotiate ? negotiate(version) : VK_ERROR_INCOMPATIBLE_DRIVER;
}

PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char* name) {
  return driver() ? wrap(name, driver()(instance, name)) : nullptr;
}
PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  return vk_icdGetInstanceProcAddr(instance, name);
}
}
