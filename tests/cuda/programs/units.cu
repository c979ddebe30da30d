// What unit tests of the interface ask: each call with a wrong argument, and what attributes say.
#include "driver.cuh"

#include <string>

namespace {

void host_memory() {
  void* p = nullptr;
  unsigned flags = 0;
  TELL(cudaMallocHost(nullptr, 4));
  TELL(cudaMallocHost(&p, 0));
  std::printf("null %d\n", p == nullptr);
  TELL(cudaHostAlloc(&p, 0, 0));
  for (unsigned f = 0; f < 17; ++f) {
    NOTE("host memory of flags", cudaHostAlloc(&p, 64, f));
    if (p) {
      if (cudaHostGetFlags(&flags, p) == cudaSuccess) std::printf("%u\n", flags);
      (void)cudaFreeHost(p);
    }
    p = nullptr;
  }
  TELL(cudaHostAlloc(&p, std::size_t(-1), 0));
  TELL(cudaHostAlloc(nullptr, 64, 0));
  CHECK(cudaMallocHost(&p, 256));
  void* d = nullptr;
  TELL(cudaHostGetDevicePointer(&d, p, 0));
  TELL(cudaHostGetDevicePointer(&d, p, 1));
  TELL(cudaHostGetDevicePointer(nullptr, p, 0));
  TELL(cudaHostGetDevicePointer(&d, nullptr, 0));
  TELL(cudaHostGetDevicePointer(&d, &flags, 0));
  TELL(cudaHostGetFlags(nullptr, p));
  TELL(cudaHostGetFlags(&flags, nullptr));
  TELL(cudaHostGetFlags(&flags, &flags));
  static char memory[16384];
  for (unsigned f = 0; f < 17; ++f) {
    NOTE("registration of flags", cudaHostRegister(memory, 8192, f));
    if (cudaHostGetFlags(&flags, memory) == cudaSuccess) std::printf("%u\n", flags);
    (void)cudaHostUnregister(memory);
    (void)cudaGetLastError();
  }
  TELL(cudaHostRegister(nullptr, 8192, 0));
  TELL(cudaHostRegister(memory, 0, 0));
  TELL(cudaHostRegister(p, 256, 0));
  TELL(cudaHostRegister(memory, 8192, 0));
  TELL(cudaHostRegister(memory, 8192, 0));
  TELL(cudaHostRegister(memory + 4096, 8192, 0));
  TELL(cudaHostGetDevicePointer(&d, memory + 100, 0));
  TELL(cudaHostUnregister(memory + 4096));
  TELL(cudaHostUnregister(memory));
  TELL(cudaHostUnregister(memory));
  TELL(cudaHostUnregister(p));
  TELL(cudaHostGetDevicePointer(&d, memory, 0));
}
void managed() {
  void *m, *d;
  TELL(cudaMallocManaged(nullptr, 4));
  TELL(cudaMallocManaged(&m, 0));
  for (unsigned f : {0u, 1u, 2u, 3u, 4u, 7u}) {
    NOTE("managed of flags", cudaMallocManaged(&m, 4096, f));
  }
  TELL(cudaMallocManaged(&m, std::size_t(-1)));
  CHECK(cudaMallocManaged(&m, 8192));
  CHECK(cudaMalloc(&d, 8192));
  const cudaMemLocation gpu{cudaMemLocationTypeDevice, 0}, cpu{cudaMemLocationTypeHost, 0},
      bad{cudaMemLocationTypeDevice, 99};
  for (int advice = 0; advice < 9; ++advice) {
    NOTE("advice for the device",
         cudaMemAdvise(m, 4096, static_cast<cudaMemoryAdvise>(advice), gpu));
    NOTE("advice for the host", cudaMemAdvise(m, 4096, static_cast<cudaMemoryAdvise>(advice), cpu));
    NOTE("advice for no device",
         cudaMemAdvise(m, 4096, static_cast<cudaMemoryAdvise>(advice), bad));
  }
  TELL(cudaMemAdvise(m, 0, cudaMemAdviseSetReadMostly, gpu));
  TELL(cudaMemAdvise(nullptr, 4096, cudaMemAdviseSetReadMostly, gpu));
  TELL(cudaMemAdvise(m, 1 << 30, cudaMemAdviseSetReadMostly, gpu));
  TELL(cudaMemAdvise(d, 4096, cudaMemAdviseSetReadMostly, gpu));
  TELL(cudaMemPrefetchAsync(m, 4096, gpu, 0, 0));
  TELL(cudaMemPrefetchAsync(m, 4096, cpu, 0, 0));
  TELL(cudaMemPrefetchAsync(m, 4096, bad, 0, 0));
  TELL(cudaMemPrefetchAsync(m, 0, gpu, 0, 0));
  TELL(cudaMemPrefetchAsync(m, 4096, gpu, 1, 0));
  TELL(cudaMemPrefetchAsync(nullptr, 4096, gpu, 0, 0));
  TELL(cudaMemPrefetchAsync(d, 4096, gpu, 0, 0));
  TELL(cudaMemPrefetchAsync(m, 1 << 30, gpu, 0, 0));
  TELL(cudaMemAdvise(m, 8192, cudaMemAdviseUnsetReadMostly, gpu));
  for (int state = 0; state < 3; ++state) {
    if (state == 1) {
      TELL(cudaMemAdvise(m, 8192, cudaMemAdviseSetReadMostly, gpu));
      TELL(cudaMemAdvise(m, 8192, cudaMemAdviseSetPreferredLocation, gpu));
      TELL(cudaMemAdvise(m, 8192, cudaMemAdviseSetAccessedBy, gpu));
      TELL(cudaMemPrefetchAsync(m, 8192, gpu, 0, 0));
      TELL(cudaDeviceSynchronize());
    }
    if (state == 2) {
      TELL(cudaMemAdvise(m, 4096, cudaMemAdviseUnsetReadMostly, gpu));
      TELL(cudaMemAdvise(m, 8192, cudaMemAdviseSetPreferredLocation, cpu));
      TELL(cudaMemAdvise(m, 8192, cudaMemAdviseUnsetAccessedBy, gpu));
    }
    for (int attribute = 0; attribute < 10; ++attribute) {
      int value[4] = {-9, -9, -9, -9};
      const cudaError_t code = cudaMemRangeGetAttribute(
          value, attribute == 3 ? 16 : 4, static_cast<cudaMemRangeAttribute>(attribute), m, 8192);
      (void)cudaGetLastError();
      std::printf("state %d attribute %d: %s %d %d\n", state, attribute, cudaGetErrorName(code),
                  value[0], value[1]);
    }
  }
  int value = 0;
  TELL(cudaMemRangeGetAttribute(nullptr, 4, cudaMemRangeAttributeReadMostly, m, 8192));
  TELL(cudaMemRangeGetAttribute(&value, 3, cudaMemRangeAttributeReadMostly, m, 8192));
  TELL(cudaMemRangeGetAttribute(&value, 0, cudaMemRangeAttributeReadMostly, m, 8192));
  TELL(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, nullptr, 8192));
  TELL(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, m, 0));
  TELL(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, d, 4096));
  int other = 0;
  void* data[2] = {&value, &other};
  std::size_t sizes[2] = {4, 4};
  cudaMemRangeAttribute which[2] = {cudaMemRangeAttributeReadMostly,
                                    cudaMemRangeAttributePreferredLocation};
  TELL(cudaMemRangeGetAttributes(data, sizes, which, 2, m, 8192));
  std::printf("%d %d\n", value, other);
  TELL(cudaMemRangeGetAttributes(data, sizes, which, 0, m, 8192));
  TELL(cudaMemRangeGetAttributes(nullptr, sizes, which, 2, m, 8192));
}
void shapes() {
  void* p = nullptr;
  std::size_t pitch = 0;
  TELL(cudaMallocPitch(nullptr, &pitch, 4, 4));
  TELL(cudaMallocPitch(&p, nullptr, 4, 4));
  TELL(cudaMallocPitch(&p, &pitch, 0, 4));
  std::printf("null %d pitch %zu\n", p == nullptr, pitch);
  TELL(cudaMallocPitch(&p, &pitch, 4, 0));
  std::printf("null %d pitch %zu\n", p == nullptr, pitch);
  TELL(cudaMallocPitch(&p, &pitch, std::size_t(-1), 4));
  cudaPitchedPtr pp{};
  TELL(cudaMalloc3D(nullptr, make_cudaExtent(4, 4, 4)));
  for (auto e :
       {cudaExtent{0, 4, 4}, cudaExtent{4, 0, 4}, cudaExtent{4, 4, 0}, cudaExtent{4, 4, 4}}) {
    NOTE("cudaMalloc3D", cudaMalloc3D(&pp, e));
    std::printf("null %d pitch %zu %zu %zu\n", pp.ptr == nullptr, pp.pitch, pp.xsize, pp.ysize);
  }
  CUdeviceptr at = 0;
  for (unsigned element : {0u, 1u, 2u, 4u, 8u, 16u, 32u}) {
    std::printf("%u ", element);
    DTELL(cuMemAllocPitch, (&at, &pitch, 100, 4, element));
  }
  DTELL(cuMemAllocPitch, (&at, &pitch, 0, 4, 4));
  DTELL(cuMemAllocPitch, (&at, &pitch, 4, 0, 4));
  DTELL(cuMemAlloc, (&at, 0));
  DTELL(cuMemAlloc, (nullptr, 4));
  DTELL(cuMemAllocHost, (nullptr, 4));
  DTELL(cuMemHostAlloc, (&p, 4, 0x80));
  DTELL(cuMemAllocManaged, (&at, 4, 0));
  DTELL(cuMemAllocManaged, (&at, 4, 1));
  DTELL(cuMemAllocManaged, (&at, 0, 1));
  TELL(cudaMalloc(&p, 0));
  std::printf("null %d\n", p == nullptr);
  TELL(cudaMalloc(&p, std::size_t(-1)));
  TELL(cudaMemGetInfo(nullptr, nullptr));
  TELL(cudaMemGetInfo(&pitch, nullptr));
  DTELL(cuMemsetD8, (0, 1, 4));
  DTELL(cuMemsetD16, (at + 1, 1, 4));
  DTELL(cuMemsetD32, (at + 2, 1, 1));
  DTELL(cuMemsetD2D8, (at, 2, 1, 4, 2));
  DTELL(cuMemsetD2D32, (at, 3, 1, 1, 2));
  DTELL(cuMemsetD8, (at, 1, 0));
  DTELL(cuMemcpy, (at, at, 0));
  DTELL(cuMemcpy, (0, at, 4));
  DTELL(cuMemcpyDtoD, (at, 0, 4));
  DTELL(cuMemcpyDtoH, (nullptr, at, 4));
  DTELL(cuMemcpyHtoD, (at, nullptr, 4));
  DTELL(cuMemcpyDtoH, (nullptr, at, 0));
}
void CUDART_CB destroyed(void* p) { ++*static_cast<int*>(p); }
void objects() {
  cudaUserObject_t object = nullptr;
  int count = 0;
  TELL(cudaUserObjectCreate(nullptr, &count, destroyed, 1, cudaUserObjectNoDestructorSync));
  TELL(cudaUserObjectCreate(&object, &count, nullptr, 1, cudaUserObjectNoDestructorSync));
  TELL(cudaUserObjectCreate(&object, nullptr, destroyed, 1, cudaUserObjectNoDestructorSync));
  TELL(cudaUserObjectCreate(&object, &count, destroyed, 0, cudaUserObjectNoDestructorSync));
  TELL(cudaUserObjectCreate(&object, &count, destroyed, 0x80000000u,
                            cudaUserObjectNoDestructorSync));
  TELL(cudaUserObjectCreate(&object, &count, destroyed, 1, 0));
  TELL(cudaUserObjectCreate(&object, &count, destroyed, 2, cudaUserObjectNoDestructorSync));
  TELL(cudaUserObjectRetain(object, 0));
  TELL(cudaUserObjectRetain(object, 0x80000000u));
  TELL(cudaUserObjectRetain(nullptr, 1));
  TELL(cudaUserObjectRelease(object, 0));
  TELL(cudaUserObjectRelease(object, 1));
  cudaGraph_t g = nullptr;
  CHECK(cudaGraphCreate(&g, 0));
  TELL(cudaGraphRetainUserObject(g, object, 0, 0));
  TELL(cudaGraphRetainUserObject(g, object, 1, 7));
  TELL(cudaGraphRetainUserObject(nullptr, object, 1, 0));
  TELL(cudaGraphRetainUserObject(g, nullptr, 1, 0));
  TELL(cudaGraphRetainUserObject(g, object, 1, cudaGraphUserObjectMove));
  TELL(cudaGraphReleaseUserObject(g, object, 0));
  TELL(cudaGraphReleaseUserObject(nullptr, object, 1));
  TELL(cudaGraphReleaseUserObject(g, nullptr, 1));
  TELL(cudaGraphReleaseUserObject(g, object, 1));
}

