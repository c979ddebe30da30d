// Memory and arrays over 2 GiB, which CPU drivers do not give out: kernels, copies, fills, surfaces
// and textures reach both ends. Few pages are touched.
#include "expect.cuh"

#include <unistd.h>

namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

__global__ void store(unsigned* words, std::size_t at, unsigned value) { words[at] = value; }

__global__ void corners(cudaSurfaceObject_t surface, int width, int rows, unsigned* seen) {
  unsigned last = 0;
  surf2Dread(&last, surface, (width - 1) * 4, rows - 1);
  surf2Dwrite(last + 1, surface, 0, 0);
  surf2Dwrite(last + 2, surface, 4, rows - 1);
  *seen = last;
}

__global__ void fetch(cudaTextureObject_t line, cudaTextureObject_t plane, float x, float y,
                      int at, unsigned* seen) {
  seen[0] = tex1Dfetch<unsigned>(line, at);
  seen[1] = tex2D<unsigned>(plane, x, y);
}

unsigned word(const unsigned* device, std::size_t at) {
  unsigned value = 0;
  CHECK(cudaMemcpy(&value, device + at, 4, cudaMemcpyDeviceToHost));
  return value;
}

/// Free memory goes down by what is taken; all of it is not to be had.
void figures() {
  std::size_t before = 0, after = 0, total = 0;
  CHECK(cudaMemGetInfo(&before, &total));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.totalGlobalMem == total);
  if (properties.integrated || std::strstr(properties.name, "llvmpipe") ||
      std::strstr(properties.name, "SwiftShader")) {
    const auto machine = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    EXPECT(total <= machine / 4 * 3);
  }
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 3 * kGiB));
  CHECK(cudaMemGetInfo(&after, &total));
  EXPECT(before - after >= 3 * kGiB);
  CHECK(cudaFree(memory));
  CHECK(cudaMemGetInfo(&after, &total));
  EXPECT(after >= before - kGiB);
  EXPECT(cudaMalloc(&memory, total + kGiB) == cudaErrorMemoryAllocation);
  (void)cudaGetLastError();
}

/// Sizes around what drivers report as their largest allocation.
void limits() {
  for (const std::size_t limit : {kGiB, 2 * kGiB})
    for (const std::size_t bytes : {limit - 4096, limit - 256, limit, limit + 256}) {
      unsigned* memory = nullptr;
      CHECK(cudaMalloc(&memory, bytes));
      store<<<1, 1>>>(memory, 0, 1);
      store<<<1, 1>>>(memory, bytes / 4 - 1, 2);
      EXPECT(word(memory, 0) == 1 && word(memory, bytes / 4 - 1) == 2);
      CHECK(cudaFree(memory));
    }
}

