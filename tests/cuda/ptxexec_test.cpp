// ptxexec itself: what it refuses before a program starts, and what the libraries say of a program.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cuda/programs.hpp"

namespace ptx2spv::test {
namespace {

TEST(Ptxexec, Usage) {
  const ProcessResult none = run_process({tool_path("ptxexec")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.error.find("no program"), std::string::npos) << none.error;
  EXPECT_EQ(run_process({tool_path("ptxexec"), "--nonsense", "true"}).exit_code, 2);
  EXPECT_EQ(run_process({tool_path("ptxexec"), "--compute-capability", "x", "true"}).exit_code, 2);
  EXPECT_EQ(run_process({tool_path("ptxexec"), "/nowhere/program"}).exit_code, 127);
  EXPECT_EQ(run_process({tool_path("ptxexec"), "-d", "cpu", "sh", "-c", "exit 7"}).exit_code, 7);
  EXPECT_EQ(run_process({tool_path("ptxexec"), "--", "sh", "-c", "echo \"$PTX2SPV_DEVICE\""}, {},
                        {"PTX2SPV_DEVICE=x"})
                .out,
            "x\n");
  EXPECT_EQ(run_process({tool_path("ptxexec"), "--libraries"}).out, kLibraries + "\n");
}

// Nothing starts where an option's value means nothing: a program would run on a part of what was
// asked for.
TEST(Ptxexec, RefusesValuesThatMeanNothing) {
  const struct {
    std::vector<std::string> options;
    std::string says;
  } kRows[] = {
      {{"--devices", "swiftshader,nonesuch"}, "no usable device matches 'nonesuch'"},
      {{"--devices", "nonesuch"}, "no usable device matches 'nonesuch'"},
      {{"--devices", ","}, "',' has an empty name"},
      {{"--devices", "swiftshader,,swiftshader"}, "has an empty name"},
      {{"--devices", "swiftshader,"}, "has an empty name"},
      {{"--devices", ""}, "has an empty name"},
      {{"--device", "nonesuch"}, "no usable device matches 'nonesuch'"},
      {{"--device", " "}, "the name of a device is empty"},
      {{"--profile=zz"}, "zz"},
      {{"--disable=zz"}, "there is no capability 'zz'"},
      {{"--disable=int64,,float64"}, "has an empty name"},
      {{"--compute-capability", "7.55"}, "has the form 7.5"},
      {{"--compute-capability", "99.0"}, "has the form 7.5"},
      {{"--compute-capability", "75"}, "has the form 7.5"},
      {{"--compute-capability", "7.5x"}, "has the form 7.5"},
      {{"--fp=quick"}, "quick"},
      {{"--timeout=-1"}, "--timeout takes a number from 0"},
      {{"--executor=both"}, "both"},
  };
  for (const auto& row : kRows) {
    std::vector<std::string> command = {tool_path("ptxexec")};
    command.insert(command.end(), row.options.begin(), row.options.end());
    command.insert(command.end(), {"echo", "started"});
    const ProcessResult result = run_process(command);
    EXPECT_EQ(result.exit_code, 2) << row.options[0] << ' ' << row.options.back();
    EXPECT_EQ(result.out, "") << row.options[0] << ' ' << row.options.back();
    EXPECT_NE(result.error.find(row.says), std::string::npos) << result.error;
  }
}

// Two devices that are there, one that is not: the libraries have all of a list or none.
TEST(Ptxexec, AListOfDevicesFromTheEnvironmentHoldsWholly) {
  std::string program;
  ASSERT_TRUE(compile_c("devices", program));
  for (const char* names : {"swiftshader,nonesuch,swiftshader", "swiftshader,,swiftshader", ","}) {
    const ProcessResult result = execute({program, "2"}, {std::string("PTX2SPV_DEVICES=") + names});
    EXPECT_NE(result.exit_code, 0) << names;
    EXPECT_EQ(result.out.find("good"), std::string::npos) << names;
    EXPECT_NE(result.error.find("PTX2SPV_DEVICES"), std::string::npos) << names << result.error;
  }
}

TEST(Ptxexec, ADevicesNameMayHaveACommaInIt) {
  const ProcessResult list = run_process({tool_path("ptxrun"), "--list-devices"});
  if (list.out.find("bits)") == std::string::npos) GTEST_SKIP() << "no lavapipe: " << list.out;
  std::string program;
  ASSERT_TRUE(compile_c("devices", program));
  const ProcessResult result = execute({"--device", "bits)", program, "1"});
  EXPECT_EQ(result.out, "good\n") << result.error;
  const auto at = list.out.find("llvmpipe ("), end = list.out.find(')', at);
  ASSERT_NE(at, std::string::npos) << list.out;
  const std::string whole = list.out.substr(at, end + 1 - at);
  EXPECT_NE(whole.find(','), std::string::npos) << whole;
  EXPECT_EQ(execute({"--device", whole, program, "1"}).out, "good\n") << whole;
}

/// The words of `text` that begin with `prefix`.
std::set<std::string> words_with(const std::string& text, const std::string& prefix) {
  std::set<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;)
    if (word.starts_with(prefix)) words.insert(word.substr(0, word.find(':')));
  return words;
}

/// --log names what the program got, in the interface that it uses, and nothing else.
void expect_log(const std::string& program, const std::string& prefix, const std::string& good) {
  std::istringstream groups(execute({program}).out);
  for (std::string group; std::getline(groups, group);) {
    const ProcessResult result = execute({"--log", program, group});
    ASSERT_EQ(result.exit_code, 0) << group << ": " << result.error;
    std::set<std::string> returned = words_with(result.out, prefix), logged;
    returned.erase(good);
    std::istringstream lines(result.error);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("ptx2spv: ")) logged.merge(words_with(line.substr(9), prefix));
    for (const std::string& each : returned)
      EXPECT_TRUE(logged.contains(each)) << group << ": " << each << " is not in the log";
    for (const std::string& each : logged)
      EXPECT_TRUE(returned.contains(each)) << group << ": nobody got " << each;
  }
}

TEST(PtxexecLog, NamesTheErrorsOfTheRuntimeInterface) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile_cuda("mistakes", {"mistakes.cu"}, {}, made));
  expect_log(made, "cudaError", "cudaSuccess");
}

