// Copies between buffers in rows, between arrays in boxes, memory shown by its address, and memory
// of the host. Every result is worked out on the host.
#include <algorithm>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

std::vector<std::uint8_t> counted(std::size_t bytes, unsigned seed) {
  std::vector<std::uint8_t> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    all[i] = static_cast<std::uint8_t>((i * 31 + seed * 17) >> 1);
  return all;
}

TEST(Copies, RowsAndSlicesBetweenBuffers) {
  const auto data = counted(2000, 1);
  Buffer from = must(Buffer::create(test_device(), data.size()));
  Buffer to = must(Buffer::create(test_device(), 3000));
  must(from.upload(0, bytes_of(data)));
  must(to.fill(0, 3000, 0xee));
  Region region;
  region.offset = 9;
  region.row_bytes = 20;
  region.rows = 5;
  region.slices = 3;
  region.row_pitch = 40;
  region.slice_pitch = 300;
  region.host_row_pitch = 33;
  region.host_slice_pitch = 500;
  must(to.copy_from(from, 7, region));
  std::vector<std::uint8_t> expected(3000, 0xee);
  for (std::size_t z = 0; z < 3; ++z)
    for (std::size_t y = 0; y < 5; ++y)
      for (std::size_t x = 0; x < 20; ++x)
        expected[9 + z * 300 + y * 40 + x] = data[7 + z * 500 + y * 33 + x];
  EXPECT_EQ(read_buffer<std::uint8_t>(to, 3000), expected);
}

TEST(Copies, RowsThatDoNotFitAreRefused) {
  Buffer from = must(Buffer::create(test_device(), 100));
  Buffer to = must(Buffer::create(test_device(), 100));
  Region region;
  region.row_bytes = 10;
  region.rows = 10;
  region.row_pitch = region.host_row_pitch = 10;
  EXPECT_TRUE(to.copy_from(from, 0, region));
  EXPECT_FALSE(to.copy_from(from, 1, region)) << "the source ends early";
  region.offset = 1;
  EXPECT_FALSE(to.copy_from(from, 0, region)) << "the target ends early";
  region.offset = 0;
  region.row_pitch = ~std::uint64_t{0} / 2;
  EXPECT_FALSE(to.copy_from(from, 0, region)) << "the pitch wraps";
  region.row_pitch = 10;
  EXPECT_FALSE(from.copy_from(from, 0, region)) << "the ranges overlap";
}

TEST(Copies, BoxesBetweenArrays) {
  ArrayDesc desc;
  desc.geometry = Geometry::d3;
  desc.format = abi::SurfaceFormat::u16;
  desc.channels = 2;
  desc.width = 9;
  desc.height = 7;
  desc.depth = 5;
  Array from = must(Array::create(test_device(), desc));
  Array to = must(Array::create(test_device(), desc));
  std::vector<std::uint32_t> texels(9 * 7 * 5), target(texels.size(), 0x55555555);
  for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<std::uint32_t>(i * 977);
  must(from.upload(bytes_of(texels)));
  must(to.upload(bytes_of(target)));
  ArrayRegion source, box;
  source.x = 2;
  source.y = 1;
  source.z = 2;
  source.width = box.width = 4;
  source.height = box.height = 3;
  source.depth = box.depth = 2;
  box.x = 5;
  box.y = 4;
  box.z = 1;
  must(to.copy_from(from, source, box));
  for (std::size_t z = 0; z < 2; ++z)
    for (std::size_t y = 0; y < 3; ++y)
      for (std::size_t x = 0; x < 4; ++x)
        target[((z + 1) * 7 + y + 4) * 9 + x + 5] = texels[((z + 2) * 7 + y + 1) * 9 + x + 2];
  std::vector<std::uint32_t> read(texels.size());
  must(to.download(writable(read)));
  EXPECT_EQ(read, target);
  // Within one array, over itself.
  box = source;
  box.x = 3;
  must(from.copy_from(from, source, box));
  auto moved = texels;
  for (std::size_t z = 2; z < 4; ++z)
    for (std::size_t y = 1; y < 4; ++y)
      for (std::size_t x = 0; x < 4; ++x)
        moved[(z * 7 + y) * 9 + x + 3] = texels[(z * 7 + y) * 9 + x + 2];
  must(from.download(writable(read)));
  EXPECT_EQ(read, moved);
  box.x = 6;
  EXPECT_FALSE(from.copy_from(from, source, box)) << "beyond the array";
  desc.channels = 1;
  Array other = must(Array::create(test_device(), desc));
  box.x = 0;
  EXPECT_FALSE(other.copy_from(from, source, box)) << "texels of another size";
}

TEST(Copies, AViewShowsAnotherBuffersBytes) {
  const auto data = counted(256, 3);
  Buffer whole = must(Buffer::create(test_device(), data.size()));
  must(whole.upload(0, bytes_of(data)));
  Buffer part = must(Buffer::view(test_device(), whole.address() + 16, 64));
  EXPECT_EQ(part.size(), 64u);
  EXPECT_EQ(part.address(), whole.address() + 16);
  EXPECT_EQ(read_buffer<std::uint8_t>(part, 64),
            std::vector<std::uint8_t>(data.begin() + 16, data.begin() + 80));
  must(part.fill(0, 64, 0x77));
  auto expected = data;
  std::fill(expected.begin() + 16, expected.begin() + 80, std::uint8_t{0x77});
  EXPECT_EQ(read_buffer<std::uint8_t>(whole, data.size()), expected);
  EXPECT_FALSE(part.upload(60, bytes_of(data).first(5))) << "beyond the view";
  EXPECT_FALSE(Buffer::view(test_device(), 8, 64)) << "no memory of the device";
}

