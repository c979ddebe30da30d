// Manifests run on this device: outputs, checksums, traps and the exit codes for each.
#include "tests/ptxrun/fixture.hpp"
#include "tools/common/json.hpp"

namespace ptx2spv::test {
namespace {

TEST_F(Ptxrun, OutputsAreWritten) {
  const ProcessResult result = run(
      manifest(kLaunch,
               R"({"surface": "s", "raw": "s.bin", "npy": "s.npy", "png": "s.png"}, {"buffer": "b",
       "raw": "b.bin", "npy": "b.npy", "dtype": "u32"})"));
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(read_whole(folder_.file("s.bin")), words({10, 11, 12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(read_whole(folder_.file("b.bin")), words({15, 16, 17, 18, 19, 20, 21, 22}));
  const std::string npy = read_whole(folder_.file("b.npy"));
  EXPECT_NE(npy.find("'<u4', 'fortran_order': False, 'shape': (8,)"), std::string::npos) << npy;
  EXPECT_EQ(npy.substr(npy.size() - 32), words({15, 16, 17, 18, 19, 20, 21, 22}));
  EXPECT_EQ(read_whole(folder_.file("s.png")).substr(1, 3), "PNG");
}

// Nobody checks global memory: a CPU driver dies of a wild pointer, but not without a word.
/// Whether kernels run in this process, which a wild pointer then ends.
bool runs_here() {
  const char* device = std::getenv("PTX2SPV_DEVICE");
  const std::string name = device ? device : "swiftshader";
  return name == "swiftshader" || name == "lavapipe" || name == "cpu";
}

TEST_F(Ptxrun, WildPointersAreNamed) {
  if (!runs_here()) GTEST_SKIP() << "a GPU reports a wild pointer as a lost device";
  const ProcessResult result =
      run(manifest(R"({"kernel": "add_once", "grid": 1, "block": 1, "args": [{"u64": 64}]})", ""));
  EXPECT_GE(result.exit_code, 128) << result.error;
  EXPECT_NE(result.error.find("kernel 'add_once' was prepared or ran, address 0x0000000000000040"),
            std::string::npos)
      << result.error;
}

TEST_F(Ptxrun, ACrashUnderALimitOfMemoryNamesTheLimit) {
  if (!runs_here()) GTEST_SKIP() << "a GPU reports a wild pointer as a lost device";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes more address space than any limit";
#endif
  const std::string wild = folder_.write(
      "wild.json",
      manifest(R"({"kernel": "add_once", "grid": 1, "block": 1, "args": [{"u64": 64}]})", ""));
  const ProcessResult result = run_process(
      {"/bin/sh", "-c", "ulimit -v 33554432 && exec " + tool_path("ptxrun") + " " + wild});
  EXPECT_GE(result.exit_code, 128) << result.error;
  EXPECT_NE(result.error.find("note: memory is limited to 32768 MiB (ulimit -v)"),
            std::string::npos)
      << result.error;
}

TEST_F(Ptxrun, AMissingCompilerIsNamed) {
  if (!runs_here()) GTEST_SKIP() << "the host compiles for CPU devices alone";
  const std::string file = folder_.write("m.json", manifest(kLaunch, ""));
  const std::string line = "host       interprets kernels: libLLVM (14 to 19) is not installed\n";
  const ProcessResult without =
      run_process({tool_path("ptxrun"), "-v", file}, {},
                  {"LD_PRELOAD=" PTX2SPV_BINARY_DIR "/tests/libptx2spv_without_llvm.so",
                   "ASAN_OPTIONS=verify_asan_link_order=0"});
  EXPECT_EQ(without.exit_code, 0) << without.error;
  EXPECT_NE(without.out.find(line), std::string::npos) << without.out;
}

TEST_F(Ptxrun, TooLittleMemoryIsNamed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes more address space than any limit";
#endif
  const std::string file = folder_.write("m.json", manifest(kLaunch, ""));
  for (const char* kibibytes : {"100000", "200000", "300000"}) {
    const ProcessResult result = run_process(
        {"/bin/sh", "-c",
         std::string("ulimit -v ") + kibibytes + " && exec " + tool_path("ptxrun") + " " + file});
    // How much a driver needs is its own affair, but none opens within the first limit.
    if (result.exit_code == 0 && *kibibytes != '1') continue;
    EXPECT_NE(result.exit_code, 0);
    EXPECT_TRUE(result.error.find("memory") != std::string::npos ||
                result.error.find("MEMORY") != std::string::npos)
        << kibibytes << ": " << result.error;
  }
}

TEST_F(Ptxrun, ALimitOfFilesThatSwiftShaderDoesNotSurviveIsNamed) {
  const std::string file = folder_.write("m.json", manifest(kLaunch, ""));
  const ProcessResult result = run_process(
      {"/bin/sh", "-c",
       "ulimit -f 16 && PTX2SPV_DEVICE=swiftshader exec " + tool_path("ptxrun") + " " + file});
  EXPECT_EQ(result.exit_code, 5) << result.error;
  EXPECT_NE(result.error.find("files are limited to 8192 bytes (ulimit -f)"), std::string::npos)
      << result.error;
}

TEST_F(Ptxrun, EndlessFilesAreReadNoFurtherThanNeeded) {
  const std::string text = manifest(kLaunch, R"({"surface": "s"})");
  const std::string field = R"("width": 8)";
  std::string endless = text;
  endless.insert(endless.find(field) + field.size(), R"(, "init": {"raw": "/dev/zero"})");
  const ProcessResult result = run(endless);
  EXPECT_EQ(result.exit_code, 2) << result.error;
  EXPECT_NE(result.error.find("/dev/zero is larger than"), std::string::npos) << result.error;
}

TEST_F(Ptxrun, SwiftShaderThatIsNamedAndNotThereIsAnError) {
  folder_.write("m.json", manifest(kLaunch, R"({"surface": "s"})"));
  const std::string absent = folder_.file("absent.so");
  const ProcessResult result = run_process({tool_path("ptxrun"), folder_.file("m.json")}, {},
                                           {"PTX2SPV_SWIFTSHADER=" + absent, "PTX2SPV_DEVICE="});
  EXPECT_EQ(result.exit_code, 5) << result.error;
  EXPECT_NE(result.error.find("PTX2SPV_SWIFTSHADER is '" + absent), std::string::npos)
      << result.error;
}

TEST_F(Ptxrun, MachinesWithoutDriversAreToldWhatToInstall) {
  const std::string none = folder_.file("none.json");
  const ProcessResult result = run_process({tool_path("ptxrun"), "--list-devices"}, {},
                                           {"PTX2SPV_SWIFTSHADER=" + folder_.file("none.so"),
                                            "PTX2SPV_DEVICE=", "VK_DRIVER_FILES=" + none,
                                            "VK_ICD_FILENAMES=" + none, "VK_ADD_DRIVER_FILES="});
  EXPECT_EQ(result.exit_code, 5) << result.error;
  EXPECT_NE(result.error.find("there is no Vulkan device"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("mesa-vulkan-drivers"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("ptx2spv-fetch-swiftshader"), std::string::npos) << result.error;
}

TEST_F(Ptxrun, NumbersOfTheOtherKindAreRefused) {
  const ProcessResult result = run(manifest(
      R"({"kernel": "fill", "grid": 2, "block": 4, "args": [{"surface": "s"}, {"buffer": "b"},
          {"f32": 10}]})",
      ""));
  EXPECT_EQ(result.exit_code, 2) << result.error;
  EXPECT_NE(result.error.find("argument 3 of kernel 'fill', 'value': f32 was given, and the "
                              "parameter is u32"),
            std::string::npos)
      << result.error;
}

TEST_F(Ptxrun, ChecksumsAndExpectations) {
  const ProcessResult sums = run(manifest(kLaunch, R"({"surface": "s"})"), {"--checksums"});
  ASSERT_EQ(sums.exit_code, 0) << sums.error;
  const std::string digest = sums.out.substr(0, 64);
  EXPECT_EQ(run(manifest(kLaunch, R"({"surface": "s", "sha256": ")" + digest + "\"}")).exit_code,
            0);
  EXPECT_EQ(run(manifest(kLaunch, R"({"surface": "s", "sha256": ")" + std::string(64, '0') + "\"}"))
                .exit_code,
            1);
  folder_.write("want.bin", words({10, 11, 12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(run(manifest(kLaunch, R"({"surface": "s", "expect": "want.bin"})")).exit_code, 0);
  folder_.write("want.bin", words({10, 11, 12, 13, 14, 15, 16, 18}));
  const ProcessResult wrong = run(manifest(kLaunch, R"({"surface": "s", "expect": "want.bin"})"));
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.error.find("1 of 8 components differ, the first at texel (7): 17 instead of 18"),
            std::string::npos)
      << wrong.error;
  EXPECT_EQ(run(manifest(kLaunch, R"({"surface": "s", "expect": "absent.bin"})")).exit_code, 2);
}

TEST_F(Ptxrun, ATrapIsPrintedAndNothingWritten) {
  const std::string launch =
      R"({"kernel": "fill", "grid": 3, "block": 4, "args": [{"surface": "s"}, {"buffer": "b"},
       {"u32": 10}]})";
  const ProcessResult result = run(manifest(launch, R"({"surface": "s", "raw": "s.bin"})"));
  EXPECT_EQ(result.exit_code, 4) << result.error;
  for (const char* text : {"fill.ptx:19", "sust.b.1d.b32.trap", "fill"})
    EXPECT_NE(result.error.find(text), std::string::npos) << text << "\n" << result.error;
  EXPECT_EQ(read_whole(folder_.file("s.bin")), "");
}

TEST_F(Ptxrun, FailuresHaveTheirCodes) {
  folder_.write("fill.ptx", ".version 8.1\n.target sm_90\n.entry fill() { nonsense; }\n");
  const ProcessResult translation = run(manifest(kLaunch, ""));
  EXPECT_EQ(translation.exit_code, 3) << translation.error;
  EXPECT_NE(translation.error.find("fill.ptx:3:"), std::string::npos) << translation.error;
  folder_.write("fill.ptx", kFill);
  const ProcessResult absent = run(manifest(kLaunch, ""), {"--device", "no such device"});
  EXPECT_EQ(absent.exit_code, 5);
  EXPECT_TRUE(absent.error.starts_with("ptxrun: error: no usable device matches 'no such device'"))
      << absent.error;
  EXPECT_EQ(run(manifest(R"({"kernel": "absent", "grid": 1, "block": 1})", "")).exit_code, 2);
  EXPECT_EQ(
      run(manifest(R"({"kernel": "fill", "grid": 1, "block": 1, "args": [{"surface": "s"}]})", ""))
          .exit_code,
      2);
  EXPECT_EQ(
      run(manifest(
              R"({"kernel": "fill", "grid": 1, "block": 1, "args": [{"surface": "s"}, {"u32": 1},
               {"u32": 1}]})",
              ""))
          .exit_code,
      2);
  EXPECT_EQ(run(manifest(kLaunch, R"({"surface": "s", "raw": "no/folder/s.bin"})")).exit_code, 2);
  EXPECT_EQ(run(manifest(kLaunch, R"({"global": "absent"})")).exit_code, 2);
  EXPECT_EQ(run(manifest(kLaunch, "", R"("globals": {"absent": {"u32": 1}},)")).exit_code, 2);
}

