// What a copy behind a launch that traps leaves at its target: one way a process, by the argument.
#include <string>

#include "common.cuh"

constexpr int kBefore = -5, kRows = 4, kColumns = 16, kCount = kRows * kColumns;

__device__ int variable[kCount];

__global__ void store(int* p, cudaSurfaceObject_t s) {
  const int i = threadIdx.x;
  p[i] = variable[i] = i;
  surf2Dwrite(i, s, i % kColumns * 4, i / kColumns);
  asm volatile("trap;");
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  int *from, *locked, words[kCount];
  CHECK(cudaMalloc(&from, sizeof words));
  CHECK(cudaMallocHost(&locked, sizeof words));
  cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, kColumns, kRows, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  int* to = how == "locked" ? locked : words;
  for (int i = 0; i < kCount; ++i) to[i] = kBefore;
  store<<<1, kCount>>>(from, surface);
  constexpr auto kind = cudaMemcpyDeviceToHost;
  constexpr std::size_t row = kColumns * 4;
  if (how == "memory" || how == "locked") cudaMemcpy(to, from, sizeof words, kind);
  if (how == "async") cudaMemcpyAsync(to, from, sizeof words, kind);
  if (how == "rows") cudaMemcpy2D(to, row, from, row, row / 2, kRows, kind);
  if (how == "symbol") cudaMemcpyFromSymbol(to, variable, sizeof words);
  if (how == "array") cudaMemcpy2DFromArray(to, row, array, 0, 0, row, kRows, kind);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  int kept = 0;
  for (int i = 0; i < kCount; ++i) kept += to[i] == kBefore;
  std::printf("%d of %d kept\n", kept, kCount);
}
