// Barriers and warp operations that some threads do not reach, and waits that do not end.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tests/sanitize/scene.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kThreads = 64;
// The second number is more than small workgroups have invocations for.
constexpr std::uint32_t kBlocks[] = {kThreads, 320};

/// Threads past the first 64 end at once, which is no fault. The first line of the body is 11.
std::string module_of(const std::string& body) {
  return ".version 8.3\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 to) {\n"
         "  .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %d<6>;\n"
         "  .shared .align 8 .b64 object;\n"
         "  mov.u32 %r0, %tid.x; setp.ge.u32 %p5, %r0, 64;\n  @%p5 bra end;\n"
         "  ld.param.u64 %d0, [to]; mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1;\n"
         "  and.b32 %r1, %r0, 31; setp.lt.u32 %p0, %r1, 16; setp.lt.u32 %p1, %r0, 32;\n" +
         body + "end:\n  ret;\n}\n";
}

struct Place {
  FindingKind kind;
  std::uint32_t line;
  bool operator==(const Place&) const = default;
  auto operator<=>(const Place&) const = default;
};

struct Case {
  const char* name;
  const char* body;  ///< %p0: the first half of a warp; %p1: the first warp; %d2: a word
  std::vector<Place> found;
  std::uint32_t other = 0;  ///< line of the other place
  const char* detail = "";
  bool ends = true;
};

using enum FindingKind;

const std::vector<Case> kBarriers = {
    {"all threads meet", "bar.sync 0;\nst.global.u32 [%d2], %r0;\n", {}},
    {"threads without work leave first",
     "setp.gt.u32 %p2, %r0, 40;\n@%p2 bra end;\nbar.sync 0;\nst.global.u32 [%d2], %r0;\n",
     {}},
    {"a warp passes by",
     "@!%p1 bra skip;\nbar.sync 0;\nskip:\nst.global.u32 [%d2], %r0;\n",
     {{missed_barrier, 12}},
     0,
     "32 threads reached it, and 32 threads of the block ended without it"},
    {"half a warp passes by",
     "@!%p0 bra skip;\nbar.sync 0;\nskip:\nst.global.u32 [%d2], %r0;\n",
     {{missed_barrier, 12}}},
    {"a warp leaves a loop early",
     "selp.b32 %r2, 3, 2, %p1;\nagain:\nbar.sync 0;\nst.global.u32 [%d2], %r0;\n"
     "sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0;\n@%p2 bra again;\n",
     {{missed_barrier, 13}}},
    {"all threads make as many rounds",
     "mov.u32 %r2, 3;\nagain:\nbar.sync 0;\nst.global.u32 [%d2], %r0;\n"
     "sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0;\n@%p2 bra again;\n",
     {}},
    {"two halves of a warp at two barriers",
     "@%p0 bra low;\nbar.sync 0;\nbra.uni join;\nlow:\nbar.sync 0;\njoin:\n"
     "st.global.u32 [%d2], %r0;\n",
     {{divergent_barrier, 12}},
     15},
    {"two halves of a warp at two barriers that need no alignment",
     "@%p0 bra low;\nbarrier.sync 0;\nbra.uni join;\nlow:\nbarrier.sync 0;\njoin:\n"
     "st.global.u32 [%d2], %r0;\n",
     {}},
    {"two warps at two places",
     "@%p1 bra low;\nbar.sync 0;\nbra.uni join;\nlow:\nbar.sync 0;\njoin:\n"
     "st.global.u32 [%d2], %r0;\n",
     {}},
    {"a reduction that half a warp passes by",
     "@!%p0 bra skip;\nbar.red.popc.u32 %r2, 0, %p1;\nskip:\nst.global.u32 [%d2], %r0;\n",
     {{missed_barrier, 12}}},
    {"two warps wait at two barriers for each other",
     "@%p1 bra low;\nbar.sync 1, 64;\nbra.uni end;\nlow:\nbar.sync 2, 64;\n",
     {{endless_wait, 12}, {endless_wait, 15}},
     0,
     "32 of 64 threads arrived, and nothing can bring the others",
     false},
    {"a fault before a wait that never ends",
     "st.global.u32 [%d2+65536], %r0;\n@%p1 bra low;\nbar.sync 1, 64;\nbra.uni end;\nlow:\n"
     "bar.sync 2, 64;\n",
     {{out_of_bounds, 11}, {endless_wait, 13}, {endless_wait, 16}},
     0,
     "error: out-of-bounds store of 4 bytes in global memory",
     false},
    {"one warp arrives, the other one waits",
     "@%p1 bra low;\nbar.sync 1, 64;\nbra.uni end;\nlow:\nbar.arrive 1, 64;\n",
     {}},
    {"a count that is no multiple of a warp",
     "mov.u32 %r2, 48;\nbar.sync 1, %r2;\nst.global.u32 [%d2], %r0;\n",
     {{barrier_count, 12}},
     0,
     "its count 48 is no multiple of 32"},
    {"a count above the block",
     "bar.sync 1, 992;\n",
     {{barrier_count, 11}, {endless_wait, 11}},
     0,
     "its count 992 is above the number of threads of the block",
     false},
    {"a count out of memory",
     "ld.global.u32 %r2, [%d0+256];\nbar.sync 1, %r2;\n",
     {{barrier_count, 12}},
     0,
     "its count 33 is no multiple of 32"},
    {"two counts for one barrier",
     "@%p1 bra low;\nbar.arrive 1, 32;\nbra.uni end;\nlow:\nbar.sync 1, 64;\n",
     {{barrier_count, 12}, {barrier_count, 15}},
     0,
     "other threads at it named another one"},
    {"a barrier that there is not",
     "ld.global.u32 %r2, [%d0+256]; sub.u32 %r2, %r2, 1;\nbar.sync %r2;\n",
     {{barrier_count, 12}},
     0,
     "there is no barrier 32, the last one is 15"},
    {"barrier 15 by a register",
     "ld.global.u32 %r2, [%d0+256]; sub.u32 %r2, %r2, 18;\nbar.sync %r2;\n",
     {}},
};

