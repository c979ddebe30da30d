// What programs get wrong about the bytes of surfaces: the argument names it.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__device__ float sum;

// A shader's float4, where the array has half4: stores convert, loads take the bits of two texels.
__global__ void formatted(cudaSurfaceObject_t surface, int bytes) {
  const int x = threadIdx.x;
  asm volatile("sust.p.2d.v4.b32.zero [%0, {%1, %2}], {%3, %3, %3, %3};" ::"l"(surface), "r"(x),
               "r"(0), "r"(__float_as_int(1.5f)));
  if (bytes == 8) {
    const uint2 raw = surf2Dread<uint2>(surface, x * 8, 0, cudaBoundaryModeZero);
    sum = __half2float(__ushort_as_half(raw.x & 0xffff));
  } else {
    sum = surf2Dread<float4>(surface, x * 16, 0, cudaBoundaryModeZero).x;
  }
}

// Floats in an array of bytes.
__global__ void wider(cudaSurfaceObject_t surface) {
  surf2Dwrite(1.0f, surface, threadIdx.x * 4, 0, cudaBoundaryModeZero);
}

// x in texels.
__global__ void texels(cudaSurfaceObject_t surface, int scale) {
  sum = surf2Dread<float>(surface, threadIdx.x * scale, 0, cudaBoundaryModeZero);
}

static cudaSurfaceObject_t surface_of(const cudaChannelFormatDesc& format) {
  cudaArray_t array = nullptr;
  cudaMallocArray(&array, &format, 64, 4, cudaArraySurfaceLoadStore);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t made = 0;
  cudaCreateSurfaceObject(&made, &resource);
  return made;
}

int main(int, char** arguments) {
  const char* what = arguments[1];
  const auto halves = cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
  if (!std::strcmp(what, "formatted")) formatted<<<1, 32>>>(surface_of(halves), 16);
  if (!std::strcmp(what, "formatted-right")) formatted<<<1, 32>>>(surface_of(halves), 8);
  if (!std::strcmp(what, "wider")) wider<<<1, 16>>>(surface_of(cudaCreateChannelDesc<uchar1>()));
  if (!std::strcmp(what, "texels"))
    texels<<<1, 32>>>(surface_of(cudaCreateChannelDesc<float>()), 1);
  if (!std::strcmp(what, "texels-right"))
    texels<<<1, 32>>>(surface_of(cudaCreateChannelDesc<float>()), 4);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
