// Values that several tools take by name, and what they say of options.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::tools {

inline constexpr const char* kSuppressionsHelp =
    "do not report what the list in this file covers (docs/user/sanitizer.md)";
inline constexpr const char* kExecutorHelp =
    "who runs kernels: auto (the default) lets the host run what a CPU driver rejects or compiles "
    "slowly; device, host: one of them alone, where it can";

/// "there is no profile NAME; there are ...", with all of them.
inline std::string unknown_profile(std::string_view name) {
  std::string list;
  for (const std::string_view each : profile_names())
    list += (list.empty() ? "" : ", ") + std::string(each);
  return "there is no profile " + std::string(name) + "; there are " + list;
}

inline std::optional<ThreadModel> find_thread_model(std::string_view name) {
  if (name == "direct") return ThreadModel::direct;
  if (name == "flat") return ThreadModel::flat;
  if (name == "regions") return ThreadModel::regions;
  return std::nullopt;
}

/// "there is no capability NAME; there are ...", with all of them.
inline std::string unknown_capability(std::string_view name) {
  std::string text = "there is no capability " + std::string(name) + "; there are ";
  std::string list;
  for (const Capability& row : capabilities())
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  return text + list;
}

}  // namespace ptx2spv::tools
