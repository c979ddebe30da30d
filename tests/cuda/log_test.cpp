// What the CUDA libraries say on standard error of calls that they refuse.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/programs.hpp"

namespace ptx2spv::test {
namespace {

/// Python that calls `library`; its standard error.
std::string said_by(const std::string& library, const std::string& calls,
                    const std::vector<std::string>& environment) {
  const ProcessResult result =
      execute({"python3", "-c",
               "import ctypes\nc = ctypes.CDLL('" + library +
                   "')\nbuffer = ctypes.create_string_buffer(64)\n" + calls},
              environment);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  return result.error;
}

bool no_python() {
  return run_process({"/usr/bin/env", "python3", "-c", "import ctypes"}).exit_code != 0;
}

constexpr const char kReason[] =
    "cudaIpcGetMemHandle is not supported: memory is not shared between processes\n";
constexpr const char kTwice[] =
    "for i in 1, 2: assert c.cudaIpcGetMemHandle(buffer, None) == 801\n";

TEST(RefusedCalls, AreNamedOnce) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  EXPECT_EQ(said_by("libcudart.so.12", kTwice, {}), std::string("ptx2spv: ") + kReason);
}

// One line for each call, which has the error's name in the program's interface and the reason.
TEST(RefusedCalls, HaveALineEachInTheLog) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  const std::string line = std::string("ptx2spv: cudaErrorNotSupported: ") + kReason;
  EXPECT_EQ(said_by("libcudart.so.12", kTwice, {"PTX2SPV_CUDA_LOG=1"}), line + line);
}

// NVRTC asks for tables of its own, and needs none.
TEST(RefusedCalls, TablesOfOtherLibrariesAreNoRuntime) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  EXPECT_EQ(said_by("libcuda.so.1",
                    "asked = bytes.fromhex('da9151d33ae6cc41a5c04f26d533e328')\n"
                    "assert c.cuGetExportTable(buffer, asked) == 500\n",
                    {}),
            "");
}

TEST(RefusedCalls, RuntimeIsNamedWithTheFileThatHoldsIt) {
  std::string program;
  ASSERT_TRUE(compile_c("driver", program));
  const std::string error = execute({program}).error;
  EXPECT_NE(error.find("ptx2spv: driver asks for tables that are private to NVIDIA's own runtime"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace ptx2spv::test
