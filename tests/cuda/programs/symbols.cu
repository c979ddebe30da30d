// Variables of every kind by their names, templates, and managed memory. The numbers can be worked
// out by hand: 90 is 1 * 10 + 2 * 20 + 0 * 33 + 1 * 40, of the table as integers.
#include "common.cuh"

__constant__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int counters[4] = {10, 20, 30, 40};
__device__ int untouched;
__managed__ int shared_with_host = 5;
__managed__ int* shared_pointer;
namespace inner {
__device__ unsigned long long wide = 0x123456789abcdefull;
}

__global__ void by_pointer() {
  *shared_pointer += 3;
  shared_pointer = &shared_with_host;
}

template <class T, int N>
__global__ void sum(T* out) {
  T total = 0;
  for (int i = 0; i < N; ++i) total += (T)table[i] * (T)counters[i % 4];
  out[threadIdx.x] = total + (T)threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    shared_with_host += N;
    inner::wide += N;
    atomicAdd(&counters[1], N);
  }
}

struct Big {
  double d;
  char name[12];
  short s[3];
};
__global__ void structs(Big big, const int* __restrict__ in, double* out) {
  out[threadIdx.x] = big.d * big.s[threadIdx.x % 3] + big.name[threadIdx.x % 12] + in[threadIdx.x];
}

int main() {
  float values[4] = {0.5f, 1.5f, 2.5f, 3.5f};
  CHECK(cudaMemcpyToSymbol(table, values, sizeof values, 8));
  float seen[8];
  CHECK(cudaMemcpyFromSymbol(seen, table, sizeof seen));
  for (float each : seen) std::printf("%g ", each);
  size_t bytes = 0;
  CHECK(cudaGetSymbolSize(&bytes, counters));
  std::printf("\ncounters %zu bytes\n", bytes);
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, counters));
  int third = 33;
  CHECK(cudaMemcpy((int*)address + 2, &third, 4, cudaMemcpyHostToDevice));
  int* out;
  CHECK(cudaMalloc(&out, 32 * 8));
  sum<int, 4><<<1, 32>>>(out);
  CHECK(cudaDeviceSynchronize());
  int ints[32];
  CHECK(cudaMemcpy(ints, out, sizeof ints, cudaMemcpyDeviceToHost));
  std::printf("%d %d, managed %d\n", ints[0], ints[31], shared_with_host);
  shared_with_host = 100;
  sum<double, 8><<<1, 32>>>((double*)out);
  CHECK(cudaDeviceSynchronize());
  double doubles[32];
  CHECK(cudaMemcpy(doubles, out, sizeof doubles, cudaMemcpyDeviceToHost));
  unsigned long long wide;
  CHECK(cudaMemcpyFromSymbol(&wide, inner::wide, sizeof wide));
  int back[4];
  CHECK(cudaMemcpyFromSymbol(back, counters, sizeof back));
  std::printf("%g %g, managed %d, wide %llx, counters %d %d %d %d\n", doubles[0], doubles[31],
              shared_with_host, wide, back[0], back[1], back[2], back[3]);
  Big big{2.5, "hello world", {1, -2, 3}};
  int* in;
  CHECK(cudaMallocManaged(&in, 32 * sizeof(int)));
  for (int i = 0; i < 32; ++i) in[i] = i * i;
  structs<<<1, 32>>>(big, in, (double*)out);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(doubles, out, sizeof doubles, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 32; ++i)
    wrong += doubles[i] != big.d * big.s[i % 3] + big.name[i % 12] + i * i;
  std::printf("structs %s\n", wrong ? "wrong" : "good");
  // A managed variable has one address, and is named by it, too.
  shared_pointer = in;
  by_pointer<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGetSymbolAddress(&address, shared_with_host));
  cudaPointerAttributes of{};
  CHECK(cudaPointerGetAttributes(&of, &shared_with_host));
  std::printf("managed %d %d %d, type %d\n", in[0], shared_pointer == &shared_with_host,
              address == &shared_with_host, static_cast<int>(of.type));
  CHECK(cudaMemcpyToSymbol(shared_with_host, &third, 4));
  CHECK(cudaMemcpyFromSymbol(back, shared_with_host, 4));
  std::printf("managed %d %d\n", shared_with_host, back[0]);
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  int missing;
  std::printf("%s\n", cudaGetErrorName(cudaMemcpyToSymbol(&missing, &third, 4)));
  std::printf("%s\n", cudaGetErrorName(cudaMemcpyFromSymbol(seen, table, sizeof seen, 16)));
}
