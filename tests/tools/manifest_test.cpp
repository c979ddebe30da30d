// Manifests that are wrong: each gives a message with file, line and pointer, and exit code 2.
#include <gtest/gtest.h>

#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

// A good manifest; cases replace one piece of it.
const std::string kGood = R"({
  "module": "k.ptx",
  "surfaces": {
    "img": {"geometry": "2d", "format": "u8", "channels": 4, "width": 8, "height": 4, "init":
     {"pattern": 7}},
    "vol": {"geometry": "3d", "format": "f32", "channels": 1, "width": 4, "height": 4, "depth": 2}
  },
  "textures": {"tex": {"resource": "img", "read": "normalized_float", "address": ["wrap", "clamp"],
   "filter": "linear", "normalized": true}},
  "buffers": {"buf": {"bytes": 64, "init": {"handles": ["img", null, "tex"]}}},
  "globals": {"g": {"u32": 3}},
  "launches": [
    {"kernel": "k", "grid": [2, 1, 1], "block": 16, "shared": 0, "repeat": 1,
     "args": [{"surface": "img"}, {"buffer": "buf", "offset": 8}, {"texture": "tex"}, {"u32": 5},
      {"f32": 0.5}, {"bytes": "00ff 11_22"}, {"s64": "-0x10"}, {"f16": "inf"}],
     "surfrefs": {"S": "vol"}, "texrefs": {"T": "tex"}}
  ],
  "outputs": [
    {"surface": "img", "png": "o.png", "npy": "o.npy", "raw": "o.bin"},
    {"buffer": "buf", "npy": "b.npy", "dtype": "u32"}
  ]
})";

// What the good manifest launches.
const char* const kKernel = R"(.version 8.0
.target sm_75
.address_size 64
.global .surfref S;
.global .texref T;
.global .u32 g;
.visible .entry k(.param .u64 surface, .param .u64 buffer, .param .u64 texture, .param .u32 count,
                  .param .f32 gain, .param .b32 bits, .param .s64 offset, .param .b16 half)
{
  .reg .b32 %r<6>;
  .reg .b64 %d;
  ld.param.u64 %d, [surface];
  mov.u32 %r0, 0;
  sust.b.2d.b32.zero [%d, {%r0, %r0}], %r0;
  tex.2d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [T, {%r0, %r0}];
  sust.b.3d.b32.zero [S, {%r0, %r0, %r0, %r0}], %r1;
  ret;
}
)";

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string text = kGood;
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return at == std::string::npos ? text : text.replace(at, old_text.size(), new_text);
}

class Manifest : public testing::Test {
 protected:
  ProcessResult check(const std::string& text) {
    return run_process({tool_path("ptxrun"), "--check", folder_.write("m.json", text)});
  }
  void refused(const std::string& text, const std::string& expected) {
    const ProcessResult result = check(text);
    EXPECT_EQ(result.exit_code, 2) << text << result.error;
    EXPECT_NE(result.error.find("m.json:"), std::string::npos) << text << result.error;
    EXPECT_NE(result.error.find("error: " + expected), std::string::npos) << expected << "\n"
                                                                          << result.error;
  }
  void SetUp() override { folder_.write("k.ptx", kKernel); }
  TemporaryFolder folder_;
};

TEST_F(Manifest, TheGoodOneIsTaken) {
  const ProcessResult result = check(kGood);
  EXPECT_EQ(result.exit_code, 0) << result.error;
}

TEST_F(Manifest, Syntax) {
  for (const char* text : {"", "{", "[", "nul", "{\"module\": }", "\x01\x02\xff",
                           "{\"a\": 1} trailing", "{'a': 1}", "{\"module\": \"\\ud800\"}"})
    EXPECT_EQ(check(text).exit_code, 2) << text;
  refused("[]", "/: has to be an object");
  refused("7", "/: has to be an object");
  refused(with("\"module\": \"k.ptx\",", "\"module\": \"k.ptx\", \"module\": \"l.ptx\","),
          "\"module\" is given twice");
  // Cut off at every length: never a crash, never taken.
  for (std::size_t size = 1; size < kGood.size(); size += 37)
    EXPECT_EQ(check(kGood.substr(0, size)).exit_code, 2) << size;
}

