// A device whose findings are looked at by the test alone.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "tests/runtime/fixture.hpp"
#include "tests/support/environment.hpp"

namespace ptx2spv {

inline Device open_checked(
    std::optional<std::uint32_t> checks, const char* suppressions = nullptr,
    std::function<void(std::string_view)> report = [](std::string_view) {}) {
  DeviceOptions options;
  options.cache = false;
  options.checks = checks;
  if (suppressions) options.suppressions = suppressions;
  options.report = std::move(report);
  return must(Device::open(options));
}

/// Every so many rows of a long table are run: machine code takes some 50 ms a kernel to make.
inline std::size_t share() {
  return debug_setting("tier") == "compiled" && test::environment("PTX2SPV_EXHAUSTIVE") != "1" ? 7
                                                                                               : 1;
}

/// Why a test of check_sync has nothing to look at; null: it has.
inline const char* no_sync() {
  return test::environment("PTX2SPV_EXECUTOR") == "host"
             ? "devices' translations alone report of synchronisation"
             : nullptr;
}

}  // namespace ptx2spv
