// A whole CUDA program: a kernel paints a surface, and the host prints its corners.
#include <cuda_runtime.h>

#include <cstdio>

constexpr unsigned kWidth = 64, kHeight = 16;

__global__ void paint(cudaSurfaceObject_t surface) {
  const int x = threadIdx.x, y = threadIdx.y;
  surf2Dwrite(y * 100u + x, surface, x * sizeof(unsigned), y);
}

int main() {
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) return 1;
  std::fprintf(stderr, "on %s\n", device.name);

  cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, kWidth, kHeight, cudaArraySurfaceLoadStore);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  cudaCreateSurfaceObject(&surface, &resource);

  paint<<<1, dim3(kWidth, kHeight)>>>(surface);

  static unsigned texels[kHeight][kWidth];
  cudaMemcpy2DFromArray(texels, sizeof texels[0], array, 0, 0, sizeof texels[0], kHeight,
                        cudaMemcpyDeviceToHost);
  std::printf("%u %u %u %u\n", texels[0][0], texels[0][kWidth - 1], texels[kHeight - 1][0],
              texels[kHeight - 1][kWidth - 1]);
  cudaDestroySurfaceObject(surface);
  cudaFreeArray(array);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
