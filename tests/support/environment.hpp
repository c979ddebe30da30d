// What a developer sets for one run of a test.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "ptx2spv/debug_setting.hpp"

namespace ptx2spv::test {

/// Empty where the variable is not set.
inline std::string environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

/// `otherwise` where the variable is not set or empty; numbers as C writes them.
inline std::uint32_t environment_number(const char* name, std::uint32_t otherwise) {
  const std::string text = environment(name);
  return text.empty() ? otherwise
                      : static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 0));
}

/// PTX2SPV_DEBUG for a process: what this one has and `settings`, "key=value" with commas between.
inline std::string debug_variable(std::string_view settings) {
  return "PTX2SPV_DEBUG=" + debug_settings_and(settings);
}

/// Settings of PTX2SPV_DEBUG while this lives.
class DebugSettings {
 public:
  explicit DebugSettings(std::string_view settings) {
    if (const char* old = std::getenv(kName)) old_ = old;
    ::setenv(kName, debug_settings_and(settings).c_str(), 1);
  }
  ~DebugSettings() { old_ ? ::setenv(kName, old_->c_str(), 1) : ::unsetenv(kName); }
  DebugSettings(const DebugSettings&) = delete;
  DebugSettings& operator=(const DebugSettings&) = delete;

 private:
  static constexpr const char* kName = "PTX2SPV_DEBUG";
  std::optional<std::string> old_;
};

}  // namespace ptx2spv::test
