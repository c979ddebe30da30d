// ptx2spv's command line: what it writes, when it writes nothing, and its exit codes.
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/process.hpp"
#include "tests/tools/nested_loops.hpp"
#include "tools/common/json.hpp"
#include "translator/pipeline.hpp"

namespace ptx2spv::test {
namespace {

const std::string kHead = ".version 8.1\n.target sm_90\n.address_size 64\n";

std::string kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name +
         "(.param .u64 surface)\n{\n  .reg .b32 %r<4>;\n  .reg .b64 %s;\n"
         "  ld.param.u64 %s, [surface];\n  mov.u32 %r0, %tid.x;\n" +
         body + "  ret;\n}\n";
}

const std::string kStore = "  sust.b.1d.b32.clamp [%s, {%r0}], %r0;\n";
const std::string kRefused = "  wgmma.fence.sync.aligned;\n";
const std::string kUnknown = "  frobnicate.u32 %r0, %r1;\n";

class Ptx2spv : public testing::Test {
 protected:
  ProcessResult run(std::vector<std::string> arguments, const std::string& input = {}) {
    arguments.insert(arguments.begin(), tool_path("ptx2spv"));
    return run_process(arguments, input);
  }
  TemporaryFolder folder_;
  std::string good_ = folder_.write("good.ptx", kHead + kernel("store", kStore));
  std::string bad_ = folder_.write("bad.ptx", kHead + kernel("wrong", kUnknown));
  std::string mixed_ =
      folder_.write("mixed.ptx", kHead + kernel("first", kStore) + kernel("second", kRefused) +
                                     kernel("third", kStore));
};

TEST_F(Ptx2spv, WritesModuleAndInterface) {
  const std::string out = folder_.file("a.spv"), interface = folder_.file("a.json");
  const ProcessResult result = run({good_, "-o", out, "--reflect", interface});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const std::string words = read_whole(out);
  ASSERT_GT(words.size(), 20u);
  EXPECT_EQ(words.substr(0, 4), std::string("\x03\x02\x23\x07", 4));
  EXPECT_EQ(words.substr(8, 4), std::string(4, '\0'));  // no generator is registered
  tools::Json json;
  std::string error;
  ASSERT_TRUE(tools::parse_json(read_whole(interface), json, error)) << error;
  ASSERT_TRUE(json.find("entries"));
  EXPECT_EQ(json.find("entries")->items.at(0).find("name")->text, "store");
}

TEST_F(Ptx2spv, TheInterfaceKeepsNamesInUtf8) {
  const std::string text =
      kHead + ".file 1 \"gr\u00f6\u00dfe.cu\"\n" + kernel("named", " .loc 1 7 0\n trap;\n");
  const std::string interface = folder_.file("named.json");
  const ProcessResult result =
      run({folder_.write("named.ptx", text), "-g", "-o", "/dev/null", "--reflect", interface});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(read_whole(interface).find("\"gr\u00f6\u00dfe.cu\""), std::string::npos)
      << read_whole(interface);
}

// A terminal gets no raw bytes, and nothing but them is in the way of a pipe.
TEST_F(Ptx2spv, TerminalsGetNoRawBytes) {
  if (run_process({"/usr/bin/script", "-qec", "true", "/dev/null"}).exit_code != 0)
    GTEST_SKIP() << "no pseudo-terminal can be had here";
  const auto on_terminal = [&](const std::string& options) {
    return run_process({"/usr/bin/script", "-qec",
                        tool_path("ptx2spv") + " " + options + " -o - " + good_, "/dev/null"});
  };
  const ProcessResult raw = on_terminal("");
  EXPECT_EQ(raw.exit_code, 2);
  EXPECT_NE(raw.out.find("the module is binary and standard output a terminal"), raw.out.npos)
      << raw.out;
  for (const char c : raw.out)
    EXPECT_TRUE(c == '\n' || c == '\r' || c == '\x1b' || c >= ' ') << int(c);
  const ProcessResult text = on_terminal("-S");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("OpEntryPoint"), text.out.npos) << text.out;
}

