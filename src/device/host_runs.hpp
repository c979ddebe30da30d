// Kernels that run on the host, in the threads that launch them.
#pragma once

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

/// While one is alive, a kernel of the device runs.
class HostRun {
 public:
  explicit HostRun(const DeviceState& device);
  HostRun(const HostRun&) = delete;
  HostRun& operator=(const HostRun&) = delete;
  ~HostRun();

 private:
  std::uint64_t number_;
};

/// Returns when the device's kernels have ended that run now; later ones are not waited for.
void wait_for_host_runs(const DeviceState& device);

}  // namespace ptx2spv::runtime
