// What a driver's release gets wrong, as far as it is known.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ptx2spv/profile.hpp"
#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

/// Major numbers; 0 where they are not known.
struct DriverRelease {
  std::uint32_t driver = 0, llvm = 0;
};
/// `version` and `info` as VkPhysicalDeviceProperties::driverVersion and driverInfo have them.
DriverRelease driver_release(VkDriverId driver, std::uint32_t version, std::string_view info);

/// A row: the workaround is needed from release `first` to `last`.
struct DriverWorkaround {
  enum class Counts : std::uint8_t { driver, llvm };
  std::string_view name;
  bool Workarounds::*field;
  VkDriverId driver;
  Counts counts;
  std::uint32_t first, last;  ///< 0: open

  /// Of a release that is not known, every row holds.
  bool holds(VkDriverId of, DriverRelease release) const;
};
std::span<const DriverWorkaround> driver_workarounds();

/// Iterations after which loops end silently: 0 for a release that is known not to end them, else
/// `of_profile`.
std::uint32_t loop_iterations(VkDriverId driver, DriverRelease release, std::uint32_t of_profile);

/// Sets what the release needs and clears the rest. Of a driver without rows nothing is known, and
/// everything stays as it is.
void fill_workarounds(Workarounds& workarounds, VkDriverId driver, DriverRelease release);

}  // namespace ptx2spv::runtime
