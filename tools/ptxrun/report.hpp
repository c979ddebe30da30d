// What ptxrun prints about a run.
#pragma once

#include "tools/ptxrun/backend.hpp"

namespace ptx2spv::tools {

double median(std::vector<double> values);
/// One JSON object: device, stages, and for each launch its medians.
std::string timing_json(const Manifest& manifest, const std::string& backend,
                        const RunResult& result);
/// The usable and unusable devices, one a line, reasons included. `json`: as a JSON array.
Exit list_all_devices(bool json);
/// What a device answers: a table, JSON, or with `what` "known" its row of known_devices.def.
Exit probe_one_device(const std::string& device, std::string_view what, bool json);

}  // namespace ptx2spv::tools
