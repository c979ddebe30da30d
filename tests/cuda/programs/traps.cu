// What a launch that traps leaves: one kind of trap a process, by the argument.
#include <cassert>

#include "common.cuh"

__global__ void outside(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, 4000, 2); }
__global__ void asserts(int n) { assert(threadIdx.x < n); }
__global__ void trap() { asm volatile("trap;"); }
__global__ void fine(int* p) { *p = 1; }

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int* p;
  CHECK(cudaMalloc(&p, 64));
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, 16, 16, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  if (!std::strcmp(what, "surface")) outside<<<1, 1>>>(surface);
  if (!std::strcmp(what, "assert")) asserts<<<1, 4>>>(3);
  if (!std::strcmp(what, "trap")) trap<<<1, 1>>>();
  std::printf("launch %s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("synchronize %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  fine<<<1, 1>>>(p);
  std::printf("next launch %s\n", cudaGetErrorName(cudaGetLastError()));
  void* q;
  std::printf("malloc %s\n", cudaGetErrorName(cudaMalloc(&q, 64)));
  std::printf("memcpy %s\n", cudaGetErrorName(cudaMemcpy(&what, p, 4, cudaMemcpyDeviceToHost)));
  std::printf("free %s\n", cudaGetErrorName(cudaFree(p)));
  int count;
  std::printf("count %s\n", cudaGetErrorName(cudaGetDeviceCount(&count)));
  std::printf("last %s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("reset %s\n", cudaGetErrorName(cudaDeviceReset()));
  std::printf("malloc after it %s\n", cudaGetErrorName(cudaMalloc(&q, 64)));
}
