// Runs the project's executables for tests.
#pragma once

#include <string>
#include <vector>

namespace ptx2spv::test {

struct ProcessResult {
  int exit_code = -1;  ///< 128 + the signal's number where one ended it
  std::string out, error;
  double milliseconds = 0;
};

/// Runs `arguments` (the program first) with `input` on its standard input. `environment`:
/// NAME=value, added. `kill_after_ms`: SIGKILL then, unless it is over; negative: never.
ProcessResult run_process(const std::vector<std::string>& arguments, const std::string& input = {},
                          const std::vector<std::string>& environment = {},
                          double kill_after_ms = -1);

/// build/<preset>/tools/NAME.
std::string tool_path(const std::string& name);

/// A folder that is removed with all it holds when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file there and returns its path.
  std::string write(const std::string& name, const std::string& contents) const;
  std::vector<std::string> list() const;

 private:
  std::string path_;
};

std::string read_whole(const std::string& path);

}  // namespace ptx2spv::test
