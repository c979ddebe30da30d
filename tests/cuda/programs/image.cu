// One kernel, for programs whose device code comes in other ways.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void store(int* p) { *p = 42; }

int main() {
  int *p = nullptr, value = 0;
  cudaError_t code = cudaMalloc(&p, 4);
  store<<<1, 1>>>(p);
  if (code == cudaSuccess) code = cudaGetLastError();
  if (code == cudaSuccess) code = cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
  if (code == cudaSuccess && value != 42) std::printf("the kernel stored %d\n", value);
  std::printf("%s\n", cudaGetErrorName(code));
}
