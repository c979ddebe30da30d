#include <cstdio>

__device__ int half_of(int number);

__global__ void fill(cudaSurfaceObject_t surface) {
  surf1Dwrite(half_of(2 * static_cast<int>(threadIdx.x) + 9), surface, threadIdx.x * 4);
}

int main() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t array = nullptr;
  cudaMallocArray(&array, &format, 32, 0, cudaArraySurfaceLoadStore);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  cudaCreateSurfaceObject(&surface, &resource);
  fill<<<1, 32>>>(surface);
  int texels[32] = {};
  const cudaError_t error = cudaMemcpy2DFromArray(texels, sizeof texels, array, 0, 0, sizeof texels,
                                                  1, cudaMemcpyDeviceToHost);
  int sum = 0;
  for (const int each : texels) sum += each;
  std::printf("%s %d\n", cudaGetErrorName(error), sum);
  return sum != 32 * 4 + 31 * 32 / 2;
}
