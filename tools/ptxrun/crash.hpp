// What to say when a driver dies: of a kernel's wild pointer, or for lack of memory.
#pragma once

#include <string>

namespace ptx2spv::tools {

/// From now on a crash names the limits that the process has on its memory and files.
void report_limits_in_crashes();
/// The lines of such a report; empty where there are no limits.
const char* limits_in_force();

/// While one lives, a segmentation fault or bus error is reported with the kernel's name and the
/// address before the process ends by it, as it would have.
class CrashContext {
 public:
  explicit CrashContext(const std::string& kernel);
  ~CrashContext();
  CrashContext(const CrashContext&) = delete;
  CrashContext& operator=(const CrashContext&) = delete;
};

}  // namespace ptx2spv::tools
