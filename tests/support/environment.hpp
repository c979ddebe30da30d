// What a developer sets for one run of a test.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

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

}  // namespace ptx2spv::test
