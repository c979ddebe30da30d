// OpenGL's textures in CUDA: mistakes, flags, surfaces, layers.
#include <cstdlib>
#include <cstring>

#include "tests/graphics/images.hpp"

namespace ptx2spv::test {
namespace {

/// Turns bits of every byte, by a kernel through a surface of two dimensions.
void flip(CUarray array, int width, int height) {
  CUDA_RESOURCE_DESC over{};
  over.resType = kResourceArray;
  over.res.array.hArray = array;
  CUsurfObject surface = 0;
  ASSERT_EQ(driver("cuSurfObjectCreate", &surface, static_cast<const CUDA_RESOURCE_DESC*>(&over)),
            eSuccess);
  auto columns = static_cast<unsigned>(width);
  unsigned pattern = 0x5a5a5a5a;
  void* params[] = {&surface, &columns, &pattern};
  EXPECT_EQ(launch(kernel("flip_surface"), columns, static_cast<unsigned>(height), params),
            eSuccess);
  EXPECT_EQ(driver("cuSurfObjectDestroy", surface), eSuccess);
}

TEST_F(Images, MistakesOfRegistering) {
  const GLuint texture = make_texture(4, 4, random_bytes(64, 1));
  EXPECT_EQ(register_image(texture, k3D), eSuccess) << "a wrong target is no matter";
  EXPECT_EQ(register_image(texture, 0x0de0), eInvalidValue) << "of one dimension";
  EXPECT_EQ(register_image(texture, kFace), eInvalidValue) << "a face is no object";
  EXPECT_EQ(register_image(texture, kRenderbuffer), eInvalidResourceHandle);
  EXPECT_EQ(register_image(texture + 100, kTexture2D), eInvalidResourceHandle);
  EXPECT_EQ(register_image(0, kTexture2D), eInvalidValue);
  EXPECT_EQ(register_image(texture, kTexture2D, 3), eSuccess);
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
      unmap();
      gl("glBindTexture", target.target, texture);
      for (int level = 0; level < target.levels; ++level)
        EXPECT_EQ(level_of(format, target, level) == levels[level], true) << target.name;
    }
    unregister();
  }
}

/// A layer and the whole are the same texels in one mapping, to the host and to kernels. Where an
/// image holds the whole, a layer is a copy: both in one mapping are refused.
TEST_F(Images, LayersBesideTheWhole) {
  const char* debug = std::getenv("PTX2SPV_DEBUG");
  const bool copies = debug && std::strstr(debug, "backing=image");
  const Format& format =
      *std::ranges::find_if(kFormats, [](const Format& each) { return each.internal == kRgba8; });
  for (const Target& target : {kTargets[2], kTargets[4]}) {
    const GLuint texture = gl_name("glGenTextures");
    gl("glBindTexture", target.target, texture);
    for (int level = 0; level < target.levels; ++level)
      specify(format, target, level,
              random_bytes(level_bytes(format, target, level), 3U + level).data());
    std::vector<std::byte> expected = level_of(format, target, 1), seen;
    ASSERT_EQ(register_image(texture, target.target, kSurface), eSuccess);
    for (const bool layer_first : {true, false}) {
      map();
      CUarray layer = nullptr;
      CUmipmappedArray all = nullptr;
      const auto find = [&](bool of_layer) {
        return of_layer ? driver("cuGraphicsSubResourceGetMappedArray", &layer, resource_, 3U, 1U)
                        : driver("cuGraphicsResourceGetMappedMipmappedArray", &all, resource_);
      };
      EXPECT_EQ(find(layer_first), eSuccess);
      ASSERT_EQ(find(!layer_first), copies ? eNotSupported : eSuccess);
      if (!copies) {
        const CUarray level = level_array(all, 1);
        const std::size_t part = expected.size() / static_cast<std::size_t>(target.depth);
        const auto start = expected.begin() + static_cast<std::ptrdiff_t>(3 * part);
        const auto end = start + static_cast<std::ptrdiff_t>(part);
        // By a surface of the layer; by the host through the whole, then through the layer.
        flip(layer, target.width / 2, target.height / 2);
        for (auto each = start; each != end; ++each) *each ^= std::byte{0x5a};
        EXPECT_EQ(download(level, seen), eSuccess);
        EXPECT_EQ(seen, expected) << target.name;
        std::ranges::reverse(expected);
        EXPECT_EQ(upload(level, expected), eSuccess);
        EXPECT_EQ(download(layer, seen), eSuccess);
        EXPECT_EQ(seen, std::vector<std::byte>(start, end)) << target.name;
        std::reverse(start, end);
        EXPECT_EQ(upload(layer, std::vector<std::byte>(start, end)), eSuccess);
        EXPECT_EQ(download(level, seen), eSuccess);
        EXPECT_EQ(seen, expected) << target.name;
      }
      unmap();
      gl("glBindTexture", target.target, texture);
      EXPECT_EQ(level_of(format, target, 1), expected) << target.name;
    }
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