TEST_F(Ptxrun, ReferencesGlobalsAndRepeats) {
  const std::string reference =
      R"({"kernel": "by_reference", "grid": 1, "block": 8, "surfrefs": {"out_ref": "s"}})";
  EXPECT_EQ(run(manifest(reference, R"({"surface": "s", "raw": "s.bin"})")).exit_code, 0);
  EXPECT_EQ(read_whole(folder_.file("s.bin")), words({0, 1, 2, 3, 4, 5, 6, 7}));
  const ProcessResult globals = run(
      manifest(kLaunch, R"({"buffer": "b", "raw": "b.bin"}, {"global": "offset", "raw": "g.bin"})",
               R"("globals": {"offset": {"u32": 100}},)"));
  EXPECT_EQ(globals.exit_code, 0) << globals.error;
  EXPECT_EQ(read_whole(folder_.file("b.bin")).substr(0, 8), words({110, 111}));
  EXPECT_EQ(read_whole(folder_.file("g.bin")), words({100}));
  const std::string repeated =
      R"({"kernel": "add_once", "grid": 2, "block": 2, "repeat": 5, "args": [{"buffer": "b",
       "offset": 4}]})";
  EXPECT_EQ(run(manifest(repeated, R"({"buffer": "b", "raw": "b.bin"})")).exit_code, 0);
  EXPECT_EQ(read_whole(folder_.file("b.bin")).substr(0, 12), words({0, 20, 0}));
}

