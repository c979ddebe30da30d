// Several manifests in one call, names of kernels, drafts, traces and inputs of another kind.
#include "tests/ptxrun/fixture.hpp"
#include "tools/common/json.hpp"

namespace ptx2spv::test {
namespace {

tools::Json parsed(const std::string& text) {
  tools::Json json;
  std::string error;
  EXPECT_TRUE(tools::parse_json(text, json, error)) << error << "\n" << text;
  return json;
}

/// A member that is a number; the largest where there is none.
std::uint64_t number(const tools::Json& json, const char* name) {
  const tools::Json* found = json.find(name);
  return found ? found->integer : ~std::uint64_t(0);
}

class Batch : public Ptxrun {
 protected:
  /// Two manifests that pass and one, in the middle, that does not.
  std::vector<std::string> three() {
    return {folder_.write("a.json", manifest(kLaunch, R"({"surface": "s"})")),
            folder_.write("b.json", manifest(kLaunch, R"({"surface": "s", "sha256": ")" +
                                                          std::string(64, '0') + "\"}")),
            folder_.write("c.json", manifest(kLaunch, R"({"buffer": "b"})"))};
  }
  ProcessResult call(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), tool_path("ptxrun"));
    for (const std::string& file : three()) arguments.push_back(file);
    return run_process(arguments);
  }
};

TEST_F(Batch, EveryManifestHasItsVerdict) {
  for (const char* jobs : {"-j1", "-j3"}) {
    const ProcessResult result = call({jobs});
    EXPECT_EQ(result.exit_code, 1) << result.error;
    const std::size_t a = result.out.find("passed " + folder_.file("a.json")),
                      b = result.out.find("FAILED " + folder_.file("b.json")),
                      c = result.out.find("passed " + folder_.file("c.json"));
    EXPECT_TRUE(a < b && b < c && c != std::string::npos) << result.out;
    EXPECT_NE(result.out.find("2 of 3 manifests passed\n"), std::string::npos) << result.out;
    EXPECT_NE(result.error.find("b.json:6: error: /outputs/0: "), std::string::npos)
        << result.error;
  }
  const ProcessResult quiet = call({"-q"});
  EXPECT_EQ(quiet.out.find("passed"), std::string::npos) << quiet.out;
  EXPECT_NE(quiet.out.find("FAILED"), std::string::npos) << quiet.out;
}