TEST_F(Manifest, UnknownAndMissingFields) {
  refused(with("\"module\": \"k.ptx\",", ""), "/: needs the field \"module\"");
  refused(with("\"module\": \"k.ptx\"", "\"module\": 3"), "/module: has to be a string");
  refused(with("\"module\": \"k.ptx\"", "\"module\": []"), "/module: names no module");
  refused(with("\"module\"", "\"modul\""), "/modul: there is no such field");
  refused(with("\"surfaces\": {", "\"surfaces\": [], \"x\": {"), "/surfaces: has to be an object");
  refused(with("\"launches\"", "\"lunches\""), "/: needs the field \"launches\"");
  refused("{\"module\": \"k.ptx\", \"launches\": []}", "/launches: holds no launch");
  refused(with("\"kernel\": \"k\", ", ""), "/launches/0: needs the field \"kernel\"");
  refused(with("\"grid\": [2, 1, 1], ", ""), "/launches/0: needs the field \"grid\"");
  refused(with("\"channels\": 4, ", ""), "/surfaces/img: needs the field \"channels\"");
  refused(with(", \"height\": 4, \"init\"", ", \"init\""),
          "/surfaces/img: needs the field \"height\"");
  refused(with("\"width\": 8", "\"width\": 8, \"colour\": 3"),
          "/surfaces/img/colour: there is no such field");
}

TEST_F(Manifest, Surfaces) {
  refused(with("\"2d\"", "\"4d\""), "/surfaces/img/geometry: there is no geometry \"4d\"");
  refused(with("\"2d\"", "2"), "/surfaces/img/geometry: has to be a string");
  refused(with("\"u8\"", "\"u9\""), "/surfaces/img/format: there is no format \"u9\"");
  refused(with("\"channels\": 4", "\"channels\": 3"),
          "/surfaces/img/channels: a surface has 1, 2 or 4");
  refused(with("\"channels\": 4", "\"channels\": 0"),
          "/surfaces/img/channels: has to be from 1 to 4");
  refused(with("\"width\": 8", "\"width\": 0"), "/surfaces/img/width: has to be from 1");
  refused(with("\"width\": 8", "\"width\": -8"), "/surfaces/img/width: has to be from 1");
  refused(with("\"width\": 8", "\"width\": 8.5"), "/surfaces/img/width: has to be an integer");
  refused(with("\"width\": 8", "\"width\": 1e99"), "/surfaces/img/width: has to be an integer");
  refused(with("\"width\": 8", "\"width\": 99999999999999999999"), "/surfaces/img/width: ");
  refused(with("\"width\": 8", "\"width\": \"wide\""), "/surfaces/img/width: is not an integer");
  refused(with("\"width\": 8, \"height\": 4", "\"width\": 2000000000, \"height\": 2000000000"),
          "/surfaces/img: is larger than");
  refused(with("\"width\": 8, \"height\": 4", "\"width\": 200000, \"height\": 200000"),
          "/surfaces/img: brings the manifest to");
  refused(with("\"width\": 8", "\"width\": 8, \"depth\": 2"),
          "/surfaces/img/depth: a 2d surface has no depth");
  refused(with("\"width\": 8", "\"width\": 8, \"layers\": 2"),
          "/surfaces/img/layers: a 2d surface has no layers");
  refused(with("\"width\": 8", "\"width\": 8, \"levels\": 9"),
          "/surfaces/img: has no room for 9 levels");
  refused(with("\"width\": 8", "\"width\": 8, \"backing\": \"paper\""),
          "/surfaces/img/backing: there is no backing");
}

