// What commands do, and the barriers that order it.
#pragma once

#include <cstdint>

#include "src/vulkan/device.hpp"

namespace ptx2spv::runtime {

/// What commands do. Drivers drain and flush what a barrier names, so it names no more than it
/// must.
enum class Work : std::uint8_t { none, kernel = 1, copy = 2, any = 3 };
inline Work operator|(Work a, Work b) {
  return static_cast<Work>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// Whether `kinds` has all of `work`.
inline bool has_all(Work kinds, Work work) { return (kinds | work) == kinds; }

/// What commands of these kinds wrote is visible to the host once they are over.
void host_barrier(const VulkanDevice& device, VkCommandBuffer commands, Work before = Work::any);
/// What is done before is over and visible before what follows. `before`: kinds of all commands
/// that the last barrier did not wait for, other submissions among them.
void barrier(const VulkanDevice& device, VkCommandBuffer commands, Work before, Work after);

}  // namespace ptx2spv::runtime