// The manifest's modules are linked: the kernel's function is another file's.
TEST_F(Ptxrun, ModulesAreLinked) {
  const std::string head = ".version 8.1\n.target sm_90\n.address_size 64\n";
  folder_.write("caller.ptx", head + R"(.extern .func (.param .b32 out) triple(.param .b32 a);
.visible .entry fill(.param .u64 buffer)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<3>;
  ld.param.u64 %d0, [buffer];
  mov.u32 %r0, %tid.x;
  { .param .b32 a; .param .b32 out; st.param.b32 [a], %r0;
    call (out), triple, (a); ld.param.b32 %r1, [out]; }
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d0, %d0, %d1;
  st.global.u32 [%d0], %r1;
  ret;
}
)");
  folder_.write("callee.ptx", head + R"(.visible .func (.param .b32 out) triple(.param .b32 a)
{
  .reg .b32 %r;
  ld.param.b32 %r, [a];
  mul.lo.u32 %r, %r, 3;
  st.param.b32 [out], %r;
  ret;
}
)");
  const auto linked = [](const std::string& modules) {
    return R"({"module": )" + modules + R"(, "buffers": {"b": {"bytes": 16}},
 "launches": [{"kernel": "fill", "grid": 1, "block": 4, "args": [{"buffer": "b"}]}],
 "outputs": [{"buffer": "b", "raw": "b.bin"}]})";
  };
  const ProcessResult result = run(linked(R"(["caller.ptx", "callee.ptx"])"));
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(read_whole(folder_.file("b.bin")), words({0, 3, 6, 9}));
  const ProcessResult alone = run(linked(R"("caller.ptx")"));
  EXPECT_EQ(alone.exit_code, 3);
  EXPECT_NE(alone.error.find("no module defines it: 'triple'"), std::string::npos) << alone.error;
  const ProcessResult twice = run(linked(R"(["caller.ptx", "callee.ptx", "callee.ptx"])"));
  EXPECT_EQ(twice.exit_code, 3);
  EXPECT_NE(twice.error.find("function 'triple' is defined in "), std::string::npos) << twice.error;
}

