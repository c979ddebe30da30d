// Textures whose handles a kernel takes from memory: by the device's samplers, or by the shader.
#include <bit>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kSide = 8, kThreads = 64;

/// Thread i of `indexed` reads what handles[i % count] names, at a texel's middle; `named` does the
/// same with one handle. Four words a thread.
constexpr const char* kKernels = R"(
.visible .entry indexed(.param .u64 handles, .param .u32 count, .param .u64 to)
{
  .reg .f32 %x, %y, %v<4>;
  .reg .b32 %i, %k, %n;
  .reg .b64 %h, %t, %o, %w;
  ld.param.u64 %h, [handles];
  ld.param.u32 %n, [count];
  ld.param.u64 %o, [to];
  mov.u32 %i, %tid.x;
  rem.u32 %k, %i, %n;
  mul.wide.u32 %w, %k, 8;
  add.u64 %h, %h, %w;
  ld.global.u64 %t, [%h];
  and.b32 %k, %i, 7;
  cvt.rn.f32.u32 %x, %k;
  shr.u32 %k, %i, 3;
  cvt.rn.f32.u32 %y, %k;
  add.f32 %x, %x, 0f3F000000;
  add.f32 %y, %y, 0f3F000000;
  tex.2d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [%t, {%x, %y}];
  mul.wide.u32 %w, %i, 16;
  add.u64 %o, %o, %w;
  st.global.v4.f32 [%o], {%v0, %v1, %v2, %v3};
  ret;
}
.visible .entry named(.param .u64 texture, .param .u64 to)
{
  .reg .f32 %x, %y, %v<4>;
  .reg .b32 %i, %k;
  .reg .b64 %t, %o, %w;
  ld.param.u64 %t, [texture];
  ld.param.u64 %o, [to];
  mov.u32 %i, %tid.x;
  and.b32 %k, %i, 7;
  cvt.rn.f32.u32 %x, %k;
  shr.u32 %k, %i, 3;
  cvt.rn.f32.u32 %y, %k;
  add.f32 %x, %x, 0f3F000000;
  add.f32 %y, %y, 0f3F000000;
  tex.2d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [%t, {%x, %y}];
  mul.wide.u32 %w, %i, 16;
  add.u64 %o, %o, %w;
  st.global.v4.f32 [%o], {%v0, %v1, %v2, %v3};
  ret;
}
)";

using Words = std::vector<std::uint32_t>;

class TextureTable : public testing::TestWithParam<FilterPolicy> {
 protected:
  /// Texels count up from `first`, in as many channels.
  Texture plane(std::uint32_t channels, float first, const TextureDesc& desc = {}) {
    ArrayDesc array;
    array.geometry = Geometry::d2;
    array.format = abi::SurfaceFormat::f32;
    array.channels = channels;
    array.width = array.height = kSide;
    std::vector<float> texels(kSide * kSide * channels);
    for (float& each : texels) each = first++;
    arrays_.push_back(must(Array::create(test_device(), array)));
    must(arrays_.back().upload(bytes_of(texels)));
    return must(Texture::create(arrays_.back(), desc));
  }
  LaunchConfig config() const {
    LaunchConfig made;
    made.block.x = kThreads;
    made.filter = GetParam();
    return made;
  }
  Buffer handles_of(const std::vector<Texture>& textures) {
    std::vector<std::uint64_t> handles;
    for (const Texture& each : textures) handles.push_back(each.handle());
    Buffer buffer = must(Buffer::create(test_device(), handles.size() * 8));
    must(buffer.upload(0, bytes_of(handles)));
    return buffer;
  }
  /// What `indexed` reads; `sampled` textures by samplers.
  Words indexed(const std::vector<Texture>& textures, std::uint32_t& sampled) {
    const Buffer to = must(Buffer::create(test_device(), kThreads * 16));
    const auto count = static_cast<std::uint32_t>(textures.size());
    const Buffer handles = handles_of(textures);
    const LaunchTiming timing =
        must(must(module_.kernel("indexed"))
                 .launch(config(), Args().buffer(handles).value(count).buffer(to)));
    sampled = timing.sampled_textures;
    return read_buffer<std::uint32_t>(to, kThreads * 4);
  }
  /// The same out of reads by parameter.
  Words named(const std::vector<Texture>& textures) {
    const Buffer to = must(Buffer::create(test_device(), kThreads * 16));
    Words all(kThreads * 4);
    for (std::size_t k = 0; k < textures.size(); ++k) {
      must(must(module_.kernel("named")).launch(config(), Args().texture(textures[k]).buffer(to)));
      const Words words = read_buffer<std::uint32_t>(to, kThreads * 4);
      for (std::size_t i = k; i < kThreads; i += textures.size())
        std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(4 * i), 4,
                    all.begin() + static_cast<std::ptrdiff_t>(4 * i));
    }
    return all;
  }
  /// By the filter, or because the device's samplers give what an H200's do.
  bool samples() const {
    const Profile& profile = test_device().profile();
    const bool exact = profile.exactness.sampler_f32 && profile.exactness.sampler_unorm8;
    return profile.features.indexed_samplers && (exact || GetParam() == FilterPolicy::device);
  }

  Module module_ = load(kKernels);
  std::vector<Array> arrays_;
};