TEST_F(Ptx2spv, StandardStreams) {
  const ProcessResult piped = run({"-"}, read_whole(good_));
  EXPECT_EQ(piped.exit_code, 0) << piped.error;
  EXPECT_EQ(piped.out.substr(0, 4), std::string("\x03\x02\x23\x07", 4));
  const ProcessResult text = run({"-S", "-o", "-", good_});
  EXPECT_NE(text.out.find("OpEntryPoint"), std::string::npos);
  EXPECT_EQ(run({"-", "-"}, "").exit_code, 2);
}

TEST_F(Ptx2spv, NothingIsWrittenOnFailure) {
  const std::string out = folder_.file("out.spv");
  EXPECT_EQ(run({bad_, "-o", out}).exit_code, 3);
  EXPECT_EQ(run({good_, "-o", folder_.file("no/folder/out.spv")}).exit_code, 2);
  EXPECT_EQ(run({good_, "-o", "/dev/full"}).exit_code, 2);
  EXPECT_EQ(run({good_, "-e", "absent", "-o", out}).exit_code, 3);
  EXPECT_EQ(folder_.list(), (std::vector<std::string>{"bad.ptx", "good.ptx", "mixed.ptx"}));
  folder_.write("out.spv", "kept");
  EXPECT_EQ(run({bad_, "-o", out}).exit_code, 3);
  EXPECT_EQ(read_whole(out), "kept");
}

TEST_F(Ptx2spv, UsageErrors) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--nothing"},
                                             {"--profile", "nothing", good_},
                                             {"--disable", "gravity", good_},
                                             {"--fp", "loose", good_},
                                             {"-O7", good_},
                                             {"--inline-budget", "-1", good_},
                                             {"--inline-budget", "much", good_},
                                             {"--emit", "poem", good_},
                                             {"--backing", "0", good_},
                                             {"--backing", "0=paper", good_},
                                             {"--backing", "0=image:u8x3:2d", good_},
                                             {"--backing", "0=image:u8x4:4d", good_},
                                             {"--backing", "7=buffer", good_, "-o", "/dev/null"},
                                             {"--check=poem", good_},
                                             {"--threads", "knit", good_},
                                             {"--block", "0", good_},
                                             {folder_.file("absent.ptx")},
                                             {folder_.path()}}) {
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 2) << (arguments.empty() ? "" : arguments[0]) << result.error;
    EXPECT_NE(result.error.find("error: "), std::string::npos);
  }
}

TEST_F(Ptx2spv, MessagesAreLocated) {
  const ProcessResult text = run({bad_, "-o", "/dev/null"});
  EXPECT_NE(text.error.find("bad.ptx:10:"), std::string::npos) << text.error;
  const ProcessResult json = run({bad_, "--diagnostics", "json", "-o", "/dev/null"});
  tools::Json message;
  std::string error;
  ASSERT_TRUE(tools::parse_json(json.error.substr(0, json.error.find('\n')), message, error))
      << json.error;
  EXPECT_EQ(message.find("severity")->text, "error");
  EXPECT_EQ(message.find("line")->integer, 10u);
  EXPECT_EQ(text.error.find('\x1b'), std::string::npos);
  EXPECT_NE(run({bad_, "--color", "always", "-o", "/dev/null"}).error.find('\x1b'),
            std::string::npos);
}

// A header's line alone would not tell which line of one's own is meant.
TEST_F(Ptx2spv, MessagesFollowTheSourceThroughInlining) {
  const std::string places =
      "  .loc 1 12 3\n"
      "  .loc 2 40 5, function_name $L__info0, inlined_at 1 12 3\n"
      "  .loc 3 206 3, function_name $L__info1, inlined_at 2 40 5\n";
  const std::string files =
      ".file 1 \"kernel.cu\"\n.file 2 \"helpers.cuh\"\n.file 3 \"surface.h\"\n";
  const ProcessResult inlined = run(
      {folder_.write("inlined.ptx", kHead + kernel("k", places + kUnknown) + files), "-o", "-"});
  EXPECT_NE(inlined.error.find("surface.h:206: note: the instruction comes from this line\n"
                               "helpers.cuh:40: note: which is inlined here\n"
                               "kernel.cu:12: note: which is inlined here\n"),
            std::string::npos)
      << inlined.error;
  const ProcessResult plain =
      run({folder_.write("plain.ptx",
                         kHead + kernel("k", places + "  .loc 1 13 3\n" + kUnknown) + files),
           "-o", "-"});
  EXPECT_NE(plain.error.find("kernel.cu:13: note: the instruction"), std::string::npos);
  EXPECT_EQ(plain.error.find("inlined"), plain.error.npos) << plain.error;
  // A place that is inlined at itself, and one that no .loc named.
  for (const char* at : {"3 206 3", "1 99 1"}) {
    const ProcessResult odd = run(
        {folder_.write("odd.ptx", kHead +
                                      kernel("k", "  .loc 3 206 3, function_name $L, inlined_at " +
                                                      std::string(at) + "\n" + kUnknown) +
                                      files),
         "-o", "-"});
    EXPECT_EQ(odd.exit_code, 3) << odd.error;
    EXPECT_NE(odd.error.find("note: which is inlined here"), odd.error.npos) << odd.error;
  }
}