TEST_F(Ptxrun, TimesAreJson) {
  const ProcessResult result = run(manifest(kLaunch, ""), {"--time"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  tools::Json json;
  std::string error;
  ASSERT_TRUE(tools::parse_json(result.out, json, error)) << error << result.out;
  ASSERT_EQ(json.find("launches")->items.size(), 1u);
  EXPECT_TRUE(json.find("launches")->items[0].find("wall_ms")->is_number());
}

TEST_F(Ptxrun, BothBackingsGiveTheSame) {
  for (const char* backing : {"linear", "image"}) {
    const ProcessResult result =
        run(manifest(kLaunch, R"({"surface": "s", "raw": "s.bin"})"), {"--backing", backing});
    EXPECT_EQ(result.exit_code, 0) << backing << result.error;
    EXPECT_EQ(read_whole(folder_.file("s.bin")), words({10, 11, 12, 13, 14, 15, 16, 17}))
        << backing;
  }
}

TEST_F(Ptxrun, CudaBackendSaysWhenThereIsNone) {
  const ProcessResult result = run(manifest(kLaunch, ""), {"--backend", "cuda"});
  EXPECT_TRUE(result.exit_code == 5 || result.exit_code == 0) << result.error;
  if (result.exit_code == 5) {
    EXPECT_NE(result.error.find("no CUDA device"), std::string::npos) << result.error;
  }
}

TEST_F(Ptxrun, ListsDevices) {
  const ProcessResult result = run_process({tool_path("ptxrun"), "--list-devices", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  tools::Json json;
  std::string error;
  ASSERT_TRUE(tools::parse_json(result.out, json, error)) << error << result.out;
  EXPECT_FALSE(json.items.empty());
}

TEST_F(Ptxrun, ListNamesManifestsOfDriversThatAreDamaged) {
  const std::string bad = folder_.write("bad.json", "{ not json"),
                    empty = folder_.write("empty.json", "{}"),
                    gone = folder_.write("gone.json",
                                         R"({"ICD": {"library_path": "/nowhere/libvk.so"}})"),
                    good = folder_.write("good.json",
                                         R"({"ICD": {"library_path": "libvk_of_nobody.so"}})");
  const std::string all = bad + ":" + empty + ":" + gone + ":" + good;
  const ProcessResult result = run_process({tool_path("ptxrun"), "--list-devices"}, "",
                                           {"VK_DRIVER_FILES=" + all, "VK_ICD_FILENAMES=" + all});
  EXPECT_NE(result.error.find(bad + ": the manifest"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find(empty + ": the manifest"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("names /nowhere/libvk.so"), std::string::npos) << result.error;
  EXPECT_EQ(result.error.find(good), std::string::npos) << result.error;
}

// Reads element x of a texture: at integer coordinates, or a level.
const std::string kTextures = R"(.version 8.1
.target sm_90
.address_size 64
.visible .entry fetch(.param .u64 texture, .param .u64 out)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [texture];
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d0, {%r0}];
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r1;
  ret;
}
.visible .entry level(.param .u64 texture, .param .u64 out)
{
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [texture];
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  mov.f32 %f1, 0f3F000000;
  tex.level.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%f1, %f1}], %f0;
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r1;
  ret;
}
)";

// Through a variable and its sampler.
const std::string kSamplers = R"(.version 8.1
.target sm_90, texmode_independent
.address_size 64
.global .texref line;
.global .samplerref how = {filter_mode = linear};
.visible .entry by_reference(.param .u64 out)
{
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  tex.1d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [line, how, {%f0}];
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r1;
  ret;
}
)";

