// Surfaces and textures in forms that no record holds: kinds of handles, registers of the other
// class as values and coordinates, what initialisers state, and where a trap is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "ptx2spv/runtime.hpp"
#include "tests/instructions/handles.hpp"
#include "tests/support/runtime.hpp"

namespace ptx2spv::tests {
namespace {

using Words = std::vector<std::uint32_t>;

class Handles : public testing::TestWithParam<ArrayBacking> {
 protected:
  void SetUp() override {
    auto opened = Device::open();
    ASSERT_TRUE(opened) << opened.error().to_string();
    device_ = *opened;
  }
  template <class T>
  Array array(Geometry geometry, std::uint32_t channels, std::uint32_t width, std::uint32_t height,
              const std::vector<T>& texels, abi::SurfaceFormat format = abi::SurfaceFormat::u32) {
    ArrayDesc desc;
    desc.geometry = geometry;
    desc.format = format;
    desc.channels = channels;
    desc.width = width;
    desc.height = height;
    desc.backing = GetParam();
    desc.name = "plate";
    auto made = Array::create(*device_, desc);
    EXPECT_TRUE(made) << made.error().to_string();
    EXPECT_TRUE(made->upload(bytes_of(texels)));
    return *made;
  }
  template <class T>
  std::vector<T> texels(const Array& array, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(array.download(std::as_writable_bytes(std::span(values))));
    return values;
  }
  Buffer buffer(const Words& words) {
    auto made = Buffer::create(*device_, words.size() * 4);
    EXPECT_TRUE(made && made->upload(0, bytes_of(words)));
    return *made;
  }
  Words words(const Buffer& from, std::size_t count) {
    Words values(count);
    EXPECT_TRUE(from.download(0, std::as_writable_bytes(std::span(values))));
    return values;
  }
  /// The error of the launch, empty without.
  std::string run(const char* text, const Args& args, std::uint32_t threads = 1) {
    const auto module = Module::load(*device_, text, "handles.ptx");
    if (!module) return module.error().to_string();
    const auto kernel = module->kernel("k");
    if (!kernel) return kernel.error().to_string();
    LaunchConfig config;
    config.block = {threads, 1, 1};
    const auto done = kernel->launch(config, args);
    if (done) return {};
    return done.error().trap ? done.error().trap->to_string() : done.error().to_string();
  }
  std::optional<Device> device_;
};

TEST_P(Handles, TellWhatTheyAre) {
  const Array some = array(Geometry::d2, 1, 4, 4, Words(16));
  const auto surface = Surface::create(some);
  const auto texture = Texture::create(some, {});
  ASSERT_TRUE(surface && texture);
  const Buffer out = buffer(Words(6));
  ASSERT_EQ(run(kKindsModule, Args().buffer(out).texture(*texture).surface(*surface)), "");
  EXPECT_EQ(words(out, 6), (Words{1, 0, 0, 0, 0, 1}));
}

TEST_P(Handles, ReductionsTakeTheBitsOfFloats) {
  constexpr std::uint32_t kThreads = 32;
  Words before(128), in(2 * kThreads);
  std::vector<std::uint64_t> pairs(kThreads);
  for (std::uint32_t i = 0; i < 128; ++i) before[i] = i * 0x9e3779b9u;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    in[2 * i] = std::bit_cast<std::uint32_t>(0.37f * static_cast<float>(i) - 4.0f);
    const double value = 1.0 / (i + 1.0) - (i % 3);
    std::uint32_t high = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(value) >> 32);
    in[2 * i + 1] = high;
    pairs[i] = (std::uint64_t{high} << 32 | 0x80000000u) + (i % 2 ? 1ull << 40 : 0);
  }
  const Array first = array(Geometry::d1, 1, 128, 1, before),
              second = array(Geometry::d1, 2, kThreads, 1, pairs);
  const auto a = Surface::create(first), b = Surface::create(second);
  ASSERT_TRUE(a && b);
  const Buffer from = buffer(in);
  ASSERT_EQ(run(kReductionsModule, Args().buffer(from).surface(*a).surface(*b), kThreads), "");
  const Words after = texels<std::uint32_t>(first, 128);
  const auto least = texels<std::uint64_t>(second, kThreads);
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    const std::uint32_t bits = in[2 * i];
    EXPECT_EQ(after[i], before[i] | bits) << i;
    EXPECT_EQ(after[32 + i], before[32 + i] & bits) << i;
    EXPECT_EQ(after[64 + i], before[64 + i] + bits) << i;
    EXPECT_EQ(after[96 + i], before[96 + i] | static_cast<std::uint32_t>(1000.7 * i)) << i;
    EXPECT_EQ(least[i], std::min(pairs[i], std::uint64_t{in[2 * i + 1]} << 32 | bits)) << i;
  }
}

