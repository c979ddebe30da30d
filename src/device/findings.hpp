// The distinct places that the sanitizer found on a device.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ptx2spv/sanitizer.hpp"
#include "src/device/suppressions.hpp"

namespace ptx2spv::runtime {

/// " (x in bytes)": what x counts in a surface instruction, in the words of reports. Byte accesses
/// count bytes, formatted stores texels, formatted reductions units of their type
/// (docs/reference/hardware.md). Empty for other instructions.
std::string_view surface_unit(std::string_view instruction);

/// Thread-safe.
class Findings {
 public:
  static constexpr std::size_t kMost = 100;

  /// Counts a finding. True where its place is new and kept: it is then to be printed.
  /// One that the device's list or `more` covers is only counted.
  bool add(const Finding& finding, const Suppressions& more);
  /// Before the first finding.
  void suppress(Suppressions list) { suppressions_ = std::move(list); }
  SanitizerReport report() const;

 private:
  mutable std::mutex mutex_;
  SanitizerReport report_;
  Suppressions suppressions_;
  std::set<std::string> beyond_;  ///< places that are not kept
};

}  // namespace ptx2spv::runtime
