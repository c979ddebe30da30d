// ptx2spv on files with fat binaries inside: what it takes, what it lists, what it refuses.
#include <gtest/gtest.h>

#include "tests/fatbin/builder.hpp"
#include "tests/support/process.hpp"
#include "tools/common/json.hpp"

namespace ptx2spv::test {
namespace {

std::string ptx(unsigned arch, const std::string& name, const std::string& body = {}) {
  return ".version 8.0\n.target sm_" + std::to_string(arch) +
         "\n.address_size 64\n.visible .entry " + name + "()\n{\n" + body + "  ret;\n}\n";
}

EntrySpec entry(unsigned arch, Packing packing, const std::string& text) {
  return {1, arch, 0, packing, text, "source.cu", ""};
}

class ProgramTool : public testing::Test {
 protected:
  ProcessResult run(std::vector<std::string> arguments, const std::string& input = {}) {
    arguments.insert(arguments.begin(), tool_path("ptx2spv"));
    return run_process(arguments, input);
  }
  // The kernels of the module that the arguments give.
  std::string kernels(std::vector<std::string> arguments, const std::string& input = {}) {
    arguments.insert(arguments.end(), {"--emit", "json", "-o", "-"});
    const ProcessResult result = run(arguments, input);
    tools::Json json;
    std::string error, names;
    if (result.exit_code != 0 || !tools::parse_json(result.out, json, error))
      return "exit " + std::to_string(result.exit_code) + ": " + result.error + error;
    for (const tools::Json& one : json.find("entries")->items)
      names += one.find("name")->text + " ";
    return names;
  }
  const EntrySpec sass_{2, 80, 0, Packing::zstd, std::string(500, 'S'), "", ""};
  TemporaryFolder folder_;
};

TEST_F(ProgramTool, TakesTheNewestPtxNotOverTheCapability) {
  const std::string file = folder_.write(
      "program",
      make_elf({{".nv_fatbin", make_fatbin({sass_, entry(70, Packing::plain, ptx(70, "volta")),
                                            entry(75, Packing::zstd, ptx(75, "turing")),
                                            entry(90, Packing::lz4, ptx(90, "hopper"))})}}));
  EXPECT_EQ(kernels({file}), "turing ");
  EXPECT_EQ(kernels({"--capability", "7.0", file}), "volta ");
  EXPECT_EQ(kernels({"--capability", "12.0", file}), "hopper ");
  EXPECT_EQ(kernels({"--image", "2", file}), "volta ");
  EXPECT_EQ(kernels({"-"}, read_whole(file)), "turing ");
  const ProcessResult sass = run({"--image", "1", file});
  EXPECT_EQ(sass.exit_code, 3);
  EXPECT_NE(sass.error.find("row 1 of --list is SASS and not PTX"), std::string::npos);
  EXPECT_EQ(run({"--image", "5", file}).exit_code, 3);
  EXPECT_EQ(run({"--image", "0", file}).exit_code, 2);
  EXPECT_EQ(run({"--capability", "75", file}).exit_code, 2);
  const ProcessResult old = run({"--capability", "6.1", file});
  EXPECT_EQ(old.exit_code, 3);
  EXPECT_NE(old.error.find("its PTX is for sm_70, sm_75, sm_90, and none for compute capability "
                           "6.1; --capability 7.0 takes it"),
            std::string::npos)
      << old.error;
}

TEST_F(ProgramTool, TriesOlderPtxWhereTheNewestDoesNotTranslate) {
  const std::string file =
      folder_.write("program.fatbin",
                    make_fatbin({entry(70, Packing::zstd, ptx(70, "older")),
                                 entry(75, Packing::zstd, ptx(75, "newer", "  frobnicate;\n"))}));
  EXPECT_EQ(kernels({file}), "older ");
  const ProcessResult result = run({"-o", "/dev/null", file});
  EXPECT_NE(result.error.find("program.fatbin[2]:6:"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("this older PTX is tried instead"), std::string::npos);
}

TEST_F(ProgramTool, MachineCodeAloneNamesTheFlag) {
  const std::string file =
      folder_.write("program", make_elf({{".nv_fatbin", make_fatbin({sass_})}}));
  const ProcessResult result = run({file});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.error.find("-arch=compute_75"), std::string::npos) << result.error;
  const ProcessResult none = run({folder_.write("plain", make_elf({{".text", "code"}}))});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.error.find("holds no device code"), std::string::npos) << none.error;
}

// nvcc's linker puts such a fat binary in front of the program's own.
TEST_F(ProgramTool, MachineCodeWithoutAFunctionIsLeftAside) {
  const EntrySpec stub{2, 75, 0, Packing::plain, make_elf({{".nv.info", "abcd"}}), "", ""};
  const std::string own = make_fatbin({sass_, entry(75, Packing::zstd, ptx(75, "first"))});
  const auto program = [&](const EntrySpec& linked) {
    return folder_.write("program", make_elf({{".nv_fatbin", make_fatbin({linked}) + own}}));
  };
  EXPECT_EQ(kernels({program(stub)}), "first ");
  EntrySpec code = stub;
  code.contents = make_elf({{".nv.info", "abcd"}, {".text.other", "code"}});
  const ProcessResult refused = run({program(code)});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.error.find("row 1 of --list: it has machine code"), std::string::npos)
      << refused.error;
}

