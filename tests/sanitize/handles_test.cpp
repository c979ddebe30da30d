// Handles that kernels choose, compute, keep and pass on: whichever way a wrong one comes, the
// instruction traps and names it, and one that was alive once is a finding.
#include <fmt/format.h>

#include "tests/sanitize/checked_device.hpp"
#include "tests/sanitize/ways.hpp"

namespace ptx2spv {
namespace {

constexpr const char* kSurfaceUses[] = {
    "suld.b.1d.b32.trap %l, [%p, {0}];",     "suld.b.1d.v4.b32.zero {%l, %h, %m, %n}, [%p, {0}];",
    "sust.b.1d.b32.clamp [%p, {0}], %h;",    "sust.p.1d.v4.b32.trap [%p, {0}], {%h, %h, %h, %h};",
    "sured.b.add.1d.u32.zero [%p, {0}], 1;", "suq.width.b32 %l, [%p];",
};
constexpr const char* kTextureUses[] = {
    "tex.1d.v4.u32.f32 {%l, %h, %m, %n}, [%p, {0f00000000}];",
    "tld4.r.2d.v4.u32.f32 {%l, %h, %m, %n}, [%p, {0f00000000, 0f00000000}];",
    "txq.width.b32 %l, [%p];",
};

struct Handles {
  explicit Handles(const Device& device)
      : array(must(Array::create(device, desc()))),
        cells(must(Buffer::create(device, 256))),
        surfaces{must(Surface::create(array)), must(Surface::create(array))},
        textures{must(Texture::create(array, {})), must(Texture::create(array, {}))} {
    must(array.fill(0));
    gone[0] = must(Surface::create(array)).handle();
    gone[1] = must(Texture::create(array, {})).handle();
  }
  static ArrayDesc desc() {
    ArrayDesc desc;
    desc.geometry = Geometry::d1;
    desc.format = abi::SurfaceFormat::u32;
    desc.width = 64;
    return desc;
  }
  Array array;
  Buffer cells;
  std::array<Surface, 2> surfaces;
  std::array<Texture, 2> textures;
  std::array<std::uint64_t, 2> gone{};
};

void expect_each(const Device& device, const Handles& handles, const std::string& text, bool null,
                 bool texture) {
  const std::uint64_t right = texture ? handles.textures[0].handle() : handles.surfaces[0].handle(),
                      other = texture ? handles.textures[1].handle() : handles.surfaces[1].handle(),
                      foreign =
                          texture ? handles.surfaces[0].handle() : handles.textures[0].handle();
  struct Wrong {
    const char* name;
    std::uint64_t handle;
    bool right = false, found = false;
  };
  const Wrong all[] = {{"another one", other, true},
                       {"null", 0},
                       {"destroyed", handles.gone[texture], false, true},
                       {"of the other kind", foreign},
                       {"of no record", right + 4096},
                       {"of another generation", right + (std::uint64_t{1} << 32)},
                       {"a pointer", handles.cells.address()}};
  for (const Wrong& wrong : all) {
    if (null && wrong.handle) continue;
    SCOPED_TRACE(wrong.name);
    static unsigned files = 0;
    const Module module = must(Module::load(device, text, fmt::format("h{}.ptx", files++)));
    LaunchConfig config;
    config.block = {32, 1, 1};
    Args args;
    texture ? args.texture(handles.textures[0]) : args.surface(handles.surfaces[0]);
    args.address(wrong.handle).buffer(handles.cells);
    const std::size_t before = device.sanitizer_report().findings.size();
    const auto ran = must(module.kernel("k")).launch(config, args);
    const auto findings = device.sanitizer_report().findings;
    EXPECT_EQ(findings.size() - before, wrong.found ? 1u : 0u);
    if (findings.size() > before) {
      EXPECT_EQ(findings.back().kind, FindingKind::freed_memory) << findings.back().to_string();
    }
    if (wrong.right) {
      EXPECT_TRUE(ran.ok()) << ran.error().to_string();
      continue;
    }
    ASSERT_FALSE(ran.ok()) << text;
    ASSERT_TRUE(ran.error().trap) << ran.error().to_string();
    const TrapReport& trap = *ran.error().trap;
    EXPECT_EQ(trap.kind, abi::TrapKind::dead_handle) << ran.error().to_string();
    EXPECT_EQ(trap.handle, wrong.handle);
    EXPECT_EQ(trap.thread[0], 5u);
    EXPECT_EQ(trap.trapped_threads, 1u);
  }
}

/// Each way, with the instructions in turns.
TEST(Handles, WrongOnesTrapWhateverWayTheyCome) {
  const Device device = open_checked(check_memory);
  const Handles handles(device);
  std::size_t turn = 0, row = 0;
  for (const Way& way : kWays)
    for (const bool texture : {false, true}) {
      if (way.multiple || ++row % share()) continue;
      const char* use = texture ? kTextureUses[turn++ % std::size(kTextureUses)]
                                : kSurfaceUses[turn++ % std::size(kSurfaceUses)];
      SCOPED_TRACE(fmt::format("{}, {}", way.name, use));
      expect_each(device, handles, kernel_of(way, use), way.null, texture);
    }
}

}  // namespace
}  // namespace ptx2spv
