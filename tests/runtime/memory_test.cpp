#include <random>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

std::vector<std::uint8_t> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(count);
  for (auto& each : bytes) each = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(Memory, BufferKeepsItsBytes) {
  auto data = noise(100'003, 1);
  Buffer buffer = must(Buffer::create(test_device(), data.size()));
  EXPECT_NE(buffer.address(), 0u);
  must(buffer.upload(0, bytes_of(data)));
  EXPECT_EQ(read_buffer<std::uint8_t>(buffer, data.size()), data);
}

TEST(Memory, RegionsKeepTheirPitches) {
  Buffer buffer = must(Buffer::create(test_device(), 4096));
  must(buffer.fill(0, 4096, 0xee));
  auto data = noise(3 * 4 * 10, 2);
  Region region;
  region.offset = 5;
  region.row_bytes = 10;
  region.rows = 4;
  region.slices = 3;
  region.row_pitch = 33;
  region.slice_pitch = 200;
  must(buffer.upload(region, bytes_of(data)));
  auto all = read_buffer<std::uint8_t>(buffer, 4096);
  std::size_t touched = 0;
  for (std::size_t z = 0; z < 3; ++z)
    for (std::size_t y = 0; y < 4; ++y)
      for (std::size_t x = 0; x < 10; ++x, ++touched)
        ASSERT_EQ(all[5 + z * 200 + y * 33 + x], data[(z * 4 + y) * 10 + x]);
  std::vector<std::uint8_t> back(data.size());
  must(buffer.download(region, writable(back)));
  EXPECT_EQ(back, data);
  EXPECT_EQ(static_cast<std::size_t>(std::count(all.begin(), all.end(), 0xee)) +
                static_cast<std::size_t>(
                    std::count_if(data.begin(), data.end(), [](int v) { return v != 0xee; })),
            4096u);
}

TEST(Memory, RangesOutsideABufferAreRefused) {
  Buffer buffer = must(Buffer::create(test_device(), 16));
  std::vector<std::uint8_t> data(17);
  EXPECT_EQ(buffer.upload(0, bytes_of(data)).error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(buffer.fill(8, 9, 0));
  EXPECT_FALSE(buffer.fill(~0ull, 2, 0));
  EXPECT_FALSE(buffer.copy_from(buffer, 0, 4, 8));
  Region region;
  region.row_bytes = 8;
  region.rows = 3;
  EXPECT_FALSE(buffer.upload(region, bytes_of(data)));
  region.row_pitch = ~0ull;
  region.rows = 2;
  EXPECT_FALSE(buffer.upload(region, bytes_of(data)));
}

TEST(Memory, AbsurdSizesAreOutOfMemory) {
  auto buffer = Buffer::create(test_device(), 1ull << 60);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::out_of_memory);
  ArrayDesc desc;
  desc.geometry = Geometry::d3;
  desc.width = desc.height = desc.depth = 1 << 20;
  auto array = Array::create(test_device(), desc);
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, ErrorCode::out_of_memory);
}