TEST_F(Ptxrun, TexturesReadMemoryLevelsAndThroughSamplers) {
  folder_.write("textures.ptx", kTextures);
  folder_.write("samplers.ptx", kSamplers);
  const auto text = [](const std::string& launch) {
    const bool samplers = launch.find("by_reference") != std::string::npos;
    return std::string(R"({"module": ")") + (samplers ? "samplers" : "textures") + R"(.ptx",
 "surfaces": {"steps": {"geometry": "2d", "format": "u32", "channels": 1, "width": 4, "height": 4,
  "levels": 3,
                        "init": [{"u32": 5}, {"u32": 6}, {"u32": 7}]},
              "line": {"geometry": "1d", "format": "f32", "channels": 1, "width": 4,
               "init": {"bytes": "0000803f000000400000404000008040"}}},
 "buffers": {"words": {"bytes": 64,
  "init": {"bytes": "0100000002000000030000000400000005000000060000000700000008000000"}},
             "out": {"bytes": 16}},
 "textures": {"memory": {"buffer": "words", "offset": 16, "format": "u32", "channels": 1,
  "width": 3},
              "levels": {"resource": "steps", "normalized": true, "max_level": 8},
              "row": {"resource": "line", "address": "clamp"}},
 "samplers": {"near": {"filter": "point", "address": "clamp"}},
 "launches": [)" +
           launch + R"(],
 "outputs": [{"buffer": "out", "expect": "want.bin"}]})";
  };
  const auto check = [&](const std::string& launch, std::initializer_list<std::uint32_t> expected) {
    folder_.write("want.bin", words(expected));
    const auto result = run(text(launch));
    EXPECT_EQ(result.exit_code, 0) << launch << result.error;
  };
  check(
      R"({"kernel": "fetch", "grid": 1, "block": 4, "args": [{"texture": "memory"},
       {"buffer": "out"}]})",
      {5, 6, 7, 0});
  check(
      R"({"kernel": "level", "grid": 1, "block": 4, "args": [{"texture": "levels"},
       {"buffer": "out"}]})",
      {5, 6, 7, 7});
  const std::string reference =
      R"({"kernel": "by_reference", "grid": 1, "block": 4, "texrefs": {"line": "row"}, )";
  check(reference + R"("args": [{"buffer": "out"}]})",
        {0x3f800000, 0x3fc00000, 0x40200000, 0x40600000});
  check(reference + R"("samplerrefs": {"how": "near"}, "args": [{"buffer": "out"}]})",
        {0x3f800000, 0x40000000, 0x40400000, 0x40800000});
  const auto unknown =
      run(text(reference + R"("samplerrefs": {"how": "far"}, "args": [{"buffer": "out"}]})"));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.error.find("there is no sampler"), std::string::npos) << unknown.error;
}

