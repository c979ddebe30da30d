// OpenGL's textures and renderbuffers in CUDA: every format, target and level both ways, and which
// are refused.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/graphics/graphics.hpp"

namespace ptx2spv::test {
namespace {

constexpr CUstream kNoStream = nullptr;
constexpr unsigned kReadOnly = 1, kWriteDiscard = 2, kSurface = 4;

/// An internal format with what OpenGL calls its texels.
struct Format {
  const char* name;
  GLenum internal, external, type;
  unsigned channels, bytes;  ///< of a channel
  CUarray_format expected;
  bool old;  ///< of contexts of compatibility alone
};
constexpr Format kFormats[] = {
#define PTX2SPV_TEN(name, external, integer, channels, old, a, b, c, d, e, f, g, h, i, j) \
  {name "8", a, external, 0x1401, channels, 1, kUnsignedInt8, old},                       \
      {name "16", b, external, 0x1403, channels, 2, kUnsignedInt16, old},                 \
      {name "16F", c, external, 0x140b, channels, 2, kHalf, old},                         \
      {name "32F", d, external, 0x1406, channels, 4, kFloat, old},                        \
      {name "8I", e, integer, 0x1400, channels, 1, kSignedInt8, old},                     \
      {name "8UI", f, integer, 0x1401, channels, 1, kUnsignedInt8, old},                  \
      {name "16I", g, integer, 0x1402, channels, 2, kSignedInt16, old},                   \
      {name "16UI", h, integer, 0x1403, channels, 2, kUnsignedInt16, old},                \
      {name "32I", i, integer, 0x1404, channels, 4, kSignedInt32, old},                   \
      {name "32UI", j, integer, 0x1405, channels, 4, kUnsignedInt32, old},
    PTX2SPV_TEN("R", 0x1903, 0x8d94, 1, false, 0x8229, 0x822a, 0x822d, 0x822e, 0x8231, 0x8232,
                0x8233, 0x8234, 0x8235, 0x8236) PTX2SPV_TEN("RG", 0x8227, 0x8228, 2, false, 0x822b,
                                                            0x822c, 0x822f, 0x8230, 0x8237, 0x8238,
                                                            0x8239, 0x823a, 0x823b, 0x823c)
        PTX2SPV_TEN("RGBA", 0x1908, 0x8d99, 4, false, 0x8058, 0x805b, 0x881a, 0x8814, 0x8d8e,
                    0x8d7c, 0x8d88, 0x8d76, 0x8d82, 0x8d70)
            PTX2SPV_TEN("LUMINANCE", 0x1909, 0x8d9c, 1, true, 0x8040, 0x8042, 0x881e, 0x8818,
                        0x8d92, 0x8d80, 0x8d8c, 0x8d7a, 0x8d86, 0x8d74)
                PTX2SPV_TEN("ALPHA", 0x1906, 0x8d97, 1, true, 0x803c, 0x803e, 0x881c, 0x8816,
                            0x8d90, 0x8d7e, 0x8d8a, 0x8d78, 0x8d84, 0x8d72)
                    PTX2SPV_TEN("LUMINANCE_ALPHA", 0x190a, 0x8d9d, 2, true, 0x8045, 0x8048, 0x881f,
                                0x8819, 0x8d93, 0x8d81, 0x8d8d, 0x8d7b, 0x8d87, 0x8d75)
                        PTX2SPV_TEN("INTENSITY", 0x1903, 0x8d94, 1, true, 0x804b, 0x804d, 0x881d,
                                    0x8817, 0x8d91, 0x8d7f, 0x8d8b, 0x8d79, 0x8d85, 0x8d73)
#undef PTX2SPV_TEN
                            {"RED", 0x1903, 0x1903, 0x1401, 1, 1, kUnsignedInt8, false},
    {"RG unsized", 0x8227, 0x8227, 0x1401, 2, 1, kUnsignedInt8, false},
    {"RGBA unsized", 0x1908, 0x1908, 0x1401, 4, 1, kUnsignedInt8, false},
    {"LUMINANCE unsized", 0x1909, 0x1909, 0x1401, 1, 1, kUnsignedInt8, true},
    {"ALPHA unsized", 0x1906, 0x1906, 0x1401, 1, 1, kUnsignedInt8, true},
    {"LUMINANCE_ALPHA unsized", 0x190a, 0x190a, 0x1401, 2, 1, kUnsignedInt8, true},
    {"INTENSITY unsized", 0x8049, 0x1903, 0x1401, 1, 1, kUnsignedInt8, true},
    {"4", 4, 0x1908, 0x1401, 4, 1, kUnsignedInt8, true},
};

struct Target {
  const char* name;
  GLenum target;
  int width, height, depth, levels;
};
constexpr Target kTargets[] = {
    {"2D", kTexture2D, 13, 9, 1, 4},  {"rectangle", kRectangle, 13, 9, 1, 1},
    {"cube", kCube, 8, 8, 6, 4},      {"3D", k3D, 12, 7, 5, 4},
    {"array", k2DArray, 13, 9, 5, 4},
};

int extent(int whole, int level) { return std::max(whole >> level, 1); }

std::size_t level_bytes(const Format& format, const Target& target, int level) {
  const int depth = target.target == k3D ? extent(target.depth, level) : target.depth;
  return static_cast<std::size_t>(extent(target.width, level) * extent(target.height, level) *
                                  depth) *
         format.channels * format.bytes;
}

/// Of the level of a texture that is bound; with `bytes` null the levels are made without.
void specify(const Format& format, const Target& target, int level, const std::byte* bytes) {
  const int width = extent(target.width, level), height = extent(target.height, level);
  const auto internal = static_cast<int>(format.internal);
  if (target.target == k3D || target.target == k2DArray) {
    gl("glTexImage3D", target.target, level, internal, width, height,
       target.target == k3D ? extent(target.depth, level) : target.depth, 0, format.external,
       format.type, static_cast<const void*>(bytes));
    return;
  }
  const bool cube = target.target == kCube;
  const std::size_t face = level_bytes(format, target, level) / (cube ? 6 : 1);
  for (unsigned i = 0; i < (cube ? 6U : 1U); ++i)
    gl("glTexImage2D", cube ? kFace + i : target.target, level, internal, width, height, 0,
       format.external, format.type, static_cast<const void*>(bytes ? bytes + i * face : nullptr));
}

std::vector<std::byte> level_of(const Format& format, const Target& target, int level) {
  std::vector<std::byte> bytes(level_bytes(format, target, level));
  const bool cube = target.target == kCube;
  const std::size_t face = bytes.size() / (cube ? 6 : 1);
  for (unsigned i = 0; i < (cube ? 6U : 1U); ++i)
    gl("glGetTexImage", cube ? kFace + i : target.target, level, format.external, format.type,
       static_cast<void*>(bytes.data() + i * face));
  return bytes;
}

std::vector<std::byte> reversed(std::vector<std::byte> bytes, std::size_t texel) {
  std::vector<std::byte> other(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += texel)
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), texel,
                other.end() - static_cast<std::ptrdiff_t>(at + texel));
  return other;
}