TEST(Memory, FillPatternsOfEverySize) {
  Buffer buffer = must(Buffer::create(test_device(), 64));
  must(buffer.fill(0, 64, 0, 1));
  must(buffer.fill(3, 7, 0x1234, 2));
  auto bytes = read_buffer<std::uint8_t>(buffer, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(bytes[i], i < 3 || i >= 10 ? 0 : (i - 3) % 2 ? 0x12 : 0x34);
}

TEST(Memory, ReleasedRangesAreUsedAgain) {
  std::uint64_t before = test_device().statistics().memory_bytes;
  for (int i = 0; i < 100; ++i) must(Buffer::create(test_device(), 12 << 20));
  EXPECT_LE(test_device().statistics().memory_bytes, before + (64u << 20));
}

class Arrays : public testing::TestWithParam<std::tuple<Geometry, ArrayBacking>> {};

TEST_P(Arrays, KeepTheirTexelsInEveryFormat) {
  auto [geometry, backing] = GetParam();
  for (int format = 0; format < 12; ++format)
    for (std::uint32_t channels : {1u, 2u, 4u}) {
      ArrayDesc desc;
      desc.geometry = geometry;
      desc.format = static_cast<abi::SurfaceFormat>(format);
      desc.channels = channels;
      desc.width = 13;
      desc.height = 5;
      desc.depth = 3;
      desc.layers = 4;
      desc.backing = backing;
      auto array = Array::create(test_device(), desc);
      ASSERT_TRUE(array) << array.error().text;
      EXPECT_EQ(array->image_backed(), backing == ArrayBacking::image);
      auto data = noise(array->bytes(), static_cast<unsigned>(format));
      must(array->upload(bytes_of(data)));
      EXPECT_EQ(read_array<std::uint8_t>(*array), data);
      Array copy = must(Array::create(test_device(), desc));
      must(copy.copy_from(*array));
      EXPECT_EQ(read_array<std::uint8_t>(copy), data);
    }
}

std::string name_of(const testing::TestParamInfo<Arrays::ParamType>& info) {
  return std::string("g") + to_string(std::get<0>(info.param)) +
         (std::get<1>(info.param) == ArrayBacking::image ? "_image" : "_linear");
}
INSTANTIATE_TEST_SUITE_P(All, Arrays,
                         testing::Combine(testing::Values(Geometry::d1, Geometry::d2, Geometry::d3,
                                                          Geometry::a1d, Geometry::a2d),
                                          testing::Values(ArrayBacking::linear,
                                                          ArrayBacking::image)),
                         name_of);

TEST(Memory, MipmapsKeepTheirLevelsApart) {
  for (ArrayBacking backing : {ArrayBacking::linear, ArrayBacking::image}) {
    ArrayDesc desc;
    desc.width = 37;
    desc.height = 20;
    desc.levels = 4;
    desc.backing = backing;
    Array array = must(Array::create(test_device(), desc));
    for (std::uint32_t level = 0; level < 4; ++level)
      must(array.upload(bytes_of(noise(array.bytes(level), level)), level));
    for (std::uint32_t level = 0; level < 4; ++level) {
      std::vector<std::uint8_t> back(array.bytes(level));
      must(array.download(writable(back), level));
      EXPECT_EQ(back, noise(back.size(), level));
    }
  }
}

TEST(Memory, WrongArrayDescriptionsAreRefused) {
  for (auto change : std::vector<void (*)(ArrayDesc&)>{
           [](ArrayDesc& d) { d.channels = 3; }, [](ArrayDesc& d) { d.width = 0; },
           [](ArrayDesc& d) { d.levels = 9; }, [](ArrayDesc& d) { d.width = ~0u; }}) {
    ArrayDesc desc;
    desc.width = desc.height = 16;
    change(desc);
    auto array = Array::create(test_device(), desc);
    ASSERT_FALSE(array);
    EXPECT_EQ(array.error().code, ErrorCode::invalid_argument) << array.error().text;
  }
}

TEST(Memory, ImportedBufferAndImageShareTheirBytes) {
  Buffer buffer = must(Buffer::create(test_device(), 256));
  Buffer shared = must(import_buffer(test_device(), vulkan_buffer(buffer)));
  EXPECT_EQ(shared.address(), buffer.address());
  must(buffer.fill(0, 256, 0x5a));
  EXPECT_EQ(read_buffer<std::uint8_t>(shared, 256), std::vector<std::uint8_t>(256, 0x5a));
  ArrayDesc desc;
  desc.width = 8;
  desc.height = 8;
  desc.backing = ArrayBacking::image;
  Array array = must(Array::create(test_device(), desc));
  Array view = must(import_image(test_device(), must(vulkan_image(array)), desc));
  auto data = noise(array.bytes(), 5);
  must(array.upload(bytes_of(data)));
  EXPECT_EQ(read_array<std::uint8_t>(view), data);
}

}  // namespace
}  // namespace ptx2spv