TEST_P(Handles, CoordinatesAreBits) {
  constexpr std::uint32_t kSize = 8, kThreads = kSize * kSize;
  Words values(kThreads);
  for (std::uint32_t i = 0; i < kThreads; ++i) values[i] = 1000 + i * i;
  const Array from = array(Geometry::d2, 1, kSize, kSize, values),
              to = array(Geometry::d2, 1, kSize, kSize, Words(kThreads));
  TextureDesc desc;
  desc.read_as_integer = true;
  const auto a = Surface::create(from), b = Surface::create(to);
  const auto texture = Texture::create(from, desc);
  ASSERT_TRUE(a && b && texture);
  const Buffer out = buffer(Words(4 * kThreads));
  ASSERT_EQ(
      run(kPlacesModule, Args().buffer(out).surface(*a).surface(*b).texture(*texture), kThreads),
      "");
  EXPECT_EQ(texels<std::uint32_t>(to, kThreads), values);
  const Words read = words(out, 4 * kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t)
    for (std::uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(read[4 * t + i], values[t % 8 * kSize + t / 8]) << t << ", " << i;
}

TEST_P(Handles, InitialisersStateTheSamples) {
  const Buffer out = buffer(Words(3));
  ASSERT_EQ(run(kSamplesModule, Args().buffer(out)), "");
  EXPECT_EQ(words(out, 3), (Words{4, 1, 8}));
}

TEST_P(Handles, SamplesAreReadAsHalves) {
  constexpr std::uint32_t kThreads = 32;
  Words values(2 * kThreads);
  // Halves that are numbers: their exponents are between 8 and 15.
  for (std::uint32_t i = 0; i < values.size(); ++i)
    values[i] = ((i * 0x9e3779b9u) & 0x9fff9fff) | 0x20002000;
  const Array from = array(Geometry::d2, 4, 8, 4, values, abi::SurfaceFormat::f16);
  const auto texture = Texture::create(from, {});
  ASSERT_TRUE(texture);
  const Buffer out = buffer(Words(6 * kThreads));
  ASSERT_EQ(run(kHalvesModule, Args().buffer(out).texture(*texture), kThreads), "");
  const Words read = words(out, 6 * kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t)
    for (std::uint32_t i = 0; i < 6; ++i)
      EXPECT_EQ(read[6 * t + i], values[2 * t + i % 2]) << t << ", " << i;
}

TEST_P(Handles, ATrapEndsItsThread) {
  const Buffer out = buffer(Words(32));
  const std::string error = run(kTrapModule, Args().buffer(out), 32);
  EXPECT_TRUE(error.starts_with("handles.ptx:12:7: error: trap instruction")) << error;
  EXPECT_NE(error.find("thread (5, 0, 0)"), std::string::npos) << error;
  EXPECT_EQ(words(out, 32)[5], 0u);
}

// Where a trap is: file, line and column of the instruction, and what its x counts.
TEST_P(Handles, TrapsSayWhereAndInWhichUnit) {
  struct {
    const char *access, *unit;
    std::uint32_t x;
  } cases[] = {
      {"suld.b.1d.b32.trap %r, [%h, {%x}];", "x = 32 (x in bytes)", 32},
      {"sust.b.1d.b32.trap [%h, {%x}], %r;", "x = -4 (x in bytes)", 0u - 4},
      {"sust.p.1d.b32.trap [%h, {%x}], %r;", "x = 8 (x in texels)", 8},
      {"sured.b.add.1d.u32.trap [%h, {%x}], %r;", "x = 40 (x in bytes)", 40},
      {"sured.p.add.1d.b32.trap [%h, {%x}], %r;", "x = 8 (x in units of .b32, 4 bytes)", 8}};
  const Array some = array(Geometry::d1, 1, 8, 1, Words(8));
  const auto surface = Surface::create(some);
  ASSERT_TRUE(surface);
  for (const auto& each : cases) {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 surf, .param .u32 at)\n{\n"
        ".reg .b64 %h; .reg .b32 %x, %r;\nld.param.u64 %h, [surf];\nld.param.u32 %x, [at];\n"
        "mov.u32 %r, 0;   " +
        std::string(each.access) + "\n.shared .b32 word;\nst.shared.b32 [word], %r;\nret;\n}\n";
    const std::string error = run(text.c_str(), Args().surface(*surface).value(each.x));
    EXPECT_TRUE(error.starts_with("handles.ptx:9:18: error: ")) << error;
    EXPECT_NE(error.find(each.unit), std::string::npos) << error;
  }
}

// The unit of x is the instruction's, whatever the geometry and wherever x lies in the operand.
TEST_P(Handles, TrapsNameTheUnitOfXInEveryGeometry) {
  const struct {
    Geometry geometry;
    const char *name, *place;
  } kinds[] = {{Geometry::d2, "2d", "{%x, %z}"},
               {Geometry::d3, "3d", "{%x, %z, %z, %z}"},
               {Geometry::a1d, "a1d", "{%z, %x}"},
               {Geometry::a2d, "a2d", "{%z, %x, %z, %z}"}};
  const struct {
    const char *access, *rest, *unit;
    std::uint32_t x;
  } accesses[] = {{"suld.b", "b32.trap %r, ", " (x in bytes)", 32},
                  {"sust.b", "b32.trap ", " (x in bytes)", 32},
                  {"sust.p", "b32.trap ", " (x in texels)", 8},
                  {"sured.b.add", "u32.trap ", " (x in bytes)", 32},
                  {"sured.p.add", "b32.trap ", " (x in units of .b32, 4 bytes)", 8}};
  for (const auto& kind : kinds) {
    ArrayDesc desc;
    desc.geometry = kind.geometry;
    desc.format = abi::SurfaceFormat::u32;
    desc.channels = 1;
    desc.width = 8;
    desc.height = kind.geometry == Geometry::a1d ? 1 : 4;
    (kind.geometry == Geometry::d3 ? desc.depth : desc.layers) =
        kind.geometry == Geometry::d2 ? 1 : 2;
    desc.backing = GetParam();
    const auto made = Array::create(*device_, desc);
    ASSERT_TRUE(made) << kind.name << ": " << made.error().to_string();
    const auto surface = Surface::create(*made);
    ASSERT_TRUE(surface);
    for (const auto& each : accesses) {
      // PTX has no reductions of layers.
      if (kind.name[0] == 'a' && std::string_view(each.access).starts_with("sured")) continue;
      const std::string text = fmt::format(
          ".version 8.0\n.target sm_80\n.address_size 64\n"
          ".visible .entry k(.param .u64 surf, .param .u32 at)\n{{\n"
          ".reg .b64 %h; .reg .b32 %x, %z, %r;\nld.param.u64 %h, [surf];\n"
          "ld.param.u32 %x, [at];\nmov.u32 %r, 0; mov.u32 %z, 0;\n{}.{}.{}[%h, {}]{};\n"
          ".shared .b32 word;\nst.shared.b32 [word], %r;\nret;\n}}\n",
          each.access, kind.name, each.rest, kind.place,
          std::string_view(each.access).starts_with("suld") ? "" : ", %r");
      const std::string error = run(text.c_str(), Args().surface(*surface).value(each.x));
      EXPECT_NE(error.find(fmt::format("x = {}", each.x)), std::string::npos) << text << error;
      EXPECT_NE(error.find(each.unit), std::string::npos) << text << error;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backings, Handles,
                         testing::Values(ArrayBacking::linear, ArrayBacking::image),
                         [](const testing::TestParamInfo<ArrayBacking>& each) {
                           return each.param == ArrayBacking::linear ? std::string("linear")
                                                                     : std::string("image");
                         });

}  // namespace
}  // namespace ptx2spv::tests