TEST_F(Batch, AnExecutorIsChosen) {
  for (const char* who : {"auto", "device", "host"})
    EXPECT_NE(call({"--executor", who}).out.find("2 of 3 manifests passed\n"), std::string::npos)
        << who;
  const ProcessResult other = call({"--executor=both"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.error.find("--executor takes auto, device, host, not 'both'"), std::string::npos)
      << other.error;
}

TEST_F(Batch, PatternsChoose) {
  const ProcessResult some = call({"--only", "[ac].json"});
  EXPECT_EQ(some.exit_code, 0) << some.error;
  EXPECT_NE(some.out.find("2 of 2 manifests passed"), std::string::npos) << some.out;
  const ProcessResult other = call({"--filter", "[ac].json"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.error.find("--only [ac].json chooses manifests by name"), std::string::npos)
      << other.error;
  const ProcessResult none = call({"--only", "absent*"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.error.find("no manifest fits --only"), std::string::npos) << none.error;
}

TEST_F(Batch, ReportsForPrograms) {
  const std::string file = folder_.file("report.xml");
  const ProcessResult result = call({"--json", "--junit", file});
  const tools::Json json = parsed(result.out);
  EXPECT_EQ(number(json, "manifests"), 3u);
  EXPECT_EQ(number(json, "passed"), 2u);
  ASSERT_TRUE(json.find("results") && json.find("results")->items.size() == 3) << result.out;
  const tools::Json& middle = json.find("results")->items[1];
  EXPECT_EQ(number(middle, "exit_code"), 1u);
  EXPECT_NE(middle.find("reason")->text.find("sha256"), std::string::npos) << result.out;
  const std::string xml = read_whole(file);
  EXPECT_NE(xml.find("tests=\"3\" failures=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("<failure message=\""), std::string::npos) << xml;
  // One manifest has the same form.
  const ProcessResult one = run(manifest(kLaunch, R"({"surface": "s"})"), {"--json"});
  EXPECT_EQ(number(parsed(one.out), "passed"), 1u);
}

// What a driver does to the process of one manifest leaves the others' verdicts alone.
TEST_F(Batch, ACrashEndsOneManifest) {
  if (const char* device = std::getenv("PTX2SPV_DEVICE");
      !device || (std::string(device) != "swiftshader" && std::string(device) != "lavapipe"))
    GTEST_SKIP() << "only drivers on the CPU are known to crash of a wild pointer";
  const std::string launch = R"({"kernel": "add_once", "grid": 1, "block": 1,
 "args": [{"bytes": "4000000000000000"}]})";
  const std::string wild = folder_.write("wild.json", manifest(launch, ""));
  const std::string good = folder_.write("good.json", manifest(kLaunch, R"({"surface": "s"})"));
  const ProcessResult result = run_process({tool_path("ptxrun"), wild, good});
  EXPECT_GE(result.exit_code, 128) << result.error;
  EXPECT_NE(result.out.find("1 of 2 manifests passed"), std::string::npos) << result.out;
  EXPECT_NE(result.error.find("address 0x0000000000000040"), std::string::npos) << result.error;
}

// lavapipe where the project knows it, else SwiftShader, and a SwiftShader that is named first.
TEST_F(Batch, TheFasterDriverOfTheCpu) {
  const ProcessResult list = run_process({tool_path("ptxrun"), "--list-devices", "--json"}, {},
                                         {"PTX2SPV_DEVICE=", "PTX2SPV_SWIFTSHADER="});
  const bool lavapipe = list.out.find("llvmpipe") != std::string::npos;
  folder_.write("m.json", manifest(kLaunch, R"({"surface": "s"})"));
  const ProcessResult result =
      run_process({tool_path("ptxrun"), "--device", "cpu", "-v", folder_.file("m.json")}, {},
                  {"PTX2SPV_DEVICE=", "PTX2SPV_SWIFTSHADER="});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  const bool taken = result.out.find("llvmpipe") != std::string::npos;
  EXPECT_NE(result.error.find("note: --device cpu takes "), std::string::npos) << result.error;
  EXPECT_TRUE(taken || result.out.find("SwiftShader") != std::string::npos) << result.out;
  if (!lavapipe) GTEST_SKIP() << "lavapipe is not installed";
  const ProcessResult probe = run_process({tool_path("ptxrun"), "--probe", "--device", "lavapipe"},
                                          {}, {"PTX2SPV_DEVICE=", "PTX2SPV_SWIFTSHADER="});
  const bool known = probe.out.find("the device is known") != std::string::npos;
  EXPECT_EQ(taken, known) << result.out << probe.out;
}

// The device is there: what is too large has an exit code of its own.
TEST_F(Batch, AnImageThatIsTooLargeIsNoMissingDevice) {
  std::string text = manifest(kLaunch, "");
  text.replace(text.find("\"width\": 8"), 10, "\"width\": 500000, \"backing\": \"image\"");
  const ProcessResult result = run(text);
  EXPECT_EQ(result.exit_code, 6) << result.error;
  EXPECT_NE(result.error.find("m.json:2: error: /surfaces/s: an image of 500000 x 1"),
            std::string::npos)
      << result.error;
}

TEST_F(Batch, FoldersForOutputsAreMade) {
  const std::string folder = folder_.file("new/folder");
  const ProcessResult result =
      run(manifest(kLaunch, R"({"surface": "s", "raw": "s.bin"})"), {"-o", folder});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(read_whole(folder + "/s.bin").size(), 32u);
}

TEST_F(Batch, KernelsByTheNameTheirAuthorWrote) {
  std::string mangled = kFill;
  const auto rename = [&](const std::string& from, const std::string& to) {
    const std::size_t at = mangled.find("entry " + from);
    mangled.replace(at + 6, from.size(), to);
  };
  rename("fill", "_ZN7filters4fillEyyj");
  rename("add_once", "_ZN7filters8add_onceEPj");
  folder_.write("fill.ptx", mangled);
  EXPECT_EQ(run(manifest(kLaunch, R"({"surface": "s"})")).exit_code, 0);
  const ProcessResult absent = run(manifest(R"({"kernel": "blur", "grid": 1, "block": 1})", ""));
  EXPECT_EQ(absent.exit_code, 2);
  for (const char* text :
       {"/launches/0: there is no kernel 'blur'",
        "'_ZN7filters4fillEyyj' (filters::fill(unsigned long long, unsigned long long, "
        "unsigned int))"})
    EXPECT_NE(absent.error.find(text), std::string::npos) << absent.error;
  // Two that differ in their arguments alone.
  rename("_ZN7filters8add_onceEPj", "_ZN7filters4fillEPj");
  folder_.write("fill.ptx", mangled);
  const ProcessResult two = run(manifest(kLaunch, ""));
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_NE(two.error.find("2 kernels are called 'fill'"), std::string::npos) << two.error;
  std::string which = kLaunch;
  which.replace(which.find("\"fill\""), 6, "\"filters::fill(unsigned int*)\"");
  const ProcessResult chosen = run(manifest(which, ""));
  EXPECT_NE(chosen.error.find("has 1 parameter: u64 buffer, and 3 arguments were given"),
            std::string::npos)
      << chosen.error;
}

TEST_F(Batch, CheckingNeedsNoDevice) {
  const auto check = [&](const std::string& text) {
    folder_.write("m.json", text);
    return run_process({tool_path("ptxrun"), "--check", folder_.file("m.json")}, {},
                       {"PTX2SPV_DEVICE=no such device"});
  };
  EXPECT_EQ(check(manifest(kLaunch, R"({"surface": "s"})")).exit_code, 0);
  const ProcessResult kernel = check(manifest(R"({"kernel": "no", "grid": 1, "block": 1})", ""));
  EXPECT_EQ(kernel.exit_code, 2);
  EXPECT_NE(kernel.error.find("there is no kernel 'no'"), std::string::npos) << kernel.error;
  const ProcessResult expected =
      check(manifest(kLaunch, R"({"surface": "s", "expect": "absent.bin"})"));
  EXPECT_EQ(expected.exit_code, 2);
  EXPECT_NE(expected.error.find("absent.bin No such file"), std::string::npos) << expected.error;
  const ProcessResult reference = check(manifest(
      R"({"kernel": "by_reference", "grid": 1, "block": 8, "surfrefs": {"other": "s"}})", ""));
  EXPECT_NE(reference.error.find("uses no .surfref 'other'; it uses out_ref"), std::string::npos)
      << reference.error;
  folder_.write("fill.ptx", ".version 8.1\n.target sm_90\n.entry fill() { nonsense; }\n");
  const ProcessResult module = check(manifest(kLaunch, ""));
  EXPECT_EQ(module.exit_code, 2);
  EXPECT_NE(module.error.find("fill.ptx:3:"), std::string::npos) << module.error;
}

TEST_F(Batch, DraftsRunAsTheyAre) {
  const std::string file = folder_.file("fill.ptx");
  const ProcessResult made =
      run_process({tool_path("ptxrun"), "--init", file, "-o", folder_.path()});
  ASSERT_EQ(made.exit_code, 0) << made.error;
  const tools::Json json = parsed(read_whole(folder_.file("fill.json")));
  ASSERT_TRUE(json.find("module") && json.find("launches") && json.find("surfaces") &&
              json.find("surfaces")->find("surface"));
  EXPECT_EQ(json.find("module")->text, "fill.ptx");
  EXPECT_EQ(json.find("launches")->items.size(), 3u);
  const tools::Json& surface = *json.find("surfaces")->find("surface");
  EXPECT_EQ(surface.find("geometry")->text, "1d");
  EXPECT_EQ(surface.find("format")->text, "u32");
  const ProcessResult checked =
      run_process({tool_path("ptxrun"), "--check", folder_.file("fill.json")});
  EXPECT_EQ(checked.exit_code, 0) << checked.error;
  const ProcessResult again =
      run_process({tool_path("ptxrun"), "--init", file, "-o", folder_.path()});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.error.find("is there already"), std::string::npos) << again.error;
}

