// Arrays that live where their kernels want them: in memory, or in images that samplers read.
#include <optional>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kSize = 32;

/// step: a texel of `from` and one more into `to`. scatter: a byte of a texel, by a handle out of
/// memory, which no image takes.
constexpr const char* kKernels = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry step(.param .u64 from, .param .u64 to)
{
  .reg .f32 %x, %y, %v<4>;
  .reg .b32 %tx, %ty;
  .reg .b64 %t, %s;
  ld.param.u64 %t, [from];
  ld.param.u64 %s, [to];
  mov.u32 %tx, %tid.x;
  mov.u32 %ty, %tid.y;
  cvt.rn.f32.u32 %x, %tx;
  cvt.rn.f32.u32 %y, %ty;
  add.f32 %x, %x, 0f3F000000;
  add.f32 %y, %y, 0f3F000000;
  tex.2d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [%t, {%x, %y}];
  add.f32 %v0, %v0, 0f3F800000;
  shl.b32 %tx, %tx, 2;
  sust.b.2d.b32.trap [%s, {%tx, %ty}], {%v0};
  ret;
}
.visible .entry scatter(.param .u64 handles)
{
  .reg .b32 %tx, %ty;
  .reg .b64 %h, %s;
  ld.param.u64 %h, [handles];
  ld.global.u64 %s, [%h];
  mov.u32 %tx, %tid.x;
  mov.u32 %ty, %tid.y;
  shl.b32 %tx, %tx, 2;
  sust.b.2d.b32.trap [%s, {%tx, %ty}], {%ty};
  ret;
}
)";

struct Plane {
  Array array;
  Surface surface;
  Texture texture;
};

Plane plane(Device& device, const std::vector<float>& texels) {
  ArrayDesc desc;
  desc.geometry = Geometry::d2;
  desc.format = abi::SurfaceFormat::f32;
  desc.width = desc.height = kSize;
  Array array = must(Array::create(device, desc));
  must(array.upload(bytes_of(texels)));
  return {array, must(Surface::create(array)), must(Texture::create(array, {}))};
}

std::vector<float> contents(const Array& array) {
  std::vector<float> texels(kSize * kSize);
  must(array.download(writable(texels)));
  return texels;
}

std::vector<float> numbers() {
  std::vector<float> texels(kSize * kSize);
  for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<float>(i);
  return texels;
}

LaunchConfig one_block(FilterPolicy filter) {
  LaunchConfig config;
  config.block = {kSize, kSize, 1};
  config.filter = filter;
  return config;
}

class Residency : public testing::TestWithParam<FilterPolicy> {};

TEST_P(Residency, PingPongCopiesNothing) {
  Device device = test_device();
  Module module = must(Module::load(device, kKernels, "residency.ptx"));
  Kernel step = must(module.kernel("step"));
  Plane a = plane(device, numbers()), b = plane(device, numbers());
  const LaunchConfig config = one_block(GetParam());
  const auto turn = [&](const Plane& from, const Plane& to) {
    must(step.launch(config, Args().texture(from.texture).surface(to.surface)));
  };
  turn(a, b);
  turn(b, a);
  const std::uint64_t before = device.statistics().array_copies;
  for (int i = 0; i < 500; ++i) turn(a, b), turn(b, a);
  EXPECT_EQ(device.statistics().array_copies, before);
  std::vector<float> expected = numbers();
  for (float& each : expected) each += 1002;
  EXPECT_EQ(contents(a.array), expected);
}

