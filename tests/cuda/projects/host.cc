#include <cuda_runtime.h>

#include <cstdio>

int main() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  std::printf("%s %d\n", cudaGetErrorName(error), devices);
  return error != cudaSuccess;
}