class Images : public Graphics {
 protected:
  void SetUp() override {
    Graphics::SetUp();
    if (!context_) return;
    context_.reset();
    context_ = std::make_unique<GlContext>(Profile::compatible);
    gl("glPixelStorei", 0xcf5U, 1);
    gl("glPixelStorei", 0xd05U, 1);
  }
  CUresult register_image(GLuint image, GLenum target, unsigned flags = 0) {
    return driver("cuGraphicsGLRegisterImage", &resource_, image, target, flags);
  }
  void map() { EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &resource_, kNoStream), eSuccess); }
  void unmap() {
    EXPECT_EQ(driver("cuGraphicsUnmapResources", 1U, &resource_, kNoStream), eSuccess);
  }
  void unregister() { EXPECT_EQ(driver("cuGraphicsUnregisterResource", resource_), eSuccess); }
  CUarray array(unsigned layer = 0, unsigned level = 0) {
    CUarray found = nullptr;
    EXPECT_EQ(driver("cuGraphicsSubResourceGetMappedArray", &found, resource_, layer, level),
              eSuccess);
    return found;
  }
  CUmipmappedArray mipmap() {
    CUmipmappedArray found = nullptr;
    EXPECT_EQ(driver("cuGraphicsResourceGetMappedMipmappedArray", &found, resource_), eSuccess);
    return found;
  }
  CUarray level_array(CUmipmappedArray from, unsigned level) {
    CUarray found = nullptr;
    EXPECT_EQ(driver("cuMipmappedArrayGetLevel", &found, from, level), eSuccess);
    return found;
  }
  void both_ways(const Format& format, const Target& target);
  CUgraphicsResource resource_ = nullptr;
};

