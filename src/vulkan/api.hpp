// Vulkan without link-time dependency: function tables filled through vkGetInstanceProcAddr.
#pragma once

#define VK_NO_PROTOTYPES
#include <fmt/format.h>
#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "ptx2spv/result.hpp"

namespace ptx2spv::runtime {

struct GlobalFunctions {
#define PTX2SPV_VK_GLOBAL(name) PFN_vk##name name = nullptr;
#include "src/vulkan/functions.def"
};

struct InstanceFunctions {
#define PTX2SPV_VK_INSTANCE(name) PFN_vk##name name = nullptr;
#define PTX2SPV_VK_OPTIONAL(name) PFN_vk##name name = nullptr;
#include "src/vulkan/functions.def"
  /// Null, or the name of a required function that the instance does not have.
  const char* load(PFN_vkGetInstanceProcAddr get, VkInstance instance);
};

struct DeviceFunctions {
#define PTX2SPV_VK_DEVICE(name) PFN_vk##name name = nullptr;
#define PTX2SPV_VK_DEVICE_KHR(name) PFN_vk##name name = nullptr;
#include "src/vulkan/functions.def"
  const char* load(PFN_vkGetDeviceProcAddr get, VkDevice device);
  /// From now on nothing is destroyed or freed: a launch that never ends may use all of it.
  void keep_everything();
};

/// "VK_ERROR_DEVICE_LOST", for messages.
std::string to_text(VkResult result);
inline Error make_error(ErrorCode code, std::string text) {
  return Error{code, std::move(text), {}, nullptr};
}
template <class... T>
Error make_error(ErrorCode code, fmt::format_string<T...> text, T&&... parts) {
  return make_error(code, fmt::format(text, std::forward<T>(parts)...));
}
inline Error bad_argument(std::string text) {
  return make_error(ErrorCode::invalid_argument, std::move(text));
}
template <class... T>
Error bad_argument(fmt::format_string<T...> text, T&&... parts) {
  return bad_argument(fmt::format(text, std::forward<T>(parts)...));
}
/// An error for a failed call of vk`what`: device lost and out of memory have codes of their own.
Error vulkan_error(VkResult result, const char* what);

/// A VkInstance with its library. Owned ones are destroyed with the last device.
struct Instance {
  Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  PFN_vkGetInstanceProcAddr get_proc = nullptr;
  VkInstance handle = VK_NULL_HANDLE;
  InstanceFunctions vk;
  bool owned = true;
  bool validated = false;
  std::string origin;  ///< "the Vulkan loader" or the driver's file
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  std::atomic<std::uint64_t> validation_messages{0};
};

/// Opens Vulkan through the loader (libvulkan.so.1). With `validation` the Khronos layer is put in,
/// with the debug setting limits the one that limits devices. SwiftShader's manifest, if one is
/// found, is then added to the loader's drivers.
Result<std::shared_ptr<Instance>> open_loader(bool validation);
/// Whether devices are to look like a smaller one (the debug setting limits), which takes the
/// loader.
bool limits_requested();
/// Whether the process has Vulkan of its own, with the layer that ptxexec adds for semaphores.
bool semaphores_layered();
/// Opens SwiftShader's library directly, without loader or environment.
Result<std::shared_ptr<Instance>> open_swiftshader();
/// SwiftShader's library, or empty; `searched` gets every place that was tried.
std::string find_swiftshader(std::string* searched = nullptr);

}  // namespace ptx2spv::runtime
