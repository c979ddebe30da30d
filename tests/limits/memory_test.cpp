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

class Discrete : public testing::TestWithParam<const char*> {};

TEST_P(Discrete, CopiesByCommands) {
  if (test::environment("PTX2SPV_DEVICE") != "lavapipe")
    GTEST_SKIP() << "the device is chosen by its driver's name for itself";
  const test::TemporaryFolder folder;
  json file = json::parse(
      test::read_whole(std::string(PTX2SPV_SOURCE_DIR) + "/tests/limits/devices/radv-rdna3.json"));
  json& device = file["capabilities"]["device"];
  device["extensions"]["VK_EXT_external_memory_host"] = 1;
  device["properties"]["VkPhysicalDeviceProperties"]["deviceType"] =
      VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  const std::string limits = folder.write("limits.json", file.dump());
  const auto result = test::run_process(
      {std::string(PTX2SPV_BINARY_DIR) + "/tests/test_cuda",
       "--gtest_filter=*/copies:*/boxes:*/rows:*/surfaces:*/textures:*/views:*/pairs:*/symbols",
       "--gtest_output="},
      {},
      {test::debug_variable("limits=" + limits + ",backing=" + GetParam()),
       "PTX2SPV_DEVICE=llvmpipe"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  if (result.out.find("nvcc is not installed") != std::string::npos)
    GTEST_SKIP() << "nvcc is not installed";
  EXPECT_NE(result.out.find("[  PASSED  ]"), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(All, Discrete, testing::Values("linear", "image"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace ptx2spv