const std::vector<Case> kWarps = {
    {"all lanes",
     "shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;\nbar.warp.sync -1;\n"
     "vote.sync.ballot.b32 %r3, %p0, -1;\nmatch.any.sync.b32 %r4, %r1, -1;\n"
     "redux.sync.add.s32 %r5, %r1, -1;\nst.global.u32 [%d2], %r5;\n",
     {}},
    {"half the lanes, which the mask names",
     "@!%p0 bra skip;\nshfl.sync.idx.b32 %r2, %r0, 3, 31, 0xffff;\nbar.warp.sync 0xffff;\nskip:\n"
     "st.global.u32 [%d2], %r0;\n",
     {}},
    {"a mask of the active lanes",
     "@!%p0 bra skip;\nactivemask.b32 %r2;\nbar.warp.sync %r2;\nskip:\nst.global.u32 [%d2], %r0;\n",
     {}},
    {"lanes of the mask that wait at a barrier",
     "@!%p0 bra skip;\nbar.warp.sync -1;\nskip:\nbar.sync 0;\nst.global.u32 [%d2], %r0;\n",
     {{missing_lanes, 12}},
     0,
     "lanes 0xffff0000 of its members 0xffffffff were elsewhere"},
    {"lanes of the mask that end",
     "@!%p0 bra skip;\nredux.sync.add.s32 %r2, %r0, -1;\nskip:\nst.global.u32 [%d2], %r0;\n",
     {{missing_lanes, 12}}},
    {"lanes of the mask that left without work",
     "@!%p0 bra end;\nredux.sync.add.s32 %r2, %r0, -1;\nst.global.u32 [%d2], %r0;\n",
     {}},
    {"lanes of the mask at another operation",
     "@%p0 bra low;\nvote.sync.any.pred %p2, %p1, -1;\nbra.uni end;\nlow:\n"
     "match.any.sync.b32 %r2, %r0, -1;\n",
     {{missing_lanes, 12}, {missing_lanes, 15}}},
    {"a mask without the thread",
     "vote.sync.ballot.b32 %r2, %p1, 0xffff;\nst.global.u32 [%d2], %r2;\n",
     {{missing_lanes, 11}},
     0,
     "its members 0x0000ffff lack the thread's own lane"},
    {"two halves that name different members",
     "selp.b32 %r2, -1, 0xffff0001, %p0;\nbar.warp.sync %r2;\nst.global.u32 [%d2], %r0;\n",
     {{differing_members, 12}},
     0,
     "another lane among them named"},
    {"a shuffle with two masks",
     "selp.b32 %r2, -1, 0xffff0001, %p0;\nshfl.sync.idx.b32 %r3, %r0, 0, 31, %r2;\n"
     "st.global.u32 [%d2], %r3;\n",
     {{differing_members, 12}}},
    {"two halves that name themselves",
     "selp.b32 %r2, 0xffff, 0xffff0000, %p0;\nbar.warp.sync %r2;\n"
     "shfl.sync.bfly.b32 %r3, %r0, 1, 31, %r2;\nst.global.u32 [%d2], %r3;\n",
     {}},
    {"a lane that is no member",
     "@!%p0 bra skip;\nshfl.sync.idx.b32 %r2, %r0, 20, 31, 0xffff;\nskip:\n"
     "st.global.u32 [%d2], %r0;\n",
     {{undefined_lane, 12}},
     0,
     "it reads lane 20, and the members that are there are 0x0000ffff"},
    {"a lane that has left",
     "@!%p0 bra end;\nshfl.sync.down.b32 %r2, %r0, 1, 31, -1;\nst.global.u32 [%d2], %r2;\n",
     {{undefined_lane, 12}}},
    {"a lane out of its segment",
     "@!%p0 bra end;\nshfl.sync.down.b32 %r2, %r0, 1, 0x100f, -1;\nst.global.u32 [%d2], %r2;\n",
     {}},
};