// With -g a module names the CUDA source where .loc does, and the PTX where it does not.
TEST_F(Ptx2spv, DebugInformationIsOfTheCudaSource) {
  const std::string file = folder_.write(
      "lines.ptx", kHead + kernel("k", "  .loc 1 12 3\n" + kStore) + ".file 1 \"kernel.cu\"\n");
  const ProcessResult lines = run({"-g", "-S", "-o", "-", file});
  EXPECT_EQ(lines.exit_code, 0) << lines.error;
  std::smatch source;
  ASSERT_TRUE(std::regex_search(lines.out, source, std::regex("(%\\w+) = OpString \"kernel.cu\"")))
      << lines.out;
  EXPECT_NE(lines.out.find("OpLine " + source[1].str() + " 12 "), lines.out.npos) << lines.out;
  const ProcessResult plain = run({"-g", "-S", "-o", "-", good_});
  ASSERT_TRUE(
      std::regex_search(plain.out, source, std::regex("(%\\w+) = OpString \"[^\"]*good.ptx\"")))
      << plain.out;
  EXPECT_NE(plain.out.find("OpLine " + source[1].str() + " 10 "), plain.out.npos) << plain.out;
  EXPECT_EQ(run({"-S", "-o", "-", file}).out.find("OpLine"), std::string::npos);
}

// Each place names the file that it is in, of several that are linked.
TEST_F(Ptx2spv, DebugInformationIsOfTheFileThatAPlaceIsIn) {
  const std::string callee = folder_.write(
      "callee.ptx", kHead +
                        "// nothing\n.visible .func helper() {\n  .reg .b64 %rd1;\n"
                        "  mov.u64 %rd1, 64;\n  st.global.u32 [%rd1], 7;\n  ret;\n}\n");
  const std::string caller = folder_.write(
      "caller.ptx", kHead + ".extern .func helper();\n" + kernel("k", "  call helper, ();\n"));
  const ProcessResult both = run({"-g", "-S", "-o", "-", caller, "--link", callee});
  EXPECT_EQ(both.exit_code, 0) << both.error;
  std::smatch name;
  ASSERT_TRUE(
      std::regex_search(both.out, name, std::regex("(%\\w+) = OpString \"[^\"]*callee.ptx\"")))
      << both.out;
  EXPECT_NE(both.out.find("OpLine " + name[1].str() + " 8 "), both.out.npos) << both.out;
  EXPECT_NE(both.out.find("DebugSource " + name[1].str() + " "), both.out.npos) << both.out;
}

// A module of one kernel of a large file has the lines around its own, where they stand in the
// file.
TEST_F(Ptx2spv, DebugInformationOfOneKernelIsItsPartOfALargeFile) {
  std::string text = kHead;
  for (int k = 0; k < 2000; ++k) text += kernel("k" + std::to_string(k), kStore);
  const std::string file = folder_.write("large.ptx", text);
  const ProcessResult whole = run({"-g", "-S", "-o", "-", file, "--validator-seconds", "0"});
  EXPECT_EQ(whole.exit_code, 0) << whole.error;
  EXPECT_NE(whole.out.find(".entry k1("), whole.out.npos);
  const ProcessResult one = run({"-g", "-S", "-e", "k1000", "-o", "-", file});
  EXPECT_EQ(one.exit_code, 0) << one.error;
  EXPECT_EQ(one.out.find(".entry k10("), one.out.npos);
  const std::size_t begin = one.out.find("OpSource Unknown 0 ");
  ASSERT_NE(begin, one.out.npos);
  const std::size_t at = one.out.find(".entry k1000(", begin);
  ASSERT_NE(at, one.out.npos);
  const auto lines = [](std::string_view part) {
    return std::count(part.begin(), part.end(), '\n');
  };
  EXPECT_EQ(lines(std::string_view(one.out).substr(begin, at - begin)),
            lines(std::string_view(text).substr(0, text.find(".entry k1000("))));
  EXPECT_LT(one.out.size(), whole.out.size() / 4);
}

