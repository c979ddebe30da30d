// OpenGL's objects in the runtime, without CUDA: gl.hpp and gl.h.
#include "ptx2spv/gl.hpp"

#include <algorithm>
#include <memory>

#include "ptx2spv/gl.h"
#include "src/c_api/handles.hpp"
#include "tests/graphics/graphics.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv::test {
namespace {

class Gl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!GlContext::missing().empty()) GTEST_SKIP() << GlContext::missing();
    context_ = std::make_unique<GlContext>();
  }
  std::unique_ptr<GlContext> context_;
};

template <class T>
ErrorCode code_of(const T& result) {
  return result ? ErrorCode::timed_out : result.error().code;  // which nothing here gives
}

/// Inverts a surface of 32-bit texels.
void invert(const Array& array, std::uint32_t width, std::uint32_t height) {
  const Module module = load(R"(
.visible .entry invert(.param .u64 surface) {
  .reg .b32 %x, %y, %v; .reg .b64 %s;
  ld.param.u64 %s, [surface]; mov.u32 %x, %tid.x; mov.u32 %y, %ctaid.x; shl.b32 %x, %x, 2;
  suld.b.2d.b32.trap {%v}, [%s, {%x, %y}]; not.b32 %v, %v;
  sust.b.2d.b32.trap [%s, {%x, %y}], {%v};
  ret;
})");
  const Kernel kernel = must(module.kernel("invert"));
  const Surface surface = must(Surface::create(array));
  Stream stream = must(Stream::create(test_device()));
  LaunchConfig config;
  config.grid = {height, 1, 1};
  config.block = {width, 1, 1};
  must(stream.launch(kernel, config, Args().surface(surface)));
  must(stream.synchronize());
}

TEST_F(Gl, KernelsDrawToATexture) {
  constexpr int kWidth = 61, kHeight = 17;
  auto bytes = random_bytes(std::size_t{kWidth} * kHeight * 4, 1);
  const GLuint texture = make_texture(kWidth, kHeight, bytes);
  auto image = must(gl::SharedImage::open(test_device(), texture, kTexture2D));
  for (int frame = 0; frame < 3; ++frame) {
    const Array array = must(image.map());
    EXPECT_EQ(read_array<std::byte>(array), bytes);
    invert(array, kWidth, kHeight);
    must(image.unmap());
    for (std::byte& each : bytes) each = ~each;
    EXPECT_EQ(texture_bytes(texture, kWidth, kHeight), bytes) << "frame " << frame;
  }
}

TEST_F(Gl, AccessSavesACopy) {
  const auto bytes = random_bytes(8 * 8 * 4, 1), other = random_bytes(8 * 8 * 4, 2);
  const GLuint texture = make_texture(8, 8, bytes);
  auto read =
      must(gl::SharedImage::open(test_device(), texture, kTexture2D, gl::Access::read_only));
  Array array = must(read.map());
  must(array.upload(other));
  must(read.unmap());
  EXPECT_EQ(texture_bytes(texture, 8, 8), bytes);
  auto write =
      must(gl::SharedImage::open(test_device(), texture, kTexture2D, gl::Access::write_discard));
  array = must(write.map());
  EXPECT_NE(read_array<std::byte>(array), bytes);
  must(array.upload(other));
  must(write.unmap());
  EXPECT_EQ(texture_bytes(texture, 8, 8), other);
}

TEST_F(Gl, Buffers) {
  auto bytes = random_bytes(1021, 1);
  const GLuint name = make_buffer(bytes);
  auto shared = must(gl::SharedBuffer::open(test_device(), name));
  Buffer buffer = must(shared.map());
  EXPECT_EQ(read_buffer<std::byte>(buffer, bytes.size()), bytes);
  std::ranges::reverse(bytes);
  must(buffer.upload(0, bytes));
  must(shared.unmap());
  EXPECT_EQ(buffer_bytes(name, bytes.size()), bytes);
}

