// Asking a device what Vulkan does not report: is its arithmetic NVIDIA's, which faults does its
// driver have, what is cheap. Devices that are not known are asked at their first use; these
// functions ask any device, and tell what was seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv {

/// One question and its answer.
struct ProbeRow {
  std::string name;  ///< of the profile's row (docs/reference/profiles.md)
  std::string question;
  std::uint32_t value = 0;             ///< 0 and 1 for no and yes; limits are numbers
  std::string seen;                    ///< what the answer rests on, in words
  double milliseconds = 0;             ///< that asking took
  std::optional<std::uint32_t> known;  ///< what the project's own answers for this device have
};

struct ProbeReport {
  DeviceInfo device;      ///< its profile: as answered
  std::string processor;  ///< of a CPU driver: the widest vectors of this machine
  std::uint32_t driver_id = 0;
  std::string driver_info;
  std::vector<ProbeRow> rows;
  double milliseconds = 0;  ///< all in all, processes included
  /// The report as JSON, which `ptx2spv --profile FILE.json` reads.
  std::string json() const;
  /// The row of known_devices.def that makes the answers come with the project.
  std::string known_device() const;
};

/// Asks the device that `options` select, whether it is known or not, in processes of their own:
/// a question that ends the process or hangs is answered by what is safe.
Result<ProbeReport> probe_device(const DeviceOptions& options = {});

}  // namespace ptx2spv
