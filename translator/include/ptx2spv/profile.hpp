// Device profiles: what a Vulkan device can do, as far as translation depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptx2spv {

/// Capabilities that decide which emulations a module contains. Every field can be turned off by
/// name.
struct Profile {
  std::string_view name = "custom";
#define PTX2SPV_CAPABILITY(field, portable, swiftshader, lavapipe, nvidia, help) \
  bool field = portable;
#include "ptx2spv/capabilities.def"
#undef PTX2SPV_CAPABILITY
  std::uint32_t subgroup_size = 1;  ///< 0 where it varies
  std::uint32_t max_workgroup_invocations = 128;
  std::uint32_t max_shared_bytes = 16384;
  std::uint32_t max_loop_iterations =
      0;                        ///< where the driver cuts loops off silently; 0: it does not
  std::uint32_t max_slots = 4;  ///< bound surface slots per kernel; further surfaces use addresses
};

/// A named profile (swiftshader, lavapipe, nvidia, portable; full, no-int64, no-64-bit-atomics,
/// no-8/16-bit, which stand for no device), or nothing.
std::optional<Profile> find_profile(std::string_view name);
std::span<const std::string_view> profile_names();
/// Sets capability `name` of `profile`; false when there is none of that name.
bool set_capability(Profile& profile, std::string_view name, bool value);

}  // namespace ptx2spv
