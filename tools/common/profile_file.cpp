#include "tools/common/profile_file.hpp"

#include <nlohmann/json.hpp>

#include "tools/common/files.hpp"

namespace ptx2spv::tools {

namespace {

/// The limit of that name, or null.
std::uint32_t* limit(Profile& profile, const std::string& name) {
  if (name == "subgroup_size") return &profile.subgroup_size;
  if (name == "max_workgroup_invocations") return &profile.max_workgroup_invocations;
  if (name == "max_shared_bytes") return &profile.max_shared_bytes;
  if (name == "max_loop_iterations") return &profile.max_loop_iterations;
  if (name == "max_slots") return &profile.max_slots;
  if (name == "routine_budget") return &profile.routine_budget;
  return nullptr;
}

std::string set_row(Profile& profile, const std::string& name, const nlohmann::json& value) {
  const bool truth = value.is_boolean();
  if (!truth && !(value.is_number_unsigned() && value.get<std::uint64_t>() <= 0xffffffff))
    return "'" + name + "' has to be a number, true or false";
  if (std::uint32_t* number = limit(profile, name)) {
    if (truth) return "'" + name + "' has to be a number";
    *number = value.get<std::uint32_t>();
    return {};
  }
  const bool on = truth ? value.get<bool>() : value.get<std::uint64_t>() != 0;
  return set_capability(profile, name, on) ? "" : "there is no row '" + name + "'";
}

std::string set_rows(Profile& profile, const nlohmann::json& rows) {
  if (!rows.is_object()) return "rows have to be an object";
  for (const auto& [name, value] : rows.items())
    if (std::string error = set_row(profile, name, value); !error.empty()) return error;
  return {};
}

std::string set_answers(Profile& profile, const nlohmann::json& answers) {
  if (!answers.is_array()) return set_rows(profile, answers);
  for (const nlohmann::json& each : answers) {
    if (!each.is_object() || !each.contains("row") || !each.contains("value") ||
        !each["row"].is_string())
      return "an answer has to have \"row\" and \"value\"";
    if (std::string error = set_row(profile, each["row"], each["value"]); !error.empty())
      return error;
  }
  return {};
}

std::string set_all(Profile& profile, const nlohmann::json& json) {
  if (!json.is_object()) return "a profile has to be an object";
  if (const auto like = json.find("like"); like != json.end()) {
    const auto named = like->is_string() ? find_profile(like->get<std::string>()) : std::nullopt;
    if (!named) return "\"like\" has to name a profile";
    profile = *named;
  }
  for (const char* part : {"features", "limits"})
    if (const auto rows = json.find(part); rows != json.end())
      if (std::string error = set_rows(profile, *rows); !error.empty()) return error;
  if (const auto answers = json.find("answers"); answers != json.end())
    if (std::string error = set_answers(profile, *answers); !error.empty()) return error;
  if (profile.max_workgroup_invocations == 0) return "a workgroup has to have an invocation";
  profile.name = "custom";
  return {};
}

}  // namespace

std::string read_profile(const std::string& file, Profile& profile) {
  std::string text;
  if (const IoError error = read_text(file, text, 1u << 20); !error.empty())
    return file + ": error: " + error;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return file + ": error: it is no JSON";
  profile = *find_profile("portable");
  const std::string error = set_all(profile, json);
  return error.empty() ? "" : file + ": error: " + error;
}

std::string find_or_read_profile(const std::string& name, Profile& profile) {
  if (name.ends_with(".json")) return read_profile(name, profile);
  const auto named = find_profile(name);
  if (!named) return "there is no profile '" + name + "'";
  profile = *named;
  return {};
}

}  // namespace ptx2spv::tools
