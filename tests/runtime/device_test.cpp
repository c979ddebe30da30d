#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ptx2spv/vulkan.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

DeviceOptions plain() {
  DeviceOptions options;
  options.cache = false;
  return options;
}

TEST(Devices, ListSaysWhyEachOtherDeviceWasPassedOver) {
  auto list = must(list_devices(plain()));
  int chosen = 0;
  for (const DeviceInfo& each : list) {
    EXPECT_FALSE(each.name.empty());
    EXPECT_EQ(each.uuid_text().size(), 36u);
    if (each.rejection.empty()) ++chosen;
  }
  EXPECT_EQ(chosen, 1);
}

/// Whether the answers of a device come with the project: the file's rows have the driver's own
/// description, which a device's driver ends with.
bool has_known_answers(const DeviceInfo& info) {
  std::ifstream rows(PTX2SPV_SOURCE_DIR "/src/device/known_devices.def");
  for (std::string row; std::getline(rows, row);) {
    std::vector<std::string> quoted;
    for (std::size_t at = row.find('"'); at != std::string::npos; at = row.find('"', at + 1)) {
      const std::size_t end = row.find('"', at + 1);
      quoted.push_back(row.substr(at + 1, end - at - 1));
      at = end;
    }
    if (quoted.size() == 4 && quoted[0] == info.name && info.driver.ends_with(quoted[1]))
      return true;
  }
  return false;
}

TEST(Devices, CpuIsLavapipeWhereItsAnswersAreKnown) {
  DeviceOptions options = plain();
  options.select = "cpu";
  std::string chosen;
  bool known = false;
  for (const DeviceInfo& each : must(list_devices(options))) {
    if (each.kind != DeviceKind::cpu || !each.usable) continue;
    if (each.name.find("llvmpipe") != std::string::npos) known = has_known_answers(each);
    if (each.rejection.empty()) chosen = each.name;
  }
  if (std::getenv("PTX2SPV_SWIFTSHADER"))
    EXPECT_NE(chosen.find("SwiftShader"), std::string::npos) << chosen;
  else if (!known)
    EXPECT_EQ(chosen.find("llvmpipe"), std::string::npos) << chosen;
  else if (__builtin_cpu_supports("avx2"))
    EXPECT_NE(chosen.find("llvmpipe"), std::string::npos) << chosen;
  else
    GTEST_SKIP() << "no answers are known of lavapipe on this processor";
}

TEST(Devices, SelectedByIndexAndUuid) {
  for (const DeviceInfo& each : must(list_devices(plain()))) {
    if (!each.usable) continue;
    DeviceOptions options = plain();
    options.select = "index:" + std::to_string(each.index);
    EXPECT_EQ(must(Device::open(options)).info().name, each.name);
    options.select = "uuid:" + each.uuid_text();
    EXPECT_EQ(must(Device::open(options)).info().name, each.name);
  }
}

TEST(Devices, NoMatchNamesEveryDevice) {
  DeviceOptions options = plain();
  options.select = "no such device";
  auto device = Device::open(options);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::no_device);
  EXPECT_NE(device.error().text.find("does not match"), std::string::npos) << device.error().text;
}

TEST(Devices, CapabilitiesAreDisabledByName) {
  DeviceOptions options = plain();
  options.disable = {"int64", "tiled_planes"};
  Device device = must(Device::open(options));
  EXPECT_FALSE(device.profile().features.int64);
  EXPECT_FALSE(device.profile().costs.tiled_planes);
  options.disable = {"int65"};
  auto wrong = Device::open(options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_argument);
}

// What floats give is known of modules that declare the device's float controls.
TEST(Devices, WithoutAFloatControlNothingIsKnownOfItsWidth) {
  DeviceOptions options = plain();
  const Profile whole = must(Device::open(options)).profile();
  if (!whole.features.keeps_specials32) GTEST_SKIP() << "the device has no such float control";
  options.disable = {"keeps_specials32"};
  const Profile without = must(Device::open(options)).profile();
  EXPECT_FALSE(without.exactness.exact_div32);
  EXPECT_FALSE(without.exactness.canonical_nan32);
  EXPECT_EQ(without.exactness.exact_div64, whole.exactness.exact_div64);
  options = plain();
  options.profile = "swiftshader";
  const Profile named = must(Device::open(options)).profile();
  EXPECT_EQ(named.features.keeps_specials32, whole.features.keeps_specials32);
  EXPECT_EQ(named.exactness.exact_div32, whole.exactness.exact_div32);
}

TEST(Devices, NamedProfileOnlyTakesAway) {
  DeviceOptions options = plain();
  options.profile = "portable";
  Device device = must(Device::open(options));
  EXPECT_FALSE(device.profile().features.int64);
  EXPECT_LE(device.profile().max_workgroup_invocations, 128u);
}

TEST(Devices, UnreadableDriverIsNamed) {
  auto file =
      std::filesystem::temp_directory_path() / ("ptx2spv-driver-" + std::to_string(::getpid()));
  std::ofstream(file) << "no library at all";
  const char* before = std::getenv("PTX2SPV_SWIFTSHADER");
  std::string old = before ? before : "";
  ::setenv("PTX2SPV_SWIFTSHADER", file.c_str(), 1);
  DeviceOptions options = plain();
  options.select = "swiftshader";
  options.validation = false;  // the driver itself is asked, not through the loader
  auto device = Device::open(options);
  if (before)
    ::setenv("PTX2SPV_SWIFTSHADER", old.c_str(), 1);
  else
    ::unsetenv("PTX2SPV_SWIFTSHADER");
  std::filesystem::remove(file);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::no_device);
  EXPECT_NE(device.error().text.find(file.string()), std::string::npos) << device.error().text;
}

TEST(Devices, AdoptedDeviceRunsOnTheApplicationsQueue) {
  Device owner = must(Device::open(plain()));
  vulkan::AdoptedDevice external = vulkan::handles(owner);
  int locked = 0, unlocked = 0;
  external.lock_queue = [&] { ++locked; };
  external.unlock_queue = [&] { ++unlocked; };
  {
    Device adopted = must(vulkan::adopt(external, plain()));
    Buffer a = must(Buffer::create(adopted, 64)), b = must(Buffer::create(adopted, 64));
    must(a.fill(0, 64, 7));
    must(b.copy_from(a, 0, 0, 64));
    EXPECT_EQ(read_buffer<std::uint8_t>(b, 64), std::vector<std::uint8_t>(64, 7));
  }
  EXPECT_GT(locked, 0);
  EXPECT_EQ(locked, unlocked);
  Buffer c = must(Buffer::create(owner, 64));
  must(c.fill(0, 64, 1));
}

}  // namespace
}  // namespace ptx2spv
