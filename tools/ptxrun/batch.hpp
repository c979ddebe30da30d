// Several manifests in one call: each in a process of its own, and what came of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ptx2spv::tools {

/// What came of one manifest.
struct ManifestRun {
  std::string file;
  int exit = 0;          ///< of ptxrun; 128 and the signal's number where a signal ended it
  double seconds = 0;    ///< of the process, with the device's start
  std::string out, err;  ///< all that it printed
  bool passed() const { return exit == 0; }
  /// Why it failed, a line: the first error printed, or the signal.
  std::string reason() const;
};

/// Runs every file in a child process that calls `run`, at most `jobs` at a time. `done` is called
/// in the files' order as soon as each and all before it ended. Call before any driver is loaded:
/// the children are forks of this process.
std::vector<ManifestRun> run_each(const std::vector<std::string>& files, unsigned jobs,
                                  const std::function<int(const std::string& file)>& run,
                                  const std::function<void(const ManifestRun&)>& done);

/// "11 of 12 manifests passed"
std::string summary_line(const std::vector<ManifestRun>& runs);
/// An object: counts, and for every manifest its verdict, exit code, seconds and messages.
std::string batch_json(const std::vector<ManifestRun>& runs);
/// JUnit's XML: a test suite "ptxrun" with a test case for every manifest.
std::string batch_junit(const std::vector<ManifestRun>& runs);

}  // namespace ptx2spv::tools
