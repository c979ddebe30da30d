// The distinct places that the sanitizer found on a device.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>

#include "ptx2spv/sanitizer.hpp"

namespace ptx2spv::runtime {

/// Thread-safe.
class Findings {
 public:
  static constexpr std::size_t kMost = 100;

  /// Counts a finding. True where its place is new and kept: it is then to be printed.
  bool add(const Finding& finding);
  SanitizerReport report() const;

 private:
  mutable std::mutex mutex_;
  SanitizerReport report_;
};

}  // namespace ptx2spv::runtime