TEST_F(Manifest, Contents) {
  refused(with("{\"pattern\": 7}", "{}"), "/surfaces/img/init: has to hold exactly one");
  refused(with("{\"pattern\": 7}", "{\"pattern\": 7, \"zero\": true}"),
          "/surfaces/img/init: has to hold exactly one");
  refused(with("{\"pattern\": 7}", "{\"noise\": 7}"),
          "/surfaces/img/init/noise: there is no such kind");
  refused(with("{\"pattern\": 7}", "{\"pattern\": -1}"),
          "/surfaces/img/init/pattern: has to be from 0");
  refused(with("{\"pattern\": 7}", "{\"zero\": false}"),
          "/surfaces/img/init/zero: can only be true");
  refused(with("{\"pattern\": 7}", "{\"bytes\": \"0g\"}"),
          "/surfaces/img/init/bytes: holds something");
  refused(with("{\"pattern\": 7}", "{\"bytes\": \"012\"}"),
          "/surfaces/img/init/bytes: holds an odd number");
  refused(with("{\"pattern\": 7}", "{\"bytes\": \"\"}"),
          "/surfaces/img/init/bytes: holds no bytes");
  refused(with("{\"pattern\": 7}", "{\"handles\": [\"img\"]}"),
          "/surfaces/img/init/handles: a surface cannot hold");
  refused(with("{\"pattern\": 7}", "{\"raw\": \"absent.bin\"}"), "/surfaces/img: ");
  refused(with("{\"pattern\": 7}", "{\"npy\": \"k.ptx\"}"), "/surfaces/img: ");
  refused(with("{\"pattern\": 7}", "{\"png\": \"k.ptx\"}"), "/surfaces/img: ");
  refused(with("{\"pattern\": 7}", "{\"raw\": \"k.ptx\"}"), "/surfaces/img: ");
  refused(with("\"handles\": [\"img\", null, \"tex\"]", "\"handles\": [\"nothing\"]"),
          "/buffers/buf/init/handles/0: there is no surface, texture or sampler");
  refused(with("\"handles\": [\"img\", null, \"tex\"]", "\"handles\": [1]"),
          "/buffers/buf/init/handles/0: has to be a string");
  refused(with("\"bytes\": 64", "\"bytes\": 16"), "/buffers/buf/init: has 3 handles");
  refused(with("\"bytes\": 64", "\"bytes\": 0"), "/buffers/buf/bytes: has to be from 1");
  refused(with("\"bytes\": 64", "\"bytes\": 999999999999999"),
          "/buffers/buf/bytes: has to be from 1");
  refused(with("{\"u32\": 3}", "{\"u32\": \"three\"}"), "/globals/g/u32: is not an integer");
  refused(with("{\"u32\": 3}", "{\"png\": \"x.png\"}"), "/globals/g/png: only a surface");
}

TEST_F(Manifest, Launches) {
  refused(with("[2, 1, 1]", "[2, 1, 1, 1]"), "/launches/0/grid: takes one to three");
  refused(with("[2, 1, 1]", "[]"), "/launches/0/grid: takes one to three");
  refused(with("[2, 1, 1]", "[2, 0, 1]"), "/launches/0/grid/1: has to be from 1 to 65535");
  refused(with("[2, 1, 1]", "[3000000000, 1, 1]"),
          "/launches/0/grid/0: has to be from 1 to 2147483647");
  refused(with("[2, 1, 1]", "[\"x\"]"), "/launches/0/grid/0: is not an integer");
  refused(with("\"block\": 16", "\"block\": [32, 64]"),
          "/launches/0/block: has more than 1024 threads");
  refused(with("\"block\": 16", "\"block\": [1, 1, 65]"),
          "/launches/0/block/2: has to be from 1 to 64");
  refused(with("\"shared\": 0", "\"shared\": 999999999"), "/launches/0/shared: has to be from 0");
  refused(with("\"repeat\": 1", "\"repeat\": 0"), "/launches/0/repeat: has to be from 1");
  refused(with("\"repeat\": 1", "\"repeat\": true"), "/launches/0/repeat: has to be an integer");
  refused(with("{\"surface\": \"img\"}, {\"buffer\"", "{\"surface\": \"no\"}, {\"buffer\""),
          "/launches/0/args/0/surface: there is no surface \"no\"");
  refused(with("{\"surface\": \"img\"}, {\"buffer\"", "7, {\"buffer\""),
          "/launches/0/args/0: has to be an object");
  refused(with("{\"surface\": \"img\"}, {\"buffer\"", "{}, {\"buffer\""),
          "/launches/0/args/0: has to hold surface");
  refused(with("{\"surface\": \"img\"}, {\"buffer\"",
               "{\"surface\": \"img\", \"level\": 1}, {\"buffer\""),
          "/launches/0/args/0/level: has to be from 0 to 0");
  refused(with("\"offset\": 8", "\"offset\": 65"),
          "/launches/0/args/1/offset: has to be from 0 to 64");
  refused(with("{\"texture\": \"tex\"}", "{\"texture\": \"img\"}"),
          "/launches/0/args/2/texture: there is no texture");
  refused(with("{\"u32\": 5}", "{\"u32\": -5}"), "/launches/0/args/3/u32: does not fit u32");
  refused(with("{\"u32\": 5}", "{\"u32\": 4294967296}"),
          "/launches/0/args/3/u32: does not fit u32");
  refused(with("{\"u32\": 5}", "{\"s8\": 128}"), "/launches/0/args/3/s8: does not fit s8");
  refused(with("{\"u32\": 5}", "{\"s8\": -129}"), "/launches/0/args/3/s8: does not fit s8");
  refused(with("{\"u32\": 5}", "{\"u24\": 1}"),
          "/launches/0/args/3/u24: there is no such kind of argument");
  refused(with("{\"f32\": 0.5}", "{\"f32\": \"half\"}"), "/launches/0/args/4/f32: is not a number");
  refused(with("{\"f32\": 0.5}", "{\"f32\": \"0x123456789\"}"),
          "/launches/0/args/4/f32: is not a number");
  refused(with("\"S\": \"vol\"", "\"S\": \"no\""), "/launches/0/surfrefs/S: there is no surface");
  refused(with("\"T\": \"tex\"", "\"T\": \"img\""), "/launches/0/texrefs/T: there is no texture");
}