TEST_F(Batch, TracesShowWhatTookTime) {
  const std::string file = folder_.file("trace.json");
  const ProcessResult result = run(manifest(kLaunch, R"({"surface": "s"})"), {"--trace", file});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  const tools::Json json = parsed(read_whole(file));
  ASSERT_TRUE(json.find("traceEvents"));
  std::vector<std::string> names;
  for (const tools::Json& event : json.find("traceEvents")->items) {
    ASSERT_TRUE(event.find("name"));
    names.push_back(event.find("name")->text);
  }
  for (const char* name : {"open the device", "upload s", "launch fill", "download s"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

// An older file does not stay where the run failed.
TEST_F(Batch, FailedRunsAreShownToo) {
  const std::string page = folder_.file("report.html"), trace = folder_.file("trace.json");
  const std::string wrong = R"({"kernel": "no", "grid": 1, "block": 1})";
  for (const std::string& text : {std::string("{"), manifest(wrong, "")}) {
    folder_.write("report.html", "old");
    folder_.write("trace.json", "old");
    EXPECT_EQ(run(text, {"--report", page, "--trace", trace}).exit_code, 2);
    EXPECT_NE(read_whole(page).find("m.json: <span class=\"failed\">failed"), std::string::npos);
    EXPECT_TRUE(parsed(read_whole(trace)).find("traceEvents"));
  }
  EXPECT_EQ(run(manifest(kLaunch, ""), {"--check", "--report", page}).exit_code, 2);
}

TEST_F(Batch, ReportsAreWholePages) {
  folder_.write("want.bin", words({10, 11, 12, 13, 14, 15, 16, 99}));
  const std::string file = folder_.file("report.html");
  EXPECT_EQ(run(manifest(kLaunch, R"({"surface": "s", "expect": "want.bin", "raw": "<b>&.bin"})"),
                {"--report", file})
                .exit_code,
            1);
  const std::string page = read_whole(file);
  for (const char* text :
       {"<!DOCTYPE html>", "m.json: <span class=\"failed\">an output differs", "<td>fill</td>",
        "where it differs", "1 of 8 components differ", "&lt;b&gt;&amp;.bin", "</html>"})
    EXPECT_NE(page.find(text), std::string::npos) << text << "\n" << page;
  EXPECT_EQ(page.find("<b>&"), page.npos);
  // Nothing is loaded from elsewhere: both pictures are in the page.
  std::size_t pictures = 0;
  for (std::size_t at = page.find("src="); at != page.npos; at = page.find("src=", at + 1)) {
    EXPECT_EQ(page.compare(at, 27, "src=\"data:image/png;base64,"), 0) << page.substr(at, 40);
    ++pictures;
  }
  EXPECT_EQ(pictures, 2u);
  // A trap's record, with what HTML would read as a tag.
  const std::string launch =
      R"({"kernel": "fill", "grid": 3, "block": 4, "args": [{"surface": "s"}, {"buffer": "b"},
       {"u32": 10}]})";
  EXPECT_EQ(run(manifest(launch, ""), {"--report", file}).exit_code, 4);
  const std::string trapped = read_whole(file);
  EXPECT_NE(trapped.find("a kernel trapped"), std::string::npos) << trapped;
  EXPECT_NE(trapped.find("sust.b.1d.b32.trap"), std::string::npos) << trapped;
}

