// ptxrun's sanitizer and time limits: what is printed, and the exit codes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

const std::string kModule = R"(.version 8.1
.target sm_90
.address_size 64
.visible .entry store(.param .u64 to)
{
  .reg .b64 %d;
  .reg .b32 %r;
  ld.param.u64 %d, [to];
  mov.u32 %r, %tid.x;
  st.global.u32 [%d+16], %r;
  ret;
}
.visible .entry forever(.param .u64 to)
{
  .reg .b64 %d;
  .reg .b32 %r<3>;
  ld.param.u64 %d, [to];
  mov.u32 %r0, 0;
again:
  add.u32 %r0, %r0, 1;
  st.volatile.global.u32 [%d], %r0;
  mul.lo.u32 %r1, %r0, %r0;
  st.volatile.global.u32 [%d+4], %r1;
  bra again;
}
)";

std::string manifest(const std::string& kernel, int bytes) {
  return R"({"module": "m.ptx", "buffers": {"b": {"bytes": )" + std::to_string(bytes) +
         R"(}}, "launches": [{"kernel": ")" + kernel +
         R"(", "grid": 1, "block": 32, "args": [{"buffer": "b"}]}],
 "outputs": [{"buffer": "b", "raw": "b.bin"}]})";
}

class Sanitizer : public testing::Test {
 protected:
  ProcessResult run(const std::string& text, std::vector<std::string> options,
                    const std::vector<std::string>& environment = {}) {
    options.insert(options.begin(), tool_path("ptxrun"));
    options.push_back(folder_.write("m.json", text));
    return run_process(options, {}, environment);
  }
  void SetUp() override { folder_.write("m.ptx", kModule); }
  TemporaryFolder folder_;
};

TEST_F(Sanitizer, FindingsArePrintedAndEndWithTheirCode) {
  const std::string faulty = manifest("store", 16);
  const ProcessResult found = run(faulty, {"--sanitize=memory"});
  EXPECT_EQ(found.exit_code, 4) << found.error;
  for (const char* part :
       {"m.ptx:10:3: error: out-of-bounds store of 4 bytes in global memory",
        "instruction: st.global.u32 [%d+16], %r", "kernel: store", "block (0, 0, 0), thread (",
        "0 bytes behind the end of buffer 'b' (16 bytes)", "pointer: parameter 'to'", "threads: 32",
        "found 1 faulty place"})
    EXPECT_NE(found.error.find(part), std::string::npos) << part << "\n" << found.error;
  EXPECT_EQ(read_whole(folder_.file("b.bin")), std::string(16, '\0')) << "the run went on";
  EXPECT_EQ(run(faulty, {"--sanitize=all", "--error-exitcode=77"}).exit_code, 77);
  EXPECT_EQ(run(faulty, {}, {"PTX2SPV_SANITIZE=memory"}).exit_code, 4);
  const ProcessResult well = run(manifest("store", 20), {"--sanitize=memory"});
  EXPECT_EQ(well.exit_code, 0) << well.error;
  EXPECT_EQ(well.error, "");
}

TEST_F(Sanitizer, FindingsAreJson) {
  const std::string file = folder_.file("findings.json");
  const ProcessResult found =
      run(manifest("store", 16), {"--sanitize=memory", "--findings=" + file});
  EXPECT_EQ(found.exit_code, 4);
  const auto report = nlohmann::json::parse(read_whole(file), nullptr, false);
  ASSERT_TRUE(report.is_object()) << read_whole(file);
  ASSERT_EQ(report["findings"].size(), 1u);
  const auto& finding = report["findings"][0];
  EXPECT_EQ(finding["kind"], "out-of-bounds");
  EXPECT_EQ(finding["object"], "buffer 'b'");
  EXPECT_EQ(finding["line"], 10);
  EXPECT_EQ(finding["threads"], 32);
  EXPECT_EQ(finding["distance"], 0);
  EXPECT_EQ(finding["inside"], false);
  EXPECT_EQ(report["places_left_out"], 0);
}

