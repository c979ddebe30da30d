// What runs a manifest: the Vulkan runtime, or CUDA through its driver.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/ptxrun/manifest.hpp"
#include "tools/ptxrun/trace.hpp"

namespace ptx2spv::tools {

/// The exit codes of ptxrun.
enum class Exit : std::uint8_t {
  good = 0,
  mismatch = 1,
  usage = 2,  ///< usage, manifest, I/O
  translation = 3,
  trap = 4,
  no_device = 5,
  too_small = 6,  ///< the device has not the memory, the limits or the features
  timed_out = 7,
};

struct RunOptions {
  std::string device;
  std::optional<Profile> profile;  ///< not given: the device's
  std::vector<std::string> disable;
  FpPolicy fp = FpPolicy::exact;
  int optimize = 1;
  std::optional<int> jit_level;              ///< what ptxas takes, with run_cuda
  std::optional<std::uint64_t> malloc_heap;  ///< bytes
  bool debug_info = false, relax = false, validate = false, bind_slots = true;
  std::optional<ThreadModel> threads;
  std::optional<ArrayBacking> backing;
  std::optional<FilterPolicy> filter;
  std::optional<std::uint32_t> checks;      ///< of the sanitizer; not given: PTX2SPV_SANITIZE
  std::optional<std::string> suppressions;  ///< as DeviceOptions has them
  std::optional<double> timeout;            ///< seconds of a launch; not given: PTX2SPV_TIMEOUT
  std::optional<ExecutorPolicy> executor;   ///< not given: PTX2SPV_EXECUTOR
  std::function<void(std::string_view)> finding;   ///< a finding's text, when it is found
  bool trace = false;                              ///< fill RunResult::spans
  bool time = false;                               ///< every repeat of a launch on its own, timed
  std::function<void(const std::string&)> warn;    ///< a rendered message
  std::function<void(std::size_t done)> progress;  ///< launches that are over
};

struct LaunchTime {
  std::vector<double> device_ms,
      wall_ms;  ///< one a repeat; device_ms empty where the device cannot tell
  double prepare_ms = 0;
};

struct RunResult {
  Exit exit = Exit::good;
  std::string error;                 ///< ready to print, several lines perhaps
  std::string device;                ///< name and driver
  bool on_cpu = false;               ///< the device is one
  std::vector<Bytes> outputs;        ///< as Manifest::outputs
  std::vector<LaunchTime> launches;  ///< as Manifest::launches
  std::vector<TraceSpan> spans;      ///< with RunOptions::trace
  SanitizerReport sanitized;         ///< also after an error
  double setup_ms = 0;               ///< device and module
  double upload_ms = 0, launch_ms = 0, download_ms = 0;
};

RunResult run_vulkan(const Manifest& manifest, const RunOptions& options);
RunResult run_cuda(const Manifest& manifest, const RunOptions& options);

/// Milliseconds of a steady clock.
double now_ms();

}  // namespace ptx2spv::tools
