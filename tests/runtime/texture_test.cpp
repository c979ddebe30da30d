// Textures over memory, over levels, beside surfaces, and with samplers of their own.
#include <cmath>
#include <utility>

#include "src/device/device.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

/// A kernel of one thread per result: `body` computes %r0 from the thread number %x (also as float
/// %fx).
std::string kernel(const std::string& declarations, const std::string& body,
                   const std::string& parameters = ".param .u64 t, .param .u64 out") {
  return declarations + ".visible .entry k(" + parameters + R"() {
  .reg .b32 %r<4>, %x;
  .reg .f32 %f<4>, %fx;
  .reg .b64 %t, %s, %o, %m;
  .reg .pred %p;
  mov.u32 %x, %tid.x;
  cvt.rn.f32.u32 %fx, %x;
  ld.param.u64 %o, [out];
  mul.wide.u32 %m, %x, 4;
  add.u64 %o, %o, %m;
)" + (parameters.starts_with(".param .u64 t") ? "  ld.param.u64 %t, [t];\n" : "") +
         "  " + body + "\n  st.global.b32 [%o], %r0;\n  ret;\n}\n";
}

std::vector<std::uint32_t> run(const Module& module, const Args& args, const Buffer& out,
                               std::uint32_t threads) {
  LaunchConfig config;
  config.block.x = threads;
  must(must(module.kernel("k")).launch(config, args));
  return read_buffer<std::uint32_t>(out, threads);
}

