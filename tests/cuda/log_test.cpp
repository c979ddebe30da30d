// What the CUDA libraries say on standard error of calls that they refuse.
#include <regex>
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

constexpr const char kWhy[] = "memory is not shared between processes\n";
const std::string kReason = std::string("cudaIpcGetMemHandle is not supported: ") + kWhy;
constexpr const char kTwice[] =
    "for i in 1, 2: assert c.cudaIpcGetMemHandle(buffer, None) == 801\n";

TEST(RefusedCalls, AreNamedOnce) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  EXPECT_EQ(said_by("libcudart.so.12", kTwice, {}), "ptx2spv: " + kReason);
}

// One line for each call, which has the error's name in the program's interface and the reason.
TEST(RefusedCalls, HaveALineEachInTheLog) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  const std::string line =
      std::string("ptx2spv: cudaIpcGetMemHandle: cudaErrorNotSupported: ") + kWhy;
  EXPECT_EQ(said_by("libcudart.so.12", kTwice, {"PTX2SPV_CUDA_LOG=1"}), line + line);
}

TEST(FailedCalls, AreNamedInTheLog) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  const std::string said =
      said_by("libcudart.so.12", "for i in 1, 2: c.cudaSetDevice(99)\nc.cudaFree(1)\n",
              {"PTX2SPV_CUDA_LOG=1"});
  const std::string line = "ptx2spv: cudaSetDevice: cudaErrorInvalidDevice: no such device\n";
  EXPECT_TRUE(said.starts_with(line + line + "ptx2spv: cudaFree: cudaErrorInvalidValue: ")) << said;
}

// Another driver would do, but was not asked for.
TEST(WrongSettings, ADriverThatIsNamedAndNotThereIsMissed) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  const std::string said =
      said_by("libcudart.so.12",
              "n = ctypes.c_int()\nassert c.cudaGetDeviceCount(ctypes.byref(n)) == 100\n",
              {"PTX2SPV_SWIFTSHADER=/nonexistent", "PTX2SPV_DEVICE="});
  EXPECT_NE(said.find("PTX2SPV_SWIFTSHADER is '/nonexistent'"), std::string::npos) << said;
}

// The call's arguments are right, so that the code alone would mislead.
TEST(WrongSettings, AreSaidOnceByTheFirstCall) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  const auto allocate = [](const char* code) {
    return std::string("p = ctypes.c_void_p()\nfor i in 1, 2: ") +
           "assert c.cudaMalloc(ctypes.byref(p), 4) == " + code + "\n";
  };
  const std::string wrong =
      said_by("libcudart.so.12", allocate("1"), {"PTX2SPV_CACHE=/dev/null", "PTX2SPV_DEVICE="});
  EXPECT_TRUE(std::regex_match(wrong, std::regex("ptx2spv: .*PTX2SPV_CACHE is '/dev/null': it may "
                                                 "be 0, 1, no.*\n")))
      << wrong;
  const std::string file = said_by("libcudart.so.12", allocate("0"),
                                   {"PTX2SPV_CACHE=1", "PTX2SPV_CACHE_DIR=/dev/null/folder"});
  EXPECT_EQ(file,
            "ptx2spv: no disk cache: the folder /dev/null/folder cannot be made: "
            "Not a directory\n");
}

TEST(PtxexecLog, HasEveryCallOnRequest) {
  std::string program;
  ASSERT_TRUE(compile_c("pools", program));
  const ProcessResult result = execute({"--log=all", program, "nothing"});
  EXPECT_EQ(result.out, "good\n");
  const std::regex lines[] = {
      std::regex("ptx2spv: cuInit\\(0\\) = CUDA_SUCCESS, [0-9.]+ us\n"),
      std::regex("\nptx2spv: cuMemAlloc_v2\\(0x[0-9a-f]+, 4096\\) = CUDA_SUCCESS, [0-9.]+ us\n"),
      std::regex("\nptx2spv: cuLaunchKernel\\(0x[0-9a-f]+, 1, 1, 1, 1, 1, 1, 0, 0x0, .*\\) = "
                 "CUDA_SUCCESS, [0-9.]+ us, kernel store<<<\\(1, 1, 1\\), \\(1, 1, 1\\), 0>>>\n")};
  for (const std::regex& line : lines)
    EXPECT_TRUE(std::regex_search(result.error, line)) << result.error;
  // The same without the option has nothing, and an option's value stands behind its `=`.
  EXPECT_EQ(execute({program, "nothing"}).error, "");
  EXPECT_EQ(execute({"--log", "echo", "all"}).out, "all\n");
  EXPECT_EQ(run_process({tool_path("ptxexec"), "--log=calls", "echo"}).exit_code, 2);
}

TEST(PtxexecLog, HasReasonsBeforeCallsThatFail) {
  if (no_python()) GTEST_SKIP() << "python3 is not installed";
  const std::string said = said_by("libcudart.so.12", kTwice, {"PTX2SPV_CUDA_LOG=all"});
  const auto reason = said.find(kWhy);
  ASSERT_NE(reason, std::string::npos) << said;
  EXPECT_EQ(said.find(") = cudaErrorNotSupported, ", reason) > reason, true) << said;
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
