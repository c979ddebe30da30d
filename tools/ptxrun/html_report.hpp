// A run as one HTML page: verdict, times, pictures, differences and traps.
#pragma once

#include <string>
#include <vector>

#include "tools/ptxrun/backend.hpp"
#include "tools/ptxrun/outputs.hpp"

namespace ptx2spv::tools {

/// What the page shows of an output.
struct ReportedOutput {
  std::string line;  ///< as OutputResult::line
  bool mismatch = false;
  Bytes picture, difference;  ///< PNG files; empty where there is none
};

/// The page, complete in itself: no scripts, no other files. `result` is that of the run, whose
/// error it shows where the run failed.
std::string html_report(const Manifest& manifest, const RunResult& result,
                        const std::vector<ReportedOutput>& outputs);

}  // namespace ptx2spv::tools