TEST_P(TextureTable, HandlesOutOfMemoryReadAsParametersDo) {
  TextureDesc linear, border;
  linear.linear_filter = true;
  border.address[0] = border.address[1] = AddressMode::border;
  const std::vector<Texture> textures{plane(1, 1), plane(4, 100, linear), plane(2, 1000, border)};
  std::uint32_t sampled = 0;
  const Words got = indexed(textures, sampled);
  EXPECT_EQ(sampled, samples() ? 3u : 0u);
  EXPECT_EQ(got, named(textures));
  EXPECT_EQ(std::bit_cast<float>(got[0]), 1.0f);
  // Thread 1 reads the second texel of four channels; thread 2 the third of two, whose other
  // channels are 0.
  EXPECT_EQ(std::bit_cast<float>(got[4]), 104.0f);
  EXPECT_EQ(std::bit_cast<float>(got[8]), 1004.0f);
  EXPECT_EQ(got[10], 0u);
  EXPECT_EQ(got[11], 0u);
}

TEST_P(TextureTable, WhatNoSamplerReadsIsTheShaders) {
  // Rows that no device gives an image.
  constexpr std::uint32_t kPitch = kSide * 4 + 16;
  Buffer memory = must(Buffer::create(test_device(), kSide * kPitch));
  std::vector<float> texels(kSide * kPitch / 4, 7.0f);
  must(memory.upload(0, bytes_of(texels)));
  TextureMemory pitched{abi::SurfaceFormat::f32, 1, 0, kSide, kSide, kPitch};
  const std::vector<Texture> textures{plane(1, 1),
                                      must(Texture::create(memory, pitched, TextureDesc{}))};
  std::uint32_t sampled = 0;
  const Words got = indexed(textures, sampled);
  EXPECT_EQ(sampled, samples() ? 1u : 0u);
  EXPECT_EQ(got, named(textures));
  EXPECT_EQ(std::bit_cast<float>(got[0]), 1.0f);
  EXPECT_EQ(std::bit_cast<float>(got[4]), 7.0f);
}

// Where a sampler reads it, it does so through an image over the same bytes, which shows what was
// last written there.
TEST_P(TextureTable, PitchedMemoryIsReadAsItIsNow) {
  constexpr std::uint32_t kWide = 16;
  Buffer memory = must(Buffer::create(test_device(), kSide * kWide * 4 + 256));
  TextureMemory pitched{abi::SurfaceFormat::f32, 1, 256, kWide, kSide, kWide * 4};
  const std::vector<Texture> textures{must(Texture::create(memory, pitched, TextureDesc{}))};
  std::uint32_t sampled = 0;
  for (const float first : {1.0f, 1000.0f, 5.0f}) {
    std::vector<float> texels(kSide * kWide);
    for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = first + static_cast<float>(i);
    must(memory.upload(256, bytes_of(texels)));
    const Words by_parameter = named(textures), by_table = indexed(textures, sampled);
    for (std::uint32_t i = 0; i < kThreads; ++i) {
      const float want = texels[i / 8 * kWide + i % 8];
      ASSERT_EQ(std::bit_cast<float>(by_parameter[4 * i]), want) << i;
      ASSERT_EQ(std::bit_cast<float>(by_table[4 * i]), want) << i;
      ASSERT_EQ(by_parameter[4 * i + 1], 0u);
    }
  }
}

TEST_P(TextureTable, TexturesComeAndGoBetweenLaunches) {
  std::vector<Texture> textures{plane(1, 1)};
  std::uint32_t sampled = 0;
  for (int k = 0; k < 20; ++k) {
    textures.push_back(plane(1, static_cast<float>(100 * k)));
    if (k % 3 == 0) textures.erase(textures.begin());
    ASSERT_EQ(indexed(textures, sampled), named(textures)) << k;
    ASSERT_EQ(sampled, samples() ? textures.size() : 0u);
  }
}

TEST_P(TextureTable, ADeadHandleTraps) {
  const Texture live = plane(1, 1);
  std::vector<Texture> textures{live, plane(1, 2)};
  const Buffer handles = handles_of(textures);
  textures.pop_back();
  const Buffer to = must(Buffer::create(test_device(), kThreads * 16));
  const auto timing =
      must(module_.kernel("indexed")).launch(config(), Args().buffer(handles).value(2u).buffer(to));
  ASSERT_FALSE(timing);
  EXPECT_EQ(timing.error().code, ErrorCode::trap) << timing.error().text;
}

TEST_P(TextureTable, LaunchesCopyNothingOnceArraysAreWhereTheyAreRead) {
  const std::vector<Texture> textures{plane(1, 1), plane(1, 2)};
  std::uint32_t sampled = 0;
  const Words first = indexed(textures, sampled);
  const std::uint64_t before = test_device().statistics().array_copies;
  for (int k = 0; k < 50; ++k) ASSERT_EQ(indexed(textures, sampled), first);
  EXPECT_EQ(test_device().statistics().array_copies, before);
}

INSTANTIATE_TEST_SUITE_P(Filters, TextureTable,
                         testing::Values(FilterPolicy::exact, FilterPolicy::device),
                         [](const auto& each) {
                           return each.param == FilterPolicy::exact ? "exact" : "device";
                         });

}  // namespace
}  // namespace ptx2spv
