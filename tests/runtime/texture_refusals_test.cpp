// Textures, samplers and handles that no program should make: each is refused with a reason, or
// read as the documentation says.
#include <cmath>
#include <limits>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Array array_of(Geometry geometry, abi::SurfaceFormat format, std::uint32_t channels,
               std::uint32_t width, std::uint32_t height = 1, std::uint32_t layers = 1,
               std::uint32_t levels = 1) {
  ArrayDesc desc;
  desc.geometry = geometry;
  desc.format = format;
  desc.channels = channels;
  desc.width = width;
  desc.height = height;
  desc.layers = layers;
  desc.levels = levels;
  return must(Array::create(test_device(), desc));
}

template <class T>
void refused(const Result<T>& result, const std::string& reason) {
  ASSERT_FALSE(result) << "instead of: " << reason;
  EXPECT_NE(result.error().text.find(reason), std::string::npos) << result.error().text;
}
void refused(const Status& status, const std::string& reason) {
  ASSERT_FALSE(status) << "instead of: " << reason;
  EXPECT_NE(status.error().text.find(reason), std::string::npos) << status.error().text;
}

TEST(TextureRefusals, DescriptionsThatSayNothing) {
  using abi::SurfaceFormat;
  const Array bytes = array_of(Geometry::d2, SurfaceFormat::u8, 4, 8, 8),
              words = array_of(Geometry::d2, SurfaceFormat::u32, 1, 8, 8),
              levels = array_of(Geometry::d2, SurfaceFormat::u16, 1, 8, 8, 1, 3),
              oblong = array_of(Geometry::a2d, SurfaceFormat::f32, 1, 8, 4, 6),
              seven = array_of(Geometry::a2d, SurfaceFormat::f32, 1, 8, 8, 7),
              volume = array_of(Geometry::d3, SurfaceFormat::f32, 1, 8, 8);
  TextureDesc linear;
  linear.linear_filter = true;
  refused(Texture::create(bytes, linear), "has no linear filter");
  refused(Texture::create(words, linear), "has no linear filter");
  linear.read_as_integer = false;
  EXPECT_TRUE(Texture::create(bytes, linear));
  refused(Texture::create(words, linear), "has no linear filter");
  TextureDesc mixed;
  mixed.linear_mipmap_filter = true;
  refused(Texture::create(levels, mixed), "no linear mipmap filter");
  EXPECT_TRUE(Texture::create_level(levels, 1, mixed)) << "one level is not mixed";
  refused(Texture::create_level(levels, 3, {}), "has no level 3");
  refused(Texture::create_level(levels, ~0u, {}), "has no level");
  TextureDesc cube;
  cube.cube = true;
  for (const Array* each : {&bytes, &oblong, &seven, &volume})
    refused(Texture::create(*each, cube), "square layers, six for each cube");
  TextureDesc seamless;
  seamless.seamless_cube = true;
  refused(Texture::create(bytes, seamless), "only a cube map is seamless");
  for (const std::uint32_t most : {0u, 17u, ~0u}) {
    TextureDesc desc;
    desc.max_anisotropy = most;
    refused(Texture::create(bytes, desc), "anisotropy is 1 to 16");
    refused(Sampler::create(test_device(), desc), "anisotropy is 1 to 16");
  }
  TextureDesc mode;
  mode.address[2] = static_cast<AddressMode>(4);
  refused(Texture::create(bytes, mode), "address mode");
  refused(Sampler::create(test_device(), mode), "address mode");
}

TEST(TextureRefusals, MemoryThatDoesNotHoldTheTexels) {
  const Buffer buffer = must(Buffer::create(test_device(), 4096));
  const auto with = [&](auto change) {
    TextureMemory memory;
    memory.width = 16;
    memory.height = 4;
    memory.pitch = 64;
    change(memory);
    return Texture::create(buffer, memory, {});
  };
  EXPECT_TRUE(with([](TextureMemory&) {}));
  refused(with([](TextureMemory& m) { m.width = 0; }), "no texels");
  refused(with([](TextureMemory& m) { m.channels = 3; }), "1, 2 or 4 channels");
  refused(with([](TextureMemory& m) { m.channels = 0; }), "1, 2 or 4 channels");
  refused(with([](TextureMemory& m) { m.format = static_cast<abi::SurfaceFormat>(12); }),
          "no such format");
  refused(with([](TextureMemory& m) { m.pitch = 72; }), "multiples of 16");
  refused(with([](TextureMemory& m) { m.offset = 8; }), "multiples of 16");
  refused(with([](TextureMemory& m) { m.pitch = 48; }), "its pitch is 48");
  refused(with([](TextureMemory& m) { m.height = 65; }), "do not lie in a buffer");
  refused(with([](TextureMemory& m) { m.offset = 4096 - 128; }), "do not lie in a buffer");
  refused(with([](TextureMemory& m) { m.offset = ~15ull; }), "do not lie in a buffer");
  // Products that do not fit 64 bits.
  refused(with([](TextureMemory& m) { m.pitch = 1ull << 63, m.height = 3; }), "buffer");
  refused(with([](TextureMemory& m) { m.pitch = 1ull << 62, m.height = 5; }), "buffer");
  refused(with([](TextureMemory& m) { m.pitch = 1ull << 40, m.height = 1; }), "buffer");
  refused(with([](TextureMemory& m) { m.width = ~0u, m.height = 0; }), "buffer");
  const auto linear = with([](TextureMemory& m) { m.width = 1024, m.height = 0, m.pitch = 0; });
  EXPECT_TRUE(linear);
  // Memory has one level and no cubes.
  TextureMemory memory;
  memory.width = 16;
  TextureDesc cube;
  cube.cube = true;
  refused(Texture::create(buffer, memory, cube), "square layers");
  TextureDesc mipmapped;
  mipmapped.mipmapped = true;
  refused(Texture::create(buffer, memory, mipmapped), "no mipmapped array");
}

