// Whole kernels that read textures beside surfaces against what an H200 gave: README.md.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

const std::string kFolder = std::string(PTX2SPV_SOURCE_DIR) + "/tests/texture_kernels/";

std::vector<std::string> manifests() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  return names;
}

class TextureKernel : public testing::TestWithParam<std::string> {};

TEST_P(TextureKernel, GivesWhatTheHardwareGaveInBothBackings) {
  const char* device = std::getenv("PTX2SPV_DEVICE");
  for (const std::string backing : {"linear", "image"}) {
    std::string command = std::string(PTX2SPV_BINARY_DIR) + "/tools/ptxrun --backing " + backing;
    if (device && *device) command += std::string(" --device ") + device;
    command += " " + kFolder + GetParam() + ".json";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Manifests, TextureKernel, testing::ValuesIn(manifests()),
                         [](const testing::TestParamInfo<std::string>& each) {
                           return each.param;
                         });

}  // namespace
