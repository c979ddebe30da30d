// What to say when a CPU driver dies of a kernel's wild pointer.
#pragma once

#include <string>

namespace ptx2spv::tools {

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