const std::vector<Case> kWaits = {
    {"a store that comes",
     "@%p1 bra low;\nbar.sync 0;\nst.volatile.global.u32 [%d0], 1;\nbra.uni end;\nlow:\nbar.sync "
     "0;\n",
     {}},
    {"a store that never comes",
     "again:\nld.volatile.global.u32 %r2, [%d0];\nsetp.ne.u32 %p2, %r2, 77;\n@%p2 bra again;\n",
     {{endless_wait, 12}},
     0,
     "iterations of this loop",
     false},
    {"arrivals that come",
     "setp.ne.u32 %p2, %r0, 0; mov.u64 %d3, object;\n"
     "@!%p2 mbarrier.init.shared.b64 [%d3], 64;\nbar.sync 0;\n"
     "mbarrier.arrive.shared.b64 %d4, [%d3];\nagain:\n"
     "mbarrier.test_wait.shared.b64 %p3, [%d3], %d4;\n@!%p3 bra again;\n",
     {}},
    {"an arrival that never comes",
     "setp.ne.u32 %p2, %r0, 0; mov.u64 %d3, object;\n"
     "@!%p2 mbarrier.init.shared.b64 [%d3], 65;\nbar.sync 0;\n"
     "mbarrier.arrive.shared.b64 %d4, [%d3];\nagain:\n"
     "mbarrier.test_wait.shared.b64 %p3, [%d3], %d4;\n@!%p3 bra again;\n",
     {{endless_wait, 16}},
     0,
     "waits for a store that does not come",
     false},
};

Scene scene_of(const Case& each, std::uint32_t threads) {
  Scene scene;
  scene.name = fmt::format("sync, {}, {} threads", each.name, threads);
  scene.check = "sync";
  scene.faulty = !each.found.empty();
  scene.ptx = module_of(each.body + kept(each.body, "%d0"));
  scene.kernel = "k";
  scene.grid = 2;
  scene.block = {threads, 1};
  scene.memory = {{"to", 4 * kThreads + 4, 33u}};
  scene.arguments = {{Scene::Kind::memory, 0}};
  return scene;
}