// A product and a sum that ptxas fuses, and a file that expects them unfused: the pass that fuses
// is found.
TEST_F(Ptxrun, BisectFindsThePassThatChangesAResult) {
  folder_.write("fill.ptx", R"(.version 8.1
.target sm_90
.address_size 64
.visible .entry square(.param .u64 buffer, .param .f32 a, .param .f32 c)
{
  .reg .f32 %f<4>;
  .reg .b64 %d;
  ld.param.u64 %d, [buffer];
  ld.param.f32 %f0, [a];
  ld.param.f32 %f1, [c];
  mul.f32 %f2, %f0, %f0;
  add.f32 %f3, %f2, %f1;
  st.global.f32 [%d], %f3;
  ret;
}
)");
  const auto bisected = [&](std::uint32_t expected) {
    folder_.write("want.bin", words({expected}));
    const std::string file = folder_.write("m.json", R"({"module": "fill.ptx",
 "buffers": {"b": {"bytes": 4}}, "launches": [{"kernel": "square", "grid": 1, "block": 1,
 "args": [{"buffer": "b"}, {"f32": 1.000244140625}, {"f32": -1.00048828125}]}],
 "outputs": [{"buffer": "b", "expect": "want.bin"}]})");
    return run_process({std::string(PTX2SPV_SOURCE_DIR) + "/dev/bisect", file});
  };
  const ProcessResult found = bisected(0);
  EXPECT_EQ(found.exit_code, 0) << found.error;
  EXPECT_EQ(found.out, "the result is wrong from fma-contract on\n");
  EXPECT_EQ(bisected(0x33800000).exit_code, 2) << "it is right";
  EXPECT_EQ(bisected(1).exit_code, 1) << "it is wrong in any case";
}

}  // namespace
}  // namespace ptx2spv::test
