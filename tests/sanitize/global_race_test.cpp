// Races in global memory, and findings that a list suppresses.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "src/executor/graph.hpp"
#include "src/launch/sanitized.hpp"
#include "tests/sanitize/scene.hpp"
#include "tests/support/environment.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kThreads = 64, kBlocks = 3, kWords = kThreads * kBlocks;

/// %r0: the thread, %r1: its number in the grid; %d0: `from`; %d1: the first word of `to`, %d2 this
/// thread's; %d3: `pointer`. The first line of the body is 11.
std::string module_of(const std::string& body) {
  return ".version 8.3\n.target sm_80\n.address_size 64\n.global .align 4 .b32 counter;\n"
         ".visible .entry k(.param .u64 from, .param .u64 to, .param .u64 pointer) {\n"
         "  .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %d<12>;\n"
         "  .shared .b32 last;\n"
         "  ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.param.u64 %d3, [pointer];\n"
         "  mov.u32 %r0, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r0;\n"
         "  mul.wide.u32 %d4, %r1, 4; add.u64 %d2, %d1, %d4; mov.u32 %r9, 5; mov.u16 %h0, 5;\n" +
         body + "end:\n  ret;\n}\n";
}

struct Case {
  const char* name;
  const char* body;
  std::uint32_t line = 0, other = 0;  ///< 0: no race
  bool other_block = false;           ///< the other side may be in another block
  const char* object = "to";
};