TEST_F(Sanitizer, ListsSuppressFindings) {
  const std::string faulty = manifest("store", 16);
  const std::string known = folder_.write("known.txt", "# from the vendor\nmemory at=m.ptx:10\n");
  const ProcessResult covered = run(faulty, {"--sanitize=memory", "--suppressions=" + known});
  EXPECT_EQ(covered.exit_code, 0) << covered.error;
  EXPECT_EQ(covered.error, "ptxrun: findings of the sanitizer that were suppressed: 1\n");
  EXPECT_EQ(run(faulty, {"--sanitize=memory"}, {"PTX2SPV_SUPPRESSIONS=" + known}).exit_code, 0);
  const std::string other = folder_.write("other.txt", "memory at=m.ptx:9\n");
  EXPECT_EQ(run(faulty, {"--sanitize=memory", "--suppressions=" + other}).exit_code, 4);
  const std::string wrong = folder_.write("wrong.txt", "memory\n");
  const ProcessResult refused = run(faulty, {"--sanitize=memory", "--suppressions=" + wrong});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.error.find("wrong.txt:1:1: error: a suppression names"), std::string::npos)
      << refused.error;
  EXPECT_EQ(run(faulty, {"--sanitize=memory", "--suppressions=none.txt"}).exit_code, 2);
  EXPECT_EQ(run(faulty, {"--sanitize=memory"}, {"PTX2SPV_SUPPRESSIONS=none.txt"}).exit_code, 2);
}

TEST_F(Sanitizer, UnknownChecksAndLimitsAreRefused) {
  const ProcessResult unknown = run(manifest("store", 16), {"--sanitize=memry"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.error.find("there is no check 'memry'; there are all, none, memory"),
            std::string::npos)
      << unknown.error;
  EXPECT_EQ(run(manifest("store", 16), {}, {"PTX2SPV_SANITIZE=memry"}).exit_code, 2);
  EXPECT_EQ(run(manifest("store", 16), {"--error-exitcode=256"}).exit_code, 2);
  EXPECT_EQ(run(manifest("store", 16), {"--timeout=soon"}).exit_code, 2);
  EXPECT_EQ(run(manifest("store", 16), {}, {"PTX2SPV_TIMEOUT=soon"}).exit_code, 2);
}

// Where the driver ends long loops by itself, a trap says so before the time is over.
TEST_F(Sanitizer, LaunchesThatNeverEndAreGivenUp) {
  const ProcessResult result = run(manifest("forever", 16), {"--timeout=2"});
  EXPECT_LT(result.milliseconds, 60000);
  EXPECT_TRUE(result.exit_code == 7 || result.exit_code == 4) << result.exit_code << result.error;
  if (result.exit_code == 7) {
    EXPECT_NE(result.error.find("kernel 'forever' did not end within 2 seconds"), std::string::npos)
        << result.error;
  } else {
    EXPECT_NE(result.error.find("a loop makes more iterations"), std::string::npos) << result.error;
  }
}

// 2^31 x 65,535 x 65,535 blocks: no driver ends such a launch.
TEST_F(Sanitizer, ATerminalShowsHowLongALaunchRuns) {
  if (run_process({"/usr/bin/script", "-qec", "true", "/dev/null"}).exit_code != 0)
    GTEST_SKIP() << "no pseudo-terminal can be had here";
  const std::string text = R"({"module": "m.ptx", "buffers": {"b": {"bytes": 64}},
    "launches": [{"kernel": "store", "grid": [2147483647, 65535, 65535], "block": [1, 1, 1],
                  "args": [{"buffer": "b"}]}]})";
  const std::string command = tool_path("ptxrun") + " --timeout=3 " + folder_.write("m.json", text);
  const ProcessResult result = run_process({"/usr/bin/script", "-qec", command, "/dev/null"});
  EXPECT_EQ(result.exit_code, 7) << result.out;
  EXPECT_NE(result.out.find("0 of 1 launches, 1 s"), std::string::npos) << result.out;
  // The line is gone before the error.
  EXPECT_NE(result.out.find("\r\x1b[K" + folder_.path()), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("did not end within 3 seconds"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace ptx2spv::test
