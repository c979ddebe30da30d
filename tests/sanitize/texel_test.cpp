// Texels that nobody wrote, and races for texels.
#include <fmt/format.h>

#include <optional>

#include "tests/sanitize/scene.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kWidth = kTexelWidth, kHeight = kTexelHeight, kLayers = kTexelLayers;

/// A thread for each texel of a layer: %r0 its x, %r1 its y, %r2 the layer, %r3 4 x. %d0, %d1:
/// surfaces `from` and `to` of texels of 4 bytes; %d2: the handle of `to`, out of memory. The first
/// line of the body is 9.
std::string module_of(const std::string& body) {
  return ".version 8.3\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 from, .param .u64 to, .param .u64 handles) {\n"
         "  .reg .pred %p<4>; .reg .b16 %h<2>; .reg .b32 %r<12>; .reg .b64 %d<6>;\n"
         "  ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.param.u64 %d3, [handles];\n"
         "  ld.global.u64 %d2, [%d3]; mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, "
         "%ctaid.x;\n  shl.b32 %r3, %r0, 2; mov.u32 %r9, 7; xor.b32 %r4, %r3, 64;\n" +
         body + "end:\n  ret;\n}\n";
}

struct Case {
  const char* name;
  const char* body;
  Geometry geometry = Geometry::a2d;
  std::optional<FindingKind> kind = {};
  std::uint32_t line = 0, other = 0;
};

constexpr FindingKind kInit = FindingKind::uninitialised, kRace = FindingKind::race;

const Case kCases[] = {
    {"texels that the host wrote",
     "suld.b.a2d.b32.trap %r5, [%d0, {%r2, %r3, %r1, %r1}];\n"
     "sust.b.a2d.b32.trap [%d1, {%r2, %r3, %r1, %r1}], %r5;\n"},
    {"texels that nobody wrote",
     "suld.b.a2d.b32.trap %r5, [%d1, {%r2, %r3, %r1, %r1}];\n"
     "sust.b.a2d.b32.trap [%d0, {%r2, %r3, %r1, %r1}], %r5;\n",
     Geometry::a2d, kInit, 9},
    {"texels that nobody wrote, by a handle out of memory",
     "suld.b.a2d.b32.trap %r5, [%d2, {%r2, %r3, %r1, %r1}];\n", Geometry::a2d, kInit, 9},
    {"own texels, written before",
     "sust.b.a2d.b32.trap [%d1, {%r2, %r3, %r1, %r1}], %r9;\n"
     "suld.b.a2d.b32.trap %r5, [%d2, {%r2, %r3, %r1, %r1}];\n"},
    {"half of a texel",
     "mov.u16 %h0, 7;\nsust.b.a2d.b16.trap [%d1, {%r2, %r3, %r1, %r1}], %h0;\n"
     "suld.b.a2d.b32.trap %r5, [%d1, {%r2, %r3, %r1, %r1}];\n",
     Geometry::a2d, kInit, 11},
    {"texels beyond the border, which clamp leads back",
     "sust.b.a2d.b32.clamp [%d1, {%r2, %r3, %r1, %r1}], %r9;\nbar.sync 0;\n"
     "add.u32 %r5, %r3, 256;\nsuld.b.a2d.b32.clamp %r6, [%d1, {%r2, %r5, %r1, %r1}];\n"},
    {"texels that clamp wrote at the border",
     "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra end;\nmov.u32 %r5, 1000; mov.u32 %r6, 124;\n"
     "sust.b.a2d.b32.clamp [%d1, {%r2, %r5, %r1, %r1}], %r9;\n"
     "suld.b.a2d.b32.trap %r7, [%d1, {%r2, %r6, %r1, %r1}];\n"},
    {"texels out of range, which zero leaves alone",
     "add.u32 %r5, %r3, 256;\nsuld.b.a2d.b32.zero %r6, [%d1, {%r2, %r5, %r1, %r1}];\n"},
    {"a formatted store",
     "sust.p.a2d.b32.trap [%d1, {%r2, %r0, %r1, %r1}], %r9;\n"
     "suld.b.a2d.b32.trap %r5, [%d1, {%r2, %r3, %r1, %r1}];\n"},
    {"reductions into what the host wrote",
     "mov.u32 %r5, 0;\nsured.b.add.2d.u32.trap [%d0, {%r5, %r5}], %r9;\n", Geometry::d2},
    {"reductions into what nobody wrote",
     "mov.u32 %r5, 0;\nsured.b.add.2d.u32.trap [%d1, {%r5, %r5}], %r9;\n", Geometry::d2, kInit, 10},
    {"one texel by all threads",
     "mov.u32 %r5, 4; mov.u32 %r6, 0;\nsust.b.a2d.b32.trap [%d1, {%r6, %r5, %r6, %r6}], %r9;\n",
     Geometry::a2d, kRace, 10, 10},
    {"one texel by all threads, formatted",
     "mov.u32 %r5, 4; mov.u32 %r6, 0;\nsust.p.a2d.b32.trap [%d2, {%r6, %r5, %r6, %r6}], %r9;\n",
     Geometry::a2d, kRace, 10, 10},
    {"a neighbour's texel without a barrier",
     "sust.b.a2d.b32.trap [%d1, {%r2, %r3, %r1, %r1}], %r9;\n"
     "suld.b.a2d.b32.trap %r5, [%d1, {%r2, %r4, %r1, %r1}];\n",
     Geometry::a2d, kRace, 10, 9},
    {"a neighbour's texel with a barrier",
     "sust.b.a2d.b32.trap [%d1, {%r2, %r3, %r1, %r1}], %r9;\nbar.sync 0;\n"
     "suld.b.a2d.b32.trap %r5, [%d1, {%r2, %r4, %r1, %r1}];\n"},
    {"a texel by two surfaces of one array",
     "sust.b.a2d.b32.trap [%d1, {%r2, %r3, %r1, %r1}], %r9;\n"
     "suld.b.a2d.b32.trap %r5, [%d2, {%r2, %r4, %r1, %r1}];\n",
     Geometry::a2d, kRace, 10, 9},
    {"texels of another layer, in spite of a barrier",
     "sust.b.a2d.b32.trap [%d1, {%r2, %r3, %r1, %r1}], %r9;\nbar.sync 0;\n"
     "add.u32 %r5, %r2, 1; rem.u32 %r5, %r5, 3;\n"
     "suld.b.a2d.b32.trap %r6, [%d1, {%r5, %r3, %r1, %r1}];\n",
     Geometry::a2d, kRace, 12, 9},
    {"rows of a plane",
     "mov.u32 %r5, %r2;\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 bra end;\n"
     "sust.b.2d.b32.trap [%d1, {%r3, %r5}], %r9;\nsuld.b.2d.b32.trap %r6, [%d1, {%r3, %r5}];\n",
     Geometry::d2},
    {"slices of a volume",
     "sust.b.3d.b32.trap [%d1, {%r3, %r1, %r2, %r2}], %r9;\n"
     "suld.b.3d.b32.trap %r6, [%d1, {%r3, %r1, %r2, %r2}];\n",
     Geometry::d3},
    {"the last slice of a volume",
     "setp.eq.u32 %p0, %r2, 2;\n@%p0 bra skip;\n"
     "sust.b.3d.b32.trap [%d1, {%r3, %r1, %r2, %r2}], %r9;\nskip:\n"
     "suld.b.3d.b32.trap %r6, [%d1, {%r3, %r1, %r2, %r2}];\n",
     Geometry::d3, kInit, 13},
};

