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

/// How a run ended.
struct ReportedRun {
  Exit exit = Exit::good;             ///< of the whole run, findings and files included
  std::vector<std::string> problems;  ///< what was printed as errors, traps and findings
  std::vector<ReportedOutput> outputs;
};

/// The page, complete in itself: no scripts, no other files. Of a run that failed early it shows
/// what there is.
std::string html_report(const Manifest& manifest, const RunResult& result,
                        const ReportedRun& reported);

}  // namespace ptx2spv::tools
