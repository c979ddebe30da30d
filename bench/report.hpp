// The benchmark's results for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/measure.hpp"

namespace ptx2spv::bench {

struct DeviceResult {
  std::string name, driver, size, times, cuda;  ///< cuda: why there is none, empty when there is
  int rounds = 0;
  std::vector<KernelResult> kernels;
  std::vector<LatencyResult> latency;
};

void print_header(const DeviceResult& device);
void print_kernel(const KernelResult& result);
void print_summary(const DeviceResult& device);
std::string json_text(const std::vector<DeviceResult>& devices);

}  // namespace ptx2spv::bench