/// Random texels are what CUDA sees; reversed by CUDA they are what OpenGL sees.
void Images::both_ways(const Format& format, const Target& target) {
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

TEST_F(Images, EveryFormatOfEveryTarget) {
  for (const Format& format : kFormats)
    for (const Target& target : kTargets) both_ways(format, target);
}

TEST_F(Images, EveryFormatInACoreContext) {
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
TEST_F(Images, EveryFormatOfRenderbuffers) {
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
TEST_F(Images, OldFormatsOfRenderbuffers) {
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
  EXPECT_GE(tried, 40) << "four kinds in ten sizes";
}

TEST_F(Images, FormatsThatCudaDoesNotTake) {
  struct Other {
    GLenum internal, external, type;
  };
  // sRGB, three channels, signed and packed normals, depth, and four bits.
  for (const Other& each :
       {Other{0x8c43, 0x1908, 0x1401}, Other{0x8051, 0x1907, 0x1401}, Other{0x8f97, 0x1908, 0x1400},
        Other{0x8059, 0x1908, 0x8368}, Other{0x8c3a, 0x1907, 0x1406}, Other{0x81a6, 0x1902, 0x1405},
        Other{0x8056, 0x1908, 0x1401}, Other{0x8c3d, 0x1907, 0x1406}}) {
    const GLuint texture = gl_name("glGenTextures");
    gl("glBindTexture", kTexture2D, texture);
    gl("glTexImage2D", kTexture2D, 0, static_cast<int>(each.internal), 8, 8, 0, each.external,
       each.type, static_cast<const void*>(nullptr));
    ASSERT_EQ(gl<GLenum>("glGetError"), 0U);
    EXPECT_EQ(register_image(texture, kTexture2D), eInvalidValue) << std::hex << each.internal;
  }
}

TEST_F(Images, MistakesOfRegistering) {
  const GLuint texture = make_texture(4, 4, random_bytes(64, 1));
  EXPECT_EQ(register_image(texture, k3D), eInvalidValue) << "it is of two dimensions";
  EXPECT_EQ(register_image(texture, 0x0de0), eInvalidValue) << "of one dimension";
  EXPECT_EQ(register_image(texture, kFace), eInvalidValue) << "a face is no object";
  EXPECT_EQ(register_image(texture, kRenderbuffer), eInvalidValue);
  EXPECT_EQ(register_image(texture + 100, kTexture2D), eInvalidValue);
  EXPECT_EQ(register_image(0, kTexture2D), eInvalidValue);
  EXPECT_EQ(register_image(texture, kTexture2D, 3), eInvalidValue);
  EXPECT_EQ(register_image(texture, kTexture2D, 16), eInvalidValue);
  const GLuint empty = gl_name("glGenTextures"), samples = gl_name("glGenRenderbuffers");
  gl("glBindTexture", kTexture2D, empty);
  EXPECT_EQ(register_image(empty, kTexture2D), eInvalidValue) << "it has no level";
  gl("glBindRenderbuffer", kRenderbuffer, samples);
  EXPECT_EQ(register_image(samples, kRenderbuffer), eInvalidValue) << "it has no memory";
  gl("glRenderbufferStorageMultisample", kRenderbuffer, 4, kRgba8, 8, 8);
  EXPECT_EQ(register_image(samples, kRenderbuffer), eInvalidValue) << "of several samples";
}

TEST_F(Images, MistakesOfMapping) {
  const GLuint texture = make_texture(8, 4, random_bytes(128, 1));
  ASSERT_EQ(register_image(texture, kTexture2D), eSuccess);
  CUarray found = nullptr;
  CUmipmappedArray whole = nullptr;
  CUdeviceptr address = 0;
  const auto sub = [&](unsigned layer, unsigned level) {
    return driver("cuGraphicsSubResourceGetMappedArray", &found, resource_, layer, level);
  };
  EXPECT_EQ(sub(0, 0), eNotMapped);
  EXPECT_EQ(driver("cuGraphicsResourceGetMappedMipmappedArray", &whole, resource_), eNotMapped);
  map();
  EXPECT_EQ(sub(1, 0), eInvalidValue);
  EXPECT_EQ(sub(0, 1), eInvalidValue);
  EXPECT_EQ(driver("cuGraphicsResourceGetMappedPointer_v2", &address,
                   static_cast<std::size_t*>(nullptr), resource_),
            eNotMappedAsPointer);
  EXPECT_EQ(driver("cuMipmappedArrayDestroy", mipmap()), eInvalidValue)
      << "it is not the program's";
  unmap();
  // Another size, format or number of levels since then.
  gl("glBindTexture", kTexture2D, texture);
  gl("glGenerateMipmap", kTexture2D);
  EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &resource_, kNoStream), eMapBufferObjectFailed);
  gl("glDeleteTextures", 1, &texture);
  EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &resource_, kNoStream), eMapBufferObjectFailed);
  unregister();
}