// Two kernels of one name could not be told apart.
TEST_F(Ptx2spv, KernelsOfOneNameAreRefused) {
  const auto file = [&](const char* name, const char* linkage) {
    return folder_.write(name, kHead + linkage + " .entry same(.param .u64 to) { ret; }\n");
  };
  const std::string local = file("local.ptx", ""), other = file("other.ptx", ""),
                    visible = file("visible.ptx", ".visible"), weak = file("weak.ptx", ".weak"),
                    weaker = file("weaker.ptx", ".weak");
  for (const std::string& second : {other, visible, weak}) {
    const ProcessResult refused = run({local, "--link", second, "-o", "/dev/null"});
    EXPECT_EQ(refused.exit_code, 3) << second;
    EXPECT_NE(refused.error.find("kernel 'same' is defined in "), std::string::npos)
        << refused.error;
  }
  EXPECT_EQ(run({visible, "--link", weak, "-o", "/dev/null"}).exit_code, 0);
  EXPECT_EQ(run({weak, "--link", weaker, "-o", "/dev/null"}).exit_code, 0);
}

// NAME.json is a manifest, as ptxrun --init calls it.
TEST_F(Ptx2spv, NamesOfOutputsAreNotThoseOfManifests) {
  folder_.write("good.json", "a manifest");
  for (const char* kind : {"spirv", "asm", "json", "c-header", "cpp-header"})
    EXPECT_EQ(run_process({"/usr/bin/env", "-C", folder_.path(), tool_path("ptx2spv"), "--emit",
                           kind, "good.ptx"})
                  .exit_code,
              0);
  EXPECT_EQ(read_whole(folder_.file("good.json")), "a manifest");
  for (const char* name : {"good.spv", "good.spvasm", "good.interface.json", "good.h", "good.hpp"})
    EXPECT_GT(read_whole(folder_.file(name)).size(), 100u) << name;
}

