// How fast a device's clocks go, which Vulkan does not say.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "ptx2spv/abi.hpp"

namespace ptx2spv::runtime {

struct DeviceState;

/// abi::ClockWord, by pairs of words. All 0: ticks as they are.
using ClockRates = std::array<std::uint64_t, abi::kClockWords / 2>;

/// Thread-safe.
class Clocks {
 public:
  /// Measures them by small launches when it is called first, for some 25 ms.
  ClockRates get(DeviceState& device);

 private:
  std::mutex mutex_;
  std::optional<ClockRates> rates_;
};

}  // namespace ptx2spv::runtime
