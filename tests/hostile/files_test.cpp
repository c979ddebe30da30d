// Files that would wait for ever, and outputs that would go over what is read.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/hostile/hostile.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

class HostileFiles : public testing::Test {
 protected:
  void SetUp() override { folder_.write("k.ptx", good_module()); }

  std::string fifo(const std::string& name) {
    const std::string path = folder_.file(name);
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  static std::string absolute(const std::string& path) {
    return std::filesystem::absolute(path).string();
  }
  /// Runs it in the folder; $1 is ptx2spv and $2 ptxrun.
  ProcessResult shell(const std::string& script) {
    return run_process({"/bin/sh", "-c", "cd \"$0\" || exit 9; " + script, folder_.path(),
                        absolute(tool_path("ptx2spv")), absolute(tool_path("ptxrun"))},
                       "", {"PTX2SPV_CACHE=0"});
  }
  /// A manifest of the good module in which `what` is replaced.
  std::string manifest(const std::string& name, const std::string& what, const std::string& by) {
    std::string text = good_manifest();
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    if (at != std::string::npos) text.replace(at, what.size(), by);
    return folder_.write(name, text);
  }
  TemporaryFolder folder_;
};

TEST_F(HostileFiles, AFifoWithoutAWriterIsAnError) {
  fifo("pipe");
  const ProcessResult result = shell("\"$1\" pipe -o k.spv");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.error.find("pipe: error: is a FIFO that no process writes to"),
            std::string::npos)
      << result.error;
  const ProcessResult output = shell("\"$1\" k.ptx -o pipe");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.error.find("pipe: error: is a FIFO that no process reads"), std::string::npos)
      << output.error;
}

TEST_F(HostileFiles, FifosOfManifestsAreErrorsWithAPlace) {
  fifo("pipe");
  const std::string init = R"("init": {"pattern": 7})";
  std::string files;
  int count = 0;
  for (const auto& [what, by] :
       std::vector<std::pair<std::string, std::string>>{{R"("k.ptx")", R"("pipe")"},
                                                        {init, R"("init": {"raw": "pipe"})"},
                                                        {init, R"("init": {"npy": "pipe"})"},
                                                        {init, R"("init": {"png": "pipe"})"}}) {
    const std::string name = "m" + std::to_string(++count) + ".json";
    manifest(name, what, by);
    files += " " + name;
  }
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result = shell("\"$2\" -j 8 pipe" + files);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(result.exit_code, 2) << result.error;
  EXPECT_NE(result.out.find("0 of 5 manifests passed"), std::string::npos) << result.out;
  std::size_t errors = 0;
  for (std::size_t at = 0; (at = result.error.find("is a FIFO that", at)) != std::string::npos;
       ++at)
    ++errors;
  EXPECT_EQ(errors, 5u) << result.error;
  for (const char* place : {"m1.json:", "m2.json:", "m3.json:", "m4.json:"})
    EXPECT_NE(result.error.find(place), std::string::npos) << place << "\n" << result.error;
}

class HostilePipes : public HostileFiles {
 protected:
  void expect_read(const std::vector<const char*>& scripts) {
    for (const char* script : scripts) {
      ::unlink(folder_.file("out").c_str());
      const ProcessResult result = shell(script);
      EXPECT_EQ(result.exit_code, 0) << script << "\n" << result.error;
      EXPECT_GT(read_whole(folder_.file("out")).size(), 500u) << script;
    }
  }
};

TEST_F(HostilePipes, WithAWriterAreRead) {
  fifo("pipe");
  expect_read({"(sleep 0.2; cat k.ptx >pipe) & \"$1\" pipe -o - >out", "\"$1\" - <k.ptx >out",
               "(sleep 0.2; cat k.ptx) | \"$1\" - >out",
               "cat pipe >out & \"$1\" k.ptx -o pipe; wait"});
}

TEST_F(HostilePipes, AreReadByTheirNamesInDev) {
  if (::access("/dev/stdin", R_OK) != 0 || ::access("/dev/fd/0", R_OK) != 0)
    GTEST_SKIP() << "there is no /dev/stdin or no /dev/fd here";
  expect_read({"cat k.ptx | \"$1\" /dev/stdin -o - >out",
               "(sleep 0.2; cat k.ptx) | \"$1\" /dev/fd/0 -o - >out"});
}

TEST_F(HostileFiles, NoOutputOfPtx2spvGoesOverAnInput) {
  const std::string text = good_module();
  ASSERT_EQ(::link(folder_.file("k.ptx").c_str(), folder_.file("hard").c_str()), 0);
  ASSERT_EQ(::symlink("k.ptx", folder_.file("soft").c_str()), 0);
  folder_.write("bare", text);
  for (const char* script :
       {"\"$1\" k.ptx -o k.ptx", "\"$1\" k.ptx -o ./k.ptx", "\"$1\" k.ptx -o hard",
        "\"$1\" soft -o k.ptx", "\"$1\" k.ptx -o soft", "\"$1\" k.ptx --reflect k.ptx",
        "\"$1\" k.ptx -o k.spv --reflect k.spv", "\"$1\" k.ptx -o k.spv --reflect ./k.spv",
        "\"$1\" k.ptx --link bare -o bare"}) {
    const ProcessResult result = shell(script);
    EXPECT_EQ(result.exit_code, 2) << script << "\n" << result.error;
    EXPECT_NE(result.error.find("error: "), std::string::npos) << script << "\n" << result.error;
    EXPECT_EQ(read_whole(folder_.file("k.ptx")), text) << script;
    EXPECT_EQ(read_whole(folder_.file("bare")), text) << script;
    const std::string written = read_whole(folder_.file("k.spv"));
    EXPECT_TRUE(written.empty() || written == text) << script;
    ::unlink(folder_.file("k.spv").c_str());
  }
  // What is no regular file may be named twice.
  EXPECT_EQ(shell("\"$1\" k.ptx -o /dev/null --reflect /dev/null").exit_code, 0);
}

