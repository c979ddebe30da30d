// Device code in two files, linked (-rdc=true): a kernel here, functions and variables there.
#include "common.cuh"

extern __device__ int offset;
extern __constant__ int weights[4];
__device__ int scale(int value);
void set_weights(const int* values);

__global__ void use(int* out) {
  const int i = threadIdx.x;
  out[i] = scale(i) + offset + weights[i % 4];
}

int main() {
  const int weights_of_host[4] = {100, 200, 300, 400};
  set_weights(weights_of_host);
  int *p, values[32];
  CHECK(cudaMalloc(&p, sizeof values));
  use<<<1, 32>>>(p);
  CHECK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
  for (int each : values) std::printf("%d ", each);
  std::printf("\n");
}