TEST_F(Ptx2spv, CheckJudgesEveryKernel) {
  const ProcessResult text = run({"--check", good_, bad_, mixed_});
  EXPECT_EQ(text.exit_code, 3) << text.error;
  EXPECT_NE(text.out.find("mixed.ptx: not translated"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("  first: translated"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("  second: not translated"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("  third: translated"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("mixed.ptx:19:"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("check: 1 of 3 files and 3 of 5 kernels translated"), std::string::npos)
      << text.out;
  EXPECT_EQ(run({"--check", good_}).exit_code, 0);
  EXPECT_EQ(run({"--check", good_, folder_.file("absent.ptx")}).exit_code, 2);
  EXPECT_EQ(folder_.list(), (std::vector<std::string>{"bad.ptx", "good.ptx", "mixed.ptx"}));
}

TEST_F(Ptx2spv, CheckFindsTheGoodKernelAmongManyBadOnes) {
  std::string text = kHead;
  for (int k = 0; k < 100; ++k) text += kernel("bad" + std::to_string(k), kUnknown);
  const std::string many = folder_.write("many.ptx", text + kernel("good", kStore));
  const ProcessResult result = run({"--check", many});
  EXPECT_EQ(result.exit_code, 3) << result.error;
  EXPECT_NE(result.out.find("  bad99: not translated"), std::string::npos);
  EXPECT_NE(result.out.find("  good: translated"), std::string::npos);
  EXPECT_NE(result.out.find("check: 0 of 1 files and 1 of 101 kernels"), std::string::npos);
}

TEST_F(Ptx2spv, CheckForPrograms) {
  const ProcessResult result = run({"--check=json", "--profile", "all", good_, mixed_, bad_});
  EXPECT_EQ(result.exit_code, 3);
  tools::Json json;
  std::string error;
  ASSERT_TRUE(tools::parse_json(result.out, json, error)) << error << result.out;
  const tools::Json* summary = json.find("summary");
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->find("files")->integer, 3u);
  EXPECT_EQ(summary->find("files_translated")->integer, 1u);
  EXPECT_EQ(summary->find("kernels")->integer, 20u);
  EXPECT_EQ(summary->find("kernels_translated")->integer, 12u);
  EXPECT_EQ(json.find("files")->items.at(0).find("kernels")->items.size(), 4u);
}

// One file with many kernels that are hard to validate does not take the time of each.
TEST_F(Ptx2spv, CheckNamesTheKernelsThatTheValidatorHadNoTimeFor) {
  const ProcessResult none = run({"--check", "--validator-seconds", "0", mixed_});
  EXPECT_EQ(none.exit_code, 3) << none.error;
  for (const char* name : {"first", "third"})
    EXPECT_NE(none.out.find("warning: kernel '" + std::string(name) +
                            "': SPIRV-Tools' validator has used up its processor time"),
              std::string::npos)
        << none.out;
  EXPECT_NE(none.out.find("2 of 3 kernels translated, 2 of these not checked by SPIRV-Tools'"),
            std::string::npos)
      << none.out;
  EXPECT_EQ(none.error, "") << "nobody asked for the validator";
  // Too little for one of the two, whose name stands in the report.
  const std::string loops = kernel("loops", nested_loops(3000, "%r1"));
  const std::string hard = folder_.write("hard.ptx", kHead + kernel("easy", kStore) + loops);
  const ProcessResult late = run({"--check", "-q", "--validator-seconds", "1", hard});
  EXPECT_EQ(late.exit_code, 4) << late.out;
  EXPECT_NE(late.error.find("ptx2spv: warning: 1 of 2 translated kernels are not checked by SPIRV-"
                            "Tools' validator"),
            std::string::npos)
      << late.error;
  EXPECT_EQ(run({"--check", "--validator-seconds", "1", hard, bad_}).exit_code, 3);
  const ProcessResult quiet = run({"--check", "-q", "--validator-seconds=0", good_});
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_NE(quiet.out.find("not checked by SPIRV-Tools'"), std::string::npos) << quiet.out;
  for (const bool some : {false, true}) {
    tools::Json json;
    std::string error;
    const std::string seconds = some ? "5" : "0";
    ASSERT_TRUE(tools::parse_json(run({"--check=json", "--validator-seconds", seconds, good_}).out,
                                  json, error))
        << error;
    const tools::Json& kernel = json.find("files")->items.at(0).find("kernels")->items.at(0);
    EXPECT_EQ(kernel.find("validated")->boolean, some);
    EXPECT_EQ(json.find("summary")->find("kernels_not_validated")->integer, some ? 0u : 1u);
  }
  EXPECT_EQ(run({"--check", "--validator-seconds", "-1", good_}).exit_code, 2);
  EXPECT_EQ(run({"--validator-seconds", "0", good_, "-o", folder_.file("out.spv")}).exit_code, 0);
}

TEST_F(Ptx2spv, FilesAreLinked) {
  const std::string caller = folder_.write(
      "caller.ptx", kHead + ".extern .func helper();\n" + kernel("calls", "  call helper, ();\n"));
  const std::string callee = folder_.write(
      "callee.ptx", kHead + ".visible .func helper() { ret; }\n" + kernel("own", kStore));
  const std::string to = folder_.file("out.spv");
  EXPECT_EQ(run({caller, "-o", to}).exit_code, 3);
  EXPECT_EQ(run({caller, callee, "-o", to}).exit_code, 0);
  EXPECT_EQ(run({caller, "--link", callee, "-o", to}).exit_code, 0);
  EXPECT_EQ(run({"--check", caller, callee}).exit_code, 3);
  const ProcessResult check = run({"--check", "--link", callee, caller});
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_EQ(check.out.find("own"), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("check: 1 of 1 files and 1 of 1 kernels"), std::string::npos)
      << check.out;
  EXPECT_EQ(run({"--check", "--link", folder_.file("absent.ptx"), caller}).exit_code, 2);
}

TEST_F(Ptx2spv, KernelsOfTwoThreadModelsAreOneModule) {
  const std::string kernels = folder_.write("models.ptx", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry alone(.param .u64 to)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  st.global.u32 [%rd1], 7;
  ret;
}
.visible .entry voting(.param .u64 to)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  setp.gt.u32 %p1, %r1, 3;
  vote.sync.ballot.b32 %r2, %p1, 0xffffffff;
  st.global.u32 [%rd1], %r2;
  ret;
}
)");
  const ProcessResult result = run({kernels, "-o", "/dev/null", "--reflect", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.out.find("\"direct\""), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\"regions\""), std::string::npos) << result.out;
}

TEST_F(Ptx2spv, ManyFilesInOneCall) {
  std::vector<std::string> arguments = {"--check", "-q"};
  for (int k = 0; k < 300; ++k) arguments.push_back(good_);
  const ProcessResult result = run(arguments);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("check: 300 of 300 files"), std::string::npos) << result.out;
}

// A loop whose truth value becomes one that the loop does not change: NVIDIA's compiler dies of it.
TEST_F(Ptx2spv, LoopsCarryNoTruthValuesWhereTheCompilerCannot) {
  const std::string kernel = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry iterations(.param .u64 out, .param .u32 n)
{
  .reg .b64 %o;
  .reg .b32 %r<9>;
  .reg .pred %p<4>;
  ld.param.u64 %o, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.gt.u32 %p1, %r2, 3;
  setp.gt.u32 %p2, %r1, 5;
  mov.u32 %r3, 0;
  mov.u32 %r4, 0;
again:
  selp.u32 %r5, 3, 5, %p1;
  mad.lo.u32 %r4, %r4, %r5, %r3;
  mov.pred %p1, %p2;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r3, %r1;
  @%p3 bra again;
  st.global.u32 [%o], %r4;
  ret;
}
)";
  const ProcessResult words = run({"-", "-p", "nvidia", "-S", "-o", "-"}, kernel);
  ASSERT_EQ(words.exit_code, 0) << words.error;
  EXPECT_NE(words.out.find("OpPhi %uint"), std::string::npos);
  EXPECT_EQ(words.out.find("OpPhi %bool"), std::string::npos);
  const ProcessResult truth = run({"-", "-p", "lavapipe", "-S", "-o", "-"}, kernel);
  EXPECT_NE(truth.out.find("OpPhi %bool"), std::string::npos) << "the kernel shows nothing";
  EXPECT_EQ(run({"-", "-p", "nvidia", "--check"}, kernel).exit_code, 0);
}