TEST(PtxexecLog, NamesTheErrorsOfTheDriverInterface) {
  std::string made;
  ASSERT_TRUE(compile_c("mistakes", made));
  expect_log(made, "CUDA_ERROR", "CUDA_SUCCESS");
}

// What there is runs, unless the user has said what devices are.
TEST(CudaImages, PtxForNewerCapabilitiesAloneRuns) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  for (const char* arch : {"90", "90a"}) {
    std::string made;
    const std::string code = std::string("compute_") + arch;
    ASSERT_TRUE(compile(std::string("newer") + arch,
                        {nvcc(), "-cudart", "shared", "-gencode", "arch=" + code + ",code=" + code,
                         kHere + "programs/image.cu"},
                        {kHere + "programs/image.cu"}, made));
    const ProcessResult result = execute({made});
    EXPECT_EQ(result.out, "cudaSuccess\n");
    const auto at = result.error.find("--compute-capability 9.0");
    EXPECT_NE(at, std::string::npos) << result.error;
    EXPECT_EQ(result.error.find("--compute-capability", at + 1), std::string::npos);
    EXPECT_NE(result.error.find(std::string("sm_") + arch), std::string::npos) << result.error;
    for (const std::vector<std::string>& older :
         {std::vector<std::string>{"--compute-capability", "7.5", made}, {"--as=t4", made}}) {
      const ProcessResult refused = execute(older);
      EXPECT_EQ(refused.out, "cudaErrorNoKernelImageForDevice\n");
      EXPECT_NE(refused.error.find("--compute-capability 9.0"), std::string::npos) << refused.error;
    }
    for (const std::vector<std::string>& same :
         {std::vector<std::string>{"--compute-capability", "9.0", made}, {"--as=h100", made}}) {
      const ProcessResult accepted = execute(same);
      EXPECT_EQ(accepted.out, "cudaSuccess\n");
      EXPECT_EQ(accepted.error, "");
    }
  }
}

TEST(Ptxexec, DevicesSayThatTheyAreAPart) {
  std::string program;
  ASSERT_TRUE(compile_c("part", program));
  EXPECT_EQ(execute({"--as", "h100", program}).out,
            "NVIDIA H100 80GB HBM3, 81079 MiB 132 9 0 52428800 1980000 2619000 5120 2048 32 233472 "
            "232448 1024\n");
  EXPECT_EQ(execute({"--as=t4", program}).out,
            "Tesla T4, 15360 MiB 40 7 5 4194304 1590000 5001000 256 1024 16 65536 65536 0\n");
  EXPECT_EQ(execute({"--compute-capability=8.0", "--as=rtx4090", program}).out.substr(0, 48),
            "NVIDIA GeForce RTX 4090, 24564 MiB 128 8 0 75497");
  EXPECT_EQ(run_process({tool_path("ptxexec"), "--as=h1000", program}).exit_code, 2);
  const ProcessResult unknown = execute({program}, {"PTX2SPV_CUDA_AS=h1000"});
  EXPECT_NE(unknown.error.find("there is no part 'h1000'"), std::string::npos) << unknown.error;
  EXPECT_EQ(unknown.out, execute({program}).out);
}

}  // namespace
}  // namespace ptx2spv::test
