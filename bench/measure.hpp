// One device's measurements: kernels side by side, then launch latency.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/median.hpp"
#include "bench/native_cuda.hpp"
#include "bench/raw_vulkan.hpp"

namespace ptx2spv::bench {

/// Everything that is timed on one device.
struct Bench {
  Device device;
  RawVulkan& raw;
  NativeCuda* cuda = nullptr;  ///< where the device has a native driver
  Module exact, fast;
  std::string folder;  ///< of the shaders
  Size size = Size::small;
  int rounds = 15;
  ArrayBacking backing = ArrayBacking::linear;
  bool device_times = false;  ///< timestamps of the device instead of submission to completion
};

/// Medians in milliseconds; negative: not measured.
struct KernelResult {
  std::string kernel;
  Extent extent;
  double glsl_ms = -1, fast_ms = -1, exact_ms = -1, cuda_ms = -1;
  bool equal = true;       ///< all that ran gave the same bytes
  std::string difference;  ///< who differs
  std::string note;        ///< how the hand-written side does it, where there is a choice
};
std::optional<KernelResult> measure_kernel(Bench& bench, const Case& form, std::string& error);

/// Medians in microseconds for each launch.
struct LatencyResult {
  std::string what;
  double ours_us = -1, raw_us = -1, cuda_us = -1;
};
std::optional<std::vector<LatencyResult>> measure_latency(Bench& bench, std::string& error);

}  // namespace ptx2spv::bench