// tests/consumers compiles and launches with both kinds of header.
TEST_F(Ptx2spv, CallsShareOneBodyPastTheBudget) {
  std::string body, calls;
  for (int i = 0; i < 40; ++i) body += "  mul.lo.u32 r, r, a;\n  xor.b32 r, r, 77;\n";
  for (int i = 0; i < 20; ++i) calls += "  call (%r0), mixed, (%r0);\n";
  const std::string file = folder_.write(
      "calls.ptx", kHead + ".func (.reg .b32 r) mixed(.reg .b32 a)\n{\n  mov.b32 r, a;\n" + body +
                       "  ret;\n}\n" + kernel("calls", calls + kStore));
  const auto words = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = options;
    arguments.insert(arguments.end(), {file, "-o", folder_.file("calls.spv")});
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return read_whole(folder_.file("calls.spv")).size() / 4;
  };
  const std::size_t copied = words({}), shared = words({"--inline-budget", "0"});
  EXPECT_GT(copied, 20u * 80 * 4);
  EXPECT_LT(shared, copied / 4);
  EXPECT_EQ(words({"--inline-budget", "40000"}), copied);
}

TEST_F(Ptx2spv, Headers) {
  const std::string header = folder_.file("good.h");
  ASSERT_EQ(run({good_, "--emit", "c-header", "-o", header}).exit_code, 0);
  const std::string text = read_whole(header);
  EXPECT_NE(text.find("typedef struct store_params"), std::string::npos) << text.substr(0, 400);
  EXPECT_NE(text.find("good_spirv["), std::string::npos);
  const std::string typed = folder_.file("good.hpp");
  ASSERT_EQ(run({good_, "--emit", "cpp-header", "-o", typed}).exit_code, 0);
  const std::string lines = read_whole(typed);
  EXPECT_NE(lines.find("struct store {"), std::string::npos) << lines;
  EXPECT_NE(lines.find("ptx2spv::Args args() const {"), std::string::npos) << lines;
}