float as_float(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

TEST(TextureMemory, LinearMemoryIsReadInsideItsElements) {
  Buffer buffer = must(Buffer::create(test_device(), 64));
  std::vector<std::uint16_t> elements(32);
  for (std::size_t i = 0; i < 32; ++i) elements[i] = static_cast<std::uint16_t>(100 + i);
  must(buffer.upload(0, bytes_of(elements)));
  TextureMemory memory;
  memory.format = abi::SurfaceFormat::u16;
  memory.offset = 16;
  memory.width = 10;
  Texture texture = must(Texture::create(buffer, memory, {}));
  Module module =
      load(kernel("", "sub.s32 %x, %x, 2; tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%t, {%x}];"));
  Buffer out = must(Buffer::create(test_device(), 64));
  const auto read = run(module, Args().texture(texture).buffer(out), out, 14);
  for (std::uint32_t i = 0; i < 14; ++i)
    EXPECT_EQ(read[i], i < 2 || i >= 12 ? 0u : 100 + 8 + i - 2) << i;
  memory.width = 30;
  EXPECT_FALSE(Texture::create(buffer, memory, {})) << "beyond the buffer";
  memory.width = 10;
  memory.offset = 4;
  EXPECT_FALSE(Texture::create(buffer, memory, {})) << "not aligned";
}

class PitchedMemory : public testing::TestWithParam<BufferMemory> {};
INSTANTIATE_TEST_SUITE_P(TextureMemory, PitchedMemory,
                         testing::Values(BufferMemory::device, BufferMemory::rows));

TEST_P(PitchedMemory, IsFiltered) {
  Buffer buffer = must(Buffer::create(test_device(), 128, GetParam()));
  std::vector<float> texels(32, -1.0f);
  for (std::size_t y = 0; y < 3; ++y)
    for (std::size_t x = 0; x < 4; ++x) texels[y * 8 + x] = static_cast<float>(x + 10 * y);
  must(buffer.upload(0, bytes_of(texels)));
  TextureMemory memory;
  memory.format = abi::SurfaceFormat::f32;
  memory.width = 4;
  memory.height = 3;
  memory.pitch = 32;
  TextureDesc desc;
  desc.linear_filter = true;
  desc.normalized_coordinates = true;
  Texture texture = must(Texture::create(buffer, memory, desc));
  // Between two rows, at the middle of texels.
  Module module = load(kernel("",
                              "add.f32 %f0, %fx, 0f3F000000; mul.f32 %f0, %f0, 0f3E800000; "
                              "mov.f32 %f1, 0f3EAAAAAB; "
                              "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%f0, %f1}];"));
  Buffer out = must(Buffer::create(test_device(), 16));
  const auto read = run(module, Args().texture(texture).buffer(out), out, 4);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(as_float(read[i]), static_cast<float>(i) + 5.0f);
  memory.pitch = 8;
  EXPECT_FALSE(Texture::create(buffer, memory, desc)) << "rows overlap";
}

class TextureLevels : public testing::TestWithParam<ArrayBacking> {
 protected:
  Array levels(std::uint32_t width, std::uint32_t count) {
    ArrayDesc desc;
    desc.geometry = Geometry::d2;
    desc.format = abi::SurfaceFormat::f32;
    desc.width = desc.height = width;
    desc.levels = count;
    desc.backing = GetParam();
    Array array = must(Array::create(test_device(), desc));
    for (std::uint32_t level = 0; level < count; ++level) {
      std::vector<float> texels(array.bytes(level) / 4, static_cast<float>(10 * level));
      must(array.upload(bytes_of(texels), level));
    }
    return array;
  }
  TextureDesc mipmapped(float most) {
    TextureDesc desc;
    desc.normalized_coordinates = desc.linear_filter = desc.linear_mipmap_filter = true;
    desc.max_level = most;
    return desc;
  }
  Buffer out_ = must(Buffer::create(test_device(), 256));
  // lod = thread / 4 - 1/2
  const std::string level_ =
      "mov.f32 %f0, 0f3F000000; fma.rn.f32 %f1, %fx, 0f3E800000, 0fBF000000; "
      "tex.level.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%f0, %f0}], %f1;";
};

TEST_P(TextureLevels, AreMixedByTheLevelOfDetail) {
  Array array = levels(16, 4);
  Module module = load(kernel("", level_));
  const auto read = [&](const TextureDesc& desc) {
    Texture texture = must(Texture::create(array, desc));
    return run(module, Args().texture(texture).buffer(out_), out_, 20);
  };
  const auto expect = [&](const TextureDesc& desc, auto lod) {
    const auto values = read(desc);
    for (std::uint32_t i = 0; i < 20; ++i)
      EXPECT_EQ(as_float(values[i]), 10.0f * lod(static_cast<float>(i) / 4.0f - 0.5f)) << i;
  };
  expect(mipmapped(10), [](float lod) { return std::min(std::max(lod, 0.0f), 3.0f); });
  expect(mipmapped(1.25f), [](float lod) { return std::min(std::max(lod, 0.0f), 1.25f); });
  TextureDesc biased = mipmapped(10);
  biased.mipmap_bias = 0.75f;
  biased.min_level = 1.0f;
  expect(biased, [](float lod) { return std::min(std::max(lod + 0.75f, 1.0f), 3.0f); });
  TextureDesc nearest = mipmapped(10);
  nearest.linear_mipmap_filter = false;
  expect(nearest, [](float lod) { return std::min(std::max(std::floor(lod + 0.5f), 0.0f), 3.0f); });
  expect(mipmapped(0), [](float) { return 0.0f; });
}

TEST_P(TextureLevels, AreSurfacesAndTexturesOfTheirOwn) {
  Array array = levels(16, 3);
  Module store = load(kernel("",
                             "shl.b32 %r1, %x, 2; mov.b32 %r2, 1; mov.f32 %f0, 0f42F60000; "
                             "mov.b32 %r0, %f0; sust.b.2d.b32.trap [%t, {%r1, %r2}], %r0;"));
  Surface surface = must(Surface::create(array, 2));
  run(store, Args().surface(surface).buffer(out_), out_, 4);
  Module fetch =
      load(kernel("", "mov.b32 %r1, 1; tex.2d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%t, {%x, %r1}];"));
  Texture one = must(Texture::create_level(array, 2, {}));
  auto values = run(fetch, Args().texture(one).buffer(out_), out_, 6);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(as_float(values[i]), i < 4 ? 123.0f : 0.0f) << i;
  Module level =
      load(kernel("",
                  "mov.f32 %f0, 0f3EC00000; mov.f32 %f1, 0f40000000; "
                  "tex.level.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%f0, %f0}], %f1;"));
  Texture all = must(Texture::create(array, mipmapped(10)));
  EXPECT_EQ(as_float(run(level, Args().texture(all).buffer(out_), out_, 1)[0]), 123.0f);
  EXPECT_FALSE(Texture::create_level(array, 3, {}));
}

TEST_P(TextureLevels, AreCounted) {
  Array array = levels(16, 3);
  Texture texture = must(Texture::create(array, mipmapped(10)));
  Module module =
      load(kernel("",
                  "txq.num_mipmap_levels.b32 %r1, [%t]; txq.level.width.b32 %r2, [%t], %x; "
                  "mad.lo.u32 %r0, %r2, 100, %r1;"));
  const auto read = run(module, Args().texture(texture).buffer(out_), out_, 4);
  EXPECT_EQ(read, (std::vector<std::uint32_t>{1603, 803, 403, 3}));
}

TEST_P(TextureLevels, AnArrayIsSurfaceAndTextureAtOnce) {
  // Each launch reads what the launch before it stored, through both, and stores one more.
  Array array = levels(8, 1);
  Surface surface = must(Surface::create(array));
  Texture texture = must(Texture::create(array, {}));
  Module module = load(kernel("",
                              "ld.param.u64 %s, [s]; mov.b32 %r1, 0; add.f32 %f0, %fx, 0f3F000000; "
                              "mov.f32 %f2, 0f3F000000; "
                              "tex.2d.v4.f32.f32 {%f1, %r1, %r2, %r3}, [%t, {%f0, %f2}]; "
                              "mov.b32 %r1, 0; shl.b32 %r2, %x, 2; "
                              "suld.b.2d.b32.trap %r3, [%s, {%r2, %r1}]; mov.b32 %f2, %r3; "
                              "add.f32 %f3, %f1, %f2; add.f32 %f3, %f3, 0f3F800000; "
                              "mov.b32 %r0, %f3; sust.b.2d.b32.trap [%s, {%r2, %r1}], %r0;",
                              ".param .u64 t, .param .u64 s, .param .u64 out"));
  float expected = 0;
  for (int i = 0; i < 4; ++i) {
    expected = 2 * expected + 1;
    const auto read = run(module, Args().texture(texture).surface(surface).buffer(out_), out_, 8);
    for (std::uint32_t value : read) EXPECT_EQ(as_float(value), expected);
  }
  // And what the host uploads is seen by the next one.
  std::vector<float> texels(64, 4.0f);
  must(array.upload(bytes_of(texels)));
  const auto read = run(module, Args().texture(texture).surface(surface).buffer(out_), out_, 8);
  EXPECT_EQ(as_float(read[3]), 9.0f);
}

INSTANTIATE_TEST_SUITE_P(All, TextureLevels,
                         testing::Values(ArrayBacking::linear, ArrayBacking::image),
                         [](const auto& each) {
                           return each.param == ArrayBacking::image ? "image" : "linear";
                         });

/// A device whose samplers are taken for exact, as those of every device are of the reads here.
class ExactSamplers : public testing::Test {
 protected:
  ExactSamplers() : device_(test_device()), kept_(device_.state()->profile) {
    auto& exactness = device_.state()->profile.exactness;
    exactness.sampler_points = exactness.sampler_f32 = exactness.sampler_unorm8 =
        exactness.sampler_borders = true;
  }
  ~ExactSamplers() override { device_.state()->profile = kept_; }

  /// What `module` reads, by a sampler if the device's filters would do it so.
  std::vector<float> read(const Module& module, const Texture& texture, std::uint32_t threads) {
    Buffer out = must(Buffer::create(device_, 4 * threads));
    const Kernel kernel = must(module.kernel("k"));
    LaunchConfig config;
    config.block.x = threads;
    std::vector<std::uint32_t> sampled;
    for (const FilterPolicy filter : {FilterPolicy::device, FilterPolicy::exact}) {
      config.filter = filter;
      sampled.push_back(
          must(kernel.launch(config, Args().texture(texture).buffer(out))).sampled_textures);
    }
    EXPECT_EQ(sampled[1], sampled[0]);
    return read_buffer<float>(out, threads);
  }

  Device device_;
  Profile kept_;
};

// NVIDIA's hardware rounds the level to 256ths, which decides nothing here.
TEST_F(ExactSamplers, TakeTheLevelThatGradientsChoose) {
  ArrayDesc of;
  of.geometry = Geometry::d2;
  of.format = abi::SurfaceFormat::f32;
  of.width = 32;
  of.height = 16;
  of.levels = 5;
  Array array = must(Array::create(device_, of));
  for (std::uint32_t level = 0; level < of.levels; ++level)
    must(array.upload(bytes_of(std::vector<float>(array.bytes(level) / 4, float(10 * level))),
                      level));
  TextureDesc desc;
  desc.normalized_coordinates = desc.linear_filter = true;
  desc.max_level = 4;
  const Texture texture = must(Texture::create(array, desc));
  // (thread + 1) / 2 texels in x, half as many in y.
  const Module module = load(
      kernel("",
             "add.f32 %f0, %fx, 0f3F800000; mul.f32 %f0, %f0, 0f3C800000; mov.f32 %f1, 0f00000000;"
             "tex.grad.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%f0, %f0}], {%f0, %f1}, "
             "{%f1, %f0};"));
  const auto levels = read(module, texture, 32);
  for (unsigned i = 0; i < 32; ++i) {
    const float level = std::floor(std::log2(float(i + 1) / 2) + 0.5f);
    EXPECT_EQ(levels[i], 10 * std::min(std::max(level, 0.0f), 4.0f)) << i;
  }
}

TEST_F(ExactSamplers, TakeABordersColour) {
  ArrayDesc of;
  of.geometry = Geometry::d2;
  of.format = abi::SurfaceFormat::f32;
  of.width = of.height = 4;
  Array array = must(Array::create(device_, of));
  must(array.upload(bytes_of(std::vector<float>(16, 7.0f))));
  TextureDesc desc;
  desc.address.fill(AddressMode::border);
  const Module module = load(kernel(
      "",
      "sub.f32 %fx, %fx, 0f3FC00000; tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%fx, %fx}];"));
  for (const float colour : {0.0f, -0.0f, 1.0f, 0.3f, -2.5f}) {
    desc.border = {colour, 0, 0, 0};
    const Texture texture = must(Texture::create(array, desc));
    const auto texels = read(module, texture, 8);
    for (unsigned i = 0; i < 8; ++i) {
      const float wanted = i < 2 || i > 5 ? colour : 7.0f;
      EXPECT_EQ(texels[i], wanted) << i;
      EXPECT_EQ(std::signbit(texels[i]), std::signbit(wanted)) << i;
    }
  }
}

TEST_F(ExactSamplers, AreNoMoreThanTheDeviceAllows) {
  DeviceState& device = *device_.state();
  std::uint32_t& most = device.traits.properties.limits.maxSamplerAllocationCount;
  const std::uint32_t allowed = std::exchange(most, 8 + device.samplers.size());
  ArrayDesc of;
  of.geometry = Geometry::d2;
  of.format = abi::SurfaceFormat::f32;
  of.width = of.height = 4;
  Array array = must(Array::create(device_, of));
  must(array.upload(bytes_of(std::vector<float>(16, 7.0f))));
  const Module module = load(kernel(
      "",
      "sub.f32 %fx, %fx, 0f3FC00000; tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%fx, %fx}];"));
  TextureDesc desc;
  const auto expect_reads = [&](float outside) {
    const auto texels = read(module, must(Texture::create(array, desc)), 8);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(texels[i], i < 2 || i > 5 ? outside : 7.0f) << i;
  };
  for (int i = 2; i < 14; ++i) {
    desc.address.fill(AddressMode::border);
    desc.border[0] = float(i);
    expect_reads(desc.border[0]);
    EXPECT_LE(device.border_samplers, most / 2);
    // Others that no texture before was read by.
    desc.address.fill(AddressMode::clamp);
    desc.normalized_coordinates = true;
    desc.mipmap_bias = float(i) / 16;
    expect_reads(7.0f);
    desc.normalized_coordinates = false;
    EXPECT_LE(device.samplers.size(), most);
  }
  EXPECT_EQ(device.samplers.size(), most);
  most = allowed;
}

Module load_independent(const std::string& body) {
  return must(Module::load(
      test_device(), ".version 8.3\n.target sm_80, texmode_independent\n.address_size 64\n" + body,
      "independent.ptx", {}));
}

TEST(Samplers, SayHowATextureIsRead) {
  ArrayDesc desc;
  desc.geometry = Geometry::d1;
  desc.format = abi::SurfaceFormat::f32;
  desc.width = 4;
  Array array = must(Array::create(test_device(), desc));
  const std::vector<float> texels{0, 10, 20, 30};
  must(array.upload(bytes_of(texels)));
  TextureDesc how;
  how.normalized_coordinates = true;
  Texture texture = must(Texture::create(array, how));
  Buffer out = must(Buffer::create(test_device(), 64));
  // x = thread / 4 + 1/2 texels, so also beyond the last one.
  const std::string body =
      "mul.f32 %f0, %fx, 0f3E800000; tex.1d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [t, s, {%f0}];";
  Module module = load_independent(kernel(
      ".global .texref t;\n.global .samplerref s = {filter_mode = linear, addr_mode_0 = wrap};\n",
      body, ".param .u64 out"));
  must(module.bind_texture("t", texture));
  auto floats = [&](const Args& args) {
    std::vector<float> values;
    for (std::uint32_t bits : run(module, args, out, 5)) values.push_back(as_float(bits));
    return values;
  };
  // The initialisers hold: half of the texels on both sides, wrapped around.
  EXPECT_EQ(floats(Args().buffer(out)), (std::vector<float>{15, 5, 15, 25, 15}));
  TextureDesc nearest;
  nearest.normalized_coordinates = true;
  Sampler sampler = must(Sampler::create(test_device(), nearest));
  EXPECT_EQ(floats(Args().buffer(out).samplerref("s", sampler)),
            (std::vector<float>{0, 10, 20, 30, 30}));
  must(module.bind_sampler("s", sampler));
  EXPECT_EQ(floats(Args().buffer(out)), (std::vector<float>{0, 10, 20, 30, 30}));
  // Coordinates in texels.
  TextureDesc unnormalised;
  Sampler forced = must(Sampler::create(test_device(), unnormalised));
  EXPECT_EQ(floats(Args().buffer(out).samplerref("s", forced)),
            (std::vector<float>{0, 0, 0, 0, 10}));
  EXPECT_FALSE(module.bind_sampler("t", sampler));
  EXPECT_FALSE(module.bind_texture("s", texture));
}

TEST(Samplers, AnswerQueriesAndAreParameters) {
  Module module = load_independent(kernel(
      ".global .samplerref s = {filter_mode = linear, addr_mode_1 = clamp_to_border, "
      "force_unnormalized_coords = 1};\n",
      "ld.param.u64 %s, [s2]; istypep.samplerref %p, %s; selp.b32 %r1, 1, 0, %p; "
      "txq.filter_mode.b32 %r0, [s]; mad.lo.u32 %r1, %r0, 10, %r1; txq.addr_mode_1.b32 %r0, [s]; "
      "mad.lo.u32 %r1, %r0, 100, %r1; txq.force_unnormalized_coords.b32 %r0, [s]; "
      "mad.lo.u32 %r1, %r0, 1000, %r1; txq.filter_mode.b32 %r0, [%s]; mad.lo.u32 %r0, %r0, 10000, "
      "%r1; "
      "istypep.texref %p, %s; selp.b32 %r1, 100000, 0, %p; add.u32 %r0, %r0, %r1;",
      ".param .u64 s2, .param .u64 out"));
  TextureDesc linear;
  linear.linear_filter = true;
  Sampler sampler = must(Sampler::create(test_device(), linear));
  Buffer out = must(Buffer::create(test_device(), 4));
  EXPECT_EQ(run(module, Args().sampler(sampler).buffer(out), out, 1)[0], 11411u);
}

TEST(Samplers, UnboundTexturesAnswerFromTheirInitialisers) {
  Module module = load(kernel(
      ".global .texref t = {width = 7, height = 5, channel_order = 0x10B5, normalized_coords = 1, "
      "filter_mode = linear, addr_mode_0 = mirror, num_mipmap_levels = 3};\n",
      "txq.width.b32 %r0, [t]; txq.height.b32 %r1, [t]; mad.lo.u32 %r0, %r1, 10, %r0; "
      "txq.normalized_coords.b32 %r1, [t]; mad.lo.u32 %r0, %r1, 100, %r0; "
      "txq.filter_mode.b32 %r1, [t]; mad.lo.u32 %r0, %r1, 1000, %r0; "
      "txq.addr_mode_0.b32 %r1, [t]; mad.lo.u32 %r0, %r1, 10000, %r0; "
      "txq.num_mipmap_levels.b32 %r1, [t]; mad.lo.u32 %r0, %r1, 100000, %r0;",
      ".param .u64 out"));
  Buffer out = must(Buffer::create(test_device(), 4));
  EXPECT_EQ(run(module, Args().buffer(out), out, 1)[0], 311157u);
}

// The manual counts the modes in the order in which it lists them.
TEST(Samplers, EveryAddressModeHasItsNumber) {
  const char* const modes[] = {"wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"};
  std::string variables, body = "mov.b32 %r0, 0;";
  for (int i = 0; i < 5; ++i) {
    const std::string x = std::to_string(i);
    variables += ".global .samplerref s" + x + " = {addr_mode_" + std::to_string(i % 3) + " = " +
                 modes[i] + "};\n";
    body += " txq.addr_mode_" + std::to_string(i % 3) + ".b32 %r1, [s" + x +
            "]; mad.lo.u32 %r0, %r0, 10, %r1;";
    body += " mov.u64 %s, s" + x + "; txq.addr_mode_" + std::to_string(i % 3) +
            ".b32 %r1, [%s]; mad.lo.u32 %r0, %r0, 10, %r1;";
  }
  Module module = load_independent(kernel(variables, body, ".param .u64 out"));
  Buffer out = must(Buffer::create(test_device(), 4));
  EXPECT_EQ(run(module, Args().buffer(out), out, 1)[0], 11223344u);
}

TEST(Samplers, UnboundTexturesReadAsZeros) {
  // Whatever the initialisers say there is; without any, a read traps.
  const std::string reads =
      "mov.b32 %r0, 1; mov.f32 %f0, 0f3F000000; "
      "tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r3}, [t, {%f0, %f0}]; or.b32 %r0, %r0, %r1; "
      "tex.2d.v4.u32.s32 {%r1, %r2, %r3, %r3}, [t, {%x, %x}]; or.b32 %r0, %r0, %r1; "
      "tex.level.2d.v4.u32.f32 {%r1, %r2, %r3, %r3}, [t, {%f0, %f0}], %f0; "
      "or.b32 %r0, %r0, %r1; "
      "tld4.r.2d.v4.u32.f32 {%r1, %r2, %r3, %r3}, [t, {%f0, %f0}]; or.b32 %r0, %r0, %r1;";
  const std::string some =
      ".global .texref t = {width = 7, height = 5, filter_mode = linear, normalized_coords = 1, "
      "num_mipmap_levels = 3};\n";
  Buffer out = must(Buffer::create(test_device(), 64));
  Module module = load(kernel(some, reads, ".param .u64 out"));
  EXPECT_EQ(run(module, Args().buffer(out), out, 2), (std::vector<std::uint32_t>{1, 1}));
  Module bare = load(kernel(".global .texref t;\n", reads, ".param .u64 out"));
  const auto done = must(bare.kernel("k")).launch({}, Args().buffer(out));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::trap) << done.error().text;
}

