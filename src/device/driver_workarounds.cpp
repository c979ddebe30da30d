#include "src/device/driver_workarounds.hpp"

#include <algorithm>
#include <charconv>

namespace ptx2spv::runtime {

namespace {

constexpr std::uint32_t kOpen = 0;

constexpr DriverWorkaround kRows[] = {
#define PTX2SPV_DRIVER_WORKAROUND(field, driver, counts, first, last)                           \
  {#field, &Workarounds::field, VK_DRIVER_ID_##driver, DriverWorkaround::Counts::counts, first, \
   last},
#include "src/device/driver_workarounds.def"
#undef PTX2SPV_DRIVER_WORKAROUND
};

/// The number behind `name` in `info`, or 0.
std::uint32_t number_behind(std::string_view info, std::string_view name) {
  std::uint32_t number = 0;
  if (const std::size_t at = info.find(name); at != info.npos)
    std::from_chars(info.data() + at + name.size(), info.data() + info.size(), number);
  return number;
}

}  // namespace

DriverRelease driver_release(VkDriverId driver, std::uint32_t version, std::string_view info) {
  switch (driver) {
    // Its driverVersion was 1 for years.
    case VK_DRIVER_ID_MESA_LLVMPIPE:
      return {number_behind(info, "Mesa "), number_behind(info, "LLVM ")};
    case VK_DRIVER_ID_NVIDIA_PROPRIETARY: return {version >> 22, 0};
    default: return {VK_API_VERSION_MAJOR(version), 0};
  }
}

bool DriverWorkaround::holds(VkDriverId of, DriverRelease release) const {
  if (of != driver) return false;
  const std::uint32_t number = counts == Counts::llvm ? release.llvm : release.driver;
  return !number || (number >= first && (last == kOpen || number <= last));
}

std::span<const DriverWorkaround> driver_workarounds() { return kRows; }

std::uint32_t loop_iterations(VkDriverId driver, DriverRelease release, std::uint32_t of_profile) {
  // lavapipe 22.3 ends loops after 65,535 iterations, 25.0.7 went through 1,000,000. Releases
  // between were not tried.
  constexpr std::uint32_t kFirstWithoutLimit = 25;
  return driver == VK_DRIVER_ID_MESA_LLVMPIPE && release.driver >= kFirstWithoutLimit ? 0
                                                                                      : of_profile;
}

void fill_workarounds(Workarounds& workarounds, VkDriverId driver, DriverRelease release) {
  const auto of_driver = [&](const DriverWorkaround& row) { return row.driver == driver; };
  if (std::ranges::none_of(kRows, of_driver)) return;
#define PTX2SPV_WORKAROUND(field, ...) workarounds.field = false;
#include "ptx2spv/workarounds.def"
#undef PTX2SPV_WORKAROUND
  for (const DriverWorkaround& row : kRows)
    if (row.holds(driver, release)) workarounds.*row.field = true;
}

}  // namespace ptx2spv::runtime
