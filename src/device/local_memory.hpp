// How much local memory an invocation may have.
#pragma once

#include <cstdint>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

/// Bytes, as far as drivers that end the process or fail past a limit have been tried; 0: no limit
/// is known. Vulkan has no limit that a device could report.
std::uint32_t most_local_bytes(const PhysicalTraits& traits);

/// Whether an invocation with so many bytes is past that limit.
inline bool exceeds_local(const PhysicalTraits& traits, std::uint32_t bytes) {
  const std::uint32_t most = most_local_bytes(traits);
  return most != 0 && bytes > most;
}

/// Whether a module is so large that the driver's compiler may end the process over it, or make no
/// code of it without a word. No smaller one did.
bool compiler_may_give_up(const PhysicalTraits& traits, std::size_t code_bytes,
                          std::uint32_t local_bytes);

}  // namespace ptx2spv::runtime
