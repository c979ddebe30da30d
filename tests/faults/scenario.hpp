// What the tests of faults do: one of everything, on SwiftShader behind a driver that fails where
// it is told to (tests/support/preload/fault_driver.cpp).
#pragma once

#include <cstdint>
#include <filesystem>

#include "tests/support/runtime.hpp"

namespace ptx2spv::faults {

/// Kernels: copy reads a surface and a texture, writes a surface and adds to a word; trap traps.
extern const char* const kModule;

/// What the driver is told.
struct Driver {
  /// The call that fails, counted from now on and from 0 (all ones: none), with that VkResult;
  /// `stays`: all later ones do, too.
  void (*set)(std::uint64_t at, int code, bool stays) = nullptr;
  std::uint64_t (*calls)() = nullptr;  ///< so far, of those that may fail
  std::int64_t (*live)() = nullptr;    ///< handles that were made and not destroyed
  const char* (*name)() = nullptr;     ///< the function that failed, or null
};

/// Takes the place of SwiftShader in this process; null when there is none.
const Driver* driver();

/// A device without cache and layers, whose driver it is.
DeviceOptions options();

/// What a launch of `copy` needs.
struct Objects {
  Array from, to, picture;
  Surface from_surface, to_surface;
  Texture texture;
  Buffer cell;

  static Result<Objects> make(const Device& device, std::uint32_t width, bool image);
  Args args() const;
  /// Launches twice, at once and in a stream, and reads back: the word, or 0 where the surface is
  /// wrong.
  Result<std::uint32_t> launch(const Device& device, const Kernel& kernel) const;
  /// The same twice by a graph, in one of two streams that wait for each other's events.
  Result<std::uint32_t> replay(const Device& device, const Kernel& kernel) const;
};

/// The word that launch() gives.
inline constexpr std::uint32_t kSum = 2 * (31 * 32 / 2 + 32 * 2);

}  // namespace ptx2spv::faults
