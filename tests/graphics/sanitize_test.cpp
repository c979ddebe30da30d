// The sanitizer knows what is mapped: uses of it at other times are findings that name OpenGL's
// object. Each mistake is made in a process of its own.
#include <cstdlib>

#include "tests/graphics/graphics.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

constexpr CUstream kNoStream = nullptr;
constexpr unsigned kWriteDiscard = 2, kSurface = 4;

/// The tests that make mistakes.
class Mistake : public Graphics {
 protected:
  void SetUp() override {
    if (!std::getenv("PTX2SPV_TEST_MISTAKE")) GTEST_SKIP() << "run by the tests of Findings";
    Graphics::SetUp();
  }
  CUgraphicsResource mapped_buffer(unsigned flags, CUdeviceptr* address) {
    CUgraphicsResource resource = nullptr;
    EXPECT_EQ(
        driver("cuGraphicsGLRegisterBuffer", &resource, make_buffer(random_bytes(256, 1)), flags),
        eSuccess);
    EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &resource, kNoStream), eSuccess);
    EXPECT_EQ(driver("cuGraphicsResourceGetMappedPointer_v2", address,
                     static_cast<std::size_t*>(nullptr), resource),
              eSuccess);
    return resource;
  }
  /// Over a texture of 8 x 8 texels.
  static CUsurfObject mapped_surface(unsigned flags, CUgraphicsResource* made) {
    CUgraphicsResource resource = nullptr;
    const GLuint texture = make_texture(8, 8, random_bytes(256, 1));
    EXPECT_EQ(driver("cuGraphicsGLRegisterImage", &resource, texture, kTexture2D, kSurface | flags),
              eSuccess);
    EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &resource, kNoStream), eSuccess);
    CUDA_RESOURCE_DESC over{};
    EXPECT_EQ(
        driver("cuGraphicsSubResourceGetMappedArray", &over.res.array.hArray, resource, 0U, 0U),
        eSuccess);
    CUsurfObject surface = 0;
    EXPECT_EQ(driver("cuSurfObjectCreate", &surface, static_cast<const CUDA_RESOURCE_DESC*>(&over)),
              eSuccess);
    if (made) *made = resource;
    return surface;
  }
  static void flip_texels(CUsurfObject surface) {
    unsigned width = 8, pattern = 1;
    void* params[] = {&surface, &width, &pattern};
    EXPECT_EQ(launch(kernel("flip_surface"), 8, 8, params), eSuccess);
    (void)driver("cuCtxSynchronize");
  }
  static void unmap(CUgraphicsResource resource) {
    EXPECT_EQ(driver("cuGraphicsUnmapResources", 1U, &resource, kNoStream), eSuccess);
  }
  static void flip(CUdeviceptr address) {
    unsigned count = 256, pattern = 1;
    void* params[] = {&address, &count, &pattern};
    EXPECT_EQ(launch(kernel("flip_memory"), count, 1, params), eSuccess);
    (void)driver("cuCtxSynchronize");
  }
};

TEST_F(Mistake, PointerAfterUnmapping) {
  CUdeviceptr address = 0;
  const CUgraphicsResource resource = mapped_buffer(0, &address);
  flip(address);  // no finding
  unmap(resource);
  flip(address);
}

TEST_F(Mistake, ReadsWhatMappingDiscarded) {
  CUdeviceptr address = 0;
  (void)mapped_buffer(kWriteDiscard, &address);
  flip(address);
}

TEST_F(Mistake, SurfaceAfterUnmapping) {
  CUgraphicsResource resource = nullptr;
  const CUsurfObject surface = mapped_surface(0, &resource);
  unmap(resource);
  flip_texels(surface);
}

TEST_F(Mistake, PointerAfterUnregistering) {
  CUdeviceptr address = 0;
  const CUgraphicsResource resource = mapped_buffer(0, &address);
  unmap(resource);
  EXPECT_EQ(driver("cuGraphicsUnregisterResource", resource), eSuccess);
  flip(address);
}

TEST_F(Mistake, ReadsTexelsThatMappingDiscarded) {
  flip_texels(mapped_surface(kWriteDiscard, nullptr));
}

TEST_F(Mistake, SurfaceAfterUnregistering) {
  CUgraphicsResource resource = nullptr;
  const CUsurfObject surface = mapped_surface(0, &resource);
  flip_texels(surface);  // no finding
  unmap(resource);
  EXPECT_EQ(driver("cuGraphicsUnregisterResource", resource), eSuccess);
  flip_texels(surface);
}

class Findings : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!GlContext::missing().empty()) GTEST_SKIP() << GlContext::missing();
  }
  static std::string said_of(const std::string& mistake, const char* checks) {
    return run_process({"/proc/self/exe", "--gtest_filter=Mistake." + mistake}, {},
                       {"PTX2SPV_TEST_MISTAKE=1", std::string("PTX2SPV_SANITIZE=") + checks})
        .error;
  }
};

void expect_words(const std::string& said, std::initializer_list<const char*> words) {
  for (const char* each : words) EXPECT_NE(said.find(each), std::string::npos) << said;
}

TEST_F(Findings, NameTheBuffer) {
  expect_words(said_of("PointerAfterUnmapping", "memory"),
               {"freed-memory load", "from the start of OpenGL buffer 1 (256 bytes)"});
}
TEST_F(Findings, NameTheBufferThatIsUnregistered) {
  expect_words(said_of("PointerAfterUnregistering", "memory"),
               {"freed-memory load", "from the start of OpenGL buffer 1 (256 bytes)"});
}
TEST_F(Findings, ReadsBeforeWrites) {
  expect_words(said_of("ReadsWhatMappingDiscarded", "init"),
               {"uninitialised", "of OpenGL buffer 1"});
}
TEST_F(Findings, TexelsReadBeforeWrites) {
  expect_words(said_of("ReadsTexelsThatMappingDiscarded", "init"),
               {"uninitialised", "in surface memory", "threads: 64"});
}
TEST_F(Findings, NameTheTexture) {
  expect_words(said_of("SurfaceAfterUnmapping", "memory"),
               {"OpenGL texture 1 was unmapped", "faulty place"});
}
TEST_F(Findings, NameTheTextureThatIsUnregistered) {
  expect_words(said_of("SurfaceAfterUnregistering", "memory"),
               {"OpenGL texture 1 was un", "faulty place"});
}

}  // namespace
}  // namespace ptx2spv::test
