#include "src/device/local_memory.hpp"

namespace ptx2spv::runtime {

std::uint32_t most_local_bytes(const PhysicalTraits& traits) {
  switch (traits.driver) {
    // Four invocations share a stack frame of 512 KiB at most, in which other values lie too.
    case VK_DRIVER_ID_GOOGLE_SWIFTSHADER: return 127 * 1024;
    // Eight invocations share a frame, which may not reach 2 MiB.
    case VK_DRIVER_ID_MESA_LLVMPIPE: return 240 * 1024;
    default: return 0;
  }
}

}  // namespace ptx2spv::runtime
