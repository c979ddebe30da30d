#include <algorithm>
#include <fstream>
#include <random>

#include "ptx2spv/vulkan.hpp"
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
      const bool rows =
          geometry == Geometry::d2 || geometry == Geometry::d3 || geometry == Geometry::a2d;
      if (rows) desc.height = 5;
      if (geometry == Geometry::d3) desc.depth = 3;
      if (geometry == Geometry::a1d || geometry == Geometry::a2d) desc.layers = 4;
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

// A box with pitches on the other side, by every path there is: host, buffer, and both in a stream.
TEST_P(Arrays, BoxesTouchNothingElse) {
  auto [geometry, backing] = GetParam();
  ArrayDesc desc;
  desc.geometry = geometry;
  desc.format = abi::SurfaceFormat::u16;
  desc.channels = 2;
  desc.width = 13;
  const bool rows =
      geometry == Geometry::d2 || geometry == Geometry::d3 || geometry == Geometry::a2d;
  const bool layered = geometry == Geometry::a1d || geometry == Geometry::a2d;
  if (rows) desc.height = 9;
  if (geometry == Geometry::d3) desc.depth = 5;
  if (layered) desc.layers = 5;
  desc.backing = backing;
  const std::size_t width = 13, height = desc.height, slices = desc.depth * desc.layers;

  ArrayRegion box;
  box.x = 3;
  box.y = rows ? 2 : 0;
  box.z = slices > 1 ? 1 : 0;
  box.width = 4;
  box.height = rows ? 3 : 1;
  box.depth = slices > 1 ? 2 : 1;
  box.row_pitch = 24;
  box.slice_pitch = 120;
  const std::size_t span = (box.depth - 1) * 120u + (box.height - 1) * 24u + 16u;

  const auto before = noise(width * height * slices * 4, 7), patch = noise(span, 8);
  auto expected = before;
  std::vector<std::uint8_t> lifted(span, 0xcc);  // what a download of the patched box gives
  for (std::size_t z = 0; z < box.depth; ++z)
    for (std::size_t y = 0; y < box.height; ++y)
      for (std::size_t k = 0; k < 16; ++k) {
        const std::size_t other = z * 120 + y * 24 + k;
        expected[(((box.z + z) * height + box.y + y) * width + box.x) * 4 + k] = patch[other];
        lifted[other] = patch[other];
      }
  Buffer buffer = must(Buffer::create(test_device(), 8 + span));
  Stream stream = must(Stream::create(test_device()));
  for (int path = 0; path < 4; ++path) {
    Array array = must(Array::create(test_device(), desc));
    must(array.upload(bytes_of(before)));
    std::vector<std::uint8_t> back(span, 0xcc);
    if (path & 1) must(buffer.upload(8, bytes_of(patch)));
    switch (path) {
      case 0: must(array.upload(box, bytes_of(patch))); break;
      case 1: must(array.copy_from(buffer, 8, box)); break;
      case 2: must(stream.upload(array, box, bytes_of(patch))); break;
      case 3: must(stream.copy(buffer, 8, array, box)); break;
    }
    must(stream.synchronize());
    EXPECT_EQ(read_array<std::uint8_t>(array), expected) << "path " << path;
    if (path & 1) must(buffer.fill(0, buffer.size(), 0xcc));
    switch (path) {
      case 0: must(array.download(box, writable(back))); break;
      case 1: must(array.copy_to(buffer, 8, box)); break;
      case 2: must(stream.download(array, box, writable(back))); break;
      case 3: must(stream.copy(array, buffer, 8, box)); break;
    }
    must(stream.synchronize());
    if (path & 1) must(buffer.download(8, writable(back)));
    EXPECT_EQ(back, lifted) << "path " << path;
  }
}

TEST(Memory, BoxesThatDoNotFitAreRefused) {
  ArrayDesc desc;
  desc.width = 8;
  desc.height = 4;
  Array array = must(Array::create(test_device(), desc));
  Buffer buffer = must(Buffer::create(test_device(), 128));
  std::vector<std::uint8_t> data(128);
  const auto refused = [&](const ArrayRegion& box, const char* why) {
    for (const Status& status : {array.upload(box, bytes_of(data)), array.copy_from(buffer, 0, box),
                                 array.copy_to(buffer, 0, box)}) {
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
      EXPECT_NE(status.error().text.find(why), std::string::npos) << status.error().text;
    }
  };
  refused({.level = 1}, "no level 1");
  refused({.x = 8}, "starts at x = 8");
  refused({.x = 1, .width = 8}, "takes 8 from x = 1");
  refused({.y = 3, .height = 2}, "takes 2 from y = 3");
  refused({.z = 1}, "starts at z = 1");
  refused({.row_pitch = 31}, "less than");
  refused({.row_pitch = 64}, "224 bytes");
  refused({.row_pitch = ~0ull}, "beyond any memory");
  EXPECT_FALSE(array.copy_from(buffer, 4));
  EXPECT_TRUE(array.copy_from(buffer, 0));
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
           [](ArrayDesc& d) { d.channels = 3; },
           [](ArrayDesc& d) { d.geometry = static_cast<Geometry>(99); },
           [](ArrayDesc& d) { d.width = 0; }, [](ArrayDesc& d) { d.levels = 9; },
           [](ArrayDesc& d) { d.width = ~0u; }, [](ArrayDesc& d) { d.depth = 2; },
           [](ArrayDesc& d) { d.layers = 2; }}) {
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
  Buffer shared = must(vulkan::import(test_device(), vulkan::buffer_of(buffer)));
  EXPECT_EQ(shared.address(), buffer.address());
  must(buffer.fill(0, 256, 0x5a));
  EXPECT_EQ(read_buffer<std::uint8_t>(shared, 256), std::vector<std::uint8_t>(256, 0x5a));
  ArrayDesc desc;
  desc.width = 8;
  desc.height = 8;
  desc.backing = ArrayBacking::image;
  Array array = must(Array::create(test_device(), desc));
  Array view = must(vulkan::import(test_device(), must(vulkan::image_of(array)), desc));
  auto data = noise(array.bytes(), 5);
  must(array.upload(bytes_of(data)));
  EXPECT_EQ(read_array<std::uint8_t>(view), data);
}

/// Bytes of memory that the process has pages for.
std::uint64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * 4096;
}

// Half a GiB that nobody touches costs no memory, and so no time.
TEST(Memory, IsThereOnceItIsTouched) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers touch the driver's memory";
#endif
  if (test_device().info().kind != DeviceKind::cpu)
    GTEST_SKIP() << "only a CPU device's memory is the process's";
  constexpr std::uint64_t kBytes = 1ull << 29;
  const std::uint64_t before = resident();
  Buffer buffer = must(Buffer::create(test_device(), kBytes));
  EXPECT_LT(resident(), before + kBytes / 8);
  const std::vector<std::uint32_t> words = {1, 2, 3, 4};
  must(buffer.upload(kBytes - 16, bytes_of(words)));
  EXPECT_EQ(read_buffer<std::uint32_t>(buffer, 4, kBytes - 16), words);
}

}  // namespace
}  // namespace ptx2spv
