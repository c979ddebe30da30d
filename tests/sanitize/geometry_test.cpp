// Surface instructions of one geometry on arrays of another: findings that name both.
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
      "  .reg .b32 %x, %z, %v; .reg .b64 %h, %p;\n  mov.u32 %z, 0; mov.u32 %x, %tid.x;\n"
      "  shl.b32 %x, %x, 2;\n  ld.param.u64 %h, [surface]; ld.param.u64 %p, [handles];\n"
      "  {}\n  {};\n  ret;\n}}\n",
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
          EXPECT_EQ(found.object, from_memory ? "a surface by a handle from memory"
                                              : "surface 'surface'");
        }
}

}  // namespace
}  // namespace ptx2spv
