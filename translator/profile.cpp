#include "ptx2spv/profile.hpp"

#include <array>

namespace ptx2spv {

namespace {

constexpr std::array<std::string_view, 4> kNames = {"portable", "swiftshader", "lavapipe",
                                                    "nvidia"};

// What is not a capability: { subgroup size, invocations per workgroup, bytes of shared memory,
// turns after which loops end silently, bound surface slots }.
struct Limits {
  std::uint32_t subgroup_size, invocations, shared_bytes, loop_turns, slots;
};
constexpr std::array<Limits, 4> kLimits = {{
    {0, 128, 16384, 0, 4},
    {4, 256, 32768, 0, 8},
    {8, 1024, 32768, 65535, 16},
    {32, 1024, 49152, 0, 16},
}};

// Everything there is, and that without one kind of thing: for tests of an emulation on a device
// that does not need it. Where a device is restricted to a profile, only what it has stays on.
struct Reduced {
  std::string_view name;
  std::array<std::string_view, 3> off;
};
constexpr std::array<Reduced, 5> kReduced = {{
    {"full", {}},
    {"no-int64", {"int64"}},
    {"no-64-bit-atomics", {"buffer_atomics64", "shared_atomics64", "image_atomics64"}},
    {"no-8/16-bit", {"storage8", "storage16"}},
    {"no-8-16-bit", {"storage8", "storage16"}},
}};

std::optional<Profile> reduced_profile(std::string_view name) {
  for (const Reduced& row : kReduced) {
    if (row.name != name) continue;
    Profile profile = *find_profile("nvidia");
    profile.name = row.name;
#define PTX2SPV_CAPABILITY(field, portable, swiftshader, lavapipe, nvidia, help) \
  profile.field = true;
#include "ptx2spv/capabilities.def"
#undef PTX2SPV_CAPABILITY
    for (const std::string_view each : row.off)
      if (!each.empty()) set_capability(profile, each, false);
    return profile;
  }
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> profile_names() { return kNames; }

std::optional<Profile> find_profile(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] != name) continue;
    Profile profile;
    profile.name = kNames[i];
#define PTX2SPV_CAPABILITY(field, portable, swiftshader, lavapipe, nvidia, help) \
  profile.field = std::array{portable, swiftshader, lavapipe, nvidia}[i];
#include "ptx2spv/capabilities.def"
#undef PTX2SPV_CAPABILITY
    profile.subgroup_size = kLimits[i].subgroup_size;
    profile.max_workgroup_invocations = kLimits[i].invocations;
    profile.max_shared_bytes = kLimits[i].shared_bytes;
    profile.max_loop_iterations = kLimits[i].loop_turns;
    profile.max_slots = kLimits[i].slots;
    return profile;
  }
  return reduced_profile(name);
}

bool set_capability(Profile& profile, std::string_view name, bool value) {
#define PTX2SPV_CAPABILITY(field, portable, swiftshader, lavapipe, nvidia, help) \
  if (name == #field) {                                                          \
    profile.field = value;                                                       \
    return true;                                                                 \
  }
#include "ptx2spv/capabilities.def"
#undef PTX2SPV_CAPABILITY
  return false;
}

}  // namespace ptx2spv
