#include "dev/limits_layer/limits.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace ptx2spv::limits {

namespace {

using Json = nlohmann::json;

struct Feature {
  VkStructureType type;
  std::string_view name;
  std::size_t offset;
};
/// Which of two numbers counts, of the device and of the profile.
enum class Which : std::uint8_t { least, most, stated };
struct Property {
  VkStructureType type;
  std::string_view name;
  std::size_t offset;
  unsigned bytes, count;  ///< of a number, and how many there are
  Which which;
};

constexpr std::string_view member_name(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}
template <typename Member>
constexpr unsigned number_bytes() {
  return sizeof(std::remove_all_extents_t<Member>);
}

constexpr Feature kFeatures[] = {
#define PTX2SPV_LIMITED_FEATURE(structure, kind, member) \
  {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##kind, member_name(#member), offsetof(structure, member)},
#define PTX2SPV_LIMITED_PROPERTY(structure, kind, member, which)
#include "dev/limits_layer/limited.def"
#undef PTX2SPV_LIMITED_FEATURE
#undef PTX2SPV_LIMITED_PROPERTY
};
constexpr Property kProperties[] = {
#define PTX2SPV_LIMITED_FEATURE(structure, kind, member)
#define PTX2SPV_LIMITED_PROPERTY(structure, kind, member, which)            \
  {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##kind,                                \
   member_name(#member),                                                    \
   offsetof(structure, member),                                             \
   number_bytes<decltype(structure::member)>(),                             \
   sizeof(structure::member) / number_bytes<decltype(structure::member)>(), \
   Which::which},
#include "dev/limits_layer/limited.def"
#undef PTX2SPV_LIMITED_FEATURE
#undef PTX2SPV_LIMITED_PROPERTY
};

bool known_property(std::string_view name) {
  return std::ranges::any_of(kProperties, [&](const Property& row) { return row.name == name; });
}

/// A number as exports write it: large ones as text.
bool number(const Json& value, std::uint64_t& into) {
  if (value.is_boolean()) {
    into = value.get<bool>();
  } else if (value.is_number_unsigned()) {
    into = value.get<std::uint64_t>();
  } else if (value.is_number_float() && value.get<double>() >= 0) {
    into = static_cast<std::uint64_t>(value.get<double>());
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    char* end = nullptr;
    into = std::strtoull(text.c_str(), &end, 0);
    return !text.empty() && text[0] != '-' && !*end;
  } else {
    return false;
  }
  return true;
}

/// The object of that name in `object`; empty where there is none.
const Json& section(const Json& object, const char* name) {
  static const Json none = Json::object();
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : none;
}

VkQueueFlags queue_flags(const Json& names) {
  constexpr std::pair<std::string_view, VkQueueFlags> kFlags[] = {
      {"VK_QUEUE_GRAPHICS_BIT", VK_QUEUE_GRAPHICS_BIT},
      {"VK_QUEUE_COMPUTE_BIT", VK_QUEUE_COMPUTE_BIT},
      {"VK_QUEUE_TRANSFER_BIT", VK_QUEUE_TRANSFER_BIT},
      {"VK_QUEUE_SPARSE_BINDING_BIT", VK_QUEUE_SPARSE_BINDING_BIT}};
  VkQueueFlags flags = 0;
  for (const Json& name : names)
    for (const auto& [known, flag] : kFlags)
      if (name == known) flags |= flag;
  return flags;
}

bool parse_version(const std::string& text, std::uint32_t& version) {
  unsigned major = 0, minor = 0, patch = 0;
  if (std::sscanf(text.c_str(), "%u.%u.%u", &major, &minor, &patch) < 2) return false;
  version = VK_MAKE_API_VERSION(0, major, minor, patch);
  return true;
}

}  // namespace

std::optional<Limits> Limits::parse(std::string_view text, std::string& problem) {
  Limits limits;
  const Json root = Json::parse(text, nullptr, false);
  problem = "is no profile: it has no \"profiles\" and \"capabilities\"";
  if (!root.is_object() || !root.contains("profiles") || !root.contains("capabilities") ||
      !root["profiles"].is_object() || root["profiles"].empty() ||
      !root["capabilities"].is_object())
    return std::nullopt;
  const Json& profile = *root["profiles"].begin();
  problem = "has a profile without \"api-version\"";
  if (!profile.is_object() || !profile.contains("api-version") ||
      !profile["api-version"].is_string() ||
      !parse_version(profile["api-version"].get<std::string>(), limits.version_))
    return std::nullopt;

  // Members have the same meaning in whichever structure they stand.
  const auto property = [&](const std::string& name, const Json& value) {
    if (!known_property(name)) return true;
    std::vector<std::uint64_t> numbers;
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& each : list)
      if (!number(each, numbers.emplace_back())) {
        problem = "has a " + name + " that is no number";
        return false;
      }
    limits.properties_[name] = std::move(numbers);
    return true;
  };
  for (const auto& [name, capability] : root["capabilities"].items()) {
    if (!capability.is_object()) continue;
    for (const Json& each : capability.value("queueFamiliesProperties", Json::array())) {
      const Json& family = section(each, "VkQueueFamilyProperties");
      VkQueueFamilyProperties& made = limits.families_.emplace_back();
      made.queueFlags = queue_flags(family.value("queueFlags", Json::array()));
      made.queueCount = family.value("queueCount", 1u);
      made.timestampValidBits = family.value("timestampValidBits", 64u);
      made.minImageTransferGranularity = {1, 1, 1};
    }
    for (const auto& [structure, members] : section(capability, "features").items())
      for (const auto& [member, value] : members.items())
        if (value.is_boolean() && value.get<bool>()) limits.features_.insert(member);
    for (const auto& [extension, revision] : section(capability, "extensions").items())
      limits.extensions_.insert(extension);
    for (const auto& [structure, members] : section(capability, "properties").items())
      for (const auto& [member, value] : members.items()) {
        if (!value.is_object()) {
          if (!property(member, value)) return std::nullopt;
          continue;
        }
        for (const auto& [inner, inner_value] : value.items())
          if (!property(inner, inner_value)) return std::nullopt;
      }
  }
  problem.clear();
  return limits;
}

void Limits::restrict(void* chain) const {
  for (auto* each = static_cast<VkBaseOutStructure*>(chain); each; each = each->pNext) {
    auto* bytes = reinterpret_cast<std::byte*>(each);
    for (const Feature& row : kFeatures) {
      if (row.type != each->sType || features_.contains(row.name)) continue;
      const VkBool32 off = VK_FALSE;
      std::memcpy(bytes + row.offset, &off, sizeof off);
    }
    for (const Property& row : kProperties) {
      if (row.type != each->sType) continue;
      const auto stated = properties_.find(row.name);
      if (stated == properties_.end()) continue;
      for (unsigned i = 0; i < row.count && i < stated->second.size(); ++i) {
        // Little-endian, as every device of the loader's on a host that tests run on.
        std::uint64_t has = 0;
        std::memcpy(&has, bytes + row.offset + std::size_t{i} * row.bytes, row.bytes);
        const std::uint64_t other = stated->second[i];
        const std::uint64_t chosen = row.which == Which::least  ? std::min(has, other)
                                     : row.which == Which::most ? std::max(has, other)
                                                                : other;
        std::memcpy(bytes + row.offset + std::size_t{i} * row.bytes, &chosen, row.bytes);
      }
    }
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2) {
      std::uint32_t& version =
          reinterpret_cast<VkPhysicalDeviceProperties2*>(each)->properties.apiVersion;
      version = std::min(version, version_);
    }
  }
}

std::optional<std::uint64_t> Limits::property(std::string_view name) const {
  const auto found = properties_.find(name);
  if (found == properties_.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

std::string Limits::exceeded(const void* chain) const {
  for (auto* each = static_cast<const VkBaseInStructure*>(chain); each; each = each->pNext)
    for (const Feature& row : kFeatures) {
      if (row.type != each->sType) continue;
      VkBool32 on = VK_FALSE;
      std::memcpy(&on, reinterpret_cast<const std::byte*>(each) + row.offset, sizeof on);
      if (on && !features_.contains(row.name)) return std::string(row.name);
    }
  return {};
}

}  // namespace ptx2spv::limits