TEST_F(Batch, InputsOfAnotherKindAreNamed) {
  const auto says = [&](const std::string& contents, const std::string& text) {
    const ProcessResult result =
        run_process({tool_path("ptxrun"), folder_.write("input", contents)});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.error.find(text), std::string::npos) << result.error;
    for (const char c : result.error) EXPECT_TRUE(c == '\n' || c >= ' ') << result.error;
  };
  says("\x89PNG\r\n\x1a\n....", "is a PNG picture");
  says(std::string("\x03\x02\x23\x07\x00\x06\x01\x00", 8), "is a SPIR-V module");
  says(
      "\x7f"
      "ELF\x02\x01\x01",
      "is an ELF program or object");
  says("\xff\xfe{\x01", "is text in UTF-16");
  says("// a kernel\n.version 8.1\n", "is PTX");
  const std::string text = manifest(kLaunch, R"({"surface": "s"})");
  EXPECT_EQ(run("\xef\xbb\xbf" + text).exit_code, 0);
  // A manifest that names what is no PTX.
  folder_.write("fill.ptx", "\x89PNG\r\n\x1a\n....");
  const ProcessResult picture = run(text);
  EXPECT_EQ(picture.exit_code, 2);
  EXPECT_NE(picture.error.find("m.json:1: error: /module: "), std::string::npos) << picture.error;
  EXPECT_NE(picture.error.find("is a PNG picture, and PTX is wanted"), std::string::npos)
      << picture.error;
}

}  // namespace
}  // namespace ptx2spv::test
