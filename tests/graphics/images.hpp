// Formats and targets of OpenGL's images, as it has them, for tests of images.
#pragma once

#include <algorithm>
#include <memory>

#include "tests/graphics/graphics.hpp"

namespace ptx2spv::test {

inline constexpr CUstream kNoStream = nullptr;
inline constexpr unsigned kReadOnly = 1, kWriteDiscard = 2, kSurface = 4;

/// An internal format with what OpenGL calls its texels.
struct Format {
  const char* name;
  GLenum internal, external, type;
  unsigned channels, bytes;  ///< of a channel
  CUarray_format expected;
  bool old;  ///< of contexts of compatibility alone
};
inline constexpr Format kFormats[] = {
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
    {"SRGB8_ALPHA8", 0x8c43, 0x1908, 0x1401, 4, 1, kUnsignedInt8, false},
    {"SLUMINANCE8", 0x8c47, 0x1909, 0x1401, 1, 1, kUnsignedInt8, true},
    {"RGB8", 0x8051, 0x1908, 0x1401, 4, 1, kUnsignedInt8, false},
    {"RGB16", 0x8054, 0x1908, 0x1403, 4, 2, kUnsignedInt16, false},
    {"RGB32F", 0x8815, 0x1908, 0x1406, 4, 4, kFloat, false},
    {"RGB8UI", 0x8d7d, 0x8d99, 0x1401, 4, 1, kUnsignedInt8, false},
    {"RGB32UI", 0x8d71, 0x8d99, 0x1405, 4, 4, kUnsignedInt32, false},
    {"SRGB8", 0x8c41, 0x1908, 0x1401, 4, 1, kUnsignedInt8, false},
};

struct Target {
  const char* name;
  GLenum target;
  int width, height, depth, levels;
};
inline constexpr Target kTargets[] = {
    {"2D", kTexture2D, 13, 9, 1, 4},  {"rectangle", kRectangle, 13, 9, 1, 1},
    {"cube", kCube, 8, 8, 6, 4},      {"3D", k3D, 12, 7, 5, 4},
    {"array", k2DArray, 13, 9, 5, 4},
};

inline int extent(int whole, int level) { return std::max(whole >> level, 1); }

inline std::size_t level_bytes(const Format& format, const Target& target, int level) {
  const int depth = target.target == k3D ? extent(target.depth, level) : target.depth;
  return static_cast<std::size_t>(extent(target.width, level) * extent(target.height, level) *
                                  depth) *
         format.channels * format.bytes;
}

/// Of the level of a texture that is bound; with `bytes` null the levels are made without.
inline void specify(const Format& format, const Target& target, int level, const std::byte* bytes) {
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

inline std::vector<std::byte> level_of(const Format& format, const Target& target, int level) {
  std::vector<std::byte> bytes(level_bytes(format, target, level));
  const bool cube = target.target == kCube;
  const std::size_t face = bytes.size() / (cube ? 6 : 1);
  for (unsigned i = 0; i < (cube ? 6U : 1U); ++i)
    gl("glGetTexImage", cube ? kFace + i : target.target, level, format.external, format.type,
       static_cast<void*>(bytes.data() + i * face));
  return bytes;
}

inline std::vector<std::byte> reversed(std::vector<std::byte> bytes, std::size_t texel) {
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
  CUgraphicsResource resource_ = nullptr;
};

}  // namespace ptx2spv::test