TEST_F(Manifest, ArgumentsFitTheParameters) {
  refused(
      with("{\"u32\": 5}", "{\"f32\": 5}"),
      "/launches/0: argument 4 of kernel 'k', 'count': f32 was given, and the parameter is u32");
  refused(with("{\"u32\": 5}", "{\"u64\": 5}"),
          "/launches/0: argument 4 of kernel 'k', 'count': u64 has 8 bytes, and the parameter u32");
  refused(with("{\"f32\": 0.5}", "{\"buffer\": \"buf\"}"),
          "/launches/0: argument 5 of kernel 'k', 'gain': a buffer is passed as 8 bytes");
  refused(with("{\"f32\": 0.5}, ", ""), "/launches/0: kernel 'k' has 8 parameters: u64 surface");
  refused(with("\"S\": \"vol\"", "\"R\": \"vol\""),
          "/launches/0: kernel 'k' uses no .surfref 'R'; it uses S");
  refused(with("{\"g\": ", "{\"h\": "), "/globals/h: there is no variable 'h'; there are g");
  refused(with("\"kernel\": \"k\"", "\"kernel\": \"l\""),
          "/launches/0: there is no kernel 'l'; there is 'k'");
}

TEST_F(Manifest, Textures) {
  refused(with("\"resource\": \"img\"", "\"resource\": \"no\""),
          "/textures/tex/resource: there is no surface");
  refused(with("\"read\": \"normalized_float\"", "\"read\": \"loud\""),
          "/textures/tex/read: there is no \"loud\"");
  refused(with("[\"wrap\", \"clamp\"]", "[\"wrap\", \"fold\"]"),
          "/textures/tex/address/1: there is no \"fold\"");
  refused(with("[\"wrap\", \"clamp\"]", "[]"), "/textures/tex/address: takes one to three");
  refused(with("\"filter\": \"linear\"", "\"filter\": 1"),
          "/textures/tex/filter: has to be a string");
  refused(with("\"normalized\": true", "\"normalized\": 1"),
          "/textures/tex/normalized: has to be true or false");
}

