// Tests with the runtime on a Vulkan device of its own beside CUDA's.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "tests/graphics/graphics.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv::test {

inline constexpr CUstream kNoStream = nullptr;
inline constexpr int kOpaqueFd = 1, kTimelineFd = 9;

/// A test with the runtime on a device of its own beside CUDA's.
class External : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(driver("cuInit", 0U), eSuccess);
    CUcontext context = nullptr;
    ASSERT_EQ(driver("cuDevicePrimaryCtxRetain", &context, 0), eSuccess);
    ASSERT_EQ(driver("cuCtxSetCurrent", context), eSuccess);
  }
  static CUresult import(CUexternalMemory* made, int fd, std::uint64_t bytes, unsigned flags = 0,
                         int type = kOpaqueFd) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = type;
    desc.handle.fd = fd;
    desc.size = bytes;
    desc.flags = flags;
    return driver("cuImportExternalMemory", made,
                  static_cast<const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*>(&desc));
  }
  static CUresult map(CUexternalMemory memory, CUdeviceptr* address, std::uint64_t offset,
                      std::uint64_t bytes) {
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc{offset, bytes, 0};
    return driver("cuExternalMemoryGetMappedBuffer", address, memory, &desc);
  }
  static CUresult import(CUexternalSemaphore* made, int fd, int type) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
    desc.type = type;
    desc.handle.fd = fd;
    return driver("cuImportExternalSemaphore", made,
                  static_cast<const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC*>(&desc));
  }
  static bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }
  /// By a kernel, which is not waited for.
  static void flip(CUdeviceptr address, unsigned count, CUstream stream = nullptr) {
    unsigned pattern = 0x5a;
    void* params[] = {&address, &count, &pattern};
    EXPECT_EQ(launch(kernel("flip_memory"), count, 1, params, stream), eSuccess);
  }
};

inline std::vector<std::byte> flipped(std::vector<std::byte> bytes) {
  for (std::byte& each : bytes) each ^= std::byte{0x5a};
  return bytes;
}

}  // namespace ptx2spv::test
