// How much local memory an invocation may have.
#pragma once

#include <cstdint>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

/// Bytes, as far as drivers that end the process past a limit have been tried; 0: no limit is
/// known. Vulkan has no limit that a device could report.
std::uint32_t most_local_bytes(const PhysicalTraits& traits);

}  // namespace ptx2spv::runtime
