// The context's state is as before after every call, and whatever it is, texels are as they are.
#include <array>
#include <cstdio>
#include <map>
#include <memory>

#include "tests/graphics/graphics.hpp"

namespace ptx2spv::test {
namespace {

constexpr CUstream kNoStream = nullptr;
// Everything that the calls could touch: how pixels are stored and changed, what is bound.
constexpr GLenum kIntegers[] = {
    0xd00,  0xd01,  0xd02,  0xd03,  0xd04,  0xd05,  0x806b, 0x806c, 0xcf0,  0xcf1,  0xcf2,  0xcf3,
    0xcf4,  0xcf5,  0x806d, 0x806e, 0x88ed, 0x88ef, 0x8f36, 0x8f37, 0x8894, 0x8069, 0x84f6, 0x8514,
    0x806a, 0x8c1d, 0x8ca7, 0x8ca6, 0x8caa, 0x84e0, 0x8919, 0x0c11, 0x891c, 0x8b8d, 0x92e0};
constexpr GLenum kTransfers[] = {0xd10, 0xd14, 0xd15, 0xd18, 0xd19, 0xd1a, 0xd1b, 0xd1c, 0xd1d};

std::map<GLenum, float> state(bool compatible) {
  std::map<GLenum, float> all;
  for (const GLenum each : kIntegers) all[each] = static_cast<float>(gl_integer(each));
  for (std::size_t i = 0; compatible && i < std::size(kTransfers); ++i)
    gl("glGetFloatv", kTransfers[i], &all[kTransfers[i]]);
  return all;
}

/// Errors that a debugging program's callback is told of.
void count_errors(GLenum, GLenum type, GLuint, GLenum, int, const char* message,
                  const void* count) {
  if (type != 0x824c) return;
  ++*static_cast<int*>(const_cast<void*>(count));
  std::printf("%s\n", message);
}

class State : public Graphics {
 protected:
  void check(Profile profile);
};

/// Sets everything to something unusual, takes a buffer, a texture of each target and a
/// renderbuffer through CUDA, and compares.
void State::check(Profile profile) {
  const bool compatible = profile == Profile::compatible;
  context_.reset();
  context_ = std::make_unique<GlContext>(profile);
  const auto bytes = random_bytes(16 * 16 * 4, 1);
  const GLuint buffer = make_buffer(bytes), texture = make_texture(16, 16, bytes);
  std::array<GLuint, 4> others{};
  const GLenum targets[] = {kRectangle, kCube, k3D, k2DArray};
  for (std::size_t i = 0; i < others.size(); ++i) {
    others[i] = gl_name("glGenTextures");
    gl("glBindTexture", targets[i], others[i]);
    if (targets[i] == kCube)
      gl("glTexStorage2D", targets[i], 2, kRgba8, 4, 4);
    else if (targets[i] == kRectangle)
      gl("glTexStorage2D", targets[i], 1, kRgba8, 4, 4);
    else
      gl("glTexStorage3D", targets[i], 2, kRgba8, 4, 4, 3);
  }
  const GLuint target = gl_name("glGenRenderbuffers");
  gl("glBindRenderbuffer", kRenderbuffer, target);
  gl("glRenderbufferStorage", kRenderbuffer, kRgba8, 8, 8);

  // Something else is bound everywhere.
  const GLuint pixels = make_buffer(random_bytes(99, 2));
  for (const GLenum each : {0x88ebU, 0x88ecU, 0x8f36U, 0x8f37U, kArrayBuffer})
    gl("glBindBuffer", each, pixels);
  gl("glActiveTexture", 0x84c3U);
  for (const GLenum each : {kTexture2D, kRectangle, kCube, k3D, k2DArray})
    gl("glBindTexture", each, gl_name("glGenTextures"));
  gl("glBindRenderbuffer", kRenderbuffer, gl_name("glGenRenderbuffers"));
  gl("glBindFramebuffer", kFramebuffer, gl_name("glGenFramebuffers"));
  gl("glBindSampler", 3U, gl_name("glGenSamplers"));
  for (const GLenum each : {0xd00U, 0xd01U, 0xcf0U, 0xcf1U}) gl("glPixelStorei", each, 1);
  for (const GLenum each : {0xd02U, 0x806cU, 0xcf2U, 0x806eU}) gl("glPixelStorei", each, 99);
  for (const GLenum each : {0xd03U, 0xd04U, 0x806bU, 0xcf3U, 0xcf4U, 0x806dU})
    gl("glPixelStorei", each, 2);
  for (const GLenum each : {0xd05U, 0xcf5U}) gl("glPixelStorei", each, 8);
  gl("glEnable", 0x0c11U);
  gl("glScissor", 0, 0, 1, 1);
  gl("glEnable", 0x8c89U);  // nothing is rasterised
  gl("glColorMask", static_cast<unsigned char>(0), static_cast<unsigned char>(0),
     static_cast<unsigned char>(0), static_cast<unsigned char>(0));
  gl("glClampColor", 0x891cU, 1U);
  for (std::size_t i = 0; compatible && i < std::size(kTransfers); ++i)
    gl("glPixelTransferf", kTransfers[i], i ? 0.25F : 1.0F);
  ASSERT_EQ(gl<GLenum>("glGetError"), 0U);

  int errors = 0;
  gl("glEnable", 0x92e0U);
  gl("glDebugMessageCallback", count_errors, static_cast<const void*>(&errors));
  const auto before = state(compatible);
  const auto unchanged = [&](const char* after) {
    for (const auto& [name, value] : state(compatible))
      EXPECT_EQ(value, before.at(name)) << std::hex << name << " after " << after;
  };
  // An error that the program has not asked for yet.
  const auto provoke = [] { gl("glEnable", 0x12345U); };
  std::array<CUgraphicsResource, 7> list{};
  provoke();
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &list[0], buffer, 0U), eSuccess);
  EXPECT_EQ(gl<GLenum>("glGetError"), 0x500U);
  EXPECT_EQ(driver("cuGraphicsGLRegisterImage", &list[1], texture, kTexture2D, 0U), eSuccess);
  for (std::size_t i = 0; i < others.size(); ++i)
    EXPECT_EQ(driver("cuGraphicsGLRegisterImage", &list[2 + i], others[i], targets[i], 0U),
              eSuccess);
  EXPECT_EQ(driver("cuGraphicsGLRegisterImage", &list[6], target, kRenderbuffer, 0U), eSuccess);
  unchanged("registering");
  provoke();
  EXPECT_EQ(driver("cuGraphicsMapResources", 7U, list.data(), kNoStream), eSuccess);
  EXPECT_EQ(gl<GLenum>("glGetError"), 0x500U);
  unchanged("mapping");