void run_case(const Device& device, const Case& each, std::uint32_t threads) {
  const Scene scene = scene_of(each, threads);
  SCOPED_TRACE(scene.name);
  const std::string file = scene.name + ".ptx";
  Staged staged(device, scene);
  const auto launched = staged.launch(staged.load(file));
  EXPECT_EQ(static_cast<bool>(launched), each.ends)
      << (launched ? std::string("it ended") : launched.error().text);
  const SanitizerReport report = staged.report(file);
  compare_with_record(scene, report.findings);
  std::vector<Place> found, expected = each.found;
  std::sort(expected.begin(), expected.end());
  std::string all;
  for (const Finding& finding : report.findings) {
    found.push_back({finding.kind, finding.line});
    all += finding.to_string();
    EXPECT_EQ(finding.kernel, "k");
    EXPECT_LT(finding.thread[0], kThreads);
    EXPECT_LT(finding.cta[0], 2u);
    EXPECT_GE(finding.threads, 1u);
    EXPECT_FALSE(finding.instruction.empty());
  }
  std::sort(found.begin(), found.end());
  // Which of two sides comes second is the device's.
  if (each.found.size() == 2 && each.found[0].kind == barrier_count && found.size() == 1)
    EXPECT_TRUE(std::find(each.found.begin(), each.found.end(), found[0]) != each.found.end());
  else if (each.other && !found.empty() && found[0].line == each.other)
    EXPECT_EQ(report.findings[0].other.line, each.found[0].line) << all;
  else
    EXPECT_TRUE(found == expected) << all;
  if (each.found.empty() || report.findings.empty()) return;
  EXPECT_NE(all.find(each.detail), std::string::npos) << all;
  EXPECT_EQ(report.findings[0].other.known, each.other != 0) << all;
}

void run_all(const std::vector<Case>& cases) {
  // A device keeps the places of all of them.
  const Device device = open_checked(check_sync);
  for (const std::uint32_t threads : kBlocks)
    for (const Case& each : cases) run_case(device, each, threads);
  EXPECT_EQ(device.sanitizer_report().places_left_out, 0u);
}

TEST(Sync, BarriersThatSomeThreadsMissAreFound) {
  if (const char* reason = no_sync()) GTEST_SKIP() << reason;
  run_all(kBarriers);
}

TEST(Sync, WarpOperationsWithoutTheirMembersAreFound) {
  if (const char* reason = no_sync()) GTEST_SKIP() << reason;
  run_all(kWarps);
}

TEST(Sync, WaitsWithoutEndAreFound) {
  if (const char* reason = no_sync()) GTEST_SKIP() << reason;
  if (open_checked(check_sync).info().profile.exactness.independent_threads)
    GTEST_SKIP() << "waits are not bounded where threads advance independently";
  run_all(kWaits);
}

// Warps are cut from a block's threads in order: only in rows of whole warps are tid.y and the half
// of tid.x the same for all lanes of one.
TEST(Sync, WarpsThatSpanRowsAreLookedAt) {
  struct Row {
    Dim3 block;
    const char* condition;
    bool found;
  };
  const Row rows[] = {{{16, 16, 1}, "setp.eq.u32 %p0, %r1, 0;", true},
                      {{48, 2, 1}, "setp.lt.u32 %p0, %r0, 32;", true},
                      {{64, 2, 1}, "setp.eq.u32 %p0, %r1, 0;", false},
                      {{64, 2, 1}, "setp.lt.u32 %p0, %r0, 32;", false},
                      {{64, 1, 1}, "setp.lt.u32 %p0, %r0, 32;", false}};
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} by {}: {}", row.block.x, row.block.y, row.condition));
    // The shuffle is line 7.
    const std::string text = fmt::format(
        ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to) {{\n"
        ".reg .pred %p0; .reg .b32 %r<6>; .reg .b64 %d<3>;\nmov.u32 %r0, %tid.x; "
        "mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %r0; "
        "mov.u32 %r4, %r3; {} @!%p0 bra skip;\nshfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;\nskip:\n"
        "ld.param.u64 %d0, [to]; mul.wide.u32 %d1, %r3, 4; add.u64 %d2, %d0, %d1;\n"
        "st.global.u32 [%d2], %r4;\nret;\n}}\n",
        row.condition);
    const Device device = open_checked(check_sync);
    const Module module = must(Module::load(device, text, "rows.ptx"));
    Buffer to = must(Buffer::create(device, std::size_t{4} * row.block.x * row.block.y));
    LaunchConfig config;
    config.block = row.block;
    must(must(module.kernel("k")).launch(config, Args().buffer(to)));
    const std::vector<Finding> findings = device.sanitizer_report().findings;
    ASSERT_EQ(findings.size(), row.found ? 1u : 0u);
    if (!row.found) continue;
    EXPECT_EQ(findings[0].kind, missing_lanes) << findings[0].to_string();
    EXPECT_EQ(findings[0].line, 7u) << findings[0].to_string();
  }
}

