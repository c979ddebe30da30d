// pools.h by the runtime interface and NVTX's own headers.
#include <nvtx3/nvToolsExtMemCudaRt.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../driver/pools.h"

__device__ unsigned kept;
__global__ void store_word(unsigned* to, unsigned index) { to[index] = index; }
__global__ void load_word(const unsigned* from, unsigned index) { kept = from[index] + 1; }

static void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorName(code));
  std::exit(1);
}

static unsigned long long memory_of(unsigned long long bytes) {
  void* made = nullptr;
  check(cudaMalloc(&made, bytes));
  return reinterpret_cast<std::uintptr_t>(made);
}
static void fill(unsigned long long to, unsigned bytes) {
  check(cudaMemset(pointer_to(to), 7, bytes));
}
static void store(unsigned long long to, unsigned index) {
  store_word<<<1, 1>>>(static_cast<unsigned*>(pointer_to(to)), index);
}
static void load(unsigned long long from, unsigned index) {
  load_word<<<1, 1>>>(static_cast<const unsigned*>(pointer_to(from)), index);
}
static void mark_initialized(unsigned long long from, size_t bytes) {
  const nvtxMemVirtualRangeDesc_t range = {bytes, pointer_to(from)};
  const nvtxMemMarkInitializedBatch_t batch = {
      NVTX_EXT_COMPATID_MEM, sizeof batch, NVTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, sizeof range, &range};
  nvtxMemCudaMarkInitialized(nullptr, nullptr, 0, &batch);
}
static void finish() { check(cudaDeviceSynchronize()); }

int main(int count, char** arguments) { return count == 2 ? run(arguments[1]) : 2; }