TEST_P(Residency, ArraysComeBackForWhatImagesCannotDo) {
  Device device = test_device();
  Module module = must(Module::load(device, kKernels, "residency.ptx"));
  Kernel step = must(module.kernel("step")), scatter = must(module.kernel("scatter"));
  Plane a = plane(device, numbers()), b = plane(device, numbers());
  const LaunchConfig config = one_block(GetParam());
  const std::uint64_t handle = b.surface.handle();
  Buffer handles = must(Buffer::create(device, 8));
  must(handles.upload(0, std::as_bytes(std::span(&handle, 1))));
  const auto first = must(step.launch(config, Args().texture(a.texture).surface(b.surface)));
  const auto second = must(step.launch(config, Args().texture(b.texture).surface(a.surface)));
  EXPECT_EQ(first.sampled_textures, second.sampled_textures);
  if (GetParam() == FilterPolicy::device) {
    EXPECT_EQ(second.sampled_textures, 1u);
  }
  std::vector<float> expected = numbers();
  for (float& each : expected) each += 2;
  EXPECT_EQ(contents(a.array), expected);
  must(scatter.launch(config, Args().buffer(handles)));
  const std::uint64_t before = device.statistics().array_copies;
  for (int i = 0; i < 8; ++i) must(scatter.launch(config, Args().buffer(handles)));
  EXPECT_EQ(device.statistics().array_copies, before);
  // What the kernel wrote by address is read by the next one, however that reads.
  must(step.launch(config, Args().texture(b.texture).surface(a.surface)));
  const std::vector<float> after = contents(a.array);
  for (std::uint32_t i = 0; i < after.size(); ++i)
    ASSERT_EQ(after[i], std::bit_cast<float>(i / kSize) + 1.0f) << i;
}

TEST_P(Residency, GraphsFollowArraysThatMove) {
  Device device = test_device();
  Module module = must(Module::load(device, kKernels, "residency.ptx"));
  Kernel step = must(module.kernel("step")), scatter = must(module.kernel("scatter"));
  Plane a = plane(device, numbers()), b = plane(device, numbers());
  const LaunchConfig config = one_block(GetParam());
  const std::uint64_t handle = b.surface.handle();
  Buffer handles = must(Buffer::create(device, 8));
  must(handles.upload(0, std::as_bytes(std::span(&handle, 1))));
  // Written by address in between, in the same graph.
  Graph graph = must(Graph::create(device));
  must(graph.add(step, config, Args().texture(a.texture).surface(b.surface)));
  must(graph.add(scatter, config, Args().buffer(handles)));
  must(graph.add(step, config, Args().texture(b.texture).surface(a.surface)));
  Stream stream = must(Stream::create(device));
  for (int i = 0; i < 3; ++i) {
    must(stream.replay(graph));
    must(stream.synchronize());
    const std::vector<float> after = contents(a.array);
    for (std::uint32_t k = 0; k < after.size(); ++k)
      ASSERT_EQ(after[k], std::bit_cast<float>(k / kSize) + 1.0f) << k;
    must(step.launch(config, Args().texture(a.texture).surface(b.surface)));
  }
}

TEST(ArrayResidency, ArraysInMemoryByDemandStayThere) {
  Device device = test_device();
  Module module = must(Module::load(device, kKernels, "residency.ptx"));
  Kernel step = must(module.kernel("step"));
  ArrayDesc desc;
  desc.geometry = Geometry::d2;
  desc.format = abi::SurfaceFormat::f32;
  desc.width = desc.height = kSize;
  desc.backing = ArrayBacking::linear;
  Array array = must(Array::create(device, desc));
  must(array.upload(bytes_of(numbers())));
  Texture texture = must(Texture::create(array, {}));
  Surface surface = must(Surface::create(array));
  const auto timing =
      must(step.launch(one_block(FilterPolicy::device), Args().texture(texture).surface(surface)));
  EXPECT_EQ(timing.sampled_textures, 0u);
  EXPECT_FALSE(array.image_backed());
}

INSTANTIATE_TEST_SUITE_P(Filters, Residency,
                         testing::Values(FilterPolicy::exact, FilterPolicy::device),
                         [](const auto& each) {
                           return each.param == FilterPolicy::exact ? "exact" : "device";
                         });

}  // namespace
}  // namespace ptx2spv
