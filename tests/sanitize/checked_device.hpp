// A device whose findings are looked at by the test alone.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "tests/runtime/fixture.hpp"

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

}  // namespace ptx2spv
