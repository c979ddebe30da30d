// Profiles in C, by the names of their rows.
#include "src/c_api/handles.hpp"

#include <fmt/format.h>

#include "src/device/device.hpp"

namespace {

struct LimitRow {
  std::string_view name;
  std::uint32_t Profile::*field;
};
constexpr LimitRow kLimits[] = {
    {"subgroup_size", &Profile::subgroup_size},
    {"max_workgroup_invocations", &Profile::max_workgroup_invocations},
    {"max_shared_bytes", &Profile::max_shared_bytes},
    {"max_loop_iterations", &Profile::max_loop_iterations},
    {"max_slots", &Profile::max_slots},
    {"routine_budget", &Profile::routine_budget},
};

Error no_row(std::string_view row) {
  return make_error(ErrorCode::not_found, "a profile has no row '" + std::string(row) + "'");
}

Status set_row(Profile& profile, std::string_view row, std::uint32_t value) {
  for (const LimitRow& each : kLimits)
    if (each.name == row) {
      if (!value && each.field == &Profile::max_workgroup_invocations)
        return bad_argument("a workgroup has to have an invocation");
      profile.*each.field = value;
      return {};
    }
  if (!find_capability(row)) return no_row(row);
  if (value > 1) return bad_argument("'{}' is 0 or 1, not {}", row, value);
  set_capability(profile, row, value != 0);
  return {};
}

Result<std::uint32_t> get_row(const Profile& profile, std::string_view row) {
  for (const LimitRow& each : kLimits)
    if (each.name == row) return profile.*each.field;
  const Capability* capability = find_capability(row);
  if (!capability) return no_row(row);
  return std::uint32_t{capability->value(profile)};
}

ptx2spv_status give_row(const Profile& profile, const char* row, std::uint32_t* value) {
  auto found = get_row(profile, row);
  if (!found) return fail(found.error());
  *value = *found;
  return PTX2SPV_OK;
}

}  // namespace

extern "C" {

ptx2spv_status ptx2spv_profile_create(const char* name, ptx2spv_profile** profile) {
  if (!name || !profile) return fail_null("the name or the profile");
  const auto found = find_profile(name);
  if (!found)
    return fail(
        make_error(ErrorCode::not_found, "there is no profile '" + std::string(name) + "'"));
  *profile = new ptx2spv_profile{*found};
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_profile_set(ptx2spv_profile* profile, const char* row, uint32_t value) {
  if (!profile || !row) return fail_null("the profile or the row");
  return finish(set_row(profile->it, row, value));
}

ptx2spv_status ptx2spv_profile_get(const ptx2spv_profile* profile, const char* row,
                                   uint32_t* value) {
  if (!profile || !row || !value) return fail_null("the profile, the row or the value");
  return give_row(profile->it, row, value);
}
void ptx2spv_profile_destroy(ptx2spv_profile* profile) { delete profile; }

ptx2spv_status ptx2spv_device_capability(const ptx2spv_device* device, const char* row,
                                         uint32_t* value) {
  if (!device || !row || !value) return fail_null("the device, the row or the value");
  return give_row(device->it.profile(), row, value);
}

}  // extern "C"
