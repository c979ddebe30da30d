// Bytes that nobody wrote, and races in shared memory.
#include <fmt/format.h>

#include <optional>

#include "tests/sanitize/scene.hpp"

namespace ptx2spv {
namespace {

std::string module_of(const std::string& body) {
  return ".version 8.3\n.target sm_80\n.address_size 64\n"
         ".extern .shared .align 16 .b8 dynamic[];\n"
         ".visible .entry k(.param .u64 from, .param .u64 to) {\n"
         "  .reg .pred %p<4>; .reg .b16 %h<2>; .reg .b32 %r<12>; .reg .b64 %d<8>;\n"
         "  .shared .align 16 .b8 tile[1024];\n"
         "  ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to];"
         "  mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d0, %d2;\n"
         "  mov.u32 %r9, %ctaid.x; mul.wide.u32 %d4, %r9, 256; add.u64 %d4, %d1, %d4;"
         "  add.u64 %d4, %d4, %d2; mov.u32 %r1, tile; shl.b32 %r2, %r0, 2;"
         "  add.u32 %r3, %r1, %r2;\n" +
         body + "  ret;\n}\n";
}

constexpr std::uint32_t kThreads = 64, kBlocks = 3;

struct Case {
  const char* name;
  const char* body;  ///< %d3: a word of this thread in `from`; %d4: in its block's part of
                     ///< `to`; %r3: in `tile`
  std::optional<FindingKind> kind;
  std::uint32_t line = 0, other = 0;  ///< of the finding and of what it races with; the first line
                                      ///< of the body is 10
};

// A race is found from one of its two sides: which of the two comes second is the device's.
constexpr Case kRaces[] = {
    {"a neighbour's word with a barrier",
     "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nxor.b32 %r4, %r2, 128; add.u32 %r4, %r4, %r1;\n"
     "ld.shared.u32 %r5, [%r4];\nst.global.u32 [%d4], %r5;\n",
     std::nullopt},
    {"a neighbour's word without one",
     "st.shared.u32 [%r3], %r0;\nxor.b32 %r4, %r2, 128; add.u32 %r4, %r4, %r1;\n"
     "ld.shared.u32 %r5, [%r4];\nst.global.u32 [%d4], %r5;\n",
     FindingKind::race, 12, 10},
    {"read, then written by others",
     "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nxor.b32 %r4, %r2, 128; add.u32 %r4, %r4, %r1;\n"
     "ld.shared.u32 %r5, [%r4];\nst.shared.u32 [%r3], %r5;\n",
     FindingKind::race, 14, 13},
    {"read, a barrier, then written by others",
     "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nxor.b32 %r4, %r2, 128; add.u32 %r4, %r4, %r1;\n"
     "ld.shared.u32 %r5, [%r4];\nbar.sync 0;\nst.shared.u32 [%r3], %r5;\n",
     std::nullopt},
    {"all write one word", "st.shared.u32 [%r1], %r0;\n", FindingKind::race, 10, 10},
    {"all add to one word", "red.shared.add.u32 [%r1], %r0;\n", std::nullopt},
    {"a word for each thread", "st.shared.u32 [%r3], %r0;\nld.shared.u32 %r5, [%r3];\n",
     std::nullopt},
    {"a byte for each thread",
     "add.u32 %r4, %r1, %r0; cvt.u16.u32 %h0, %r0;\nst.shared.u8 [%r4], %h0;\n"
     "ld.shared.u8 %h1, [%r4];\n",
     std::nullopt},
    {"16 bytes over the neighbours' words",
     "and.b32 %r4, %r2, 1008; add.u32 %r4, %r4, %r1;\nst.shared.u32 [%r3], %r0;\nbar.sync 0;\n"
     "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4];\nst.shared.u32 [%r3], %r0;\n",
     FindingKind::race, 14, 13},
    {"dynamic shared memory",
     "mov.u32 %r1, dynamic; add.u32 %r3, %r1, %r2;\nst.shared.u32 [%r3], %r0;\n"
     "xor.b32 %r4, %r2, 128; add.u32 %r4, %r4, %r1;\nld.shared.u32 %r5, [%r4];\n"
     "st.global.u32 [%d4], %r5;\n",
     FindingKind::race, 13, 11},
    {"two barriers' worth of buffers in turns",
     "mov.u32 %r6, 0;\nagain:\nst.shared.u32 [%r3], %r6;\nbar.sync 0;\n"
     "xor.b32 %r4, %r2, 128; add.u32 %r4, %r4, %r1;\nld.shared.u32 %r5, [%r4];\nbar.sync 0;\n"
     "add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, 20;\n@%p0 bra again;\n",
     std::nullopt},
};

constexpr Case kReads[] = {
    {"a word that the host wrote", "ld.global.u32 %r5, [%d3];\nst.global.u32 [%d4], %r5;\n",
     std::nullopt},
    {"a word that nobody wrote", "ld.global.u32 %r5, [%d4];\nst.global.u32 [%d3], %r5;\n",
     FindingKind::uninitialised, 10},
    {"a word that this kernel wrote",
     "st.global.u32 [%d4], %r0;\nld.global.u32 %r5, [%d4];\nst.global.u32 [%d3], %r5;\n",
     std::nullopt},
    {"half of a word that this kernel wrote",
     "cvt.u16.u32 %h0, %r0;\nst.global.u16 [%d4], %h0;\nld.global.u32 %r5, [%d4];\n",
     FindingKind::uninitialised, 12},
    {"an atomic on what nobody wrote", "atom.global.add.u32 %r5, [%d4], 1;\n",
     FindingKind::uninitialised, 10},
    {"a pointer out of a choice",
     "setp.lt.u32 %p0, %r0, 32; selp.b64 %d5, %d3, %d4, %p0;\nld.global.u32 %r5, [%d5];\n",
     FindingKind::uninitialised, 11},
    {"shared memory that nobody wrote", "ld.shared.u32 %r5, [%r3];\nst.global.u32 [%d4], %r5;\n",
     FindingKind::uninitialised, 10},
    {"shared memory that a neighbour wrote",
     "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nxor.b32 %r4, %r2, 128; add.u32 %r4, %r4, %r1;\n"
     "ld.shared.u32 %r5, [%r4];\n",
     std::nullopt},
    {"local memory that nobody wrote",
     ".local .align 8 .b8 own[256]; mov.u64 %d5, own; add.u64 %d5, %d5, %d2;\n"
     "ld.local.u32 %r5, [%d5];\nst.global.u32 [%d4], %r5;\n",
     FindingKind::uninitialised, 11},
    {"local memory that the thread wrote",
     ".local .align 8 .b8 own[256]; mov.u64 %d5, own; add.u64 %d5, %d5, %d2;\n"
     "st.local.u32 [%d5], %r0;\nld.local.u32 %r5, [%d5];\nst.global.u32 [%d4], %r5;\n",
     std::nullopt},
    {"half of a word of local memory",
     ".local .align 8 .b8 own[256]; mov.u64 %d5, own; cvt.u16.u32 %h0, %r0;\n"
     "st.local.u16 [%d5+8], %h0;\nld.local.u32 %r5, [%d5+8];\n",
     FindingKind::uninitialised, 12},
    {"all of an array in local memory",
     ".local .align 8 .b8 own[64]; mov.u64 %d5, own; mov.u32 %r6, 0;\nfill:\n"
     "cvt.u64.u32 %d6, %r6; add.u64 %d6, %d5, %d6;\nst.local.u32 [%d6], %r6;\n"
     "add.u32 %r6, %r6, 4; setp.lt.u32 %p0, %r6, 64;\n@%p0 bra fill;\nand.b32 %r7, %r2, 60;\n"
     "cvt.u64.u32 %d6, %r7; add.u64 %d6, %d5, %d6;\nld.local.u32 %r5, [%d6];\n",
     std::nullopt},
    {"all but the last word of an array in local memory",
     ".local .align 8 .b8 own[64]; mov.u64 %d5, own; mov.u32 %r6, 0;\nfill:\n"
     "cvt.u64.u32 %d6, %r6; add.u64 %d6, %d5, %d6;\nst.local.u32 [%d6], %r6;\n"
     "add.u32 %r6, %r6, 4; setp.lt.u32 %p0, %r6, 60;\n@%p0 bra fill;\nand.b32 %r7, %r2, 60;\n"
     "cvt.u64.u32 %d6, %r7; add.u64 %d6, %d5, %d6;\nld.local.u32 %r5, [%d6];\n",
     FindingKind::uninitialised, 18},
    {"local memory by a generic address",
     ".local .align 8 .b8 own[16]; mov.u64 %d5, own; cvta.local.u64 %d5, %d5;\n"
     "ld.u32 %r5, [%d5+4];\n",
     FindingKind::uninitialised, 11},
    {"the other half of shared memory",
     "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nld.shared.u32 %r5, [%r3+256];\n",
     FindingKind::uninitialised, 12},
};

Scene scene_of(const Case& each, const char* check) {
  Scene scene;
  scene.name = fmt::format("{}, {}", check, each.name);
  scene.check = check;
  scene.faulty = each.kind.has_value();
  scene.ptx = module_of(each.body + kept(each.body, "%d0"));
  scene.kernel = "k";
  scene.grid = kBlocks;
  scene.block = {kThreads, 1};
  scene.shared = 512;
  scene.memory = {{"from", 4 * kThreads, 1u}, {"to", 4 * kThreads * kBlocks}};
  scene.arguments = {{Scene::Kind::memory, 0}, {Scene::Kind::memory, 1}};
  return scene;
}

void run_case(const Case& each, const char* check, ThreadModel threads) {
  SCOPED_TRACE(each.name);
  const Device device = open_checked(checks_of(check));
  const Scene scene = scene_of(each, check);
  Staged staged(device, scene);
  must(staged.launch(staged.load("shadow.ptx"), threads));
  const SanitizerReport report = device.sanitizer_report();
  compare_with_record(scene, report.findings);
  if (!each.kind) {
    EXPECT_TRUE(report.findings.empty()) << report.findings[0].to_string();
    return;
  }
  ASSERT_FALSE(report.findings.empty());
  const Finding& found = report.findings[0];
  EXPECT_STREQ(to_string(found.kind), to_string(*each.kind)) << found.to_string();
  if (each.other) {
    EXPECT_TRUE(found.other.known);
    EXPECT_TRUE((found.line == each.line && found.other.line == each.other) ||
                (found.line == each.other && found.other.line == each.line))
        << found.to_string();
    EXPECT_NE(found.other.thread, found.thread[0]);
  } else {
    EXPECT_EQ(found.line, each.line) << found.to_string();
    EXPECT_EQ(report.findings.size(), 1u);
  }
}

TEST(Shadow, RacesAreFoundBetweenBarriers) {
  for (const ThreadModel threads : {ThreadModel::direct, ThreadModel::regions})
    for (const Case& each : kRaces) run_case(each, "race", threads);
}

TEST(Shadow, ReadsOfWhatNobodyWroteAreFound) {
  for (const ThreadModel threads : {ThreadModel::direct, ThreadModel::regions})
    for (const Case& each : kReads) run_case(each, "init", threads);
}

struct Copy {
  const char* name;
  std::string body;
  bool found;
  const char* at = "";  ///< part of the instruction
};

/// Of a structure of 4 bytes, padding and 8 bytes that each thread has in the memory `space`.
std::vector<Copy> copies(const std::string& space, const std::string& address,
                         const std::string& start) {
  const auto made = [&](const char* text) {
    std::string body = start;
    for (const char* at = text; *at; ++at)
      body += *at == '#' ? space : *at == '$' ? address : std::string(1, *at);
    return body;
  };
  constexpr const char* kCopy =
      "ld.#.v4.u32 {%r5, %r6, %r7, %r8}, [$]; st.#.v4.u32 [$], {%r5, %r6, %r7, %r8};\n";
  const std::string members = made("st.#.u32 [$], %r0; mov.u64 %d6, 7; st.#.u64 [$+8], %d6;\n");
  const std::string moved = made(kCopy).substr(start.size());
  const auto then = [&](const char* text) { return members + made(text).substr(start.size()); };
  return {{"a copy", members + moved, false},
          {"a copy by registers",
           then("ld.#.v2.u64 {%d6, %d7}, [$]; mov.b64 {%r5, %r6}, %d6; mov.u32 %r7, %r6;\n"
                "setp.lt.u32 %p0, %r0, 9; @%p0 mov.u32 %r7, 3; mov.b64 %d6, {%r5, %r7};\n"
                "st.#.v2.u64 [$], {%d6, %d7};\n"),
           false},
          {"a copy and a use of the first member",
           then("ld.#.u64 %d6, [$]; cvt.u32.u64 %r5, %d6; setp.eq.u32 %p0, %r5, 3;\n"
                "@%p0 st.#.u32 [$], %r5; st.#.u64 [$], %d6;\n"),
           false},
          {"a copy of what nobody wrote", start + moved, space != "local"},
          {"arithmetic",
           then("ld.#.v4.u32 {%r5, %r6, %r7, %r8}, [$]; add.u32 %r6, %r6, 1;\n"
                "st.#.v4.u32 [$], {%r5, %r6, %r7, %r8};\n"),
           true},
          {"a branch",
           then("ld.#.v2.u32 {%r5, %r6}, [$]; setp.eq.u32 %p0, %r6, 3;\n"
                "@%p0 st.#.u32 [$], %r5;\n"),
           true},
          {"a choice",
           then("ld.#.v2.u32 {%r5, %r6}, [$]; setp.eq.u32 %p0, %r6, 3;\n"
                "selp.u32 %r7, %r0, %r2, %p0; st.#.u32 [$], %r7;\n"),
           true},
          {"an address",
           then("ld.#.v2.u32 {%r5, %r6}, [$]; and.b32 %r6, %r6, 12;\n"
                "add.u32 %r6, %r1, %r6; ld.shared.u8 %h0, [%r6];\n"),
           true},
          {"members of a copy",
           then("ld.#.v2.u64 {%d6, %d7}, [$]; mul.wide.u32 %d2, %r0, 16; add.u64 %d2, %d0, %d2;\n"
                "st.global.v2.u64 [%d2+1024], {%d6, %d7}; ld.global.u64 %d4, [%d2+1032];\n"
                "add.u64 %d4, %d4, 1; st.global.u64 [%d2+1024], %d4;\n"),
           false},
          {"padding of a copy",
           then("ld.#.v4.u32 {%r5, %r6, %r7, %r8}, [$]; mul.wide.u32 %d2, %r0, 16;\n"
                "add.u64 %d2, %d0, %d2; st.global.v4.u32 [%d2+1024], {%r0, %r0, %r0, %r0};\n"
                "st.global.v4.u32 [%d2+1024], {%r5, %r6, %r7, %r8};\n"
                "ld.global.u32 %r10, [%d2+1028]; add.u32 %r10, %r10, 1; st.#.u32 [$], %r10;\n"),
           true, "%r10, ["},
          {"padding of a copy of a copy",
           then("ld.#.v2.u64 {%d6, %d7}, [$]; mul.wide.u32 %d2, %r0, 16; add.u64 %d2, %d0, %d2;\n"
                "mov.u32 %r6, 0; again: st.global.v2.u64 [%d2+1024], {%d6, %d7};\n"
                "ld.global.v2.u64 {%d6, %d7}, [%d2+1024]; add.u32 %r6, %r6, 1;\n"
                "setp.lt.u32 %p0, %r6, 3; @%p0 bra again; st.#.v2.u64 [$], {%d6, %d7};\n"
                "ld.#.u32 %r10, [$+4]; add.u32 %r10, %r10, 1; st.#.u32 [$], %r10;\n"),
           true, "%r10, ["},
          {"a word over the padding of a copy",
           then("ld.#.v2.u64 {%d6, %d7}, [$]; mul.wide.u32 %d2, %r0, 16; add.u64 %d2, %d0, %d2;\n"
                "st.global.v2.u64 [%d2+1024], {%d6, %d7}; st.global.u32 [%d2+1028], %r0;\n"
                "ld.global.u32 %r10, [%d2+1028]; add.u32 %r10, %r10, 1; st.#.u32 [$], %r10;\n"),
           false}};
}

// A use of what such a copy leaves is one.
TEST(Shadow, PaddingThatIsOnlyCopiedIsNoFinding) {
  const auto shared = copies("shared", "%r4", "shl.b32 %r4, %r2, 2; add.u32 %r4, %r4, %r1;\n");
  const auto local = copies("local", "%d5", ".local .align 16 .b8 own[16]; mov.u64 %d5, own;\n");
  const auto global =
      copies("global", "%d5", "mul.wide.u32 %d5, %r0, 16; add.u64 %d5, %d0, %d5;\n");
  for (const auto* each : {&shared, &local, &global}) {
    for (const Copy& copy : *each) {
      SCOPED_TRACE(fmt::format("{}, {}", copy.name,
                               each == &local    ? "local"
                               : each == &shared ? "shared"
                                                 : "global"));
      const Device device = open_checked(check_init);
      const Module module = must(Module::load(device, module_of(copy.body), "copy.ptx"));
      Buffer buffer = must(Buffer::create(device, 32 * kThreads));
      LaunchConfig config;
      config.block = {kThreads, 1, 1};
      must(must(module.kernel("k")).launch(config, Args().buffer(buffer).buffer(buffer)));
      const std::vector<Finding> found = device.sanitizer_report().findings;
      EXPECT_EQ(!found.empty(), copy.found) << (found.empty() ? "" : found[0].to_string());
      if (!found.empty()) {
        EXPECT_STREQ(to_string(found[0].kind), "uninitialised");
        EXPECT_NE(found[0].instruction.find(copy.at), std::string::npos) << found[0].to_string();
        if (*copy.at) {
          EXPECT_EQ(found.size(), 1u);
        }
      }
    }
  }
}

// A structure by value whose members nobody has set, and a bit field before its word is complete.
TEST(Shadow, LocalMemoryThatIsOnlyMovedWithinItIsNoFinding) {
  const struct {
    const char* name;
    const char* body;  ///< after $: local or nothing
    const char* at;    ///< part of the instruction; empty: there is no finding
  } cases[] = {
      {"a copy", "ld$.v2.u64 {%d6, %d7}, [%d5]; st$.v2.u64 [%d5+16], {%d6, %d7};\n", ""},
      {"a use of the copy",
       "ld$.u64 %d6, [%d5]; st$.u64 [%d5+16], %d6; ld$.u32 %r10, [%d5+20]; st.global.u32 [%d3], "
       "%r10;\n",
       "%r10, ["},
      {"a copy to global memory", "ld$.u32 %r10, [%d5]; st.global.u32 [%d3], %r10;\n", "%r10, ["},
      {"a bit field",
       "ld$.u32 %r5, [%d5]; and.b32 %r6, %r5, -255; or.b32 %r6, %r6, %r0; st$.u32 [%d5], %r6;\n"
       "ld$.u32 %r7, [%d5]; and.b32 %r7, %r7, -2; st$.u32 [%d5], %r7;\n",
       ""},
      {"bits of a word that nobody wrote",
       "ld$.u32 %r10, [%d5]; or.b32 %r6, %r10, %r0; st$.u32 [%d5], %r6;\n", "%r10, ["},
      {"a bit that decides",
       "ld$.u32 %r10, [%d5]; and.b32 %r6, %r10, 1; setp.eq.u32 %p0, %r6, 1;\n"
       "@%p0 st$.u32 [%d5], %r6;\n",
       "%r10, ["},
  };
  for (const char* space : {".local", ""})
    for (const auto& each : cases) {
      SCOPED_TRACE(fmt::format("{}{}", each.name, space));
      std::string body = ".local .align 16 .b8 own[32]; mov.u64 %d5, own;\n";
      if (!*space) body += "cvta.local.u64 %d5, %d5;\n";
      for (const char* at = each.body; *at; ++at) body += *at == '$' ? space : std::string(1, *at);
      const Device device = open_checked(check_init);
      const Module module = must(Module::load(device, module_of(body), "local.ptx"));
      Buffer buffer = must(Buffer::create(device, 4 * kThreads));
      LaunchConfig config;
      config.block = {kThreads, 1, 1};
      must(must(module.kernel("k")).launch(config, Args().buffer(buffer).buffer(buffer)));
      const std::vector<Finding> found = device.sanitizer_report().findings;
      ASSERT_EQ(found.size(), *each.at ? 1u : 0u) << found[0].to_string();
      if (*each.at) {
        EXPECT_NE(found[0].instruction.find(each.at), std::string::npos) << found[0].to_string();
        EXPECT_EQ(found[0].threads, kThreads);
      }
    }
}

// What copies, fills and downloads through the host's pointer leave is written.
TEST(Shadow, EveryWayOfTheHostCounts) {
  Device device = open_checked(check_init);
  Module module = must(Module::load(device, module_of(kReads[0].body), "shadow.ptx"));
  Kernel kernel = must(module.kernel("k"));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  const std::vector<std::uint32_t> words(kThreads, 3);
  Buffer source = must(Buffer::create(device, 4 * kThreads));
  must(source.upload(0, bytes_of(words)));
  Stream stream = must(Stream::create(device));
  Graph graph = must(Graph::create(device));
  const auto fresh = [&] { return must(Buffer::create(device, 4 * kThreads)); };
  Buffer filled = fresh(), copied = fresh(), uploaded = fresh(), cleared = fresh(), moved = fresh(),
         replayed = fresh(), to = fresh();
  must(filled.fill(0, 4 * kThreads, 0));
  must(copied.copy_from(source, 0, 0, 4 * kThreads));
  must(stream.upload(uploaded, 0, bytes_of(words)));
  must(stream.fill(cleared, 0, 4 * kThreads, 0));
  must(stream.copy(source, 0, moved, 0, 4 * kThreads));
  must(graph.add_copy(source, 0, replayed, 0, 4 * kThreads));
  must(stream.replay(graph));
  must(stream.synchronize());
  for (const Buffer* each : {&filled, &copied, &uploaded, &cleared, &moved, &replayed})
    must(kernel.launch(config, Args().buffer(*each).buffer(to)));
  EXPECT_TRUE(device.sanitizer_report().findings.empty());
  Buffer partly = fresh();
  must(partly.upload(0, bytes_of(std::vector<std::uint32_t>(kThreads - 1, 3))));
  must(kernel.launch(config, Args().buffer(partly).buffer(to)));
  const SanitizerReport report = device.sanitizer_report();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].threads, 1u);
  EXPECT_EQ(report.findings[0].thread[0], kThreads - 1);
  // Who has written the others: the host most of them, a kernel four bytes.
  EXPECT_EQ(report.findings[0].detail, "the host has written 252 of its bytes, and kernels 0 more");
  Module store = must(
      Module::load(device,
                   module_of("setp.ne.u32 %p0, %r0, 0;\n@%p0 bra end;\nst.global.u32 [%d1], %r0;\n"
                             "ld.global.u32 %r5, [%d1+4];\nend:\n"),
                   "store.ptx"));
  Buffer half = fresh();
  must(half.upload(128, std::as_bytes(std::span(words)).first(128)));
  must(must(store.kernel("k")).launch(config, Args().buffer(source).buffer(half)));
  const SanitizerReport both = device.sanitizer_report();
  ASSERT_EQ(both.findings.size(), 2u);
  EXPECT_EQ(both.findings[1].detail, "the host has written 128 of its bytes, and kernels 4 more");
  EXPECT_NE(both.findings[1].to_string().find("written: the host has written 128"),
            std::string::npos);
}

