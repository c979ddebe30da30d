// Memory that the host does not reach, as a GPU of its own has: the layer of dev/limits_layer says
// that the device is one. What CUDA programs copy then goes by commands, and gives what an H200
// gave.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/vulkan/api.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv {
namespace {

using nlohmann::json;

bool is_lavapipe() { return test::environment("PTX2SPV_DEVICE") == "lavapipe"; }

/// Runs tests of `program` on such a device.
test::ProcessResult run(const std::string& program, const std::string& filter,
                        const std::string& settings) {
  const test::TemporaryFolder folder;
  json file = json::parse(
      test::read_whole(std::string(PTX2SPV_SOURCE_DIR) + "/tests/limits/devices/radv-rdna3.json"));
  json& device = file["capabilities"]["device"];
  device["extensions"]["VK_EXT_external_memory_host"] = 1;
  device["properties"]["VkPhysicalDeviceProperties"]["deviceType"] =
      VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  const std::string limits = folder.write("limits.json", file.dump());
  return test::run_process({std::string(PTX2SPV_BINARY_DIR) + "/tests/" + program,
                            "--gtest_filter=" + filter, "--gtest_output="},
                           {},
                           {test::debug_variable("limits=" + limits + settings),
                            "PTX2SPV_DEVICE=llvmpipe", "PTX2SPV_EXECUTOR=device"});
}

class Discrete : public testing::TestWithParam<const char*> {};

TEST_P(Discrete, CopiesByCommands) {
  if (!is_lavapipe()) GTEST_SKIP() << "the device is chosen by its driver's name for itself";
  const auto result =
      run("test_cuda", "*/copies:*/boxes:*/rows:*/surfaces:*/textures:*/views:*/pairs:*/symbols",
          std::string(",backing=") + GetParam());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  if (result.out.find("nvcc is not installed") != std::string::npos)
    GTEST_SKIP() << "nvcc is not installed";
  EXPECT_NE(result.out.find("[  PASSED  ]"), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(All, Discrete, testing::Values("linear", "image"),
                         [](const auto& each) { return std::string(each.param); });

TEST(DiscreteMemory, IsDedicated) {
  if (!is_lavapipe()) GTEST_SKIP() << "the device is chosen by its driver's name for itself";
  const auto result = run("test_runtime",
                          "Dedicated.*:SmallUploads.*:Memory.*:*Arrays.*:ReadyPlans.*:*"
                          "PitchedMemory.*-*IsThereOnceItIsTouched",
                          "");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  EXPECT_NE(result.out.find("Dedicated.OfLargeImages"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("SKIPPED"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace ptx2spv
