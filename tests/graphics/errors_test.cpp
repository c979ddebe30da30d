// What CUDA answers to mistakes around OpenGL's objects, and which contexts it takes.
#include <memory>
#include <thread>

#include "tests/graphics/graphics.hpp"

namespace ptx2spv::test {
namespace {

constexpr CUstream kNoStream = nullptr;

class GraphicsErrors : public Graphics {
 protected:
  void SetUp() override {
    Graphics::SetUp();
    if (!context_) return;
    buffer_ = make_buffer(random_bytes(64, 1));
    ASSERT_EQ(driver("cuGraphicsGLRegisterBuffer", &resource_, buffer_, 0U), eSuccess);
  }
  void TearDown() override {
    if (resource_) {
      EXPECT_EQ(driver("cuGraphicsUnregisterResource", resource_), eSuccess);
    }
    Graphics::TearDown();
  }
  CUresult map() { return driver("cuGraphicsMapResources", 1U, &resource_, kNoStream); }
  CUresult unmap() { return driver("cuGraphicsUnmapResources", 1U, &resource_, kNoStream); }
  GLuint buffer_ = 0;
  CUgraphicsResource resource_ = nullptr;
};

TEST_F(GraphicsErrors, OfRegistering) {
  CUgraphicsResource made = nullptr, *nowhere = nullptr;
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &made, 12345U, 0U), eInvalidResourceHandle);
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &made, 0U, 0U), eInvalidValue);
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &made, buffer_, 3U), eInvalidValue);
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &made, buffer_, 4U), eInvalidValue);
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", nowhere, buffer_, 0U), eInvalidValue);
  const GLuint empty = gl_name("glGenBuffers");
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &made, empty, 0U), eInvalidResourceHandle);
  EXPECT_EQ(made, nullptr);
}

TEST_F(GraphicsErrors, OfMapping) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  CUarray array = nullptr;
  CUmipmappedArray mipmap = nullptr;
  const auto pointer = [&] {
    return driver("cuGraphicsResourceGetMappedPointer_v2", &address, &size, resource_);
  };
  EXPECT_EQ(pointer(), eNotMapped);
  EXPECT_EQ(unmap(), eNotMapped);
  EXPECT_EQ(driver("cuGraphicsResourceSetMapFlags", resource_, 3U), eInvalidValue);
  CUgraphicsResource twice[] = {resource_, resource_};
  EXPECT_EQ(driver("cuGraphicsMapResources", 2U, &twice[0], kNoStream), eAlreadyMapped);
  EXPECT_EQ(
      driver("cuGraphicsMapResources", 1U, static_cast<CUgraphicsResource*>(nullptr), kNoStream),
      eInvalidValue);
  EXPECT_EQ(map(), eSuccess);
  EXPECT_EQ(map(), eAlreadyMapped);
  EXPECT_EQ(driver("cuGraphicsResourceSetMapFlags_v2", resource_, 1U), eAlreadyMapped);
  EXPECT_EQ(driver("cuGraphicsSubResourceGetMappedArray", &array, resource_, 0U, 0U),
            eNotMappedAsArray);
  EXPECT_EQ(driver("cuGraphicsResourceGetMappedMipmappedArray", &mipmap, resource_),
            eNotMappedAsArray);
  EXPECT_EQ(driver("cuGraphicsResourceGetMappedPointer_v2", static_cast<CUdeviceptr*>(nullptr),
                   &size, resource_),
            eSuccess);
  EXPECT_EQ(driver("cuGraphicsUnregisterResource", resource_), eAlreadyMapped);
  EXPECT_EQ(pointer(), eSuccess);
  EXPECT_EQ(driver("cuGraphicsUnmapResources", 2U, &twice[0], kNoStream), eNotMapped);
  EXPECT_EQ(unmap(), eSuccess);
}

TEST_F(GraphicsErrors, OfHandlesThatAreDead) {
  CUgraphicsResource dead = nullptr;
  ASSERT_EQ(driver("cuGraphicsGLRegisterBuffer", &dead, buffer_, 0U), eSuccess);
  ASSERT_EQ(driver("cuGraphicsUnregisterResource", dead), eSuccess);
  EXPECT_EQ(driver("cuGraphicsUnregisterResource", dead), eInvalidResourceHandle);
  EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &dead, kNoStream), eInvalidResourceHandle);
  EXPECT_EQ(driver("cuGraphicsResourceSetMapFlags_v2", dead, 0U), eInvalidResourceHandle);
  // With a dead one in the list, none is mapped.
  CUgraphicsResource both[] = {resource_, dead};
  EXPECT_EQ(driver("cuGraphicsMapResources", 2U, &both[0], kNoStream), eInvalidResourceHandle);
  EXPECT_EQ(unmap(), eNotMapped);
}