TEST(Samplers, WhatNothingNamesIsRefused) {
  ArrayDesc desc;
  desc.geometry = Geometry::d1;
  desc.width = 4;
  Array array = must(Array::create(test_device(), desc));
  TextureDesc how;
  how.max_anisotropy = 17;
  EXPECT_FALSE(Texture::create(array, how));
  how.max_anisotropy = 16;
  Texture texture = must(Texture::create(array, how));
  how.cube = true;
  EXPECT_FALSE(Texture::create(array, how)) << "a line is no cube";
  Module module = load(kernel("", "mov.b32 %r0, 0;"));
  Buffer out = must(Buffer::create(test_device(), 4));
  LaunchConfig config;
  auto done = must(module.kernel("k"))
                  .launch(config, Args().texture(texture).buffer(out).texref("gone", texture));
  EXPECT_FALSE(done);
}

/// Texels of noise in 1024 x 1024 and four smaller levels.
Texture noisy_levels() {
  ArrayDesc of;
  of.format = abi::SurfaceFormat::u8;
  of.channels = 4;
  of.width = of.height = 1024;
  of.levels = 5;
  Array array = must(Array::create(test_device(), of));
  std::uint32_t state = 2463534242u;
  constexpr std::size_t kPeriod = std::size_t{4} * 262143;
  for (std::uint32_t level = 0; level < of.levels; ++level) {
    std::vector<std::uint8_t> texels(array.bytes(level));
    for (std::size_t i = 0; i < texels.size(); ++i) {
      if (i >= kPeriod) {
        texels[i] = texels[i - kPeriod];
        continue;
      }
      state ^= state << 13, state ^= state >> 17, state ^= state << 5;
      texels[i] = static_cast<std::uint8_t>(state >> 8);
    }
    must(array.upload(bytes_of(texels), level));
  }
  TextureDesc desc;
  desc.address.fill(AddressMode::wrap);
  desc.normalized_coordinates = desc.linear_filter = desc.linear_mipmap_filter = true;
  desc.read_as_integer = false;
  desc.max_level = 4;
  desc.max_anisotropy = 8;
  return must(Texture::create(array, desc));
}

