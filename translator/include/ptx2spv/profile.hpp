// Device profiles: what translation depends on of a Vulkan device, and how it is known.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptx2spv {

/// What Vulkan reports.
struct Features {
#define PTX2SPV_FEATURE(field, portable, ...) bool field = portable;
#include "ptx2spv/features.def"
};

/// What operations give. Where a row is false, routines compute the same results.
struct Exactness {
#define PTX2SPV_EXACTNESS(field, portable, ...) bool field = portable;
#include "ptx2spv/exactness.def"
};

/// What to prefer where several ways are right.
struct Costs {
#define PTX2SPV_COST(field, portable, ...) bool field = portable;
#include "ptx2spv/costs.def"
};

/// What the driver gets wrong and translations work around.
struct Workarounds {
#define PTX2SPV_WORKAROUND(field, portable, ...) bool field = portable;
#include "ptx2spv/workarounds.def"
};

struct Profile {
  std::string_view name = "custom";
  Features features;
  Exactness exactness;
  Costs costs;
  Workarounds workarounds;
  std::uint32_t subgroup_size = 1;  ///< 0 where it varies
  std::uint32_t max_workgroup_invocations = 128;
  std::uint32_t max_shared_bytes = 16384;
  std::uint32_t max_loop_iterations =
      0;                        ///< after which the driver silently ends loops; 0: it does not
  std::uint32_t max_slots = 4;  ///< bound surface slots per kernel; further surfaces use addresses
  std::uint32_t routine_budget =
      40000;  ///< instructions that copies of texture reads, and of long routines of emulated
              ///< arithmetic, may take in a kernel; beyond, equal ones share a copy
};

/// One truth value of a profile, with its row of the tables.
struct Capability {
  enum class Group : std::uint8_t { feature, exactness, cost, workaround };
  Group group;
  std::string_view name, help;  ///< of a workaround, the symptom
  std::array<bool, 4> named;    ///< in the profiles portable, swiftshader, lavapipe, nvidia
  bool& (*in)(Profile& profile);
  std::string_view seen, pass, test;  ///< of a workaround alone

  bool value(const Profile& profile) const { return in(const_cast<Profile&>(profile)); }
  /// The value on a device that has everything and no faults.
  bool best() const { return group != Group::workaround; }
};
/// All rows: features, exactness, costs, workarounds.
std::span<const Capability> capabilities();
/// The row of that name, or null.
const Capability* find_capability(std::string_view name);

/// A named profile, or nothing: swiftshader, lavapipe, nvidia, portable; and full,
/// no-device-addresses, no-int64, no-64-bit-atomics, no-8/16-bit, which describe no real device.
std::optional<Profile> find_profile(std::string_view name);
std::span<const std::string_view> profile_names();
/// Sets capability `name` of `profile`. Returns false when there is none of that name.
bool set_capability(Profile& profile, std::string_view name, bool value);

}  // namespace ptx2spv