  CUdeviceptr address = 0;
  CUarray array = nullptr;
  std::vector<std::byte> seen(bytes.size());
  EXPECT_EQ(driver("cuGraphicsResourceGetMappedPointer_v2", &address,
                   static_cast<std::size_t*>(nullptr), list[0]),
            eSuccess);
  EXPECT_EQ(driver("cuMemcpyDtoH_v2", static_cast<void*>(seen.data()), address, seen.size()),
            eSuccess);
  EXPECT_EQ(seen, bytes);
  EXPECT_EQ(driver("cuGraphicsSubResourceGetMappedArray", &array, list[1], 0U, 0U), eSuccess);
  EXPECT_EQ(download(array, seen), eSuccess);
  EXPECT_EQ(seen, bytes);
  const auto other = random_bytes(bytes.size(), 9), small = random_bytes(8 * 8 * 4, 10);
  EXPECT_EQ(upload(array, other), eSuccess);
  EXPECT_EQ(driver("cuGraphicsSubResourceGetMappedArray", &array, list[6], 0U, 0U), eSuccess);
  EXPECT_EQ(upload(array, small), eSuccess);

  gl("glGenBuffers", -1, static_cast<GLuint*>(nullptr));  // another pending error
  EXPECT_EQ(driver("cuGraphicsUnmapResources", 7U, list.data(), kNoStream), eSuccess);
  EXPECT_EQ(gl<GLenum>("glGetError"), 0x501U);
  unchanged("unmapping");
  EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &list[6], kNoStream), eSuccess);
  EXPECT_EQ(driver("cuGraphicsSubResourceGetMappedArray", &array, list[6], 0U, 0U), eSuccess);
  EXPECT_EQ(download(array, seen), eSuccess);
  EXPECT_EQ(seen, small) << "what the renderbuffer has got";
  gl("glUnmapBuffer", kCopyRead);
  EXPECT_EQ(driver("cuGraphicsUnmapResources", 1U, &list[6], kNoStream), eSuccess);
  EXPECT_EQ(gl<GLenum>("glGetError"), 0x502U);
  for (CUgraphicsResource each : list)
    EXPECT_EQ(driver("cuGraphicsUnregisterResource", each), eSuccess);
  unchanged("unregistering");
  gl("glDebugMessageCallback", static_cast<decltype(&count_errors)>(nullptr),
     static_cast<const void*>(nullptr));
  EXPECT_EQ(errors, 4) << "those of this test alone";

  // A context of its own state reads what the texture has got.
  const GlContext plain(profile, context_.get());
  EXPECT_EQ(texture_bytes(texture, 16, 16), other);
}

TEST_F(State, OfACoreContext) { check(Profile::core); }
TEST_F(State, OfACompatibleContext) { check(Profile::compatible); }

}  // namespace
}  // namespace ptx2spv::test