Scene scene_of(const Case& each, ArrayBacking backing) {
  Scene scene;
  scene.check = each.kind == kRace ? "race" : "init";
  scene.name = fmt::format("{} of texels, {}", scene.check, each.name);
  scene.faulty = each.kind.has_value();
  scene.ptx = module_of(each.body + kept(each.body, "%d3"));
  scene.kernel = "k";
  scene.grid = kLayers;
  scene.block = {kWidth, kHeight};
  scene.memory = {{"handles", 8, {}, {}, 1}};
  scene.arrays = {{each.geometry, true, backing}, {each.geometry, false, backing}};
  scene.arguments = {
      {Scene::Kind::surface, 0}, {Scene::Kind::surface, 1}, {Scene::Kind::memory, 0}};
  return scene;
}

void run_case(const Device& device, const Case& each, ArrayBacking backing, ThreadModel threads) {
  SCOPED_TRACE(
      fmt::format("{}, {}, {}", each.name, static_cast<int>(backing), static_cast<int>(threads)));
  const std::string file =
      fmt::format("{} {} {}.ptx", each.name, static_cast<int>(backing), static_cast<int>(threads));
  const Scene scene = scene_of(each, backing);
  Staged staged(device, scene);
  must(staged.launch(staged.load(file), threads));
  const SanitizerReport report = staged.report(file);
  compare_with_record(scene, report.findings);
  if (!each.kind) {
    EXPECT_TRUE(report.findings.empty()) << report.findings[0].to_string();
    return;
  }
  ASSERT_EQ(report.findings.size(),
            each.other && each.other != each.line ? report.findings.size() : 1u);
  ASSERT_FALSE(report.findings.empty());
  const Finding& found = report.findings[0];
  EXPECT_STREQ(to_string(found.kind), to_string(*each.kind)) << found.to_string();
  EXPECT_EQ(found.memory, MemorySpace::surface);
  EXPECT_EQ(found.coordinates.size(), 2u);
  if (!each.other) {
    EXPECT_EQ(found.line, each.line) << found.to_string();
    return;
  }
  ASSERT_TRUE(found.other.known) << found.to_string();
  EXPECT_TRUE((found.line == each.line && found.other.line == each.other) ||
              (found.line == each.other && found.other.line == each.line))
      << found.to_string();
}