constexpr Case kRaces[] = {
    {"each thread its word", "st.global.u32 [%d2], %r9;\nld.global.u32 %r3, [%d2];\n"},
    {"all threads write one word", "st.global.u32 [%d1], %r9;\n", 11, 11, true},
    {"the first threads of all blocks write one word",
     "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra end;\nst.global.u32 [%d1], %r9;\n", 13, 13, true},
    {"a neighbour's word without a barrier",
     "st.global.u32 [%d2], %r9;\nxor.b32 %r3, %r1, 32; mul.wide.u32 %d5, %r3, 4;"
     " add.u64 %d6, %d1, %d5;\nld.global.u32 %r4, [%d6];\n",
     13, 11},
    {"a neighbour's word with a barrier",
     "st.global.u32 [%d2], %r9;\nxor.b32 %r3, %r1, 32; mul.wide.u32 %d5, %r3, 4;"
     " add.u64 %d6, %d1, %d5;\nbar.sync 0;\nld.global.u32 %r4, [%d6];\n"},
    {"a neighbour's word is read, then written by its own thread",
     "xor.b32 %r3, %r1, 32; mul.wide.u32 %d5, %r3, 4; add.u64 %d6, %d1, %d5;\n"
     "ld.global.u32 %r4, [%d6];\nst.global.u32 [%d2], %r9;\n",
     13, 12},
    {"a word of the next block, in spite of a barrier",
     "st.global.u32 [%d2], %r9;\nbar.sync 0;\nadd.u32 %r3, %r1, 64; rem.u32 %r3, %r3, 192;"
     " mul.wide.u32 %d5, %r3, 4; add.u64 %d6, %d1, %d5;\nld.global.u32 %r4, [%d6];\n",
     14, 11, true},
    {"each thread its byte",
     "cvt.u64.u32 %d5, %r1; add.u64 %d6, %d1, %d5;\nst.global.u8 [%d6], %h0;\n"
     "ld.global.u8 %h1, [%d6];\nst.global.u8 [%d6], %h1;\n"},
    {"each thread its half word",
     "mul.wide.u32 %d5, %r1, 2; add.u64 %d6, %d1, %d5;\nld.global.u16 %h1, [%d6];\n"
     "st.global.u16 [%d6], %h1;\n"},
    {"the last byte of the neighbour's word",
     "xor.b32 %r3, %r1, 32; mul.wide.u32 %d5, %r3, 4; add.u64 %d6, %d1, %d5;\n"
     "st.global.u32 [%d2], %r9;\nst.global.u8 [%d6+3], %h0;\n",
     13, 12},
    {"16 bytes over three neighbours' words",
     "and.b32 %r3, %r1, -4; mul.wide.u32 %d5, %r3, 4; add.u64 %d6, %d1, %d5;\n"
     "st.global.u32 [%d2], %r9;\nld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d6];\n",
     13, 12},
    {"8 bytes over a neighbour's word",
     "and.b32 %r3, %r1, -2; mul.wide.u32 %d5, %r3, 4; add.u64 %d6, %d1, %d5;\n"
     "ld.global.u64 %d7, [%d6];\nst.global.u32 [%d2], %r9;\n",
     13, 12},
    {"all threads add to one word", "red.global.add.u32 [%d1], %r9;\n"},
    {"a word that others add to",
     "setp.eq.u32 %p0, %r1, 191;\n@%p0 bra read;\nred.global.add.u32 [%d1], %r9;\nbra.uni end;\n"
     "read:\nld.global.u32 %r4, [%d1];\n",
     16, 13, true},
    {"a store to what others add to",
     "setp.eq.u32 %p0, %r1, 191;\n@%p0 bra store;\nred.global.add.u32 [%d1], %r9;\nbra.uni end;\n"
     "store:\nst.global.u32 [%d1], %r9;\n",
     16, 13, true},
    {"volatile stores", "st.volatile.global.u32 [%d1], %r9;\n"},
    {"a place that an atomic gave",
     "atom.global.add.u32 %r3, [%d0], 1; rem.u32 %r3, %r3, 192; mul.wide.u32 %d5, %r3, 4;\n"
     "add.u64 %d6, %d1, %d5;\nst.global.u32 [%d6], %r9;\n"},
    {"the last block reads what all wrote",
     "st.global.u32 [%d2], %r9;\nmembar.gl;\nbar.sync 0;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra all;\n"
     "atom.global.add.u32 %r3, [%d0], 1;\nst.shared.u32 [last], %r3;\nall:\nbar.sync 0;\n"
     "ld.shared.u32 %r4, [last]; setp.ne.u32 %p1, %r4, 2;\n@%p1 bra end;\n"
     "add.u32 %r3, %r1, 64; rem.u32 %r3, %r3, 192; mul.wide.u32 %d5, %r3, 4;\n"
     "add.u64 %d6, %d1, %d5;\nld.global.u32 %r4, [%d6];\n"},
    {"a lock",
     "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra end;\nagain:\natom.global.cas.b32 %r3, [%d0], 0, 1;\n"
     "setp.ne.u32 %p1, %r3, 0;\n@%p1 bra again;\nmembar.gl;\nld.global.u32 %r4, [%d1];\n"
     "add.u32 %r4, %r4, 1;\nst.global.u32 [%d1], %r4;\nmembar.gl;\n"
     "atom.global.exch.b32 %r3, [%d0], 0;\n"},
    {"a pointer out of memory", "ld.global.u64 %d5, [%d3];\nst.global.u32 [%d5], %r9;\n", 12, 12,
     true},
    {"a pointer out of memory, each thread its word",
     "ld.global.u64 %d5, [%d3];\nadd.u64 %d5, %d5, %d4;\nst.global.u32 [%d5], %r9;\n"},
    {"a generic address",
     "cvta.to.global.u64 %d5, %d1; cvta.global.u64 %d5, %d5;\nst.u32 [%d5], %r9;\n", 12, 12, true},
    {"a variable of the module",
     "ld.global.u32 %r3, [counter];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [counter], %r3;\n", 13, 11,
     true, "counter"},
    {"many barriers",
     "mov.u32 %r3, 0;\nagain:\nst.global.u32 [%d2], %r3;\nbar.sync 0;\n"
     "xor.b32 %r4, %r1, 32; mul.wide.u32 %d5, %r4, 4; add.u64 %d6, %d1, %d5;\n"
     "ld.global.u32 %r5, [%d6];\nbar.sync 0;\nadd.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, 200;\n"
     "@%p0 bra again;\n"},
};

struct Stage {
  explicit Stage(const Device& device)
      : from(must(Buffer::create(device, 4 * kWords))),
        to(must(Buffer::create(device, 4 * kWords))),
        pointer(must(Buffer::create(device, 8))) {
    to.set_name("to");
    must(from.upload(0, bytes_of(std::vector<std::uint32_t>(kWords, 0))));
    must(pointer.upload(0, bytes_of(std::vector<std::uint64_t>{to.address()})));
    config.grid = {kBlocks, 1, 1};
    config.block = {kThreads, 1, 1};
  }
  Args args() const { return Args().buffer(from).buffer(to).buffer(pointer); }
  Buffer from, to, pointer;
  LaunchConfig config;
};

Scene scene_of(const Case& each) {
  Scene scene;
  scene.name = fmt::format("race in global memory, {}", each.name);
  scene.check = "race";
  scene.faulty = each.line != 0;
  scene.ptx = module_of(each.body + kept(each.body, "%d0"));
  scene.kernel = "k";
  scene.grid = kBlocks;
  scene.block = {kThreads, 1};
  scene.memory = {{"from", 4 * kWords, 0u}, {"to", 4 * kWords}, {"pointer", 8, {}, 1}};
  for (std::int64_t i = 0; i < 3; ++i) scene.arguments.push_back({Scene::Kind::memory, i});
  return scene;
}