TEST_F(Ptx2spv, DumpsAndTimes) {
  const ProcessResult dump = run({good_, "--dump-ir", "-o", "/dev/null"});
  EXPECT_NE(dump.error.find("; after "), std::string::npos);
  const ProcessResult one = run({good_, "--dump-ir=ssa", "-o", "/dev/null"});
  EXPECT_NE(one.error.find("; after ssa"), std::string::npos);
  EXPECT_EQ(one.error.find("; after structurize"), std::string::npos);
  EXPECT_NE(run({good_, "--time-passes", "-o", "/dev/null"}).error.find("all passes"),
            std::string::npos);
  EXPECT_NE(run({"--print-supported"}).out.find("suld.b.geom"), std::string::npos);
}

TEST_F(Ptx2spv, StopsAfterAPassAndSkipsOptionalOnes) {
  const ProcessResult stopped = run({good_, "--stop-after=ssa", "-o", folder_.file("none")});
  EXPECT_EQ(stopped.exit_code, 0) << stopped.error;
  EXPECT_NE(stopped.error.find("; after ssa"), std::string::npos);
  EXPECT_EQ(stopped.error.find("error"), std::string::npos) << stopped.error;
  EXPECT_EQ(read_whole(folder_.file("none")), "");
  EXPECT_EQ(run({good_, "--stop-after=legalise-clocks", "-o", "/dev/null"}).exit_code, 3)
      << "does not run";
  const ProcessResult skipped =
      run({good_, "--skip=simplify+simplify-last", "--time-passes", "-o", "/dev/null"});
  EXPECT_EQ(skipped.exit_code, 0) << skipped.error;
  EXPECT_EQ(skipped.error.find("simplify"), std::string::npos) << skipped.error;
  EXPECT_NE(run({good_, "--skip=structurize"}).error.find("'structurize' is required"),
            std::string::npos);
  EXPECT_NE(run({good_, "--skip=no"}).error.find("no pass 'no' to skip"), std::string::npos);
}

// Each pass that may be left out: what remains is a valid module for every profile.
TEST_F(Ptx2spv, EveryOptionalPassMayBeSkipped) {
  const std::string kernels = std::string(PTX2SPV_SOURCE_DIR) + "/tests/kernels/kernels.ptx";
  std::size_t optional = 0;
  for (const PassRow& row : pass_rows()) {
    if (!row.optional) continue;
    ++optional;
    for (const char* profile : {"portable", "lavapipe", "nvidia"}) {
      const ProcessResult one = run(
          {kernels, "--skip=" + std::string(row.name), "--profile", profile, "-o", "/dev/null"});
      EXPECT_EQ(one.exit_code, 0) << row.name << " " << profile << ": " << one.error;
    }
  }
  EXPECT_GT(optional, 15u);
}

// Binary noise and cut-off text: a message, exit code 3, no crash.
TEST_F(Ptx2spv, NoiseIsRefused) {
  std::string noise;
  std::uint32_t state = 12345;
  for (int k = 0; k < 4096; ++k) {
    state = state * 1664525u + 1013904223u;
    noise += char(state >> 24);
  }
  EXPECT_EQ(run({"-", "-o", "/dev/null"}, noise).exit_code, 3);
  EXPECT_EQ(run({"-", "-o", "/dev/null"}, "").exit_code, 3);
  EXPECT_EQ(run({"--check", "-"}, noise).exit_code, 3);
  const std::string text = read_whole(mixed_);
  for (std::size_t size = 0; size < text.size(); size += 29) {
    const ProcessResult result = run({"--check", "-"}, text.substr(0, size));
    EXPECT_TRUE(result.exit_code == 3 || result.exit_code == 0)
        << size << ": " << result.exit_code << result.error;
  }
}

}  // namespace
}  // namespace ptx2spv::test