void run_all(std::uint32_t checks) {
  const Device device = open_checked(checks);
  unsigned turn = 0;
  for (const Case& each : kCases) {
    if (each.kind && (*each.kind == kRace) != (checks == check_race)) continue;
    const bool barrier = std::string_view(each.body).find("bar.") != std::string_view::npos;
    ThreadModel threads = turn % 3 == 0   ? ThreadModel::direct
                          : turn % 3 == 1 ? ThreadModel::regions
                                          : ThreadModel::flat;
    if (barrier && threads == ThreadModel::flat) threads = ThreadModel::regions;
    // Images take whole texels alone.
    const bool parts = std::string_view(each.body).find("b16") != std::string_view::npos;
    const bool image = turn++ % 2 == 1 && !parts;
    run_case(device, each, image ? ArrayBacking::image : ArrayBacking::linear, threads);
  }
  EXPECT_EQ(device.sanitizer_report().places_left_out, 0u);
}

TEST(Texels, ReadsOfWhatNobodyWroteAreFound) { run_all(check_init); }
TEST(Texels, RacesAreFound) { run_all(check_race); }

// A launch with every way of the host before it reads what that wrote.
TEST(Texels, EveryWayOfTheHostCounts) {
  Device device = open_checked(check_init);
  Module module = must(Module::load(
      device, module_of("suld.b.2d.b32.trap %r5, [%d0, {%r3, %r1}];\nst.global.u32 [%d3], %r5;\n"),
      "texels.ptx"));
  Kernel kernel = must(module.kernel("k"));
  ArrayDesc desc;
  desc.format = abi::SurfaceFormat::u32;
  desc.width = kWidth;
  desc.height = kHeight;
  Buffer handles = must(Buffer::create(device, 8));
  const auto fresh = [&](ArrayBacking backing) {
    desc.backing = backing;
    return must(Array::create(device, desc));
  };
  LaunchConfig config;
  config.block = {kWidth, kHeight, 1};
  const auto threads = [&](const Array& array) {
    must(handles.upload(0, bytes_of(std::vector<std::uint64_t>{0})));
    const std::uint64_t before = device.sanitizer_report().findings.empty()
                                     ? 0
                                     : device.sanitizer_report().findings[0].threads;
    Surface surface = must(Surface::create(array));
    must(kernel.launch(config, Args().surface(surface).surface(surface).buffer(handles)));
    const SanitizerReport report = device.sanitizer_report();
    return (report.findings.empty() ? 0 : report.findings[0].threads) - before;
  };
  const std::vector<std::byte> texels(kWidth * kHeight * 4);
  Buffer source = must(Buffer::create(device, texels.size()));
  must(source.upload(0, texels));
  Stream stream = must(Stream::create(device));
  ArrayRegion rows;
  rows.y = 1;
  rows.height = 2;
  for (const ArrayBacking backing : {ArrayBacking::linear, ArrayBacking::image}) {
    Array uploaded = fresh(backing), filled = fresh(backing), copied = fresh(backing),
          of_buffer = fresh(backing), streamed = fresh(backing), partly = fresh(backing),
          boxed = fresh(backing);
    must(uploaded.upload(texels));
    must(filled.fill(0x01020304));
    must(copied.copy_from(uploaded));
    must(of_buffer.copy_from(source, 0, {}));
    must(stream.upload(streamed, {}, texels));
    must(stream.synchronize());
    must(partly.upload(rows, texels));
    must(boxed.copy_from(uploaded, rows, rows));
    for (const Array* each : {&uploaded, &filled, &copied, &of_buffer, &streamed})
      EXPECT_EQ(threads(*each), 0u);
    EXPECT_EQ(threads(partly), 2 * kWidth);
    EXPECT_EQ(threads(boxed), 2 * kWidth);
    Array other = fresh(backing);
    config.checks = no_checks;
    (void)threads(uploaded);
    config.checks = check_init;
    EXPECT_EQ(threads(other), 0u) << "a launch without checks may have written anything";
  }
}

}  // namespace

std::vector<Scene> texel_scenes() {
  std::vector<Scene> scenes;
  for (const Case& each : kCases) scenes.push_back(scene_of(each, ArrayBacking::automatic));
  return scenes;
}

}  // namespace ptx2spv
