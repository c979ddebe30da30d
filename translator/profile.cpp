#include "ptx2spv/profile.hpp"

#include <array>

namespace ptx2spv {

namespace {

constexpr std::array<std::string_view, 4> kNames = {"portable", "swiftshader", "lavapipe",
                                                    "nvidia"};

// What is not a capability: { subgroup size, invocations per workgroup, bytes of shared memory,
// iterations after which loops end silently, bound surface slots, instructions of copied routines
// }.
struct Limits {
  std::uint32_t subgroup_size, invocations, shared_bytes, loop_iterations, slots, routine_budget;
};
constexpr std::array<Limits, 4> kLimits = {{
    {0, 128, 16384, 0, 4, 40000},
    {4, 256, 32768, 0, 8, 20000},  // compiles 40,000 instructions in some four seconds
    {8, 1024, 32768, 65535, 16, 40000},
    {32, 1024, 49152, 0, 16, 40000},
}};

// Everything there is, and that without one kind of thing: for tests of an emulation on a device
// that does not need it. Where a device is restricted to a profile, only what it has stays on.
struct Reduced {
  std::string_view name;
  std::array<std::string_view, 3> off;
};
constexpr std::array<Reduced, 6> kReduced = {{
    {"full", {}},
    {"no-device-addresses", {"device_addresses"}},
    {"no-int64", {"int64"}},
    {"no-64-bit-atomics", {"buffer_atomics64", "shared_atomics64", "image_atomics64"}},
    {"no-8/16-bit", {"storage8", "storage16", "shared_layout"}},
    {"no-8-16-bit", {"storage8", "storage16", "shared_layout"}},
}};

constexpr Capability kCapabilities[] = {
#define PTX2SPV_ROW(group, member, field, portable, swiftshader, lavapipe, nvidia, help, ...) \
  {Capability::Group::group,                                                                  \
   #field,                                                                                    \
   help,                                                                                      \
   {portable, swiftshader, lavapipe, nvidia},                                                 \
   [](Profile& profile) -> bool& { return profile.member.field; },                            \
   __VA_ARGS__},
#define PTX2SPV_FEATURE(...) PTX2SPV_ROW(feature, features, __VA_ARGS__, {}, {}, {})
#include "ptx2spv/features.def"
#define PTX2SPV_EXACTNESS(...) PTX2SPV_ROW(exactness, exactness, __VA_ARGS__, {}, {}, {})
#include "ptx2spv/exactness.def"
#define PTX2SPV_COST(...) PTX2SPV_ROW(cost, costs, __VA_ARGS__, {}, {}, {})
#include "ptx2spv/costs.def"
#define PTX2SPV_WORKAROUND(field, portable, swiftshader, lavapipe, nvidia, seen, symptom, ...)  \
  PTX2SPV_ROW(workaround, workarounds, field, portable, swiftshader, lavapipe, nvidia, symptom, \
              seen, __VA_ARGS__)
#include "ptx2spv/workarounds.def"
};

std::optional<Profile> reduced_profile(std::string_view name) {
  for (const Reduced& row : kReduced) {
    if (row.name != name) continue;
    Profile profile = *find_profile("nvidia");
    profile.name = row.name;
    for (const Capability& each : kCapabilities) each.in(profile) = each.best();
    profile.exactness.flushes_denormals32 = false;  // which excludes denormals32
    for (const std::string_view each : row.off)
      if (!each.empty()) set_capability(profile, each, false);
    return profile;
  }
  return std::nullopt;
}

}  // namespace

std::span<const Capability> capabilities() { return kCapabilities; }

const Capability* find_capability(std::string_view name) {
  for (const Capability& each : kCapabilities)
    if (each.name == name) return &each;
  return nullptr;
}

std::span<const std::string_view> profile_names() { return kNames; }

std::optional<Profile> find_profile(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] != name) continue;
    Profile profile;
    profile.name = kNames[i];
    for (const Capability& each : kCapabilities) each.in(profile) = each.named[i];
    profile.subgroup_size = kLimits[i].subgroup_size;
    profile.max_workgroup_invocations = kLimits[i].invocations;
    profile.max_shared_bytes = kLimits[i].shared_bytes;
    profile.max_loop_iterations = kLimits[i].loop_iterations;
    profile.max_slots = kLimits[i].slots;
    profile.routine_budget = kLimits[i].routine_budget;
    return profile;
  }
  return reduced_profile(name);
}

bool set_capability(Profile& profile, std::string_view name, bool value) {
  const Capability* capability = find_capability(name);
  if (capability) capability->in(profile) = value;
  return capability != nullptr;
}

}  // namespace ptx2spv