TEST_F(Manifest, Outputs) {
  refused(with("{\"surface\": \"img\", \"png\"", "{\"png\""), "/outputs/0: has to name one");
  refused(
      with("{\"surface\": \"img\", \"png\"", "{\"surface\": \"img\", \"buffer\": \"buf\", \"png\""),
      "/outputs/0: has to name one");
  refused(with("{\"surface\": \"img\", \"png\"", "{\"surface\": \"no\", \"png\""),
          "/outputs/0/surface: there is no surface");
  refused(with("\"dtype\": \"u32\"", "\"dtype\": \"u33\""), "/outputs/1/dtype: there is no type");
  refused(with("\"dtype\": \"u32\"", "\"sha256\": \"abc\""),
          "/outputs/1/sha256: is not a checksum");
  refused(with("\"dtype\": \"u32\"", "\"png\": \"x.png\""), "/outputs/1/png: only a surface");
  refused(with("\"raw\": \"o.bin\"", "\"raw\": \"\""), "/outputs/0/raw: is an empty file name");
  refused(with("\"raw\": \"o.bin\"", "\"level\": 1"), "/outputs/0/level: has to be from 0 to 0");
  refused(with("\"raw\": \"o.bin\"", "\"range\": [1, 1]"), "/outputs/0/range: is empty");
  refused(with("\"raw\": \"o.bin\"", "\"range\": [1]"), "/outputs/0/range: takes two");
  const auto expecting = [](const std::string& more) {
    return with("\"raw\": \"o.bin\"", "\"expect\": \"k.ptx\", " + more);
  };
  refused(expecting("\"tolerance\": 1"), "/outputs/0/tolerance: has to be an object");
  refused(expecting("\"tolerance\": {\"absolute\": -1}"),
          "/outputs/0/tolerance/absolute: has to be 0 or more");
  refused(expecting("\"tolerance\": {\"ulp\": 1.5}"),
          "/outputs/0/tolerance/ulp: has to be an integer");
  refused(expecting("\"tolerance\": {\"exact\": 1}"),
          "/outputs/0/tolerance/exact: there is no such field");
  refused(expecting("\"max_different\": -1"), "/outputs/0/max_different: has to be from 0");
  refused(with("\"raw\": \"o.bin\"", "\"tolerance\": {\"ulp\": 1}"),
          "/outputs/0/tolerance: needs the field \"expect\"");
  refused(with("\"dtype\": \"u32\"", "\"expect\": \"k.ptx\", \"difference\": \"d.png\""),
          "/outputs/1/difference: only a surface");
}

TEST_F(Manifest, EveryProblemIsReportedWithItsLine) {
  const ProcessResult result =
      check(with("\"channels\": 4, \"width\": 8", "\"channels\": 9, \"width\": 0"));
  EXPECT_NE(result.error.find("m.json:4: error: /surfaces/img/channels:"), std::string::npos)
      << result.error;
  EXPECT_NE(result.error.find("m.json:4: error: /surfaces/img/width:"), std::string::npos)
      << result.error;
}

TEST_F(Manifest, FilesThatCannotBeRead) {
  refused(with("\"k.ptx\"", "\"absent.ptx\""), "/module: ");
  EXPECT_EQ(run_process({tool_path("ptxrun"), folder_.file("absent.json")}).exit_code, 2);
  EXPECT_EQ(run_process({tool_path("ptxrun"), folder_.path()}).exit_code, 2);
}

TEST(PtxrunUsage, ExitCodesAndHelp) {
  const std::string ptxrun = tool_path("ptxrun");
  EXPECT_EQ(run_process({ptxrun}).exit_code, 2);
  EXPECT_EQ(run_process({ptxrun, "--nothing"}).exit_code, 2);
  EXPECT_EQ(run_process({ptxrun, "--backend", "opencl", "x.json"}).exit_code, 2);
  EXPECT_EQ(run_process({ptxrun, "--disable", "gravity", "x.json"}).exit_code, 2);
  EXPECT_EQ(run_process({ptxrun, "--profile", "nothing", "x.json"}).exit_code, 2);
  const ProcessResult help = run_process({ptxrun, "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word :
       {"usage: ptxrun", "--backend", "--compare", "--time", "exit codes:", "4  a trap"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  EXPECT_EQ(run_process({ptxrun, "--version"}).exit_code, 0);
  EXPECT_EQ(run_process({ptxrun, "--help"}, "", {}).error, "");
}

TEST(Generated, PagesAndCompletionOfEveryTool) {
  for (const char* tool : {"ptxrun", "ptx2spv", "ptxexec"}) {
    const ProcessResult man = run_process({tool_path(tool), "--generate", "man"});
    EXPECT_EQ(man.exit_code, 0);
    for (const char* section :
         {".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXIT STATUS"})
      EXPECT_NE(man.out.find(section), std::string::npos) << tool << section;
    const ProcessResult bash = run_process({tool_path(tool), "--generate", "bash"});
    EXPECT_NE(bash.out.find("profile"), std::string::npos);
    EXPECT_EQ(run_process({"/bin/bash", "-n"}, bash.out).exit_code, 0) << bash.out;
    EXPECT_EQ(run_process({tool_path(tool), "--generate", "poem"}).exit_code, 2);
  }
}

}  // namespace
}  // namespace ptx2spv::test
