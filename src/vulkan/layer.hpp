// What every Vulkan layer of the project has in common: its place in the loader's chain.
#pragma once

#include <vulkan/vk_layer.h>

#include <cstring>
#include <span>

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
