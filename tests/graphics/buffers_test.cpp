// OpenGL's buffers in CUDA: every byte both ways, the flags, the order of work.
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/graphics/graphics.hpp"

namespace ptx2spv::test {
namespace {

constexpr unsigned kReadOnly = 1, kWriteDiscard = 2;

class Buffers : public Graphics {
 protected:
  CUgraphicsResource registered(GLuint buffer, unsigned flags = 0) {
    CUgraphicsResource resource = nullptr;
    EXPECT_EQ(driver("cuGraphicsGLRegisterBuffer", &resource, buffer, flags), eSuccess);
    return resource;
  }
  CUdeviceptr mapped(CUgraphicsResource resource, std::size_t* bytes = nullptr) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver("cuGraphicsMapResources", 1U, &resource, kNoStream), eSuccess);
    EXPECT_EQ(driver("cuGraphicsResourceGetMappedPointer_v2", &address, bytes, resource), eSuccess);
    return address;
  }
  void unmap(CUgraphicsResource resource) {
    EXPECT_EQ(driver("cuGraphicsUnmapResources", 1U, &resource, kNoStream), eSuccess);
  }
  void unregister(CUgraphicsResource resource) {
    EXPECT_EQ(driver("cuGraphicsUnregisterResource", resource), eSuccess);
  }
  /// By a kernel, which is not waited for.
  void flip(CUdeviceptr address, std::size_t bytes, CUstream stream = nullptr) {
    auto count = static_cast<unsigned>(bytes);
    unsigned pattern = 0x5a;
    void* params[] = {&address, &count, &pattern};
    EXPECT_EQ(launch(kernel("flip_memory"), count, 1, params, stream), eSuccess);
  }
  std::vector<std::byte> device_bytes(CUdeviceptr address, std::size_t count) {
    std::vector<std::byte> bytes(count);
    EXPECT_EQ(driver("cuMemcpyDtoH_v2", static_cast<void*>(bytes.data()), address, count),
              eSuccess);
    return bytes;
  }
  static constexpr CUstream kNoStream = nullptr;
};

std::vector<std::byte> flipped(std::vector<std::byte> bytes) {
  for (std::byte& each : bytes) each ^= std::byte{0x5a};
  return bytes;
}

TEST_F(Buffers, EveryByteBothWays) {
  for (const std::size_t count : {1U, 3U, 64U, 4097U, 1000001U}) {
    const auto bytes = random_bytes(count, 1);
    const GLuint buffer = make_buffer(bytes);
    const CUgraphicsResource resource = registered(buffer);
    for (int turn = 0; turn < 3; ++turn) {
      std::size_t size = 0;
      const CUdeviceptr address = mapped(resource, &size);
      EXPECT_EQ(size, count);
      EXPECT_EQ(address % 256, 0U) << "CUDA's memory begins at multiples of 256";
      const auto expected = turn % 2 ? flipped(bytes) : bytes;
      EXPECT_EQ(device_bytes(address, count), expected) << count << " bytes";
      flip(address, count);
      unmap(resource);
      EXPECT_EQ(buffer_bytes(buffer, count), flipped(expected)) << count << " bytes";
    }
    unregister(resource);
  }
}

TEST_F(Buffers, FlagsSaveACopy) {
  const auto bytes = random_bytes(5000, 2), none = std::vector<std::byte>(5000);
  const GLuint buffer = make_buffer(bytes);
  const CUgraphicsResource reads = registered(buffer, kReadOnly);
  CUdeviceptr address = mapped(reads);
  EXPECT_EQ(device_bytes(address, bytes.size()), bytes);
  flip(address, bytes.size());
  unmap(reads);
  EXPECT_EQ(buffer_bytes(buffer, bytes.size()), bytes);
  // Map flags take the place of those of the registration.
  EXPECT_EQ(driver("cuGraphicsResourceSetMapFlags_v2", reads, 0U), eSuccess);
  flip(mapped(reads), bytes.size());
  unmap(reads);
  EXPECT_EQ(buffer_bytes(buffer, bytes.size()), flipped(bytes));

  const CUgraphicsResource writes = registered(buffer, kWriteDiscard);
  address = mapped(writes);
  EXPECT_EQ(device_bytes(address, bytes.size()), none) << "of nobody else's bytes";
  EXPECT_EQ(driver("cuMemsetD8_v2", address, static_cast<unsigned char>(0x5a), bytes.size()),
            eSuccess);
  unmap(writes);
  EXPECT_EQ(buffer_bytes(buffer, bytes.size()), flipped(none));
  unregister(reads);
  unregister(writes);
}

