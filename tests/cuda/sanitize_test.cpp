// ptxexec's sanitizer and time limits: what a program in C is told, and what it ends with.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "tests/cuda/programs.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

class Sanitized : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(compile_c("faulty", program_)); }
  ProcessResult run(const std::string& fault, std::vector<std::string> options,
                    const std::vector<std::string>& environment = {}) {
    options.insert(options.end(), {program_, fault});
    return execute(options, environment);
  }
  std::string program_;
  TemporaryFolder folder_;
};

TEST_F(Sanitized, ProgramsWithoutFaultsEndAsEver) {
  for (const char* options : {"--sanitize=all", "--sanitize=all,leaks"}) {
    const ProcessResult result = run("nothing", {options});
    EXPECT_EQ(result.out, "good\n") << result.error;
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.error, "");
  }
}

TEST_F(Sanitized, FaultsAreNamedAndEndWithTheirCode) {
  const struct {
    const char* fault;
    const char* check;
    const char* text;
  } faults[] = {
      {"bounds", "memory", "error: out-of-bounds store of 4 bytes in global memory"},
      {"race", "race", "error: racing store of 4 bytes in global memory"},
      {"unwritten", "init", "error: uninitialised load of 4 bytes in global memory"},
  };
  for (const auto& each : faults) {
    SCOPED_TRACE(each.fault);
    const std::string check = std::string("--sanitize=") + each.check;
    const ProcessResult result = run(each.fault, {check});
    EXPECT_EQ(result.out, "good\n");
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_NE(result.error.find(each.text), std::string::npos) << result.error;
    EXPECT_NE(result.error.find("allocated by: "), std::string::npos) << result.error;
    EXPECT_NE(result.error.find("found 1 faulty place"), std::string::npos) << result.error;
    EXPECT_EQ(run(each.fault, {check, "--error-exitcode=9"}).exit_code, 9);
    EXPECT_EQ(run(each.fault, {check, "--error-exitcode=0"}).exit_code, 0);
    EXPECT_EQ(run(each.fault, {}).exit_code, 0);
    EXPECT_EQ(run("nothing", {check}).exit_code, 0);
  }
}

// The address lies in the other allocation.
TEST_F(Sanitized, AnAccessOutOfAParametersAllocationNamesThatOne) {
  const ProcessResult result = run("far", {"--sanitize=memory"});
  const std::string own = result.out == "the first\ngood\n" ? "cudaMalloc 1" : "cudaMalloc 2";
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.error.find("behind the end of " + own + " ("), std::string::npos)
      << own << "\n"
      << result.error;
}

// By kernels as nvcc compiles them. A store that converts is right beside loads of whole texels.
TEST_F(Sanitized, WidthsOfSurfacesAreFound) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string program;
  ASSERT_TRUE(compile_cuda("widths", {"widths.cu"}, {"-lineinfo"}, program));
  const struct {
    const char* mistake;
    const char* out;
    std::vector<const char*> texts;
  } cases[] = {
      {"formatted-right", "cudaSuccess\n", {}},
      {"texels-right", "cudaSuccess\n", {}},
      {"formatted",
       "cudaSuccess\n",
       {"other-width load", "bytes of the access: 16, of a texel of the 2d array: 8",
        "widths.cu:19", "kernel: _Z9formattedyi (formatted(unsigned long long, int))"}},
      {"wider",
       "cudaSuccess\n",
       {"other-width store", "bytes of the access: 4, of a texel of the 2d array: 1",
        "widths.cu:25"}},
      {"texels", "cudaErrorMisalignedAddress\n", {"misaligned surface access", "widths.cu:30"}},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.mistake);
    const ProcessResult result = execute({"--sanitize=width", program, each.mistake});
    EXPECT_EQ(result.out, each.out);
    for (const char* text : each.texts)
      EXPECT_NE(result.error.find(text), std::string::npos) << text << " in\n" << result.error;
    if (each.texts.empty()) {
      EXPECT_EQ(result.error, "");
    }
  }
}

/// Kind and line of each access that planted.cu marks.
std::vector<std::string> planted_faults() {
  std::vector<std::string> all;
  std::istringstream text(read_whole(kHere + "programs/planted.cu"));
  unsigned number = 1;
  for (std::string line; std::getline(text, line); ++number)
    if (const auto at = line.find("//! "); at != line.npos)
      all.push_back(fmt::format("{} {}", number, line.substr(at + 4)));
  return all;
}

