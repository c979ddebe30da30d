// Which workarounds a device of a driver and its version gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/device/driver_workarounds.hpp"

namespace ptx2spv::runtime {
namespace {

Workarounds filled(VkDriverId driver, DriverRelease release) {
  Workarounds workarounds = find_profile("portable")->workarounds;
  fill_workarounds(workarounds, driver, release);
  return workarounds;
}

TEST(DriverWorkarounds, ReleasesAreReadAsDriversGiveThem) {
  const auto read = [](VkDriverId driver, std::uint32_t version, const char* info) {
    const DriverRelease release = driver_release(driver, version, info);
    return std::to_string(release.driver) + ", " + std::to_string(release.llvm);
  };
  EXPECT_EQ(read(VK_DRIVER_ID_MESA_LLVMPIPE, 1, "Mesa 22.3.6 (LLVM 15.0.6)"), "22, 15");
  EXPECT_EQ(read(VK_DRIVER_ID_MESA_LLVMPIPE, 1, "Mesa 25.0.7-2 (LLVM 19.1.7)"), "25, 19");
  EXPECT_EQ(read(VK_DRIVER_ID_MESA_LLVMPIPE, 1, ""), "0, 0");
  // NVIDIA's numbers have ten bits of major version on top.
  EXPECT_EQ(read(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 580u << 22 | 65u << 14, "580.65.06"), "580, 0");
  EXPECT_EQ(read(VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_MAKE_API_VERSION(0, 5, 0, 0), ""), "5, 0");
}

TEST(DriverWorkarounds, ADriverOfUnknownReleaseGetsAllOfItsProfile) {
  const struct {
    VkDriverId driver;
    const char* profile;
  } drivers[] = {{VK_DRIVER_ID_GOOGLE_SWIFTSHADER, "swiftshader"},
                 {VK_DRIVER_ID_MESA_LLVMPIPE, "lavapipe"},
                 {VK_DRIVER_ID_NVIDIA_PROPRIETARY, "nvidia"}};
  for (const auto& each : drivers) {
    Profile profile = *find_profile("portable");
    profile.workarounds = filled(each.driver, {});
    const Profile named = *find_profile(each.profile);
    for (const Capability& row : capabilities()) {
      if (row.group != Capability::Group::workaround) continue;
      EXPECT_EQ(row.value(profile), row.value(named)) << each.profile << ", " << row.name;
    }
  }
}

TEST(DriverWorkarounds, RowsWithoutALastReleaseHoldForAllToCome) {
  const DriverRelease newest{9999, 9999};
  for (const DriverWorkaround& row : driver_workarounds())
    EXPECT_EQ(filled(row.driver, newest).*row.field, row.last == 0) << row.name;
}

TEST(DriverWorkarounds, ARowEndsBehindItsLastRelease) {
  const auto with = [](std::uint32_t mesa, std::uint32_t llvm) {
    return filled(VK_DRIVER_ID_MESA_LLVMPIPE, {mesa, llvm}).break_bitfield_insert_select;
  };
  EXPECT_TRUE(with(22, 15));
  EXPECT_TRUE(with(26, 22));
  EXPECT_FALSE(with(26, 23));
  EXPECT_FALSE(with(22, 23)) << "Mesa's own release does not count";
  EXPECT_TRUE(with(26, 0)) << "a release that is not known is not taken for mended";
}

TEST(DriverWorkarounds, ADriverWithoutRowsKeepsWhatItHas) {
  Profile profile = *find_profile("portable");
  fill_workarounds(profile.workarounds, VK_DRIVER_ID_MESA_RADV, {25, 0});
  const Profile portable = *find_profile("portable");
  for (const Capability& row : capabilities())
    EXPECT_EQ(row.value(profile), row.value(portable)) << row.name;
}

TEST(DriverWorkarounds, LoopsHaveNoLimitFromTheReleaseOnThatWasSeenWithoutOne) {
  const auto limit = [](VkDriverId driver, std::uint32_t release) {
    return loop_iterations(driver, {release, 15}, 65535);
  };
  EXPECT_EQ(limit(VK_DRIVER_ID_MESA_LLVMPIPE, 22), 65535u);
  EXPECT_EQ(limit(VK_DRIVER_ID_MESA_LLVMPIPE, 24), 65535u);
  EXPECT_EQ(limit(VK_DRIVER_ID_MESA_LLVMPIPE, 25), 0u);
  EXPECT_EQ(limit(VK_DRIVER_ID_MESA_LLVMPIPE, 0), 65535u) << "not known: the limit is feared";
  EXPECT_EQ(limit(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 580), 65535u) << "as its profile has it";
}

TEST(DriverWorkarounds, FirstIsNotBehindLast) {
  for (const DriverWorkaround& row : driver_workarounds())
    EXPECT_TRUE(row.last == 0 || row.first <= row.last) << row.name;
}

}  // namespace
}  // namespace ptx2spv::runtime
