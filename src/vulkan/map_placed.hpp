// VK_EXT_map_memory_placed and the VK_KHR_map_memory2 that it builds on: memory mapped at an
// address that the caller chooses. Declared here because the headers of Debian 12 are older than
// both.
#pragma once

#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

inline constexpr const char* kMapMemory2 = "VK_KHR_map_memory2";
inline constexpr const char* kMapMemoryPlaced = "VK_EXT_map_memory_placed";

/// VkPhysicalDeviceMapMemoryPlacedFeaturesEXT.
struct MapMemoryPlacedFeatures {
  VkStructureType sType = static_cast<VkStructureType>(1000272000);
  void* pNext = nullptr;
  VkBool32 memoryMapPlaced = VK_FALSE, memoryMapRangePlaced = VK_FALSE,
           memoryUnmapReserve = VK_FALSE;
};

/// VkMemoryMapInfoKHR.
struct MemoryMapInfo {
  VkStructureType sType = static_cast<VkStructureType>(1000271000);
  const void* pNext = nullptr;
  VkFlags flags = 0;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize offset = 0, size = VK_WHOLE_SIZE;
};
inline constexpr VkFlags kMapPlaced = 1;  ///< VK_MEMORY_MAP_PLACED_BIT_EXT

/// VkMemoryMapPlacedInfoEXT.
struct MemoryMapPlacedInfo {
  VkStructureType sType = static_cast<VkStructureType>(1000272002);
  const void* pNext = nullptr;
  void* pPlacedAddress = nullptr;
};

/// vkMapMemory2KHR.
using MapMemory2 = VkResult(VKAPI_PTR*)(VkDevice, const MemoryMapInfo*, void**);

}  // namespace ptx2spv::runtime