void run_case(const Device& device, const Case& each, ThreadModel threads) {
  SCOPED_TRACE(each.name);
  const std::string file = std::string(each.name) + ".ptx";
  const Scene scene = scene_of(each);
  Staged staged(device, scene);
  must(staged.launch(staged.load(file), threads));
  const SanitizerReport report = staged.report(file);
  compare_with_record(scene, report.findings);
  if (!each.line) {
    EXPECT_TRUE(report.findings.empty()) << report.findings[0].to_string();
    return;
  }
  ASSERT_FALSE(report.findings.empty());
  const Finding& found = report.findings[0];
  EXPECT_EQ(found.kind, FindingKind::race) << found.to_string();
  ASSERT_TRUE(found.other.known) << found.to_string();
  // Which of two sides comes second is the device's.
  EXPECT_TRUE((found.line == each.line && found.other.line == each.other) ||
              (found.line == each.other && found.other.line == each.line))
      << found.to_string();
  EXPECT_NE(found.object.find(each.object), std::string::npos) << found.to_string();
  ASSERT_TRUE(found.other.block_known);
  const bool same_block = found.other.block == found.cta;
  EXPECT_TRUE(same_block || each.other_block) << found.to_string();
  EXPECT_FALSE(same_block && found.other.thread_known && found.other.thread == found.thread[0]);
  EXPECT_TRUE(found.inside);
}

TEST(GlobalRaces, AreFoundAndNothingElseIs) {
  const Device device = open_checked(check_race);
  unsigned turn = 0;
  for (const Case& each : kRaces) {
    auto threads = static_cast<ThreadModel>(turn++ % 3);
    // Blocks that are cut up have neither barriers nor shared memory.
    const std::string_view body = each.body;
    if (body.find("last") != body.npos || body.find("bar.") != body.npos)
      threads = turn % 2 ? ThreadModel::direct : ThreadModel::regions;
    run_case(device, each, threads);
  }
  EXPECT_EQ(device.sanitizer_report().places_left_out, 0u);
}

// Records keep a number of the launch, which has few bits.
TEST(GlobalRaces, LaunchesDoNotRaceWithOneAnother) {
  Device device = open_checked(check_race);
  Module module = must(Module::load(
      device,
      module_of("add.u32 %r3, %r1, 64; rem.u32 %r3, %r3, 192; mul.wide.u32 %d5, %r3, 4;"
                " add.u64 %d6, %d0, %d5;\nld.global.u32 %r4, [%d6];\nst.global.u32 [%d2], %r4;\n"),
      "global.ptx"));
  Kernel kernel = must(module.kernel("k"));
  Stage stage(device);
  const Args back = Args().buffer(stage.to).buffer(stage.from).buffer(stage.pointer);
  // A recording takes no kernel with checks, and no number for it.
  Graph recording = must(Graph::create(device));
  must(kernel.launch(stage.config, stage.args()));
  const auto facts = must(runtime::gather_facts(*kernel.state(), stage.config, stage.args()));
  const auto table = must(runtime::table_of(*device.state(), true, false));
  const std::uint32_t launches = table->launches;
  EXPECT_FALSE(must(recording.state()->add(facts, {})));
  EXPECT_EQ(table->launches, launches);
  for (int i = 0; i < 20; ++i) {
    must(kernel.launch(stage.config, stage.args()));
    must(kernel.launch(stage.config, back));
  }
  stage.config.repeat = 3;
  must(kernel.launch(stage.config, stage.args()));
  Graph graph = must(Graph::create(device));
  stage.config.repeat = 1;
  must(graph.add(kernel, stage.config, stage.args()));
  Stream stream = must(Stream::create(device));
  for (int i = 0; i < 3; ++i) must(stream.replay(graph));
  must(stream.synchronize());
  const SanitizerReport report = device.sanitizer_report();
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].to_string();
  // The same buffer on both sides is a race, also after so many launches.
  must(kernel.launch(stage.config, Args().buffer(stage.to).buffer(stage.to).buffer(stage.pointer)));
  EXPECT_FALSE(device.sanitizer_report().findings.empty());
}

