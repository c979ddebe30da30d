// Ranges of addresses and memory that is mapped into them.
#include "driver.cuh"

namespace {

CUmemAllocationProp properties() {
  CUmemAllocationProp p{};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return p;
}
CUmemAccessDesc access(CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, flags};
}

__global__ void fill(unsigned* p, unsigned n, unsigned value) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    p[i] = value + i;
}

std::size_t granularity(const CUmemAllocationProp& p) {
  std::size_t g = 0;
  DTELL(cuMemGetAllocationGranularity, (&g, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  return g;
}

void use() {
  CHECK(cudaFree(nullptr));
  const auto p = properties();
  const std::size_t g = granularity(p);
  std::size_t recommended = 0;
  DTELL(cuMemGetAllocationGranularity, (&recommended, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  std::printf("power of two %d, multiple %d\n", (g & (g - 1)) == 0, recommended % g == 0);
  CUmemGenericAllocationHandle one{}, two{};
  DTELL(cuMemCreate, (&one, g, &p, 0));
  DTELL(cuMemCreate, (&two, g, &p, 0));
  CUdeviceptr at = 0;
  DTELL(cuMemAddressReserve, (&at, 4 * g, 0, 0, 0));
  std::printf("aligned %d\n", at % g == 0);
  DTELL(cuMemMap, (at, g, 0, one, 0));
  DTELL(cuMemMap, (at + g, g, 0, two, 0));
  const auto rw = access();
  DTELL(cuMemSetAccess, (at, 2 * g, &rw, 1));
  unsigned long long flags = 0;
  CUmemLocation where{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  DTELL(cuMemGetAccess, (&flags, &where, at));
  std::printf("access %llu\n", flags);
  fill<<<64, 256>>>(reinterpret_cast<unsigned*>(at), static_cast<unsigned>(2 * g / 4), 100);
  TELL(cudaDeviceSynchronize());
  unsigned words[4]{};
  TELL(cudaMemcpy(words, reinterpret_cast<void*>(at + g - 8), 16, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < 4; ++i) std::printf("%d ", words[i] == 100 + g / 4 - 2 + i);
  std::printf("\n");
  TELL(cudaMemset(reinterpret_cast<void*>(at + g - 64), 1, 128));
  TELL(cudaMemcpy(words, reinterpret_cast<void*>(at + g - 8), 16, cudaMemcpyDeviceToHost));
  std::printf("%x %x %x %x\n", words[0], words[1], words[2], words[3]);
  // the same memory under a second address
  DTELL(cuMemMap, (at + 2 * g, g, 0, two, 0));
  DTELL(cuMemSetAccess, (at + 2 * g, g, &rw, 1));
  TELL(cudaMemset(reinterpret_cast<void*>(at + 2 * g), 7, 16));
  TELL(cudaMemcpy(words, reinterpret_cast<void*>(at + g), 16, cudaMemcpyDeviceToHost));
  std::printf("alias %x\n", words[0]);
  // mapped in another order
  DTELL(cuMemUnmap, (at, 3 * g));
  DTELL(cuMemMap, (at, g, 0, two, 0));
  DTELL(cuMemSetAccess, (at, g, &rw, 1));
  TELL(cudaMemcpy(words, reinterpret_cast<void*>(at), 16, cudaMemcpyDeviceToHost));
  std::printf("remapped %x\n", words[0]);
  CUmemGenericAllocationHandle again{};
  DTELL(cuMemRetainAllocationHandle, (&again, reinterpret_cast<void*>(at)));
  std::printf("same %d\n", again == two);
  DTELL(cuMemRelease, (again));
  CUmemAllocationProp got{};
  DTELL(cuMemGetAllocationPropertiesFromHandle, (&got, two));
  std::printf("type %d location %d %d\n", static_cast<int>(got.type),
              static_cast<int>(got.location.type), got.location.id);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  DTELL(cuMemGetAddressRange, (&base, &size, at + 8));
  std::printf("base %d size %d\n", base == at, size == g);
  cudaPointerAttributes attributes{};
  TELL(cudaPointerGetAttributes(&attributes, reinterpret_cast<void*>(at)));
  std::printf("type %d device %d\n", static_cast<int>(attributes.type), attributes.device);
  TELL(cudaFree(reinterpret_cast<void*>(at)));
  DTELL(cuMemRelease, (two));
  TELL(cudaMemcpy(words, reinterpret_cast<void*>(at), 16, cudaMemcpyDeviceToHost));
  std::printf("released but mapped %x\n", words[0]);
  DTELL(cuMemUnmap, (at, g));
  DTELL(cuMemRelease, (one));
  DTELL(cuMemAddressFree, (at, 4 * g));
}

void no_access() {
  CHECK(cudaFree(nullptr));
  const auto p = properties();
  const std::size_t g = granularity(p);
  CUmemGenericAllocationHandle h{};
  CUdeviceptr at = 0;
  DTELL(cuMemCreate, (&h, g, &p, 0));
  DTELL(cuMemAddressReserve, (&at, g, 0, 0, 0));
  TELL(cudaMemset(reinterpret_cast<void*>(at), 1, 16));
  DTELL(cuMemMap, (at, g, 0, h, 0));
  TELL(cudaMemset(reinterpret_cast<void*>(at), 1, 16));
  const auto rd = access(CU_MEM_ACCESS_FLAGS_PROT_READ);
  DTELL(cuMemSetAccess, (at, g, &rd, 1));
  unsigned word = 0;
  TELL(cudaMemcpy(&word, reinterpret_cast<void*>(at), 4, cudaMemcpyDeviceToHost));
  TELL(cudaDeviceSynchronize());
}

constexpr Group kGroups[] = {{"use", use}, {"no_access", no_access}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
