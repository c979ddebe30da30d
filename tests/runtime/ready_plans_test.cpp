// Launches like an earlier one take its plan, and read what their arguments name.
#include "src/executor/ready.hpp"
#include "src/module/module.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

using Backing = ArrayBacking;

/// One thread that stores what `read` leaves in %r0, of the texture or surface %h.
std::string kernel(const std::string& handle, const std::string& read) {
  return R"(.visible .entry k(.param .u64 h, .param .u64 out) {
  .reg .b32 %r<4>;
  .reg .f32 %x;
  .reg .b64 %h, %o;
  ld.param.u64 %h, [h];
  ld.param.u64 %o, [out];
  mov.f32 %x, 0f3F000000;
  )" + handle +
         "\n  " + read + "\n  st.global.b32 [%o], %r0;\n  ret;\n}\n";
}
const std::string kOfMemory = "ld.global.u64 %h, [%h];";
const std::string kTexture = "tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x, %x}];";
const std::string kSurface = "mov.b32 %r1, 0; suld.b.2d.b32.trap %r0, [%h, {%r1, %r1}];";

Array array_of(std::uint32_t word, Backing backing = Backing::automatic) {
  ArrayDesc desc;
  desc.geometry = Geometry::d2;
  desc.format = abi::SurfaceFormat::u32;
  desc.width = desc.height = 4;
  desc.backing = backing;
  Array array = must(Array::create(test_device(), desc));
  must(array.upload(bytes_of(std::vector<std::uint32_t>(16, word))));
  return array;
}

class ReadyPlans : public testing::Test {
 protected:
  void load(const std::string& text) {
    module_ = ptx2spv::load(text);
    kernel_ = must(module_->kernel("k"));
  }
  /// Launches often enough for a plan that is kept to be taken.
  std::uint32_t read(const Args& args) {
    std::uint32_t word = 0;
    for (int i = 0; i < 3; ++i) {
      must(kernel_->launch({}, args));
      const std::uint32_t now = read_buffer<std::uint32_t>(out_, 1)[0];
      if (i > 0) {
        EXPECT_EQ(now, word);
      }
      word = now;
    }
    return word;
  }
  std::uint32_t read(const Texture& texture) { return read(Args().texture(texture).buffer(out_)); }
  void put(std::uint64_t handle) { must(cell_.upload(0, bytes_of(std::vector{handle}))); }
  std::uint32_t read_named() { return read(Args().buffer(cell_).buffer(out_)); }
  std::size_t plans() const { return kernel_->state()->ready.size(); }
  /// Whether kept plans are looked at: the host executor has none.
  static bool keeps() { return test_device().state()->executor == ExecutorPolicy::device; }

  std::optional<Module> module_;
  std::optional<Kernel> kernel_;
  Buffer out_ = must(Buffer::create(test_device(), 16)),
         cell_ = must(Buffer::create(test_device(), 16));
};

TEST_F(ReadyPlans, AreOfTheTexturesThatArgumentsName) {
  load(kernel("", kTexture));
  Array one = array_of(11, Backing::linear), other = array_of(12, Backing::linear);
  const Texture first = must(Texture::create(one, {}));
  std::optional<Texture> second = must(Texture::create(other, {}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read(first), 11u);
    EXPECT_EQ(read(*second), 12u);
  }
  if (keeps()) {
    EXPECT_EQ(plans(), 2u);
  }
  must(one.upload(bytes_of(std::vector<std::uint32_t>(16, 13))));
  EXPECT_EQ(read(first), 13u);
  // The next texture has the number of the one that died.
  const std::uint64_t handle = second->handle();
  second.reset();
  const Texture third = must(Texture::create(array_of(14, Backing::image), {}));
  EXPECT_EQ(static_cast<std::uint32_t>(third.handle()), static_cast<std::uint32_t>(handle));
  EXPECT_EQ(read(third), 14u);
  EXPECT_EQ(read(first), 13u);
}

TEST_F(ReadyPlans, AreOfOneFilter) {
  Array array = [] {
    ArrayDesc desc;
    desc.geometry = Geometry::d2;
    desc.format = abi::SurfaceFormat::f32;
    desc.width = 2;
    desc.height = 1;
    return must(Array::create(test_device(), desc));
  }();
  must(array.upload(bytes_of(std::vector<float>{0.0f, 256.0f})));
  TextureDesc linear;
  linear.linear_filter = true;
  const Texture texture = must(Texture::create(array, linear));
  // A seventh of the way from one texel to the other: 36.57 256ths, which NVIDIA's samplers round.
  load(
      kernel("mov.f32 %x, 0f3F249249;", "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x, %x}];"));
  const float rounded = 37.0f;
  for (int i = 0; i < 3; ++i)
    for (const FilterPolicy filter : {FilterPolicy::device, FilterPolicy::exact}) {
      LaunchConfig config;
      config.filter = filter;
      must(kernel_->launch(config, Args().texture(texture).buffer(out_)));
      const float value = read_buffer<float>(out_, 1)[0];
      EXPECT_NEAR(value, 36.57f, 0.6f);
      if (filter == FilterPolicy::exact) {
        EXPECT_EQ(value, rounded);
      }
    }
  if (keeps()) {
    EXPECT_EQ(plans(), 2u);
  }
}

TEST_F(ReadyPlans, AreOfTheTexturesThatMemoryMayName) {
  load(kernel(kOfMemory, kTexture));
  std::optional<Texture> first = must(Texture::create(array_of(21), {}));
  const Texture second = must(Texture::create(array_of(22, Backing::image), {}));
  for (int i = 0; i < 3; ++i)
    for (const Texture* each : {static_cast<const Texture*>(&*first), &second}) {
      put(each->handle());
      EXPECT_EQ(read_named(), each == &second ? 22u : 21u);
    }
  first.reset();
  const Texture third = must(Texture::create(array_of(23, Backing::linear), {}));
  put(third.handle());
  EXPECT_EQ(read_named(), 23u);
  put(second.handle());
  EXPECT_EQ(read_named(), 22u);
}

TEST_F(ReadyPlans, AreOfTheSurfacesThatMemoryMayName) {
  load(kernel(kOfMemory, kSurface));
  const Array one = array_of(31), other = array_of(32);
  const Surface first = must(Surface::create(one)), second = must(Surface::create(other));
  for (int i = 0; i < 3; ++i)
    for (const Surface* each : {&first, &second}) {
      put(each->handle());
      EXPECT_EQ(read_named(), each == &second ? 32u : 31u);
    }
  if (keeps()) {
    EXPECT_EQ(plans(), 1u);
  }
  // An array that lies in an image when it is made, and one that a texture's kernel takes there.
  const Array image = array_of(33, Backing::image);
  const Surface third = must(Surface::create(image));
  put(third.handle());
  EXPECT_EQ(read_named(), 33u);
  const Texture texture = must(Texture::create(one, {}));
  const Module textures = ptx2spv::load(kernel("", kTexture));
  Kernel reads = must(textures.kernel("k"));
  for (int i = 0; i < 20; ++i) must(reads.launch({}, Args().texture(texture).buffer(out_)));
  EXPECT_EQ(read_buffer<std::uint32_t>(out_, 1)[0], 31u);
  put(first.handle());
  EXPECT_EQ(read_named(), 31u);
}

}  // namespace
}  // namespace ptx2spv
