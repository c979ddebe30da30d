// Whole kernels that read textures beside surfaces against what an H200 gave: README.md.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/process.hpp"

namespace {

using namespace ptx2spv;

const std::string kFolder = std::string(PTX2SPV_SOURCE_DIR) + "/tests/texture_kernels/";

std::vector<std::string> manifests() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  return names;
}

class TextureKernel : public testing::TestWithParam<std::string> {};

/// What ptxrun prints, outputs' checksums; empty where it failed.
std::string checksums(const std::string& backing) {
  const char* device = std::getenv("PTX2SPV_DEVICE");
  std::string command = test::tool_path("ptxrun") + " --checksums --backing " + backing;
  if (device && *device) command += std::string(" --device ") + device;
  command += " " + kFolder + TextureKernel::GetParam() + ".json";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return "";
  char part[256];
  while (std::fgets(part, sizeof(part), pipe)) text += part;
  return pclose(pipe) == 0 ? text : "";
}

TEST_P(TextureKernel, GivesWhatTheHardwareGaveInBothBackings) {
  const std::string linear = checksums("linear");
  EXPECT_NE(linear, "");
  EXPECT_EQ(linear, checksums("image"));
}

INSTANTIATE_TEST_SUITE_P(Manifests, TextureKernel, testing::ValuesIn(manifests()),
                         [](const testing::TestParamInfo<std::string>& each) {
                           return each.param;
                         });

}  // namespace