TEST_F(Gl, Mistakes) {
  const GLuint texture = make_texture(8, 8, random_bytes(256, 1));
  const auto open = [&](GLuint name, GLenum target) {
    return code_of(gl::SharedImage::open(test_device(), name, target));
  };
  EXPECT_EQ(open(texture, 0x0de0), ErrorCode::invalid_argument) << "of one dimension";
  EXPECT_EQ(open(0, kTexture2D), ErrorCode::invalid_argument);
  EXPECT_EQ(open(texture + 100, kTexture2D), ErrorCode::not_found);
  EXPECT_EQ(code_of(gl::SharedBuffer::open(test_device(), 12345)), ErrorCode::not_found);
  auto image = must(gl::SharedImage::open(test_device(), texture, kTexture2D));
  EXPECT_EQ(code_of(image.unmap()), ErrorCode::invalid_argument) << "it is not mapped";
  GlContext::make_none_current();
  EXPECT_EQ(code_of(image.map()), ErrorCode::no_device);
  EXPECT_EQ(open(texture, kTexture2D), ErrorCode::no_device);
  {
    const GlContext stranger;
    make_texture(8, 8, random_bytes(256, 2));
    EXPECT_EQ(code_of(image.map()), ErrorCode::no_device) << "it has another of that name";
  }
  context_->make_current();
  must(image.map());
  EXPECT_EQ(code_of(image.map()), ErrorCode::invalid_argument) << "it is mapped";
  must(image.unmap());
  gl("glBindTexture", kTexture2D, texture);
  gl("glTexImage2D", kTexture2D, 0, 0x881a, 8, 8, 0, kRgba, kUnsignedByte,
     static_cast<const void*>(nullptr));
  EXPECT_EQ(code_of(image.map()), ErrorCode::invalid_argument) << "it has another format";
  gl("glTexImage2D", kTexture2D, 0, 0x8059, 8, 8, 0, kRgba, kUnsignedByte,
     static_cast<const void*>(nullptr));
  EXPECT_EQ(open(texture, kTexture2D), ErrorCode::unsupported) << "of ten bits";
}

TEST_F(Gl, InC) {
  ptx2spv_device device{test_device()};
  const auto bytes = random_bytes(8 * 4 * 4, 1), other = random_bytes(8 * 4 * 4, 2);
  const GLuint texture = make_texture(8, 4, bytes), name = make_buffer(bytes);
  std::vector<std::byte> seen(bytes.size());
  ptx2spv_shared_image* image = nullptr;
  ptx2spv_array* array = nullptr;
  ASSERT_EQ(ptx2spv_shared_image_open(&device, texture, kTexture2D, PTX2SPV_ACCESS_BOTH, &image),
            PTX2SPV_OK);
  ASSERT_EQ(ptx2spv_shared_image_map(image, &array), PTX2SPV_OK);
  EXPECT_EQ(ptx2spv_array_download(array, 0, seen.data(), seen.size()), PTX2SPV_OK);
  EXPECT_EQ(seen, bytes);
  EXPECT_EQ(ptx2spv_array_upload(array, 0, other.data(), other.size()), PTX2SPV_OK);
  ptx2spv_array_destroy(array);
  EXPECT_EQ(ptx2spv_shared_image_unmap(image), PTX2SPV_OK);
  EXPECT_EQ(ptx2spv_shared_image_unmap(image), PTX2SPV_INVALID_ARGUMENT);
  EXPECT_EQ(texture_bytes(texture, 8, 4), other);
  ptx2spv_shared_image_destroy(image);
  ptx2spv_shared_buffer* shared = nullptr;
  ptx2spv_buffer* buffer = nullptr;
  ASSERT_EQ(ptx2spv_shared_buffer_open(&device, name, PTX2SPV_ACCESS_WRITE_DISCARD, &shared),
            PTX2SPV_OK);
  ASSERT_EQ(ptx2spv_shared_buffer_map(shared, &buffer), PTX2SPV_OK);
  EXPECT_EQ(ptx2spv_buffer_upload(buffer, 0, other.data(), other.size()), PTX2SPV_OK);
  ptx2spv_buffer_destroy(buffer);
  EXPECT_EQ(ptx2spv_shared_buffer_unmap(shared), PTX2SPV_OK);
  EXPECT_EQ(buffer_bytes(name, other.size()), other);
  ptx2spv_shared_buffer_destroy(shared);
  EXPECT_EQ(ptx2spv_shared_image_open(nullptr, texture, kTexture2D, PTX2SPV_ACCESS_BOTH, &image),
            PTX2SPV_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ptx2spv::test
