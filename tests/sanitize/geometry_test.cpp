// Surface and texture instructions of one geometry on arrays of another: findings that name both.
#include <fmt/format.h>

#include "tests/sanitize/checked_device.hpp"

namespace ptx2spv {
namespace {

struct Pair {
  const char* access;  ///< %h: the handle; %x: 4 bytes times the thread; %z: 0
  Geometry array;
  const char* detail;  ///< nothing: the instruction finds the array
};

const Pair kPairs[] = {
    {"sust.b.1d.b32.trap [%h, {%x}], %z", Geometry::d2,
     "the instruction is of 1d, the array of 2d"},
    {"suld.b.1d.b32.clamp %v, [%h, {%x}]", Geometry::d3,
     "the instruction is of 1d, the array of 3d"},
    {"suld.b.2d.b32.zero %v, [%h, {%x, %z}]", Geometry::d1,
     "the instruction is of 2d, the array of 1d"},
    {"sust.p.3d.b32.trap [%h, {%z, %z, %z, %z}], %z", Geometry::a2d,
     "the instruction is of 3d, the array of a2d"},
    {"sured.b.add.3d.u32.clamp [%h, {%x, %z, %z, %z}], 1", Geometry::d2,
     "the instruction is of 3d, the array of 2d"},
    {"suld.b.a1d.b32.trap %v, [%h, {%z, %x}]", Geometry::d2,
     "the instruction is of a1d, the array of 2d"},
    {"suld.b.a2d.b32.trap %v, [%h, {%z, %x, %z, %z}]", Geometry::d3,
     "the instruction is of a2d, the array of 3d"},
    {"suld.b.2d.b32.trap %v, [%h, {%x, %z}]", Geometry::a2d, nullptr},
    {"suld.b.2d.b32.trap %v, [%h, {%x, %z}]", Geometry::d2, nullptr},
    {"suld.b.1d.b32.trap %v, [%h, {%x}]", Geometry::d1, nullptr},
    {"suld.b.a2d.b32.trap %v, [%h, {%z, %x, %z, %z}]", Geometry::a2d, nullptr},
};

std::string module_of(const Pair& pair, bool from_memory) {
  return fmt::format(
      ".version 8.3\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 surface, .param .u64 handles) {{\n"
      "  .reg .b32 %x, %z, %v; .reg .b64 %h, %p; .reg .pred %never; .shared .b32 word;\n  mov.u32 "
      "%z, 0; mov.u32 %x, %tid.x;\n"
      "  shl.b32 %x, %x, 2;\n  ld.param.u64 %h, [surface]; ld.param.u64 %p, [handles];\n"
      "  {}\n  {};\n  setp.eq.u64 %never, %h, 0; @%never st.shared.b32 [word], %v;\n"
      "  ret;\n}}\n",
      from_memory ? "ld.global.u64 %h, [%p];" : "", pair.access);
}

Array array_of(const Device& device, Geometry geometry, ArrayBacking backing) {
  ArrayDesc desc;
  desc.format = abi::SurfaceFormat::u32;
  desc.geometry = geometry;
  desc.width = 4;
  if (geometry != Geometry::d1 && geometry != Geometry::a1d) desc.height = 3;
  if (geometry == Geometry::d3) desc.depth = 2;
  if (geometry == Geometry::a1d || geometry == Geometry::a2d) desc.layers = 2;
  desc.backing = backing;
  Array array = must(Array::create(device, desc));
  must(array.fill(0));
  return array;
}

TEST(OtherGeometry, IsAFindingThatNamesBoth) {
  for (const std::uint32_t checks : {std::uint32_t{check_memory}, std::uint32_t{kAllChecks}})
    for (const Pair& pair : kPairs)
      for (const bool from_memory : {false, true})
        for (const ArrayBacking backing : {ArrayBacking::linear, ArrayBacking::image}) {
          SCOPED_TRACE(fmt::format("{} on {}, {} {}", pair.access, to_string(pair.array),
                                   from_memory, static_cast<int>(backing)));
          const Device device = open_checked(checks);
          const Array array = array_of(device, pair.array, backing);
          const Surface surface = must(Surface::create(array));
          Buffer handles = must(Buffer::create(device, 8));
          const std::uint64_t handle = surface.handle();
          must(handles.upload(0, std::as_bytes(std::span(&handle, 1))));
          Module module = must(Module::load(device, module_of(pair, from_memory), "pair.ptx"));
          LaunchConfig config;
          config.block.x = 4;
          must(must(module.kernel("k")).launch(config, Args().surface(surface).buffer(handles)));
          const SanitizerReport report = device.sanitizer_report();
          if (!pair.detail) {
            EXPECT_TRUE(report.findings.empty()) << report.findings[0].to_string();
            continue;
          }
          ASSERT_EQ(report.findings.size(), 1u);
          const Finding& found = report.findings[0];
          EXPECT_STREQ(to_string(found.kind), "other-geometry") << found.to_string();
          EXPECT_EQ(found.detail, pair.detail);
          EXPECT_EQ(found.line, 10u);
          EXPECT_EQ(found.threads, 4u);
          EXPECT_NE(found.to_string().find(pair.detail), std::string::npos) << found.to_string();
          EXPECT_EQ(found.object,
                    from_memory ? "a surface by a handle from memory" : "surface 'surface'");
        }
}

constexpr const char* kReads[] = {
    "tex.1d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%f}];",
    "tex.1d.v4.u32.s32 {%a, %b, %c, %d}, [%t, {%z}];",
    "tex.2d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%f, %f}];",
    "tex.2d.v4.u32.s32 {%a, %b, %c, %d}, [%t, {%z, %z}];",
    "tex.level.2d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%f, %f}], %f;",
    "tld4.r.2d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%f, %f}];",
    "tex.a2d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%z, %f, %f, %f}];",
    "tex.2dms.v4.u32.s32 {%a, %b, %c, %d}, [%t, {%z, %z, %z, %z}];",
    "tex.a1d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%z, %f}];",
    "tex.a1d.v4.u32.s32 {%a, %b, %c, %d}, [%t, {%z, %z}];",
    "tex.3d.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%f, %f, %f, %f}];",
    "tex.cube.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%f, %f, %f, %f}];",
    "tex.acube.v4.u32.f32 {%a, %b, %c, %d}, [%t, {%z, %f, %f, %f}];",
};
/// What the findings call them.
constexpr const char* kReadKinds[] = {"1d",   "1d at integer coordinates",
                                      "2d",   "2d at integer coordinates",
                                      "2d",   "2d",
                                      "a2d",  "2dms",
                                      "a1d",  "a1d at integer coordinates",
                                      "3d",   "cube",
                                      "acube"};
constexpr std::uint32_t kFirstRead = 9;  ///< its line

std::string reads_of(bool from_memory) {
  std::string text = fmt::format(
      ".version 8.3\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 texture, .param .u64 cell) {{\n"
      "  .reg .b32 %a, %b, %c, %d, %z, %x; .reg .f32 %f; .reg .b64 %t, %p; mov.u32 %z, 0;\n"
      "  .reg .pred %q; .reg .b32 %i; mov.u32 %i, %tid.x; mov.u32 %x, 0; mov.u32 %a, 0; mov.f32 "
      "%f, 0f00000000;\n"
      "  ld.param.u64 %t, [texture]; ld.param.u64 %p, [cell];\n  {}\n",
      from_memory ? "ld.global.u64 %t, [%p];" : "");
  // A thread keeps the handles of a few faults alone, and makes one here.
  unsigned thread = 0;
  for (const char* read : kReads)
    text += fmt::format("setp.eq.u32 %q, %i, {}; @%q {} add.u32 %x, %x, %a;\n", thread++, read);
  return text + "st.global.u32 [%p+8], %x;\nret;\n}\n";
}

/// A texture, what findings call it, and a bit for each of kReads that finds something in it.
struct Shown {
  const char* name;
  std::uint32_t read_by;
  std::optional<Geometry> array;  ///< nothing: memory
  bool cube = false, rows = false;
};
constexpr std::uint32_t kPlanes = 0b11111101;
const Shown kShown[] = {
    {"1d", kPlanes, Geometry::d1},
    {"2d", kPlanes, Geometry::d2},
    {"a2d", kPlanes, Geometry::a2d},
    {"pitched memory", kPlanes, {}, false, true},
    {"a1d", 1 << 1 | 1 << 8 | 1 << 9, Geometry::a1d},
    {"linear memory", 1 << 1 | 1 << 9, {}},
    {"3d", 1 << 10, Geometry::d3},
    {"cube", 1 << 11 | 1 << 12, Geometry::a2d, true},
};

TEST(OtherGeometry, OfTexturesIsFoundWhereAnInstructionFindsNothing) {
  for (const Shown& shown : kShown)
    for (const bool from_memory : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, from memory: {}", shown.name, from_memory));
      const Device device = open_checked(check_memory);
      ArrayDesc desc;
      desc.format = abi::SurfaceFormat::u32;
      desc.geometry = shown.array.value_or(Geometry::d1);
      desc.width = 4;
      if (desc.geometry != Geometry::d1 && desc.geometry != Geometry::a1d) desc.height = 4;
      if (desc.geometry == Geometry::d3) desc.depth = 2;
      if (desc.geometry == Geometry::a1d || desc.geometry == Geometry::a2d) desc.layers = 6;
      Array array = must(Array::create(device, desc));
      must(array.fill(0));
      const Buffer memory = must(Buffer::create(device, 1024));
      TextureMemory view;
      view.width = 4;
      if (shown.rows) view.height = 4, view.pitch = 256;
      TextureDesc how;
      how.cube = shown.cube;
      how.read_as_integer = true;
      const Texture texture = shown.array ? must(Texture::create(array, how))
                                          : must(Texture::create(memory, view, how));
      Buffer cell = must(Buffer::create(device, 16));
      const std::uint64_t handle = texture.handle();
      must(cell.upload(0, std::as_bytes(std::span(&handle, 1))));
      const Module module = must(Module::load(device, reads_of(from_memory), "reads.ptx"));
      LaunchConfig config;
      config.block.x = 32;
      must(must(module.kernel("k")).launch(config, Args().texture(texture).buffer(cell)));
      std::vector<std::string> expected, found;
      for (std::size_t i = 0; i < std::size(kReads); ++i)
        if (!(shown.read_by >> i & 1))
          expected.push_back(
              fmt::format("line {}, 1 thread: the instruction is of {}, the texture of {}",
                          kFirstRead + i, kReadKinds[i], shown.name));
      for (const Finding& each : device.sanitizer_report().findings) {
        EXPECT_STREQ(to_string(each.kind), "other-geometry");
        EXPECT_NE(each.to_string().find("\n  geometry: " + each.detail), std::string::npos);
        found.push_back(
            fmt::format("line {}, {} thread: {}", each.line, each.threads, each.detail));
      }
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(found, expected);
    }
}

}  // namespace
}  // namespace ptx2spv