// The manual demands that all threads of a warp execute it.
TEST(Sync, MatricesNeedTheWholeWarp) {
  if (const char* reason = no_sync()) GTEST_SKIP() << reason;
  const char* const instructions[] = {
      "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r0;",
      "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r0, %r0}, {%r0}, {%r0, %r0};",
      "mma.sp.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%r2, %r3, %r4, %r5}, {%r0, %r0}, "
      "{%r0, %r0}, {%r0, %r0, %r0, %r0}, %r0, 0;",
      "wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32 {%r2, %r3, %r4, %r5, %r6, %r7, %r8, "
      "%r9}, {%r0}, {%r0, %r0, %r0, %r0}, {%r0, %r0, %r0, %r0, %r0, %r0, %r0, %r0};"};
  for (const char* instruction : instructions) {
    const Device device = open_checked(check_sync);
    for (const bool half : {false, true}) {
      SCOPED_TRACE(instruction);
      const std::string text =
          module_of(fmt::format("@{} bra skip;\n{}\nskip:\nst.global.u32 [%d2], %r2;\n",
                                half ? "!%p0" : "!%p1", instruction));
      Module module = must(Module::load(device, text, "matrix.ptx"));
      Buffer to = must(Buffer::create(device, 4 * kThreads));
      LaunchConfig config;
      config.block = {kThreads, 1, 1};
      must(must(module.kernel("k")).launch(config, Args().buffer(to)));
      const std::vector<Finding> found = device.sanitizer_report().findings;
      EXPECT_EQ(found.empty(), !half) << (found.empty() ? "" : found[0].to_string());
      bool missing = false;
      for (const Finding& each : found) {
        missing = missing || each.kind == missing_lanes;
        EXPECT_TRUE(each.kind == missing_lanes || each.kind == undefined_lane) << each.to_string();
        EXPECT_EQ(each.line, 12u) << each.to_string();
      }
      EXPECT_EQ(missing, half);
    }
  }
}

// Without the check the same kernels are run as the device likes.
TEST(Sync, OtherChecksDoNotLookAtBarriers) {
  Device device = open_checked(check_memory);
  for (const Case& each : kBarriers) {
    if (!each.ends) continue;
    Module module = must(Module::load(device, module_of(each.body), "sync.ptx"));
    Buffer to = must(Buffer::create(device, 4 * kThreads + 4));
    must(to.upload(0, bytes_of(std::vector<std::uint32_t>(kThreads + 1, 33))));
    LaunchConfig config;
    config.block = {kThreads, 1, 1};
    must(must(module.kernel("k")).launch(config, Args().buffer(to)));
  }
  EXPECT_TRUE(device.sanitizer_report().findings.empty());
}

}  // namespace

std::vector<Scene> sync_scenes() {
  std::vector<Scene> scenes;
  for (const auto* cases : {&kBarriers, &kWarps, &kWaits})
    for (const Case& each : *cases)
      for (const std::uint32_t threads : kBlocks) scenes.push_back(scene_of(each, threads));
  return scenes;
}

}  // namespace ptx2spv