TEST_F(Buffers, StorageThatOnlyCopiesWriteTo) {
  const auto bytes = random_bytes(777, 3);
  const GLuint buffer = gl_name("glGenBuffers");
  gl("glBindBuffer", kArrayBuffer, buffer);
  gl("glBufferStorage", kArrayBuffer, std::ptrdiff_t{777}, static_cast<const void*>(bytes.data()),
     0U);
  gl("glBindBuffer", kArrayBuffer, 0U);
  const CUgraphicsResource resource = registered(buffer);
  flip(mapped(resource), 777);
  unmap(resource);
  EXPECT_EQ(buffer_bytes(buffer, 777), flipped(bytes));
  unregister(resource);
}

TEST_F(Buffers, UnmappingWaitsForTheStream) {
  const auto bytes = random_bytes(64, 4);
  const GLuint buffer = make_buffer(bytes);
  const CUgraphicsResource resource = registered(buffer);
  CUstream stream = nullptr;
  ASSERT_EQ(driver("cuStreamCreate", &stream, 0U), eSuccess);
  const CUdeviceptr address = mapped(resource);
  using Host = void (*)(void*);
  const Host wait = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  EXPECT_EQ(driver("cuLaunchHostFunc", stream, wait, static_cast<void*>(nullptr)), eSuccess);
  flip(address, 64, stream);
  CUgraphicsResource list[] = {resource};
  EXPECT_EQ(driver("cuGraphicsUnmapResources", 1U, &list[0], stream), eSuccess);
  EXPECT_EQ(buffer_bytes(buffer, 64), flipped(bytes));
  unregister(resource);
  EXPECT_EQ(driver("cuStreamDestroy_v2", stream), eSuccess);
}

TEST_F(Buffers, SeveralAtOnceAndPerThread) {
  std::vector<CUgraphicsResource> list;
  std::vector<GLuint> names;
  for (unsigned i = 0; i < 3; ++i) {
    names.push_back(make_buffer(random_bytes(100 + i, i)));
    list.push_back(registered(names.back()));
  }
  EXPECT_EQ(driver("cuGraphicsMapResources_ptsz", 3U, list.data(), kNoStream), eSuccess);
  for (unsigned i = 0; i < 3; ++i) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    EXPECT_EQ(driver("cuGraphicsResourceGetMappedPointer_v2", &address, &size, list[i]), eSuccess);
    EXPECT_EQ(size, 100 + i);
    flip(address, size);
  }
  EXPECT_EQ(driver("cuGraphicsUnmapResources_ptsz", 3U, list.data(), kNoStream), eSuccess);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(buffer_bytes(names[i], 100 + i), flipped(random_bytes(100 + i, i)));
    unregister(list[i]);
  }
}

TEST_F(Buffers, RuntimeInterface) {
  const auto bytes = random_bytes(4096, 5);
  const GLuint buffer = make_buffer(bytes);
  CUgraphicsResource resource = nullptr;
  EXPECT_EQ(runtime("cudaGraphicsGLRegisterBuffer", &resource, buffer, 0U), eSuccess);
  EXPECT_EQ(runtime("cudaGraphicsResourceSetMapFlags", resource, 0U), eSuccess);
  EXPECT_EQ(runtime("cudaGraphicsMapResources", 1, &resource, kNoStream), eSuccess);
  void* pointer = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(runtime("cudaGraphicsResourceGetMappedPointer", &pointer, &size, resource), eSuccess);
  EXPECT_EQ(size, bytes.size());
  flip(reinterpret_cast<CUdeviceptr>(pointer), size);
  EXPECT_EQ(runtime("cudaFree", pointer), eInvalidValue) << "it is not the program's to free";
  EXPECT_EQ(runtime("cudaGraphicsUnmapResources", 1, &resource, kNoStream), eSuccess);
  EXPECT_EQ(buffer_bytes(buffer, size), flipped(bytes));
  EXPECT_EQ(runtime("cudaMemset", pointer, 0, size), eInvalidValue) << "it is not mapped";
  EXPECT_EQ(runtime("cudaGraphicsUnregisterResource", resource), eSuccess);
  (void)runtime("cudaGetLastError");
}

