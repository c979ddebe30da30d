// Devices with several queues, as GPUs have: the layer of dev/limits_layer shows them, and gives
// the driver what is submitted in the order that a program expects least. Tests of streams, of
// events and of graphs hold there; not those of kernels that wait for one another (`handshakes`),
// for all queues are one of the driver's.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/environment.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv {
namespace {

using nlohmann::json;

json family(std::vector<std::string> does, std::uint32_t queues) {
  for (std::string& each : does) each = "VK_QUEUE_" + each + "_BIT";
  return {{"VkQueueFamilyProperties",
           {{"queueFlags", does}, {"queueCount", queues}, {"timestampValidBits", 64}}}};
}

/// As an H100's driver states them, as far as they matter here.
json several() {
  return {family({"GRAPHICS", "COMPUTE", "TRANSFER"}, 16), family({"TRANSFER"}, 2),
          family({"COMPUTE", "TRANSFER"}, 8)};
}
/// As RADV states them.
json few() { return {family({"GRAPHICS", "COMPUTE", "TRANSFER"}, 1), family({"COMPUTE"}, 4)}; }

struct Case {
  const char *name, *program, *filter;
  json (*families)();
};
const Case kCases[] = {
    {"Runtime", "test_runtime", "Streams.*:Interop.*:Residency*.*:Cooperative*.*:PageGuard*.*",
     several},
    {"RuntimeOfFew", "test_runtime", "Streams.*", few},
    {"Cuda", "test_cuda", "*/streams:*/graphs:*/nodes:*/copies:*/hosts:*/managed:*/pools:*/waits",
     several},
};

class Queues : public testing::TestWithParam<Case> {};

TEST_P(Queues, KeepTheOrderOfStreams) {
  const test::TemporaryFolder folder;
  json file = json::parse(
      test::read_whole(std::string(PTX2SPV_SOURCE_DIR) + "/tests/limits/devices/radv-rdna3.json"));
  file["capabilities"]["device"]["queueFamiliesProperties"] = GetParam().families();
  const std::string limits = folder.write("limits.json", file.dump());
  const auto result =
      test::run_process({std::string(PTX2SPV_BINARY_DIR) + "/tests/" + GetParam().program,
                         std::string("--gtest_filter=") + GetParam().filter, "--gtest_output="},
                        {}, {test::debug_variable("limits=" + limits), "PTX2SPV_EXECUTOR=device"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  EXPECT_NE(result.out.find("[  PASSED  ]"), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(All, Queues, testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ptx2spv
