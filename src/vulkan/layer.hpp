// What every Vulkan layer of the project has in common: its place in the loader's chain.
#pragma once

#include <vulkan/vk_layer.h>

#include <cstring>
#include <span>
#include <string>

namespace ptx2spv::layer {

/// The loader's dispatch table, which an object shares with those that it was made from.
inline const void* dispatch_table(const void* object) {
  return *static_cast<const void* const*>(object);
}

/// The loader's note on the next layer in `chain`; null: the layer was not called by a loader.
template <typename Info>
Info* link_info(const void* chain, VkStructureType type) {
  for (auto* each = static_cast<const VkBaseInStructure*>(chain); each; each = each->pNext) {
    if (each->sType != type) continue;
    auto* info = const_cast<Info*>(reinterpret_cast<const Info*>(each));
    if (info->function == VK_LAYER_LINK_INFO) return info;
  }
  return nullptr;
}

/// An instance as the layers below have it.
struct NextInstance {
  VkInstance handle = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr next = nullptr;
  PFN_vkDestroyInstance destroy = nullptr;

  /// By the function's name, or by its name with KHR.
  template <typename F>
  void load(F& function, const std::string& name) const {
    PFN_vkVoidFunction found = next(handle, name.c_str());
    if (!found) found = next(handle, (name + "KHR").c_str());
    function = reinterpret_cast<F>(found);
  }
  /// Makes the instance: what a layer's vkCreateInstance does first.
  VkResult create(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                  VkInstance* instance) {
    auto* link = link_info<VkLayerInstanceCreateInfo>(
        info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const auto create_next =
        reinterpret_cast<PFN_vkCreateInstance>(next(VK_NULL_HANDLE, "vkCreateInstance"));
    if (!create_next) return VK_ERROR_INITIALIZATION_FAILED;
    const VkResult result = create_next(info, allocator, instance);
    if (result != VK_SUCCESS) return result;
    handle = *instance;
    load(destroy, "vkDestroyInstance");
    return VK_SUCCESS;
  }
};

/// A function of the layer's own, by its name without vk.
struct Own {
  const char* name;
  PFN_vkVoidFunction function;
};
template <typename F>
Own own(const char* name, F* function) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}
inline PFN_vkVoidFunction find(std::span<const Own> functions, const char* name) {
  if (std::strncmp(name, "vk", 2) == 0)
    for (const Own& each : functions)
      if (!std::strcmp(name + 2, each.name)) return each.function;
  return nullptr;
}

/// Gives the loader the functions that it asks the layer's library for.
inline VkResult negotiate(VkNegotiateLayerInterface& with, PFN_vkGetInstanceProcAddr instance,
                          PFN_vkGetDeviceProcAddr device) {
  if (with.loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
  with.loaderLayerInterfaceVersion = 2;
  with.pfnGetInstanceProcAddr = instance;
  with.pfnGetDeviceProcAddr = device;
  with.pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}

}  // namespace ptx2spv::layer
