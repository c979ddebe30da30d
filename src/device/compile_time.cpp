#include "src/device/compile_time.hpp"

namespace ptx2spv::runtime {

namespace {

/// Microseconds for a byte of a small module. Of larger ones a byte takes longer, because more
/// values live for long: twice as long at `twice` bytes.
std::uint64_t estimate(std::uint64_t bytes, std::uint64_t each, std::uint64_t twice) {
  return bytes * each * (twice + bytes) / twice;
}

}  // namespace

std::uint64_t compile_microseconds(const PhysicalTraits& traits, std::size_t code_bytes,
                                   std::uint32_t local_accesses, bool cut) {
  switch (traits.driver) {
    case VK_DRIVER_ID_GOOGLE_SWIFTSHADER:
      return cut ? estimate(code_bytes, 4, 40'000) : estimate(code_bytes, 1, 100'000);
    case VK_DRIVER_ID_MESA_LLVMPIPE: {
      // LLVM compares each access to an array on the stack with every other one.
      const std::uint64_t accesses = local_accesses;
      return estimate(code_bytes, 4, 250'000) + accesses * accesses * 4;
    }
    default: return 0;
  }
}

bool meets_slowly(const PhysicalTraits& traits, bool barriers, bool warp_operations) {
  switch (traits.driver) {
    case VK_DRIVER_ID_GOOGLE_SWIFTSHADER: return barriers || warp_operations;
    case VK_DRIVER_ID_MESA_LLVMPIPE: return warp_operations;
    default: return false;
  }
}

}  // namespace ptx2spv::runtime
