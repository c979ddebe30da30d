// Values that several tools take by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::tools {

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