TEST_F(ProgramTool, EachModuleHasItsFile) {
  const std::string one = make_fatbin({sass_, entry(75, Packing::zstd, ptx(75, "first"))}),
                    two = make_fatbin({entry(75, Packing::lz4, ptx(75, "second"))});
  const std::string file = folder_.write("program", make_elf({{".nv_fatbin", one + two}}));
  const ProcessResult refused = run({file, "-o", folder_.file("out.spv")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.error.find("--image takes one of them: 2, 3"), std::string::npos)
      << refused.error;
  EXPECT_EQ(kernels({"--image", "3", file}), "second ");
  const ProcessResult all = run_process(
      {"/bin/sh", "-c", "cd " + folder_.path() + " && " + tool_path("ptx2spv") + " program"});
  EXPECT_EQ(all.exit_code, 0) << all.error;
  EXPECT_EQ(folder_.list(),
            (std::vector<std::string>{"program", "program.2.spv", "program.3.spv"}));
}

TEST_F(ProgramTool, RelocatablePartsAreLinked) {
  const std::string caller =
      ".version 8.0\n.target sm_75\n.address_size 64\n.extern .func helper();\n"
      ".visible .entry calls()\n{\n  call helper, ();\n  ret;\n}\n";
  const std::string callee =
      ".version 8.0\n.target sm_75\n.address_size 64\n.visible .func helper()\n{\n  ret;\n}\n";
  const std::string parts = make_fatbin({entry(75, Packing::zstd, caller)}) +
                            make_fatbin({entry(75, Packing::zstd, callee)}) + make_fatbin({sass_});
  const std::string file = folder_.write("program", make_elf({{"__nv_relfatbin", parts}}));
  EXPECT_EQ(kernels({file}), "calls ");
  EXPECT_NE(run({file, "-o", "/dev/null"}).error.find("note: from row 3 on"), std::string::npos);
  const ProcessResult check = run({"--check", file});
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_NE(check.out.find("check: 2 of 2 files and 1 of 1 kernels translated"), std::string::npos)
      << check.out;
  // An object by itself lacks the function; another file brings it.
  const std::string object = folder_.write(
      "caller.o", make_elf({{"__nv_relfatbin", make_fatbin({entry(75, Packing::zstd, caller)})}}));
  EXPECT_EQ(run({object, "-o", "/dev/null"}).exit_code, 3);
  EXPECT_EQ(kernels({object, "--link", folder_.write("callee.ptx", callee)}), "calls ");
}

TEST_F(ProgramTool, CheckReportsEveryModule) {
  const std::string file = folder_.write(
      "program",
      make_elf({{".nv_fatbin", make_fatbin({entry(75, Packing::zstd, ptx(75, "first"))}) +
                                   make_fatbin({entry(75, Packing::zstd,
                                                      ptx(75, "second", "  frobnicate;\n"))})}}));
  const ProcessResult result = run({"--check", file});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.out.find("program[2]: not translated"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("check: 1 of 2 files and 1 of 2 kernels translated"), std::string::npos)
      << result.out;
}

TEST_F(ProgramTool, Lists) {
  const std::string file = folder_.write(
      "program.a",
      make_archive(
          {{"a.o",
            make_elf({{"__nv_relfatbin",
                       make_fatbin({sass_, entry(75, Packing::lz4, ptx(75, "first"))})}})}}));
  const ProcessResult text = run({"--list", file});
  EXPECT_EQ(text.exit_code, 0) << text.error;
  EXPECT_NE(text.out.find("program.a: 1 fat binary, 2 images"), std::string::npos) << text.out;
  for (const char* word : {"SASS", "PTX", "sm_75", "LZ4", "source.cu (a.o) relocatable"})
    EXPECT_NE(text.out.find(word), std::string::npos) << word << "\n" << text.out;
  const ProcessResult listed = run({"--list=json", file});
  tools::Json json;
  std::string error;
  ASSERT_TRUE(tools::parse_json(listed.out, json, error)) << error << listed.out;
  const tools::Json& binary = json.find("files")->items.at(0).find("fat_binaries")->items.at(0);
  EXPECT_EQ(binary.find("member")->text, "a.o");
  EXPECT_EQ(binary.find("images")->items.at(1).find("arch")->text, "sm_75");
  EXPECT_EQ(run({"--list", folder_.write("text.ptx", ptx(75, "k"))}).exit_code, 2);
  EXPECT_EQ(
      run({"--list", folder_.write("cut.fatbin", make_fatbin({sass_}).substr(0, 50))}).exit_code,
      2);
}

}  // namespace
}  // namespace ptx2spv::test