// A launch without checks may have written anything.
TEST(Shadow, LaunchesWithoutChecksLeaveNothingToFind) {
  Device device = open_checked(check_init);
  Module module = must(Module::load(device, module_of(kReads[0].body), "shadow.ptx"));
  Kernel kernel = must(module.kernel("k"));
  Buffer a = must(Buffer::create(device, 4 * kThreads)),
         b = must(Buffer::create(device, 4 * kThreads));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  config.checks = no_checks;
  must(kernel.launch(config, Args().buffer(a).buffer(b)));
  config.checks = check_init;
  must(kernel.launch(config, Args().buffer(a).buffer(b)));
  EXPECT_TRUE(device.sanitizer_report().findings.empty());
}

// CUDA defines what they do, so that only who asks is told.
TEST(Shadow, SurfaceAccessesOutOfRangeAreNotedOnRequest) {
  for (const char* mode : {"clamp", "zero"}) {
    for (const std::uint32_t checks : {kAllChecks, kAllChecks | check_clamp}) {
      SCOPED_TRACE(std::string(mode) + " " + std::to_string(checks));
      Device device = open_checked(checks);
      Module module = must(Module::load(device,
                                        ".version 8.3\n.target sm_80\n.address_size 64\n"
                                        ".visible .entry k(.param .u64 s) {\n"
                                        "  .reg .b64 %d0; .reg .b32 %r<4>;\n"
                                        "  ld.param.u64 %d0, [s]; mov.u32 %r0, %tid.x;\n"
                                        "  shl.b32 %r1, %r0, 2; mov.u32 %r2, 1;\n"
                                        "  sust.b.2d.b32." +
                                            std::string(mode) +
                                            " [%d0, {%r1, %r2}], %r0;\n"
                                            "  ret;\n}\n",
                                        "surface.ptx"));
      ArrayDesc desc;
      desc.width = 8;
      desc.height = 2;
      Array array = must(Array::create(device, desc));
      Surface surface = must(Surface::create(array));
      surface.set_name("small");
      LaunchConfig config;
      config.block = {32, 1, 1};
      must(must(module.kernel("k")).launch(config, Args().surface(surface)));
      SanitizerReport report = device.sanitizer_report();
      // Of those that are led to the last texel, each writes it: that is a race.
      const auto racing = [](const Finding& finding) { return finding.kind == FindingKind::race; };
      EXPECT_EQ(std::erase_if(report.findings, racing), mode == std::string("clamp") ? 1u : 0u);
      ASSERT_EQ(report.findings.size(), checks == kAllChecks ? 0u : 1u);
      if (report.findings.empty()) continue;
      const Finding& found = report.findings[0];
      EXPECT_EQ(found.memory, MemorySpace::surface);
      EXPECT_EQ(found.threads, 24u);
      EXPECT_EQ(found.line, 8u);
      ASSERT_EQ(found.coordinates.size(), 2u);
      EXPECT_EQ(found.coordinates[0].second, static_cast<std::int32_t>(found.thread[0] * 4));
      EXPECT_EQ(found.coordinates[1].second, 1);
      EXPECT_EQ(array.desc().width, 8u);
    }
  }
}