/// Advice on managed memory for every kind of place: a row of each, 1 where it is taken.
void places() {
  struct {
    const char* name;
    int type, id;
  } const all[] = {{"device", 1, 0},      {"another device", 1, 1}, {"device -1", 1, -1},
                   {"device -2", 1, -2},  {"host", 2, 0},           {"host 7", 2, 7},
                   {"node", 3, 0},        {"another node", 3, 9},   {"own node", 4, 0},
                   {"no place", 0, 0},    {"no kind", 99, 0}};
  char* p = nullptr;
  CHECK(cudaMallocManaged(&p, 3 * 4096));
  std::printf("in a page %d\n", static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 4096));
  CHECK(cudaMemAdvise(p + 2048, 4096, cudaMemAdviseSetAccessedBy, {cudaMemLocationTypeDevice, 0}));
  for (const std::size_t pages : {2, 3}) {
    int device = 99;
    CHECK(cudaMemRangeGetAttribute(&device, sizeof device, cudaMemRangeAttributeAccessedBy, p,
                                   pages * 4096));
    std::printf("%zu pages are accessed by %d\n", pages, device);
  }
  for (const auto& each : all) {
    cudaMemLocation place{static_cast<cudaMemLocationType>(each.type), each.id};
    std::printf("%s:", each.name);
    for (int advice = 0; advice <= 7; ++advice) {
      const auto code = cudaMemAdvise(p, 8192, static_cast<cudaMemoryAdvise>(advice), place);
      std::printf(" %d", code == cudaSuccess);
      (void)cudaGetLastError();
    }
    std::printf("\n");
  }
  cudaResourceDesc resource{};
  cudaSurfaceObject_t surface = 0;
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = p;
  NOTE("surface over linear memory without channels",
       cudaCreateSurfaceObject(&surface, &resource));
}

constexpr Group kGroups[] = {
    {"host_memory", host_memory},
    {"managed", managed},
    {"shapes", shapes},
    {"objects", objects},
    {"places", places},
};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