// Optimised code takes pointers apart, -G keeps everything in local memory.
TEST_F(Sanitized, WrongPointersOfCompiledProgramsAreFound) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  for (const char* option : {"-lineinfo", "-G"}) {
    SCOPED_TRACE(option);
    std::string program;
    ASSERT_TRUE(compile_cuda(std::string("planted") + option, {"planted.cu"}, {option}, program));
    const ProcessResult right = execute({"--sanitize=all", program});
    EXPECT_EQ(right.out, "good\n");
    EXPECT_EQ(right.error, "");
    const std::string file = folder_.file("found.json");
    const ProcessResult wrong = execute({"--sanitize=all", "--json=" + file, program, "wrong"});
    EXPECT_EQ(wrong.out, "good\n");
    const auto report = nlohmann::json::parse(read_whole(file), nullptr, false);
    ASSERT_TRUE(report.is_array() && report.size() == 1) << wrong.error;
    std::vector<std::string> found;
    for (const auto& each : report[0]["findings"]) {
      found.push_back(
          fmt::format("{} {}", each["source_line"].get<int>(), each["kind"].get<std::string>()));
      EXPECT_EQ(each["block"][0], 1) << found.back();
      EXPECT_EQ(each["thread"][0], 5) << found.back();
      EXPECT_EQ(each["threads"], 1) << found.back();
    }
    std::ranges::sort(found);
    std::vector<std::string> planted = planted_faults();
    std::ranges::sort(planted);
    EXPECT_EQ(found, planted) << wrong.error;
  }
}

/// What pools.h does wrong: the check that finds it, and words of its report; none: nothing is
/// wrong.
struct PoolFault {
  const char* name;
  const char* check;
  std::vector<const char*> texts;
};

void expect_pool_faults(const std::string& program) {
  const PoolFault faults[] = {
      {"nothing", "all,leaks", {}},
      {"overrun",
       "memory",
       {"out-of-bounds store", "behind the end of suballocation 2 of pool 'arena' (248 bytes)",
        "allocated by: "}},
      {"neighbour",
       "memory",
       {"out-of-bounds store", "behind the end of suballocation 1 of pool 'arena' (256 bytes)"}},
      {"between",
       "memory",
       {"out-of-bounds store", "before the start of suballocation 1 of pool 'arena'"}},
      {"layout", "all", {}},
      {"named", "memory", {"out-of-bounds store", "behind the end of suballocation 'weights'"}},
      {"freed", "memory", {"freed-memory store", "suballocation 1 of pool 'arena'", "freed by: "}},
      {"again", "init", {"uninitialised load", "suballocation 3 of pool 'arena'"}},
      {"marked", "all", {}},
      {"grown", "all", {}},
      {"grown-unwritten", "init", {"uninitialised load", "suballocation 1 of pool 'arena'"}},
      {"emptied", "memory", {"out-of-bounds store"}},
      {"closed", "all", {}},
      {"permissions", "all", {}},
  };
  for (const PoolFault& each : faults) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(execute({program, each.name}).error, "");
    const ProcessResult result =
        execute({std::string("--sanitize=") + each.check, program, each.name});
    EXPECT_EQ(result.out, "good\n");
    const bool leaks = std::string_view(each.check).ends_with("leaks");
    EXPECT_EQ(result.exit_code, each.texts.empty() && !leaks ? 0 : 4) << result.error;
    for (const char* text : each.texts)
      EXPECT_NE(result.error.find(text), std::string::npos) << text << " in\n" << result.error;
    if (each.texts.empty()) {
      EXPECT_EQ(result.error.find("error:"), std::string::npos) << result.error;
    }
    EXPECT_EQ(result.error.find("NVTX are not checked") != std::string::npos,
              std::string_view(each.name) == "permissions");
    if (leaks) {
      EXPECT_NE(result.error.find("4096 bytes of cudaMalloc 1 were never freed"), std::string::npos)
          << result.error;
    }
  }
}

// What a program's own allocator gives out of a pool, as it tells NVTX.
TEST_F(Sanitized, SuballocationsAreAllocations) {
  std::string program;
  ASSERT_TRUE(compile_c("pools", program));
  expect_pool_faults(program);
}

TEST_F(Sanitized, SuballocationsByTheHeadersOfNvtx) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  const std::string include =
      std::filesystem::canonical(nvcc()).parent_path().parent_path().string() + "/include/nvtx3";
  if (!std::filesystem::exists(include + "/nvToolsExtMemCudaRt.h"))
    GTEST_SKIP() << "NVTX's headers for memory are missing";
  std::string program;
  ASSERT_TRUE(compile_cuda("suballocations", {"suballocations.cu"}, {"-ldl"}, program));
  expect_pool_faults(program);
}