/// Pixels of a floor seen at an angle, 2560 x 1440, as an H200 has them: each was one off in a
/// component where samples were moved before coordinates were cut.
TEST(TextureAnisotropy, CutsCoordinatesBeforeSamplesAreMoved) {
  struct Pixel {
    int x, y;
    std::array<std::uint32_t, 4> bytes;
  };
  constexpr std::array<Pixel, 9> kPixels{{{1677, 543, {81, 165, 144, 191}},
                                          {54, 854, {105, 134, 127, 139}},
                                          {608, 939, {150, 147, 118, 145}},
                                          {1620, 951, {42, 159, 108, 89}},
                                          {925, 994, {156, 103, 107, 75}},
                                          {897, 1075, {168, 166, 116, 90}},
                                          {1721, 1243, {141, 178, 130, 169}},
                                          {281, 1410, {103, 109, 141, 126}},
                                          {2297, 1436, {151, 111, 143, 151}}}};
  std::vector<float> reads;
  for (const Pixel& pixel : kPixels) {
    const float z = 1.0f / (0.02f + static_cast<float>(pixel.y) / 1440.0f);
    reads.insert(reads.end(),
                 {static_cast<float>(pixel.x - 1280) * z * 0.002f, z, 0.002f * z, z * z / 1440.0f});
  }
  Buffer in = must(Buffer::create(test_device(), reads.size() * 4));
  must(in.upload(0, bytes_of(reads)));
  Buffer out = must(Buffer::create(test_device(), 256));
  const Module module =
      load(kernel("",
                  "ld.param.u64 %s, [in]; shr.u32 %r0, %x, 2; mul.wide.u32 %m, %r0, 16;"
                  "add.u64 %s, %s, %m; ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%s];"
                  "mov.f32 %fx, 0f00000000; tex.grad.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, "
                  "[%t, {%f0, %f1}], {%f2, %fx}, {%fx, %f3}; and.b32 %x, %x, 3;"
                  "setp.eq.u32 %p, %x, 1; @%p mov.b32 %r0, %r1; setp.eq.u32 %p, %x, 2;"
                  "@%p mov.b32 %r0, %r2; setp.eq.u32 %p, %x, 3; @%p mov.b32 %r0, %r3;",
                  ".param .u64 t, .param .u64 out, .param .u64 in"));
  const Texture texture = noisy_levels();
  const auto read = run(module, Args().texture(texture).buffer(out).buffer(in), out, 36);
  for (std::size_t i = 0; i < read.size(); ++i) {
    const Pixel& pixel = kPixels[i / 4];
    EXPECT_EQ(static_cast<std::uint32_t>(std::fma(255.0f, as_float(read[i]), 0.5f)),
              pixel.bytes[i % 4])
        << pixel.x << ", " << pixel.y << " component " << i % 4;
  }
}

}  // namespace
}  // namespace ptx2spv
