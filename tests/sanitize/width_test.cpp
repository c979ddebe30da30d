// Surface accesses of more or fewer bytes than a texel has: findings of the check `width` alone.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sanitize/checked_device.hpp"

namespace ptx2spv {
namespace {

struct Access {
  const char* text;     ///< %h: the handle; %z: 0
  std::uint32_t bytes;  ///< 0: a whole texel, whatever it is
};

/// The first one stands in line kFirstLine, and each has a line and a thread of its own.
const Access kAccesses[] = {
    {"sust.b.2d.b8.zero [%h, {%z, %z}], %s", 1},
    {"suld.b.2d.b16.zero %s, [%h, {%z, %z}]", 2},
    {"suld.b.2d.b32.zero %v, [%h, {%z, %z}]", 4},
    {"sust.b.2d.v2.b32.zero [%h, {%z, %z}], {%v, %v}", 8},
    {"suld.b.2d.b64.zero %d, [%h, {%z, %z}]", 8},
    {"suld.b.2d.v4.b32.zero {%v, %v, %v, %v}, [%h, {%z, %z}]", 16},
    {"suld.b.2d.v4.b32.zero {%v, %u, %u, %u}, [%h, {%z, %z}]", 16},  // narrowed to 4
    {"sured.b.add.2d.u32.zero [%h, {%z, %z}], 1", 4},
    {"sured.p.min.2d.b32.zero [%h, {%z, %z}], 1", 4},
    {"sust.p.2d.b32.zero [%h, {%z, %z}], %v", 0},
};
constexpr std::uint32_t kFirstLine = 8;
const LaunchConfig kThreads{.block = {32, 1, 1}};

std::string module_of(bool from_memory) {
  std::string text = fmt::format(
      ".version 8.3\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 surface, .param .u64 handles) {{\n"
      "  .reg .pred %q; .reg .b32 %i; mov.u32 %i, %tid.x; .reg .b16 %s; .reg .b32 %z, %v, %u; .reg "
      ".b64 %h, %p, %d; mov.u32 %z, 0; mov.u16 %s, 0;\n"
      "  ld.param.u64 %h, [surface]; ld.param.u64 %p, [handles]; mov.u32 %v, 0;\n  {}\n",
      from_memory ? "ld.global.u64 %h, [%p];" : "");
  // Of many faults a thread keeps a few handles alone.
  unsigned thread = 0;
  for (const Access& access : kAccesses)
    text += fmt::format("setp.eq.u32 %q, %i, {}; @%q {};\n", thread++, access.text);
  return text +
         "setp.eq.u64 %q, %h, 0; @%q st.global.b64 [%p], %d; @%q st.global.b16 [%p], "
         "%s;\nret;\n}\n";
}

struct Texel {
  abi::SurfaceFormat format;
  std::uint32_t channels, bytes;
};
const Texel kTexels[] = {{abi::SurfaceFormat::u8, 1, 1},
                         {abi::SurfaceFormat::u8, 4, 4},
                         {abi::SurfaceFormat::f32, 1, 4},
                         {abi::SurfaceFormat::f16, 4, 8},
                         {abi::SurfaceFormat::f32, 4, 16}};

void expect_widths(std::uint32_t checks, const Texel& texel, bool from_memory,
                   ArrayBacking backing) {
  const Device device = open_checked(checks);
  ArrayDesc desc;
  desc.format = texel.format;
  desc.channels = static_cast<std::uint8_t>(texel.channels);
  desc.width = 32;
  desc.height = 2;
  desc.backing = backing;
  Array array = must(Array::create(device, desc));
  must(array.upload(std::vector<std::byte>(64 * texel.bytes)));
  Surface surface = must(Surface::create(array));
  Buffer handles = must(Buffer::create(device, 8));
  const std::uint64_t handle = surface.handle();
  must(handles.upload(0, std::as_bytes(std::span(&handle, 1))));
  const Module module = must(Module::load(device, module_of(from_memory), "width.ptx"));
  must(must(module.kernel("k")).launch(kThreads, Args().surface(surface).buffer(handles)));
  std::vector<std::string> expected, found;
  for (std::size_t i = 0; i < std::size(kAccesses) && (checks & check_width); ++i)
    if (kAccesses[i].bytes && kAccesses[i].bytes != texel.bytes)
      expected.push_back(
          fmt::format("line {}: bytes of the access: {}, of a texel of the 2d array: {}",
                      kFirstLine + i, kAccesses[i].bytes, texel.bytes));
  for (const Finding& each : device.sanitizer_report().findings) {
    EXPECT_STREQ(to_string(each.kind), "other-width");
    EXPECT_EQ(each.threads, 1u);
    EXPECT_EQ(each.object, from_memory ? "a surface by a handle from memory" : "surface 'surface'");
    EXPECT_NE(each.to_string().find("\n  width: " + each.detail), std::string::npos);
    found.push_back(fmt::format("line {}: {}", each.line, each.detail));
  }
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
}

TEST(Width, OtherThanTheTexelsIsAFindingOnRequest) {
  for (const Texel& texel : kTexels)
    for (const bool from_memory : {false, true})
      for (const ArrayBacking backing : {ArrayBacking::linear, ArrayBacking::image}) {
        SCOPED_TRACE(fmt::format("{} bytes, from memory: {}, backing {}", texel.bytes, from_memory,
                                 static_cast<int>(backing)));
        expect_widths(check_width, texel, from_memory, backing);
      }
  // CUDA defines what they do.
  expect_widths(kAllChecks & ~check_race, kTexels[1], false, ArrayBacking::linear);
}

TEST(Width, IsSuppressedByItsCheckAndItsKind) {
  for (const char* list : {"width kernel=k\n", "other-width at=width.ptx\n"}) {
    const Device device = open_checked(check_width, list);
    const Array array = must(Array::create(device, ArrayDesc{.width = 8, .height = 2}));
    const Surface surface = must(Surface::create(array));
    const Buffer handles = must(Buffer::create(device, 8));
    const Module module = must(Module::load(device, module_of(false), "width.ptx"));
    must(must(module.kernel("k")).launch(kThreads, Args().surface(surface).buffer(handles)));
    EXPECT_TRUE(device.sanitizer_report().findings.empty());
    EXPECT_GT(device.sanitizer_report().suppressed, 0u);
  }
}

}  // namespace
}  // namespace ptx2spv
