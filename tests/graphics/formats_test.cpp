// OpenGL's textures and renderbuffers in CUDA: every format, target and level both ways, and which
// are refused.
#include "tests/graphics/images.hpp"

namespace ptx2spv::test {
namespace {

class Formats : public Images {
 protected:
  void both_ways(const Format& format, const Target& target);
};

/// Random texels are what CUDA sees; reversed by CUDA they are what OpenGL sees.
void Formats::both_ways(const Format& format, const Target& target) {
  const std::string where = std::string(format.name) + " " + target.name;
  const GLuint texture = gl_name("glGenTextures");
  gl("glBindTexture", target.target, texture);
  std::vector<std::vector<std::byte>> before;
  for (int level = 0; level < target.levels; ++level) {
    before.push_back(random_bytes(level_bytes(format, target, level), 7U + level));
    specify(format, target, level, before.back().data());
    // What OpenGL makes of it is what counts.
    before.back() = level_of(format, target, level);
  }
  ASSERT_EQ(gl<GLenum>("glGetError"), 0U) << where;
  gl("glBindTexture", target.target, 0U);
  ASSERT_EQ(register_image(texture, target.target), eSuccess) << where;
  map();
  const std::size_t texel = std::size_t{format.channels} * format.bytes;
  CUmipmappedArray whole = mipmap();
  for (int level = 0; level < target.levels; ++level) {
    CUarray one = level_array(whole, static_cast<unsigned>(level));
    CUDA_ARRAY3D_DESCRIPTOR desc{};
    EXPECT_EQ(driver("cuArray3DGetDescriptor_v2", &desc, one), eSuccess);
    EXPECT_EQ(desc.Format, format.expected) << where;
    EXPECT_EQ(desc.NumChannels, format.channels) << where;
    std::vector<std::byte> seen;
    EXPECT_EQ(download(one, seen), eSuccess) << where;
    EXPECT_EQ(seen == before[level], true) << where << " level " << level << " read";
    EXPECT_EQ(upload(one, reversed(seen, texel)), eSuccess) << where;
  }
  unmap();
  gl("glBindTexture", target.target, texture);
  for (int level = 0; level < target.levels; ++level)
    EXPECT_EQ(level_of(format, target, level) == reversed(before[level], texel), true)
        << where << " level " << level << " written";
  gl("glBindTexture", target.target, 0U);
  unregister();
  gl("glDeleteTextures", 1, &texture);
}

TEST_F(Formats, OfEveryTarget) {
  for (const Format& format : kFormats)
    for (const Target& target : kTargets) both_ways(format, target);
}

TEST_F(Formats, InACoreContext) {
  context_.reset();
  context_ = std::make_unique<GlContext>(Profile::core);
  gl("glPixelStorei", 0xcf5U, 1);
  gl("glPixelStorei", 0xd05U, 1);
  for (const Format& format : kFormats)
    for (const Target& target : kTargets)
      if (!format.old) both_ways(format, target);
}

/// Texels come and go through a framebuffer, which no code of the library's has anything to do
/// with. A format that OpenGL does not draw to, CUDA refuses or takes.
TEST_F(Formats, OfRenderbuffers) {
  constexpr int kWidth = 13, kHeight = 9;
  int tried = 0;
  for (const Format& format : kFormats) {
    const GLuint buffer = gl_name("glGenRenderbuffers"), frame = gl_name("glGenFramebuffers"),
                 source = gl_name("glGenFramebuffers"), texture = gl_name("glGenTextures");
    gl("glBindRenderbuffer", kRenderbuffer, buffer);
    gl("glRenderbufferStorage", kRenderbuffer, format.internal, kWidth, kHeight);
    gl("glBindFramebuffer", kFramebuffer, frame);
    gl("glFramebufferRenderbuffer", kFramebuffer, kAttachment, kRenderbuffer, buffer);
    const bool draws =
        gl<GLenum>("glCheckFramebufferStatus", kFramebuffer) == 0x8cd5U && !format.old;
    const Target target = {"renderbuffer", kTexture2D, kWidth, kHeight, 1, 1};
    const std::size_t bytes = level_bytes(format, target, 0);
    (void)gl<GLenum>("glGetError");
    if (draws) {
      ++tried;
      gl("glBindTexture", kTexture2D, texture);
      make_complete(kTexture2D);
      specify(format, target, 0, random_bytes(bytes, 3).data());
      gl("glBindFramebuffer", kReadFramebuffer, source);
      gl("glFramebufferTexture2D", kReadFramebuffer, kAttachment, kTexture2D, texture, 0);
      gl("glBlitFramebuffer", 0, 0, kWidth, kHeight, 0, 0, kWidth, kHeight, 0x4000U, 0x2600U);
      gl("glBindFramebuffer", kReadFramebuffer, frame);
      std::vector<std::byte> before(bytes), after(bytes), seen;
      const auto read = [&](std::vector<std::byte>& to) {
        gl("glReadPixels", 0, 0, kWidth, kHeight, format.external, format.type,
           static_cast<void*>(to.data()));
      };
      read(before);
      ASSERT_EQ(register_image(buffer, kRenderbuffer), eSuccess) << format.name;
      map();
      EXPECT_EQ(download(array(), seen), eSuccess);
      EXPECT_EQ(seen == before, true) << format.name << " read";
      const std::size_t texel = std::size_t{format.channels} * format.bytes;
      EXPECT_EQ(upload(array(), reversed(seen, texel)), eSuccess);
      unmap();
      read(after);
      EXPECT_EQ(after == reversed(before, texel), true) << format.name << " written";
      unregister();
    }
    EXPECT_EQ(gl<GLenum>("glGetError"), 0U) << format.name;
    gl("glBindFramebuffer", kFramebuffer, 0U);
    gl("glBindRenderbuffer", kRenderbuffer, 0U);
    gl("glDeleteFramebuffers", 1, &frame);
    gl("glDeleteFramebuffers", 1, &source);
    gl("glDeleteRenderbuffers", 1, &buffer);
    gl("glDeleteTextures", 1, &texture);
  }
  EXPECT_GE(tried, 30) << "R, RG and RGBA of ten kinds";
}

/// Of contexts of compatibility: what CUDA writes is what it reads the next time, or the format is
/// refused.
TEST_F(Formats, OldOnesOfRenderbuffers) {
  int tried = 0;
  for (const Format& format : kFormats) {
    const GLuint buffer = gl_name("glGenRenderbuffers");
    gl("glBindRenderbuffer", kRenderbuffer, buffer);
    gl("glRenderbufferStorage", kRenderbuffer, format.internal, 13, 9);
    if (gl<GLenum>("glGetError") || !format.old) continue;
    const CUresult code = register_image(buffer, kRenderbuffer);
    if (code == eInvalidValue) continue;
    ASSERT_EQ(code, eSuccess) << format.name;
    ++tried;
    const auto bytes = random_bytes(std::size_t{13} * 9 * format.channels * format.bytes, 4);
    std::vector<std::byte> seen;
    map();
    EXPECT_EQ(upload(array(), bytes), eSuccess);
    unmap();
    map();
    EXPECT_EQ(download(array(), seen), eSuccess);
    unmap();
    EXPECT_EQ(seen == bytes, true) << format.name;
    unregister();
  }
  EXPECT_EQ(gl<GLenum>("glGetError"), 0U);
  EXPECT_GE(tried, 20) << "of four kinds in ten sizes; llvmpipe keeps 41, zink 23";
}

/// OpenGL chooses the size, which is not that of the texels that the program gives it. What it
/// chose is what CUDA has.
TEST_F(Formats, WithoutASizeOfFloats) {
  constexpr int kWidth = 13, kHeight = 9;
  struct Unsized {
    GLenum format;
    unsigned channels;
  };
  for (const Unsized& each : {Unsized{0x1903, 1}, Unsized{0x8227, 2}, Unsized{0x1908, 4}}) {
    const std::size_t count = std::size_t{kWidth} * kHeight * each.channels;
    std::vector<float> texels(count);
    for (std::size_t i = 0; i < count; ++i) texels[i] = static_cast<float>(i * 37 % 256) / 255;
    const GLuint texture = gl_name("glGenTextures");
    gl("glBindTexture", kTexture2D, texture);
    gl("glTexImage2D", kTexture2D, 0, static_cast<int>(each.format), kWidth, kHeight, 0,
       each.format, 0x1406U, static_cast<const void*>(texels.data()));
    int bits = 0;
    gl("glGetTexLevelParameteriv", kTexture2D, 0, 0x805cU, &bits);
    ASSERT_EQ(bits, 8) << "Mesa's choice";
    ASSERT_EQ(register_image(texture, kTexture2D), eSuccess) << std::hex << each.format;
    map();
    CUDA_ARRAY3D_DESCRIPTOR desc{};
    EXPECT_EQ(driver("cuArray3DGetDescriptor_v2", &desc, array()), eSuccess);
    EXPECT_EQ(desc.Format, kUnsignedInt8);
    EXPECT_EQ(desc.NumChannels, each.channels);
    std::vector<std::byte> seen;
    EXPECT_EQ(download(array(), seen), eSuccess);
    ASSERT_EQ(seen.size(), count);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(seen[i], static_cast<std::byte>(i * 37 % 256)) << i;
    unmap();
    unregister();
    gl("glDeleteTextures", 1, &texture);
  }
}

TEST_F(Formats, ThatCudaDoesNotTake) {
  struct Other {
    GLenum internal, external, type;
  };
  // RGB16F, signed and packed normals, packed floats, depth, and four bits.
  for (const Other& each :
       {Other{0x881b, 0x1907, 0x140b}, Other{0x8f97, 0x1908, 0x1400}, Other{0x8059, 0x1908, 0x8368},
        Other{0x8c3a, 0x1907, 0x1406}, Other{0x81a6, 0x1902, 0x1405}, Other{0x8056, 0x1908, 0x1401},
        Other{0x8c3d, 0x1907, 0x1406}}) {
    const GLuint texture = gl_name("glGenTextures");
    gl("glBindTexture", kTexture2D, texture);
    gl("glTexImage2D", kTexture2D, 0, static_cast<int>(each.internal), 8, 8, 0, each.external,
       each.type, static_cast<const void*>(nullptr));
    ASSERT_EQ(gl<GLenum>("glGetError"), 0U);
    EXPECT_EQ(register_image(texture, kTexture2D), eInvalidValue) << std::hex << each.internal;
  }
}

}  // namespace
}  // namespace ptx2spv::test