TEST(Copies, MemoryOfTheHostIsReadByKernels) {
  Buffer host = must(Buffer::create(test_device(), 256, BufferMemory::host));
  ASSERT_NE(host.mapped(), nullptr);
  auto* words = reinterpret_cast<std::uint32_t*>(host.mapped());
  for (std::uint32_t i = 0; i < 64; ++i) words[i] = i * 3;
  Module module = load(
      ".visible .entry twice(.param .u64 p) {\n"
      "  .reg .b64 %p, %o; .reg .b32 %x, %v;\n"
      "  ld.param.u64 %p, [p]; mov.u32 %x, %tid.x; mul.wide.u32 %o, %x, 4; add.u64 %p, %p, %o;\n"
      "  ld.global.u32 %v, [%p]; add.u32 %v, %v, %v; st.global.u32 [%p], %v; ret;\n}\n");
  LaunchConfig config;
  config.block.x = 64;
  must(must(module.kernel("twice")).launch(config, Args().buffer(host)));
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(words[i], i * 6) << i;
}

/// The value of a texture's texel x in row 0 and a layer, by the device.
std::vector<float> read_layer(const Texture& texture, std::uint32_t layer) {
  Module module = load(
      ".visible .entry k(.param .u64 t, .param .u64 out, .param .u32 layer) {\n"
      "  .reg .b64 %t, %o, %m; .reg .b32 %r<6>, %x; .reg .f32 %f<6>;\n"
      "  ld.param.u64 %t, [t]; ld.param.u64 %o, [out]; ld.param.u32 %r1, [layer];\n"
      "  mov.u32 %x, %tid.x; cvt.rn.f32.u32 %f4, %x; add.f32 %f4, %f4, 0f3F000000;\n"
      "  mov.f32 %f5, 0f3F000000;\n"
      "  tex.a2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%r1, %f4, %f5, %f5}];\n"
      "  mul.wide.u32 %m, %x, 4; add.u64 %o, %o, %m; st.global.f32 [%o], %f0; ret;\n}\n");
  Buffer out = must(Buffer::create(test_device(), 16));
  LaunchConfig config;
  config.block.x = 4;
  must(must(module.kernel("k")).launch(config, Args().texture(texture).buffer(out).value(layer)));
  return read_buffer<float>(out, 4);
}

TEST(TextureViews, LayersLevelsAndFormats) {
  ArrayDesc desc;
  desc.geometry = Geometry::a2d;
  desc.format = abi::SurfaceFormat::f32;
  desc.width = 4;
  desc.height = 4;
  desc.layers = 5;
  desc.levels = 2;
  Array array = must(Array::create(test_device(), desc));
  for (std::uint32_t level = 0; level < 2; ++level) {
    const std::uint32_t size = 4 >> level;
    std::vector<float> texels(size * size * 5);
    for (std::size_t i = 0; i < texels.size(); ++i)
      texels[i] = static_cast<float>(level * 1000 + i);
    ArrayRegion region;
    region.level = level;
    must(array.upload(region, bytes_of(texels)));
  }
  TextureView view{abi::SurfaceFormat::f32, 1, 0, 1, 2, 2};
  Texture layers = must(Texture::create_view(array, view, {}));
  EXPECT_EQ(read_layer(layers, 0), (std::vector<float>{32, 33, 34, 35}));
  EXPECT_EQ(read_layer(layers, 1), (std::vector<float>{48, 49, 50, 51}));
  EXPECT_EQ(read_layer(layers, 9), (std::vector<float>{48, 49, 50, 51})) << "the last layer";
  view.first_level = 1;
  Texture both = must(Texture::create_view(array, view, {}));
  EXPECT_EQ(read_layer(both, 1), (std::vector<float>{1012, 1013, 1013, 1013}));
  // Two halves instead of a float: the low one.
  view = {abi::SurfaceFormat::f16, 2, 0, 1, 0, 5};
  Texture halves = must(Texture::create_view(array, view, {}));
  EXPECT_EQ(read_layer(halves, 0), (std::vector<float>{0, 0, 0, 0}));
  view = {abi::SurfaceFormat::u16, 1, 0, 1, 0, 5};
  EXPECT_FALSE(Texture::create_view(array, view, {})) << "texels of another size";
  view = {abi::SurfaceFormat::f32, 1, 1, 2, 0, 5};
  EXPECT_FALSE(Texture::create_view(array, view, {})) << "a level that is not there";
  view = {abi::SurfaceFormat::f32, 1, 0, 1, 4, 2};
  EXPECT_FALSE(Texture::create_view(array, view, {})) << "a layer that is not there";
  view = {abi::SurfaceFormat::f32, 3, 0, 1, 0, 5};
  EXPECT_FALSE(Texture::create_view(array, view, {})) << "three channels";
}

}  // namespace
}  // namespace ptx2spv