TEST_F(Images, FlagsSaveACopy) {
  const auto bytes = random_bytes(13 * 9 * 4, 1), other = random_bytes(13 * 9 * 4, 2);
  const GLuint texture = make_texture(13, 9, bytes);
  ASSERT_EQ(register_image(texture, kTexture2D, kReadOnly), eSuccess);
  map();
  std::vector<std::byte> seen;
  EXPECT_EQ(download(array(), seen), eSuccess);
  EXPECT_EQ(seen, bytes);
  EXPECT_EQ(upload(array(), other), eSuccess);
  unmap();
  EXPECT_EQ(texture_bytes(texture, 13, 9), bytes);
  unregister();
  ASSERT_EQ(register_image(texture, kTexture2D, kWriteDiscard), eSuccess);
  map();
  EXPECT_EQ(download(array(), seen), eSuccess);
  if (!std::getenv("PTX2SPV_SANITIZE")) {  // which looks for reads of what is not written
    EXPECT_EQ(seen, std::vector<std::byte>(bytes.size())) << "of nobody else's texels";
  }
  EXPECT_EQ(upload(array(), other), eSuccess);
  unmap();
  EXPECT_EQ(texture_bytes(texture, 13, 9), other);
  unregister();
}

TEST_F(Images, KernelsDrawBySurfaces) {
  constexpr unsigned kWidth = 70, kHeight = 33;
  auto bytes = random_bytes(std::size_t{kWidth} * kHeight * 4, 5);
  const GLuint texture = gl_name("glGenTextures");
  gl("glBindTexture", kTexture2D, texture);
  gl("glTexStorage2D", kTexture2D, 1, kRgba8, static_cast<int>(kWidth), static_cast<int>(kHeight));
  gl("glTexSubImage2D", kTexture2D, 0, 0, 0, static_cast<int>(kWidth), static_cast<int>(kHeight),
     kRgba, kUnsignedByte, static_cast<const void*>(bytes.data()));
  ASSERT_EQ(register_image(texture, kTexture2D, kSurface), eSuccess);
  CUsurfObject surface = 0;
  for (unsigned frame = 0; frame < 3; ++frame) {
    map();
    // Where kernels are checked, a mapping's arrays end with it.
    const bool lasts = !std::getenv("PTX2SPV_SANITIZE");
    if (!frame || !lasts) {
      CUDA_RESOURCE_DESC over{};
      over.resType = kResourceArray;
      over.res.array.hArray = array();
      ASSERT_EQ(
          driver("cuSurfObjectCreate", &surface, static_cast<const CUDA_RESOURCE_DESC*>(&over)),
          eSuccess);
    }
    unsigned width = kWidth, pattern = 0x01020304 << frame;
    void* params[] = {&surface, &width, &pattern};
    EXPECT_EQ(launch(kernel("flip_surface"), kWidth, kHeight, params), eSuccess);
    if (!lasts) {
      EXPECT_EQ(driver("cuSurfObjectDestroy", surface), eSuccess);
    }
    unmap();
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] ^= static_cast<std::byte>(pattern >> (8 * (i % 4)));
    EXPECT_EQ(texture_bytes(texture, kWidth, kHeight), bytes) << "frame " << frame;
  }
  EXPECT_EQ(driver("cuSurfObjectDestroy", surface), eSuccess);
  unregister();
}

