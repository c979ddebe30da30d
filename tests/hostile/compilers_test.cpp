// Kernels that are too much for a driver's compiler: an error, and never the end of the process.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/support/environment.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

/// Puts `local` bytes and `live` values, all needed at once, into the frame of a kernel.
std::string large_frame(int local, int live) {
  const auto count = [](int number) { return std::to_string(number); };
  std::string text =
      ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 b) {\n"
      ".local .align 4 .b8 l[" +
      count(local) + "];\n.reg .b32 %r<8>, %v<" + count(live) +
      ">;\n.reg .b64 %d<4>;\nld.param.u64 %d0, [b];\nld.global.u32 %r0, [%d0];\n"
      "mov.u64 %d1, l;\nmad.wide.u32 %d1, %r0, 4, %d1;\nst.local.u32 [%d1], %r0;\n";
  for (int k = 0; k < live; ++k)
    text += "ld.global.u32 %v" + count(k) + ", [%d0+" + count(4 * (k % 500)) + "];\n";
  text += "ld.local.u32 %r1, [%d1];\n";
  for (int k = 0; k < live; ++k)
    text += "xor.b32 %r1, %r1, %v" + count(k) + ";\nmul.lo.u32 %r1, %r1, %v" + count(live - 1 - k) +
            ";\n";
  return text + "st.global.u32 [%d0], %r1;\nret;\n}\n";
}

constexpr const char* kManifest = R"({"module": "k.ptx", "buffers": {"b": {"bytes": 4096}},
 "launches": [{"kernel": "k", "grid": 1, "block": 1, "args": [{"buffer": "b"}]}]})";

/// The same with words in the buffer, and what the kernel leaves there.
constexpr const char* kWithWords = R"({"module": "k.ptx",
 "buffers": {"b": {"bytes": 2000, "init": {"raw": "in.bin"}}},
 "launches": [{"kernel": "k", "grid": 1, "block": 1, "args": [{"buffer": "b"}]}],
 "outputs": [{"buffer": "b", "raw": "out.bin"}]})";

std::vector<std::uint32_t> words_in() {
  std::vector<std::uint32_t> words(500);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i ? 2 * i + 1 : 2;
  return words;
}

std::uint32_t what_the_kernel_leaves(int live) {
  const std::vector<std::uint32_t> words = words_in();
  std::uint32_t value = words[0];
  for (int k = 0; k < live; ++k)
    value = (value ^ words[static_cast<std::size_t>(k % 500)]) *
            words[static_cast<std::size_t>((live - 1 - k) % 500)];
  return value;
}

const std::string kNobodyTries = "probe-program=/bin/false";

class Compilers : public testing::Test {
 protected:
  /// By the driver, whatever it makes of it.
  ProcessResult run(int local, int live, std::vector<std::string> environment,
                    const std::string& settings = {}) {
    if (!settings.empty()) environment.push_back(debug_variable(settings));
    folder_.write("k.ptx", large_frame(local, live));
    return run_process({tool_path("ptxrun"), "-d", "swiftshader", "--executor=device", "--quiet",
                        folder_.write("m.json", kManifest)},
                       "", environment);
  }
  TemporaryFolder folder_;
};

TEST_F(Compilers, WhatSwiftShaderDoesNotSurviveIsRefused) {
  int good = 0, refused = 0;
  for (const auto& [local, live] : std::vector<std::pair<int, int>>{
           {16, 200}, {112'400, 10}, {112'400, 600}, {130'000, 10}, {130'000, 200}}) {
    const ProcessResult result = run(local, live, {"PTX2SPV_CACHE=0"});
    good += result.exit_code == 0;
    if (result.exit_code == 0) continue;
    ++refused;
    EXPECT_EQ(result.exit_code, 6) << local << ' ' << live << '\n' << result.error;
    EXPECT_NE(result.error.find("m.json:2: error: /launches/0: kernel 'k' is too large for the "
                                "compiler of SwiftShader"),
              std::string::npos)
        << result.error;
  }
  EXPECT_GE(good, 2);
  EXPECT_GE(refused, 1);
}

TEST_F(Compilers, WhatSwiftShaderDoesNotTakeTheInterpreterRuns) {
  for (const auto& [local, live] :
       std::vector<std::pair<int, int>>{{16, 200}, {112'400, 600}, {130'000, 200}}) {
    folder_.write("k.ptx", large_frame(local, live));
    const std::vector<std::uint32_t> words = words_in();
    folder_.write("in.bin", {reinterpret_cast<const char*>(words.data()), words.size() * 4});
    const ProcessResult result = run_process(
        {tool_path("ptxrun"), "-d", "swiftshader", "--quiet", folder_.write("m.json", kWithWords)},
        "", {"PTX2SPV_CACHE=0"});
    EXPECT_EQ(result.exit_code, 0) << local << ' ' << live << '\n' << result.error;
    const std::string out = read_whole(folder_.file("out.bin"));
    std::uint32_t left = 0;
    ASSERT_GE(out.size(), sizeof left);
    std::memcpy(&left, out.data(), sizeof left);
    EXPECT_EQ(left, what_the_kernel_leaves(live)) << local << ' ' << live;
  }
}

TEST_F(Compilers, VerdictsAreKept) {
  const std::string cache = "PTX2SPV_CACHE_DIR=" + folder_.file("cache");
  EXPECT_EQ(run(130'000, 600, {cache}).exit_code, 6);
  // With nobody left to try it, the verdict comes from the cache.
  EXPECT_EQ(run(130'000, 600, {cache}, kNobodyTries).exit_code, 6);
}

// Where nothing can be tried, the driver ends the process, but not without a word.
TEST_F(Compilers, TheEndOfTheProcessNamesTheKernel) {
  const ProcessResult result = run(130'000, 600, {"PTX2SPV_CACHE=0"}, kNobodyTries);
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_NE(
      result.error.find("the compiler of the Vulkan driver ended the process over kernel 'k'"),
      std::string::npos)
      << result.error;
}

}  // namespace
}  // namespace ptx2spv::test
