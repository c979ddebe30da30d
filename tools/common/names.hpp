// Values that several tools take by name.
#pragma once

#include <optional>
#include <string_view>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::tools {

inline std::optional<ThreadModel> find_thread_model(std::string_view name) {
  if (name == "direct") return ThreadModel::direct;
  if (name == "flat") return ThreadModel::flat;
  if (name == "regions") return ThreadModel::regions;
  return std::nullopt;
}

}  // namespace ptx2spv::tools