// An array that is freed under a live handle is read as an H200 reads it, without the sanitizer.
TEST_F(Sanitized, ObjectsOverWhatIsGoneAreFound) {
  const struct {
    const char* fault;
    bool traps_always;
    const char* why;
  } faults[] = {
      {"dead-surface", true, "its surface was destroyed"},
      {"dead-surface-array", false, "its array was freed"},
      {"dead-texture", true, "its texture was destroyed"},
      {"dead-texture-array", false, "its array was freed"},
      {"dead-memory", false, "its memory was freed"},
  };
  for (const auto& each : faults) {
    SCOPED_TRACE(each.fault);
    const ProcessResult plain = run(each.fault, {});
    EXPECT_EQ(plain.out, each.traps_always ? "code 719\n" : "code 0\n") << plain.error;
    EXPECT_EQ(plain.exit_code, 0);
    const std::string file = folder_.file("found.json");
    const ProcessResult result = run(each.fault, {"--sanitize=memory", "--json=" + file});
    EXPECT_EQ(result.out, "code 719\n") << result.error;
    EXPECT_EQ(result.exit_code, 4);
    const std::size_t at = result.error.find("error: freed-memory load in ");
    ASSERT_NE(at, std::string::npos) << result.error;
    EXPECT_NE(result.error.find(each.why, at), std::string::npos) << result.error;
    const std::size_t by = result.error.find("freed by: ", at);
    ASSERT_NE(by, std::string::npos) << result.error;
    EXPECT_NE(result.error.find("faulty", by), std::string::npos) << result.error;
    const auto found = nlohmann::json::parse(read_whole(file), nullptr, false);
    ASSERT_TRUE(found.is_array() && found.size() == 1) << read_whole(file);
    EXPECT_EQ(found[0]["findings"][0]["kind"], "freed-memory");
  }
}

TEST_F(Sanitized, FindingsAreJsonAndListsSuppressThem) {
  const std::string file = folder_.file("found.json");
  EXPECT_EQ(run("bounds", {"--sanitize=memory", "--json=" + file}).exit_code, 4);
  const auto found = nlohmann::json::parse(read_whole(file), nullptr, false);
  ASSERT_TRUE(found.is_array() && found.size() == 1) << read_whole(file);
  EXPECT_EQ(found[0]["findings"][0]["kind"], "out-of-bounds");
  EXPECT_EQ(found[0]["findings"][0]["kernel"], "store");
  const std::string list = folder_.write("list", "race kernel=store\n");
  const ProcessResult covered = run("race", {"--sanitize=race", "--suppressions=" + list});
  EXPECT_EQ(covered.exit_code, 0);
  EXPECT_NE(covered.error.find("that were suppressed: 1"), std::string::npos) << covered.error;
  EXPECT_EQ(run("bounds", {"--sanitize=all", "--suppressions=" + list}).exit_code, 4);
  EXPECT_EQ(run("race", {"--sanitize=race", "--suppressions=none"}).exit_code, 2);
}

TEST_F(Sanitized, LeaksAreListedOnRequest) {
  const ProcessResult result = run("leak", {"--sanitize=leaks"});
  EXPECT_EQ(result.out, "good\n");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.error.find("leak: 4096 bytes of cudaMalloc"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("allocated by: "), std::string::npos) << result.error;
  EXPECT_EQ(result.error.find("leak: 128 bytes"), std::string::npos) << result.error;
  EXPECT_EQ(run("leak", {"--sanitize=all"}).exit_code, 0);
}

TEST_F(Sanitized, ArraysAndObjectsOfThemAreListedToo) {
  const ProcessResult result = run("objects", {"--sanitize=leaks"});
  EXPECT_EQ(result.out, "good\n");
  EXPECT_EQ(result.exit_code, 4);
  for (const char* each : {"leak: an array of 32 x 16 texels, 2048 bytes was never destroyed",
                           "leak: a texture object was never destroyed",
                           "leak: a surface object was never destroyed"}) {
    const std::size_t at = result.error.find(each);
    ASSERT_NE(at, std::string::npos) << each << "\n" << result.error;
    // The program's own call stands there, too.
    const std::size_t by = result.error.find("allocated by: ", at);
    EXPECT_LT(by, at + 120) << result.error;
    EXPECT_NE(result.error.find("faulty", by), std::string::npos) << result.error;
  }
  EXPECT_EQ(result.error.find("bytes of"), std::string::npos) << result.error;
}

// Where the driver ends long loops by itself, the launch fails before the time is over.
TEST_F(Sanitized, LaunchesThatNeverEndAreGivenUp) {
  const ProcessResult result = run("endless", {"--timeout=2"});
  EXPECT_LT(result.milliseconds, 60000);
  EXPECT_EQ(result.out, "code 702\n") << result.error;
  EXPECT_EQ(run("endless", {"--timeout=soon"}).exit_code, 2);
}

}  // namespace
}  // namespace ptx2spv::test