/// Layers and faces one by one; an array of them lasts from mapping to mapping.
TEST_F(Images, LayersAsArrays) {
  const Format& format =
      *std::ranges::find_if(kFormats, [](const Format& each) { return each.internal == kRgba8; });
  for (const Target& target : {kTargets[2], kTargets[4]}) {
    const GLuint texture = gl_name("glGenTextures");
    gl("glBindTexture", target.target, texture);
    std::vector<std::vector<std::byte>> levels;
    for (int level = 0; level < target.levels; ++level) {
      levels.push_back(random_bytes(level_bytes(format, target, level), 3U + level));
      specify(format, target, level, levels.back().data());
    }
    ASSERT_EQ(register_image(texture, target.target), eSuccess);
    CUarray lasting = nullptr;
    for (int turn = 0; turn < 2; ++turn) {
      map();
      CUarray found = nullptr;
      for (const unsigned level : {0U, 2U})
        for (const unsigned layer : {1U, 4U}) {
          found = array(layer, level);
          if (turn && !level && layer == 1 && !std::getenv("PTX2SPV_SANITIZE")) {
            EXPECT_EQ(found, lasting);
          }
          if (!level && layer == 1) lasting = found;
          const std::size_t bytes = levels[level].size() / static_cast<std::size_t>(target.depth);
          const auto start = levels[level].begin() + static_cast<std::ptrdiff_t>(layer * bytes);
          const std::vector<std::byte> part(start, start + static_cast<std::ptrdiff_t>(bytes));
          std::vector<std::byte> seen;
          EXPECT_EQ(download(found, seen), eSuccess);
          EXPECT_EQ(seen, part) << target.name << " " << layer << " of " << level;
          const auto turned = reversed(part, 4);
          EXPECT_EQ(upload(found, turned), eSuccess);
          std::ranges::copy(turned, start);
        }
      EXPECT_EQ(driver("cuGraphicsSubResourceGetMappedArray", &found, resource_,
                       static_cast<unsigned>(target.depth), 0U),
                eInvalidValue);
      CUmipmappedArray whole = nullptr;
      EXPECT_EQ(driver("cuGraphicsResourceGetMappedMipmappedArray", &whole, resource_),
                eNotSupported)
          << "layers and the whole would be two copies";
      unmap();
      gl("glBindTexture", target.target, texture);
      for (int level = 0; level < target.levels; ++level)
        EXPECT_EQ(level_of(format, target, level) == levels[level], true) << target.name;
    }
    // The whole in a mapping of its own, in which the layers are not asked for.
    map();
    std::vector<std::byte> seen;
    EXPECT_EQ(download(level_array(mipmap(), 2), seen), eSuccess);
    EXPECT_EQ(seen, levels[2]);
    CUarray found = nullptr;
    EXPECT_EQ(driver("cuGraphicsSubResourceGetMappedArray", &found, resource_, 1U, 0U),
              eNotSupported);
    unmap();
    unregister();
  }
}

TEST_F(Images, RuntimeInterface) {
  const auto bytes = random_bytes(8 * 8 * 4, 1), other = random_bytes(8 * 8 * 4, 2);
  const GLuint texture = make_texture(8, 8, bytes);
  EXPECT_EQ(runtime("cudaGraphicsGLRegisterImage", &resource_, texture, kTexture2D, 0U), eSuccess);
  EXPECT_EQ(runtime("cudaGraphicsMapResources", 1, &resource_, kNoStream), eSuccess);
  CUarray found = nullptr, level = nullptr;
  CUmipmappedArray whole = nullptr;
  EXPECT_EQ(runtime("cudaGraphicsSubResourceGetMappedArray", &found, resource_, 0U, 0U), eSuccess);
  EXPECT_EQ(runtime("cudaGraphicsResourceGetMappedMipmappedArray", &whole, resource_), eSuccess);
  EXPECT_EQ(runtime("cudaGetMipmappedArrayLevel", &level, whole, 0U), eSuccess);
  EXPECT_EQ(found, level);
  EXPECT_EQ(upload(found, other), eSuccess);
  EXPECT_EQ(runtime("cudaGraphicsUnmapResources", 1, &resource_, kNoStream), eSuccess);
  EXPECT_EQ(texture_bytes(texture, 8, 8), other);
  EXPECT_EQ(runtime("cudaGraphicsUnregisterResource", resource_), eSuccess);
}

}  // namespace
}  // namespace ptx2spv::test