// Threads of a warp wait for one another where the kernel says so.
TEST(Shadow, WarpsThatSynchroniseDoNotRaceWithThemselves) {
  for (const std::uint32_t distance : {4u, 128u}) {
    Device device = open_checked(check_race);
    const std::string body =
        "st.shared.u32 [%r3], %r0;\nbar.warp.sync 0xffffffff;\nxor.b32 %r4, %r2, " +
        std::to_string(distance) + "; add.u32 %r4, %r4, %r1;\nld.shared.u32 %r5, [%r4];\n";
    Module module = must(Module::load(device, module_of(body), "shadow.ptx"));
    Buffer buffer = must(Buffer::create(device, 4 * kThreads));
    LaunchConfig config;
    config.block = {kThreads, 1, 1};
    must(must(module.kernel("k")).launch(config, Args().buffer(buffer).buffer(buffer)));
    EXPECT_EQ(device.sanitizer_report().findings.empty(), distance == 4);
  }
}

}  // namespace

std::vector<Scene> shadow_scenes() {
  std::vector<Scene> scenes;
  for (const Case& each : kRaces) scenes.push_back(scene_of(each, "race"));
  for (const Case& each : kReads) scenes.push_back(scene_of(each, "init"));
  return scenes;
}

}  // namespace ptx2spv
