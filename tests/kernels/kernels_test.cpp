// Whole kernels against what an H200 gave: tests/kernels/README.md.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/process.hpp"

namespace {

using namespace ptx2spv;

std::vector<std::string> manifests() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(PTX2SPV_SOURCE_DIR) + "/tests/kernels"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  return names;
}

class Kernel : public testing::TestWithParam<std::string> {};

TEST_P(Kernel, GivesWhatTheHardwareGave) {
  const char* device = std::getenv("PTX2SPV_DEVICE");
  const std::string on = device ? device : "";
  if (GetParam() == "dual" && on != "lavapipe")
    GTEST_SKIP() << "SwiftShader needs minutes to compile this kernel's emulated double precision";
  std::string command = test::tool_path("ptxrun") + " ";
  if (!on.empty()) command += "--device " + on + " ";
  command += std::string(PTX2SPV_SOURCE_DIR) + "/tests/kernels/" + GetParam() + ".json";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

INSTANTIATE_TEST_SUITE_P(Manifests, Kernel, testing::ValuesIn(manifests()),
                         [](const testing::TestParamInfo<std::string>& each) {
                           return each.param;
                         });

}  // namespace