/// Reads a 4 x 4 texture of 0, 1, 2 ... at {-1/2, 3/2} and {3/2, 3/2}, and a level.
struct Reader {
  Buffer out = must(Buffer::create(test_device(), 64));
  Module module = load(
      ".visible .entry k(.param .u64 t, .param .f32 lod, .param .u64 out) {\n"
      ".reg .b64 %t, %o; .reg .f32 %x, %y, %l; .reg .b32 %r<8>;\n"
      "ld.param.u64 %t, [t]; ld.param.f32 %l, [lod]; ld.param.u64 %o, [out];\n"
      "mov.f32 %x, 0fBF000000; mov.f32 %y, 0f3FC00000;\n"
      "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y}];\n"
      "st.global.b32 [%o], %r0;\n"
      "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%y, %y}];\n"
      "st.global.b32 [%o+4], %r0;\n"
      "tex.level.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%y, %y}], %l;\n"
      "st.global.b32 [%o+8], %r0;\n"
      "ret;\n}\n");

  std::vector<float> read(const Texture& texture, float lod = 0) {
    must(launch(Args().texture(texture).value(lod).buffer(out)));
    return read_buffer<float>(out, 3);
  }
  Status launch(const Args& args) {
    auto done = must(module.kernel("k")).launch({}, args);
    if (!done) return done.error();
    return {};
  }
};

TEST(TextureRefusals, NumbersThatAreNone) {
  Reader reader;
  Array array = array_of(Geometry::d2, abi::SurfaceFormat::f32, 1, 4, 4);
  std::vector<float> texels(16);
  for (std::size_t i = 0; i < 16; ++i) texels[i] = static_cast<float>(i);
  must(array.upload(bytes_of(texels)));
  for (const float odd : {kInfinity, -kInfinity, std::nanf("")}) {
    TextureDesc desc;
    desc.mipmap_bias = desc.min_level = desc.max_level = odd;
    const auto read = reader.read(must(Texture::create(array, desc)), odd);
    EXPECT_EQ(read, (std::vector<float>{4, 5, 5})) << odd;
    desc = {};
    desc.address.fill(AddressMode::border);
    desc.border.fill(odd);
    const auto border = reader.read(must(Texture::create(array, desc)));
    EXPECT_EQ(std::isnan(border[0]), std::isnan(odd));
    if (!std::isnan(odd)) {
      EXPECT_EQ(border[0], odd);
    }
    EXPECT_EQ(border[1], 5.0f);
  }
}

TEST(TextureRefusals, HandlesThatNameNoTexture) {
  Reader reader;
  const Array array = array_of(Geometry::d2, abi::SurfaceFormat::f32, 1, 4, 4);
  const Surface surface = must(Surface::create(array));
  const Sampler sampler = must(Sampler::create(test_device(), {}));
  std::uint64_t gone = 0;
  {
    const Texture texture = must(Texture::create(array, {}));
    gone = texture.handle();
  }
  const auto with = [&](std::uint64_t handle) {
    return reader.launch(Args().value(handle).value(0.0f).buffer(reader.out));
  };
  for (const std::uint64_t handle :
       {gone, std::uint64_t{0}, ~std::uint64_t{0}, surface.handle(), sampler.handle(),
        std::uint64_t{1}, must(Texture::create(array, {})).handle() ^ 1}) {
    const Status done = with(handle);
    ASSERT_FALSE(done) << std::hex << handle;
    EXPECT_EQ(done.error().code, ErrorCode::trap) << done.error().text;
    EXPECT_NE(done.error().text.find("handle is not alive: "), std::string::npos)
        << done.error().text;
    ASSERT_TRUE(done.error().trap);
    EXPECT_EQ(done.error().trap->handle, handle);
  }
  refused(reader.launch(Args().sampler(sampler).value(0.0f).buffer(reader.out)), "");
  refused(reader.launch(Args().surface(surface).value(0.0f).buffer(reader.out)), "");
}

TEST(TextureRefusals, ReferencesOfAnotherDevice) {
  DeviceOptions options;
  const char* name = std::getenv("PTX2SPV_DEVICE");
  options.select = name ? name : "swiftshader";
  Device other = must(Device::open(options));
  Module module = must(Module::load(
      other,
      ".version 8.3\n.target sm_80, texmode_independent\n.address_size 64\n"
      ".global .texref t;\n.global .samplerref s;\n.global .surfref u;\n"
      ".visible .entry k(.param .u64 out) {\n.reg .b64 %o; .reg .b32 %r<4>; .reg .f32 %f;\n"
      "ld.param.u64 %o, [out]; mov.f32 %f, 0f00000000;\n"
      "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [t, s, {%f, %f}];\n"
      "st.global.b32 [%o], %r0;\nret;\n}\n",
      "references.ptx", {}));
  const Array array = array_of(Geometry::d2, abi::SurfaceFormat::f32, 1, 4, 4);
  refused(module.bind_texture("t", must(Texture::create(array, {}))), "another device");
  refused(module.bind_sampler("s", must(Sampler::create(test_device(), {}))), "another device");
  refused(module.bind_surface("u", must(Surface::create(array))), "another device");
}

}  // namespace
}  // namespace ptx2spv