// The smallest allocations get the records that there is room for, and what has none is said once.
TEST(GlobalRaces, MemoryWithoutRecordsIsSaid) {
  const test::DebugSettings one("sanitize-race-mib=1");
  DeviceOptions options;
  options.cache = false;
  options.checks = check_race;
  std::string said;
  options.report = [&](std::string_view text) { said += text; };
  const Device device = must(Device::open(options));
  const Buffer large = must(Buffer::create(device, 1 << 20));
  Module module =
      must(Module::load(device, module_of("st.global.u32 [%d1], %r9;\n"), "global.ptx"));
  const Kernel kernel = must(module.kernel("k"));
  const Stage stage(device);
  must(kernel.launch(stage.config, stage.args()));
  EXPECT_EQ(device.sanitizer_report().findings.size(), 1u) << "the small buffer has records";
  const std::size_t at = said.find("1.0 MiB of the program's memory are not looked at");
  EXPECT_NE(at, said.npos) << said;
  const Buffer more = must(Buffer::create(device, 2 << 20));
  must(kernel.launch(stage.config, Args().buffer(large).buffer(more).buffer(stage.pointer)));
  EXPECT_EQ(device.sanitizer_report().findings.size(), 1u) << "a large one has none";
  EXPECT_EQ(said.find("are not looked at", at + 60), said.npos) << said;
}

constexpr const char* kBenign = "st.global.u32 [%d1], %r9;\n";

std::size_t findings_with(const char* device_list, const char* launch_list = "") {
  Device device = open_checked(check_race, device_list);
  Module module = must(Module::load(device, module_of(kBenign), "folder/global.ptx"));
  Stage stage(device);
  stage.config.suppressions = launch_list;
  must(must(module.kernel("k")).launch(stage.config, stage.args()));
  const SanitizerReport report = device.sanitizer_report();
  EXPECT_EQ(report.findings.empty(), report.suppressed == 1);
  EXPECT_NE(report.to_json().find("\"suppressed\": " + std::to_string(report.suppressed)),
            std::string::npos);
  return report.findings.size();
}

TEST(Suppressions, CoverChecksKindsKernelsAndPlaces) {
  for (const char* list :
       {"race kernel=k", "racing at=global.ptx:11", "* at=folder/global.ptx", "race at=*.ptx",
        "# known\n\n  all   kernel=* at=global.ptx:11  # flags\n", "init kernel=x\nrace kernel=k"})
    EXPECT_EQ(findings_with(list), 0u) << list;
  for (const char* list :
       {"", "race kernel=other", "race at=global.ptx:12", "init kernel=k", "race at=lobal.ptx",
        "out-of-bounds at=global.ptx", "race kernel=k at=global.ptx:12"})
    EXPECT_EQ(findings_with(list), 1u) << list;
  EXPECT_EQ(findings_with("", "race kernel=k"), 0u);
  EXPECT_EQ(findings_with("init kernel=k", "race kernel=j"), 1u);
}

TEST(Suppressions, MistakesHaveTheirPlace) {
  EXPECT_EQ(suppressions_problem("race kernel=k\n# none\n", "a"), "");
  EXPECT_EQ(suppressions_problem("\n rcae kernel=k", "list"),
            "list:2:2: error: 'rcae' is no check and no kind of finding; '*' is any");
  EXPECT_EQ(
      suppressions_problem("race", "list"),
      "list:1:1: error: a suppression names a kernel (kernel=NAME) or a place (at=FILE:LINE)");
  EXPECT_EQ(suppressions_problem("race k", "list"),
            "list:1:6: error: 'k' is neither kernel=NAME nor at=FILE:LINE, once each");
  EXPECT_EQ(suppressions_problem("race at=a.cu:x", "list"),
            "list:1:6: error: 'at=a.cu:x' is not of the form at=FILE or at=FILE:LINE");
  EXPECT_NE(suppressions_problem("leaks kernel=k", "list"), "");
  EXPECT_NE(suppressions_problem("race kernel=k kernel=j", "list"), "");
  EXPECT_NE(suppressions_problem("race kernel=", "list"), "");
  DeviceOptions options;
  options.suppressions = "rcae kernel=k";
  auto device = Device::open(options);
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().text.find("suppressions:1:1: error: 'rcae'"), std::string::npos);
  Device good = open_checked(check_race);
  Module module = must(Module::load(good, module_of(kBenign), "global.ptx"));
  Stage stage(good);
  stage.config.suppressions = "race";
  EXPECT_FALSE(must(module.kernel("k")).launch(stage.config, stage.args()));
}

}  // namespace

std::vector<Scene> global_race_scenes() {
  std::vector<Scene> scenes;
  for (const Case& each : kRaces) scenes.push_back(scene_of(each));
  return scenes;
}

}  // namespace ptx2spv
