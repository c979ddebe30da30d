// The driver's pipeline cache, kept on disk from one process to the next.
#pragma once

#include <cstddef>
#include <vector>

namespace ptx2spv::runtime {

struct DeviceState;

/// What an earlier process with this device and driver left; empty: nothing.
std::vector<std::byte> load_pipelines(const DeviceState& device);
/// Keeps the device's pipeline cache, where it holds anything new.
void store_pipelines(const DeviceState& device);

}  // namespace ptx2spv::runtime