TEST_F(GraphicsErrors, WithoutTheContext) {
  GlContext::make_none_current();
  EXPECT_EQ(map(), eInvalidGraphicsContext);
  CUgraphicsResource made = nullptr;
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &made, buffer_, 0U), eInvalidGraphicsContext);
  unsigned count = 0;
  int device = -1;
  EXPECT_EQ(driver("cuGLGetDevices_v2", &count, &device, 1U, 1), eInvalidGraphicsContext);
  EXPECT_EQ(driver("cuGraphicsUnregisterResource", resource_), eInvalidGraphicsContext);
  context_->make_current();
  EXPECT_EQ(map(), eSuccess);
  GlContext::make_none_current();
  EXPECT_EQ(unmap(), eInvalidGraphicsContext);
  context_->make_current();
  EXPECT_EQ(unmap(), eSuccess);
}

TEST_F(GraphicsErrors, InAnotherThread) {
  std::thread([&] {
    EXPECT_EQ(driver("cuCtxSetCurrent", cuda_), eSuccess);
    EXPECT_EQ(map(), eInvalidGraphicsContext);
  }).join();
  // The thread that has the context maps what another one registered.
  GlContext::make_none_current();
  std::thread([&] {
    EXPECT_EQ(driver("cuCtxSetCurrent", cuda_), eSuccess);
    context_->make_current();
    EXPECT_EQ(map(), eSuccess);
    EXPECT_EQ(unmap(), eSuccess);
    GlContext::make_none_current();
  }).join();
  context_->make_current();
}

TEST_F(GraphicsErrors, InOtherContexts) {
  {
    // It has a buffer of the same name and size, which is another.
    const GlContext stranger;
    while (make_buffer(random_bytes(64, 2)) < buffer_) {
    }
    EXPECT_EQ(map(), eInvalidGraphicsContext);
  }
  context_->make_current();
  {
    const GlContext partner(Profile::core, context_.get());
    EXPECT_EQ(map(), eSuccess);
    EXPECT_EQ(unmap(), eSuccess);
  }
  context_->make_current();
}

TEST_F(GraphicsErrors, OfBuffersThatChanged) {
  const auto resize = [&](std::ptrdiff_t bytes) {
    gl("glBindBuffer", kArrayBuffer, buffer_);
    gl("glBufferData", kArrayBuffer, bytes, static_cast<const void*>(nullptr), kStaticDraw);
    gl("glBindBuffer", kArrayBuffer, 0U);
  };
  resize(128);
  EXPECT_EQ(map(), eMapBufferObjectFailed);
  resize(64);
  EXPECT_EQ(map(), eSuccess);
  EXPECT_EQ(unmap(), eSuccess);
}

TEST_F(GraphicsErrors, OfBuffersThatOpenGlHasMapped) {
  gl("glBindBuffer", kArrayBuffer, buffer_);
  EXPECT_NE(gl<void*>("glMapBuffer", kArrayBuffer, 0x88baU), nullptr);
  EXPECT_EQ(map(), eUnknown);
  EXPECT_EQ(gl<unsigned char>("glUnmapBuffer", kArrayBuffer), 1);
  EXPECT_EQ(map(), eSuccess);
  EXPECT_EQ(unmap(), eSuccess);
  gl("glBindBuffer", kArrayBuffer, 0U);
}

TEST_F(GraphicsErrors, WhileAStreamCaptures) {
  CUstream stream = nullptr;
  ASSERT_EQ(driver("cuStreamCreate", &stream, 0U), eSuccess);
  constexpr int kRelaxed = 2;
  ASSERT_EQ(driver("cuStreamBeginCapture_v2", stream, kRelaxed), eSuccess);
  EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &resource_, stream), eStreamCaptureUnsupported);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver("cuStreamEndCapture", stream, &graph), eStreamCaptureInvalidated);
  EXPECT_EQ(driver("cuStreamDestroy_v2", stream), eSuccess);
}

TEST_F(GraphicsErrors, DevicesOfTheContext) {
  unsigned count = 0;
  int devices[2] = {-1, -1};
  for (int which = 1; which <= 3; ++which) {
    EXPECT_EQ(driver("cuGLGetDevices_v2", &count, &devices[0], 2U, which), eSuccess);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(devices[0], 0);
    EXPECT_EQ(devices[1], -1);
  }
  EXPECT_EQ(runtime("cudaGLGetDevices", &count, static_cast<int*>(nullptr), 0U, 1), eInvalidValue);
  EXPECT_EQ(driver("cuGLGetDevices", &count, &devices[0], 2U, 4), eInvalidValue);
}

TEST_F(GraphicsErrors, ContextOfCudaThatEnds) {
  CUcontext other = nullptr;
  ASSERT_EQ(driver("cuGLCtxCreate_v2", &other, 0U, 0), eSuccess);
  EXPECT_EQ(map(), eInvalidResourceHandle) << "it is another context's";
  CUgraphicsResource made = nullptr;
  EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &made, buffer_, 0U), eSuccess);
  EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &made, kNoStream), eSuccess);
  EXPECT_EQ(driver("cuCtxDestroy_v2", other), eSuccess);
  EXPECT_EQ(driver("cuCtxSetCurrent", cuda_), eSuccess);
  EXPECT_EQ(driver("cuGraphicsUnregisterResource", made), eInvalidResourceHandle);
}

}  // namespace
}  // namespace ptx2spv::test