TEST_F(HostileFiles, NoOutputOfAManifestGoesOverAnother) {
  const auto before = folder_.list();
  const std::string outputs = R"("outputs": [)";
  const std::string buffer = R"({"buffer": "b", "raw": )";
  const auto expect = [&](const std::string& inserted, const std::string& options,
                          const std::string& error) {
    const std::string file = manifest("m.json", outputs, outputs + inserted);
    const std::string text = read_whole(file);
    const ProcessResult result = shell("\"$2\" " + options + " m.json");
    EXPECT_EQ(result.exit_code, 2) << inserted.substr(0, 200) << result.error.substr(0, 2000);
    EXPECT_NE(result.error.find(error), std::string::npos) << result.error.substr(0, 2000);
    EXPECT_EQ(read_whole(file), text);
    EXPECT_EQ(read_whole(folder_.file("k.ptx")), good_module());
    EXPECT_EQ(read_whole(folder_.file("o.raw")), "");
  };
  expect(buffer + R"("m.json"},)", "", "m.json is the manifest, which is read");
  expect(buffer + R"("k.ptx"},)", "", "k.ptx is the file of /module (line ");
  expect(buffer + R"("o.raw"},)" + buffer + R"("./o.raw"},)", "", "m.json:");
  expect(buffer + R"("o.raw"},)" + buffer + R"("./o.raw"},)", "",
         "./o.raw is the file of /outputs/0/raw (line ");
  expect(buffer + R"("o.raw", "expect": "k.ptx", "npy": "k.ptx"},)", "", "which is read");
  expect(buffer + R"("o.raw"},)", "--trace o.raw", "--trace: o.raw is the file of /outputs/0/raw");
  expect(buffer + R"("/dev/null"},)", "--report k.ptx", "--report: k.ptx is the file of /module");
  expect(buffer + R"("/dev/null"},)", "--trace t --report t", "--report: t is the file of --trace");
  expect(buffer + R"("o.raw"},)", "--check --trace k.ptx", "");
  // A hundred thousand outputs to one file are refused at once.
  std::string many;
  for (int k = 0; k < 100'000; ++k) many += buffer + R"("o.raw"},)";
  const auto start = std::chrono::steady_clock::now();
  expect(many, "", "o.raw is the file of /outputs/0/raw (line ");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  ::unlink(folder_.file("t").c_str());
  ::unlink(folder_.file("m.json").c_str());
  EXPECT_EQ(folder_.list(), before);
}

// A file that is opened where standard error was takes no messages.
TEST_F(HostileFiles, ClosedDescriptorsTakeNoFile) {
  folder_.write("m.json", good_manifest());
  ASSERT_EQ(shell("\"$2\" m.json").exit_code, 0);
  const std::string right = read_whole(folder_.file("s.bin"));
  ASSERT_EQ(right.size(), 128u);
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
    ::unlink(folder_.file("s.bin").c_str());
    EXPECT_EQ(shell(std::string("\"$2\" m.json ") + closed).exit_code, 0) << closed;
    EXPECT_EQ(read_whole(folder_.file("s.bin")), right) << closed;
    shell(std::string("\"$1\" --dump-ir k.ptx -o k.spv ") + closed);
    EXPECT_EQ(read_whole(folder_.file("k.spv")).substr(0, 4), "\x03\x02\x23\x07") << closed;
  }
  // What goes to a stream that is closed is lost, and said to be.
  EXPECT_EQ(shell("\"$1\" k.ptx -o - >&-").exit_code, 2);
  EXPECT_EQ(shell("\"$1\" - -o k.spv <&-").exit_code, 2);
}

// Where a limit leaves a driver no memory, that is what is said first.
TEST_F(HostileFiles, LimitsOfMemoryAreNamedFirst) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers take terabytes of addresses";
#endif
  folder_.write("m.json", good_manifest());
  int limited = 0;
  for (const int mib : {24, 40, 80, 160, 300}) {
    const ProcessResult result = shell("ulimit -c 0; ulimit -v " + std::to_string(mib * 1024) +
                                       "; exec \"$2\" -d swiftshader m.json");
    if (result.exit_code < 128) continue;
    ++limited;
    const std::string ours =
        result.error.substr(std::min(result.error.find("ptxrun: "), result.error.size()));
    EXPECT_TRUE(ours.starts_with("ptxrun: error: out of memory: the driver crashed"))
        << result.error;
  }
  EXPECT_GT(limited, 0);
}

// Constant expressions nest as deep as the smallest stacks allow, and no deeper.
TEST_F(HostileFiles, DeepExpressionsFitSmallStacks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers make frames of the stack larger";
#endif
  const auto nested = [&](int depth) {
    std::string text = good_module();
    const std::size_t at = text.rfind("ret;");
    const auto many = static_cast<std::size_t>(depth);
    text.insert(at, ".reg .b32 %deep; mov.u32 %deep, " + std::string(many, '(') + "1" +
                        std::string(many, ')') + ";\n");
    folder_.write("deep.ptx", text);
    return shell("ulimit -c 0; ulimit -s 64; \"$1\" deep.ptx -o /dev/null");
  };
  EXPECT_EQ(nested(32).exit_code, 0);
  for (const int depth : {33, 100, 100'000}) {
    const ProcessResult result = nested(depth);
    EXPECT_EQ(result.exit_code, 3) << depth << result.error;
    EXPECT_NE(result.error.find("expression nested too deeply"), std::string::npos) << result.error;
  }
}

}  // namespace
}  // namespace ptx2spv::test