void buffers(unsigned* large, unsigned* small) {
  const std::size_t end = 3 * kGiB / 4;
  store<<<1, 1>>>(large, 0, 1);
  store<<<1, 1>>>(large, end - 1, 2);
  store<<<1, 1>>>(large, end / 2, 3);
  EXPECT(word(large, 0) == 1);
  EXPECT(word(large, end - 1) == 2);
  EXPECT(word(large, end / 2) == 3);
  CHECK(cudaMemset(large + end - 4, 0x11, 8));
  EXPECT(word(large, end - 3) == 0x11111111u);
  EXPECT(word(large, end - 1) == 2);
  CHECK(cudaMemset2D(large + end - 1024, 1024, 7, 12, 3));
  EXPECT(word(large, end - 1024 + 256 + 2) == 0x07070707u);
  EXPECT(word(large, end - 1024 + 256 + 3) == 0);
  CHECK(cudaMemcpy(small, large + end - 4, 16, cudaMemcpyDeviceToDevice));
  EXPECT(word(small, 3) == 2);
  CHECK(cudaMemcpy(large + end / 2 + 8, small, 16, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy(large + 16, large + end / 2 + 8, 16, cudaMemcpyDeviceToDevice));
  EXPECT(word(large, 16 + 3) == 2);
  unsigned five = 5;
  CHECK(cudaMemcpyAsync(large + end - 2, &five, 4, cudaMemcpyHostToDevice));
  EXPECT(word(large, end - 2) == 5);
}

void arrays(unsigned* large, unsigned* small) {
  const int width = 32768, rows = 16400;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<unsigned>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &desc, width, rows, cudaArraySurfaceLoadStore));
  const std::size_t x = (width - 1) * std::size_t{4};
  unsigned value = 9;
  CHECK(cudaMemcpy2DToArray(array, x, rows - 1, &value, 4, 4, 1, cudaMemcpyHostToDevice));
  cudaResourceDesc of{};
  of.resType = cudaResourceTypeArray;
  of.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  CHECK(cudaCreateSurfaceObject(&surface, &of));
  corners<<<1, 1>>>(surface, width, rows, small);
  EXPECT(word(small, 0) == 9);
  CHECK(cudaMemcpy2DFromArray(&value, 4, array, 0, 0, 4, 1, cudaMemcpyDeviceToHost));
  EXPECT(value == 10);
  // Between the array and memory of the device, large and small, and within the array.
  const std::size_t end = 3 * kGiB / 4;
  CHECK(cudaMemcpy2DFromArray(large + end - 8, 4, array, 4, rows - 1, 4, 1,
                              cudaMemcpyDeviceToDevice));
  EXPECT(word(large, end - 8) == 11);
  CHECK(cudaMemcpy2DToArray(array, 8, rows - 1, large + end - 8, 4, 4, 1,
                            cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy2DArrayToArray(array, x, 0, array, 8, rows - 1, 4, 1, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy2DFromArray(small, 4, array, x, 0, 4, 1, cudaMemcpyDeviceToDevice));
  EXPECT(word(small, 0) == 11);

  cudaTextureDesc how{};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t plane = 0, line = 0;
  CHECK(cudaCreateTextureObject(&plane, &of, &how, nullptr));
  cudaResourceDesc linear{};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = large + end - 1024;
  linear.res.linear.desc = desc;
  linear.res.linear.sizeInBytes = 4096;
  CHECK(cudaCreateTextureObject(&line, &linear, &how, nullptr));
  fetch<<<1, 1>>>(line, plane, width - 0.5f, rows - 0.5f, 1023, small);
  EXPECT(word(small, 0) == 2);
  EXPECT(word(small, 1) == 9);
  CHECK(cudaDestroyTextureObject(line));
  CHECK(cudaDestroyTextureObject(plane));
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));
}

}  // namespace

/// Managed memory may be more than the device has. A GPU's is the host's, which has to hold it.
void beyond(std::size_t total) {
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  unsigned* managed = nullptr;
  if (!properties.directManagedMemAccessFromHost) return;
  CHECK(cudaMallocManaged(&managed, total + kGiB));
  const std::size_t last = (total + kGiB) / 4 - 1;
  managed[0] = 1;
  store<<<1, 1>>>(managed, last, 2);
  CHECK(cudaDeviceSynchronize());
  EXPECT(managed[0] == 1 && managed[last] == 2);
  unsigned* own = nullptr;
  EXPECT(cudaMalloc(&own, total + kGiB) == cudaErrorMemoryAllocation);
  (void)cudaGetLastError();
  CHECK(cudaMalloc(&own, 1 << 20));
  CHECK(cudaFree(own));
  CHECK(cudaFree(managed));
}

int main() {
  unsigned *large = nullptr, *small = nullptr;
  std::size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  if (free < 6 * kGiB) {
    std::printf("small\n");
    return 0;
  }
  figures();
  beyond(total);
  limits();
  CHECK(cudaMalloc(&large, 3 * kGiB));
  CHECK(cudaMalloc(&small, 64));
  CHECK(cudaMemset(large + 3 * kGiB / 4 - 1024, 0, 4096));
  buffers(large, small);
  arrays(large, small);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(large));
  CHECK(cudaFree(small));
  return verdict();
}
