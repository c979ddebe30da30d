// ptxexec itself: what it refuses before a program starts, and what the libraries say of a program.
#include <gtest/gtest.h>

#include <algorithm>
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
      {{"--json=report.json"}, "--json is of what --sanitize finds"},
      {{"--sanitize=all", "--json=/nonexistent/report.json"}, "cannot be written"},
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

/// By NVIDIA's data sheets and white papers: memory in GB, GB/s, single precision's TFLOPS, and the
/// level 2 cache in MiB.
struct Sheet {
  std::string word;
  double memory, bandwidth, tflops, cache;
};

/// By the programming guide's table of compute capabilities.
struct Capability {
  int value, threads, blocks, shared_kib, most_kib, floats, doubles;
};

// Each column of a part stands in a product or a sum that its data sheet names.
TEST(Ptxexec, PartsAgreeWithTheirDataSheets) {
  std::string program;
  ASSERT_TRUE(compile_c("part", program));
  const std::vector<Sheet> sheets = {
      {"t4", 16, 320, 8.1, 4},      {"rtx2080ti", 11, 616, 13.4, 5.5},
      {"a100", 40, 1555, 19.5, 40}, {"rtx3090", 24, 936, 35.6, 6},
      {"l4", 24, 300, 30.3, 48},    {"rtx4090", 24, 1008, 82.6, 72},
      {"h100", 80, 3350, 66.9, 50}, {"h200", 141, 4800, 66.9, 60}};
  const std::vector<Capability> capabilities = {{75, 1024, 16, 64, 64, 64, 2},
                                                {80, 2048, 32, 164, 163, 64, 32},
                                                {86, 1536, 16, 100, 99, 128, 2},
                                                {89, 1536, 24, 100, 99, 128, 2},
                                                {90, 2048, 32, 228, 227, 128, 64}};
  std::string words;
  for (const Sheet& sheet : sheets) {
    SCOPED_TRACE(sheet.word);
    words += (words.empty() ? "" : ", ") + sheet.word;
    const std::string out = execute({"--as", sheet.word, program}).out;
    std::istringstream in(out.substr(out.find(',') + 1));
    double bytes = 0, processors = 0, major = 0, minor = 0, cache = 0, khz = 0, memory_khz = 0;
    double bus = 0, threads = 0, blocks = 0, shared = 0, most = 0, reserved = 0, ratio = 0;
    ASSERT_TRUE(in >> bytes >> processors >> major >> minor >> cache >> khz >> memory_khz >> bus >>
                threads >> blocks >> shared >> most >> reserved >> ratio)
        << out;
    const auto row =
        std::ranges::find(capabilities, static_cast<int>(major * 10 + minor), &Capability::value);
    ASSERT_NE(row, capabilities.end());
    EXPECT_EQ(threads, row->threads);
    EXPECT_EQ(blocks, row->blocks);
    EXPECT_EQ(shared, row->shared_kib * 1024);
    EXPECT_EQ(most, row->most_kib * 1024);
    EXPECT_EQ(reserved, shared - most);
    EXPECT_EQ(ratio, row->floats / row->doubles);
    EXPECT_EQ(cache, sheet.cache * (1 << 20));
    EXPECT_NEAR(processors * row->floats * 2 * khz / 1e9 / sheet.tflops, 1, 0.01);
    EXPECT_NEAR(2 * memory_khz * bus / 8 / 1e6 / sheet.bandwidth, 1, 0.03);
    // Of 2^30 bytes or 10^9, less what the driver keeps.
    EXPECT_GT(bytes / 1e9, sheet.memory * 0.95);
    EXPECT_LT(bytes / (1 << 30), sheet.memory);
    const std::string total = execute({"--as", sheet.word, "nvidia-smi", "--query-gpu=memory.total",
                                       "--format=csv,noheader,nounits"})
                                  .out;
    EXPECT_GT(std::stod(total) * (1 << 20), bytes);
    EXPECT_LT(std::stod(total) * (1 << 20), bytes * 1.05);
  }
  const ProcessResult unknown = run_process({tool_path("ptxexec"), "--as=h1000", program});
  EXPECT_NE(unknown.error.find(words), std::string::npos) << unknown.error;
}

TEST(Ptxexec, DevicesSayThatTheyAreAPart) {
  std::string program;
  ASSERT_TRUE(compile_c("part", program));
  EXPECT_EQ(
      execute({"--as", "h100", program}).out,
      "NVIDIA H100 80GB HBM3, 85017493504 132 9 0 52428800 1980000 2619000 5120 2048 32 233472 "
      "232448 1024 2\n");
  EXPECT_EQ(execute({"--as=t4", program}).out,
            "Tesla T4, 15637086208 40 7 5 4194304 1590000 5001000 256 1024 16 65536 65536 0 32\n");
  EXPECT_EQ(execute({"--compute-capability=8.0", "--as=rtx4090", program}).out.substr(0, 48),
            "NVIDIA GeForce RTX 4090, 25393692672 128 8 0 754");
  EXPECT_EQ(run_process({tool_path("ptxexec"), "--as=h1000", program}).exit_code, 2);
  const ProcessResult unknown = execute({program}, {"PTX2SPV_CUDA_AS=h1000"});
  EXPECT_NE(unknown.error.find("there is no part 'h1000'"), std::string::npos) << unknown.error;
  EXPECT_EQ(unknown.out, execute({program}).out);
}

}  // namespace
}  // namespace ptx2spv::test
