#include "src/device/local_memory.hpp"

namespace ptx2spv::runtime {

std::uint32_t most_local_bytes(const PhysicalTraits& traits) {
  switch (traits.driver) {
    // Four invocations share a stack frame of 512 KiB at most, in which other values lie too.
    case VK_DRIVER_ID_GOOGLE_SWIFTSHADER: return 127 * 1024;
    // Eight invocations share a frame, which may not reach 2 MiB.
    case VK_DRIVER_ID_MESA_LLVMPIPE: return 240 * 1024;
    // The driver has less than 16 KiB for all arrays of an invocation: 15,600 bytes compile and
    // 15,872 do not.
    case VK_DRIVER_ID_NVIDIA_PROPRIETARY: return 15 * 1024;
    default: return 0;
  }
}

bool compiler_may_give_up(const PhysicalTraits& traits, std::size_t code_bytes,
                          std::uint32_t local_bytes) {
  if (traits.driver != VK_DRIVER_ID_GOOGLE_SWIFTSHADER) return false;
  // Values that live from one basic block to the next lie in the frame of 512 KiB too. A module of
  // 1.1 MB had too many, and most of that size have not.
  constexpr std::uint64_t kFrame = std::uint64_t{512} << 10;
  return std::uint64_t{code_bytes} * 3 / 2 + std::uint64_t{local_bytes} * 4 > kFrame;
}

}  // namespace ptx2spv::runtime
