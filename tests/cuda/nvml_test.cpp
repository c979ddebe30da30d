// NVIDIA's management library and nvidia-smi, of the devices that a program under ptxexec has.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cuda/programs.hpp"

namespace ptx2spv::test {
namespace {

constexpr const char* kTwo = "PTX2SPV_DEVICES=swiftshader,swiftshader";
/// The last one's bus has a letter.
constexpr const char* kTen =
    "PTX2SPV_DEVICES=swiftshader,swiftshader,swiftshader,swiftshader,swiftshader,"
    "swiftshader,swiftshader,swiftshader,swiftshader,swiftshader";

std::string asks(const std::vector<std::string>& arguments, int code = 0) {
  const ProcessResult result = execute(arguments, {kTwo});
  EXPECT_EQ(result.exit_code, code) << result.error;
  return result.out;
}

TEST(NvidiaSmi, ListsTheDevices) {
  PTX2SPV_NEEDS_DEVICE("swiftshader");
  const std::string list = asks({"--as", "h100", "nvidia-smi", "-L"});
  EXPECT_TRUE(list.starts_with("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-")) << list;
  const auto second = list.find("\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-");
  ASSERT_NE(second, std::string::npos) << list;
  EXPECT_NE(list.substr(40, 36), list.substr(second + 41, 36)) << "one identity for both";
  EXPECT_NE(asks({"nvidia-smi"}).find("SwiftShader"), std::string::npos);
}

TEST(NvidiaSmi, AnswersQueries) {
  PTX2SPV_NEEDS_DEVICE("swiftshader");
  EXPECT_EQ(asks({"--as=t4", "nvidia-smi", "--query-gpu=index,name,memory.total,compute_cap,count",
                  "--format=csv"}),
            "index, name, memory.total [MiB], compute_cap, count\n"
            "0, Tesla T4, 15360 MiB, 7.5, 2\n1, Tesla T4, 15360 MiB, 7.5, 2\n");
  EXPECT_EQ(asks({"--as=h100", "nvidia-smi", "--query-gpu=memory.total,utilization.gpu",
                  "--format=csv,noheader,nounits"}),
            "81559, [N/A]\n81559, [N/A]\n");
  EXPECT_EQ(asks({"nvidia-smi", "--query-gpu=pci.bus_id", "--format=csv,noheader"}),
            "00000000:01:00.0\n00000000:02:00.0\n");
  const std::string row = "1, 2, 00000000:02:00.0\n";
  for (const char* only : {"-i=1", "--id=1", "--id=3,1", "--id=00000000:02:00.0"})
    EXPECT_EQ(
        asks({"nvidia-smi", "--query-gpu=index,count,pci.bus_id", "--format=csv,noheader", only}),
        row);
  EXPECT_EQ(asks({"nvidia-smi", "-i", "1", "--query-gpu=index,count,pci.bus_id",
                  "--format=csv,noheader"}),
            row);
  EXPECT_TRUE(asks({"nvidia-smi", "-L", "-i", "1"}).starts_with("GPU 1: "));
  EXPECT_EQ(asks({"nvidia-smi", "-i", "7"}, 6), "No devices were found\n");
  EXPECT_EQ(asks({"nvidia-smi", "--query-gpu=nonsense", "--format=csv"}, 2),
            "Field \"nonsense\" is not a valid field to query.\n");
  EXPECT_EQ(asks({"nvidia-smi", "--nonsense"}, 2), "");
}

// As Python's bindings open it; a child of fork has devices although its parent asked.
TEST(ManagementLibrary, AnswersAndLeavesDevicesAlone) {
  PTX2SPV_NEEDS_DEVICE("swiftshader");
  if (run_process({"/usr/bin/env", "python3", "-c", "import ctypes"}).exit_code)
    GTEST_SKIP() << "python3 is not installed";
  const ProcessResult result = execute({"python3", kHere + "driver/nvml.py"}, {kTen});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

}  // namespace
}  // namespace ptx2spv::test