/// The interface of old, by the names of either library.
TEST_F(Buffers, ByTheirNames) {
  const auto bytes = random_bytes(300, 6);
  const GLuint buffer = make_buffer(bytes);
  EXPECT_EQ(runtime("cudaGLSetGLDevice", 0), eSuccess);
  EXPECT_EQ(runtime("cudaGLRegisterBufferObject", buffer), eSuccess);
  EXPECT_EQ(runtime("cudaGLRegisterBufferObject", buffer), eAlreadyMapped);
  EXPECT_EQ(runtime("cudaGLSetBufferObjectMapFlags", buffer, 0U), eSuccess);
  void* pointer = nullptr;
  EXPECT_EQ(runtime("cudaGLMapBufferObject", &pointer, buffer), eSuccess);
  flip(reinterpret_cast<CUdeviceptr>(pointer), 300);
  EXPECT_EQ(runtime("cudaGLUnmapBufferObject", buffer), eSuccess);
  EXPECT_EQ(buffer_bytes(buffer, 300), flipped(bytes));
  EXPECT_EQ(runtime("cudaGLMapBufferObjectAsync", &pointer, buffer, kNoStream), eSuccess);
  EXPECT_EQ(runtime("cudaGLUnmapBufferObjectAsync", buffer, kNoStream), eSuccess);
  EXPECT_EQ(runtime("cudaGLUnregisterBufferObject", buffer), eSuccess);
  EXPECT_EQ(runtime("cudaGLMapBufferObject", &pointer, buffer), eMapBufferObjectFailed);
  EXPECT_EQ(runtime("cudaGLUnmapBufferObject", buffer), eUnmapBufferObjectFailed);
  (void)runtime("cudaGetLastError");

  EXPECT_EQ(driver("cuGLInit"), eSuccess);
  EXPECT_EQ(driver("cuGLRegisterBufferObject", buffer), eSuccess);
  CUdeviceptr address = 0;
  std::size_t size = 0;
  for (const char* map : {"cuGLMapBufferObject_v2", "cuGLMapBufferObject_v2_ptds"}) {
    EXPECT_EQ(driver(map, &address, &size, buffer), eSuccess);
    EXPECT_EQ(size, 300U);
    EXPECT_EQ(driver("cuGLSetBufferObjectMapFlags", buffer, 0U), eAlreadyMapped);
    EXPECT_EQ(driver("cuGLUnmapBufferObject", buffer), eSuccess);
  }
  for (const char* map : {"cuGLMapBufferObjectAsync_v2", "cuGLMapBufferObjectAsync_v2_ptsz"}) {
    EXPECT_EQ(driver(map, &address, &size, buffer, kNoStream), eSuccess);
    EXPECT_EQ(driver("cuGLUnmapBufferObjectAsync", buffer, kNoStream), eSuccess);
  }
  EXPECT_EQ(driver("cuGLUnregisterBufferObject", buffer), eSuccess);
  EXPECT_EQ(driver("cuGLUnregisterBufferObject", buffer), eInvalidValue);
  EXPECT_EQ(driver("cuGLSetBufferObjectMapFlags", buffer, 0U), eInvalidValue);
  EXPECT_EQ(driver("cuGLMapBufferObject_v2", &address, &size, buffer), eInvalidValue);
}

}  // namespace
}  // namespace ptx2spv::test
