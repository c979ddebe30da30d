// Settings for developers of ptx2spv: PTX2SPV_DEBUG=key=value,key=value. HACKING.md lists the keys.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace ptx2spv {

/// The value of `key` in PTX2SPV_DEBUG, of several the last one; empty without it.
inline std::string_view debug_setting(std::string_view key) {
  const char* text = std::getenv("PTX2SPV_DEBUG");
  std::string_view rest = text ? text : "", value;
  while (!rest.empty()) {
    const std::size_t end = rest.find(',');
    const std::string_view item = rest.substr(0, end);
    if (item.size() > key.size() && item.starts_with(key) && item[key.size()] == '=')
      value = item.substr(key.size() + 1);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return value;
}

/// The value of PTX2SPV_DEBUG with `settings` added, which override what it has.
inline std::string debug_settings_and(std::string_view settings) {
  const char* text = std::getenv("PTX2SPV_DEBUG");
  const std::string before = text && *text ? std::string(text) + "," : std::string();
  return before + std::string(settings);
}

}  // namespace ptx2spv
