#include "tools/ptxrun/driver_manifests.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tools/common/files.hpp"
#include "tools/common/json.hpp"

namespace ptx2spv::tools {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (end > at) out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// Where the loader looks, as its documentation has it (LoaderDriverInterface.md, "Driver
/// Discovery").
std::vector<std::string> places() {
  std::vector<std::string> out;
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
    if (out = parts(variable(name)); !out.empty()) return out;
  out = parts(variable("VK_ADD_DRIVER_FILES"));
  const std::string home = variable("HOME");
  const auto add = [&](const std::string& folders) {
    for (const std::string& folder : parts(folders)) out.push_back(folder + "/vulkan/icd.d");
  };
  const auto or_else = [](std::string value, const std::string& other) {
    return value.empty() ? other : value;
  };
  if (!home.empty()) add(or_else(variable("XDG_CONFIG_HOME"), home + "/.config"));
  add(or_else(variable("XDG_CONFIG_DIRS"), "/etc/xdg"));
  add("/usr/local/etc:/etc");
  if (!home.empty()) add(or_else(variable("XDG_DATA_HOME"), home + "/.local/share"));
  add(or_else(variable("XDG_DATA_DIRS"), "/usr/local/share:/usr/share"));
  return out;
}

/// What is wrong with it; empty: nothing.
std::string problem(const std::string& file) {
  std::string text, error;
  if (error = read_text(file, text, 1 << 20); !error.empty()) return error;
  Json json;
  if (!parse_json(text, json, error)) return error;
  const Json* driver = json.find("ICD");
  const Json* library = driver ? driver->find("library_path") : nullptr;
  if (!library || library->kind != Json::Kind::string) return "has no ICD.library_path";
  // A bare name is the dynamic linker's to find.
  if (library->text.find('/') == std::string::npos) return {};
  const std::string path = path_from(folder_of(file), library->text);
  std::error_code none;
  return fs::exists(path, none) ? "" : "names " + path + ", which does not exist";
}

}  // namespace

std::vector<std::string> damaged_driver_manifests() {
  std::vector<std::string> files;
  for (const std::string& place : places()) {
    std::error_code none;
    if (!fs::is_directory(place, none)) {
      if (!place.ends_with("icd.d")) files.push_back(place);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(place, none))
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::vector<std::string> out;
  for (const std::string& file : files)
    if (const std::string wrong = problem(file); !wrong.empty())
      out.push_back(file +
                    ": the manifest of a Vulkan driver that the loader cannot use: " + wrong);
  return out;
}

}  // namespace ptx2spv::tools
