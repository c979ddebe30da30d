// Wrong copies, fills, symbols, launches, pointers, streams and events.
#include "mistakes.cuh"

__device__ int counter;
__constant__ float table[16];
__global__ void nothing() {}
__global__ void __launch_bounds__(64) bounded() {}
__global__ void dynamic(int* p) {
  extern __shared__ int words[];
  words[threadIdx.x] = threadIdx.x;
  p[threadIdx.x] = words[threadIdx.x];
}
__global__ void wide(int* p) {
  __shared__ int words[12000];
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  p[threadIdx.x] = words[(threadIdx.x + 1) % blockDim.x];
}

namespace {

char host[1 << 16];

template <class T>
T* invalid(std::uintptr_t value) {
  return reinterpret_cast<T*>(value);
}

void copies() {
  char* p = nullptr;
  CHECK(cudaMalloc(&p, 4096));
  TELL(cudaMemcpy(p, host, 4097, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy(p + 4000, host, 97, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy(p + 4000, host, 96, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy(host, p + 4096, 1, cudaMemcpyDeviceToHost));
  TELL(cudaMemcpy(p, host, 16, cudaMemcpyDeviceToHost));
  TELL(cudaMemcpy(host, p, 16, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy(host, host, 16, cudaMemcpyDeviceToDevice));
  TELL(cudaMemcpy(host, host + 64, 16, cudaMemcpyDefault));
  TELL(cudaMemcpy(p, host, 16, cudaMemcpyDefault));
  TELL(cudaMemcpy(p, p + 64, 16, cudaMemcpyHostToHost));
  TELL(cudaMemcpy(nullptr, host, 16, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy(p, nullptr, 16, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy(p, nullptr, 16, cudaMemcpyDefault));
  TELL(cudaMemcpy(p, p, 16, cudaMemcpyDeviceToDevice));
  TELL(cudaMemcpy(p, p + 8, 16, cudaMemcpyDeviceToDevice));
  TELL(cudaMemcpy(p, host, 16, static_cast<cudaMemcpyKind>(5)));
  TELL(cudaMemcpy(p, host, 0, static_cast<cudaMemcpyKind>(5)));
  TELL(cudaMemcpy(p, host, 0, cudaMemcpyDeviceToHost));
  TELL(cudaMemcpyAsync(p, host, 16, cudaMemcpyHostToDevice, invalid<CUstream_st>(1)));
  TELL(cudaMemcpyAsync(p, host, 16, cudaMemcpyHostToDevice, invalid<CUstream_st>(2)));
  TELL(cudaMemcpy2D(p, 64, host, 64, 64, 65, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(p, 64, host, 64, 64, 64, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(p, 64, host, 32, 64, 1, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(p, 32, host, 64, 64, 1, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(p, 0, host, 64, 0, 1, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(p, 0, host, 0, 64, 0, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(nullptr, 64, host, 64, 64, 1, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(p, 64, host, 64, 64, 1, static_cast<cudaMemcpyKind>(7)));
  TELL(cudaMemcpy2D(p, std::size_t{1} << 40, host, 64, 64, 2, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(p, 0, host, 0, 64, 1, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2D(p, 64, host, 64, 64, 0, static_cast<cudaMemcpyKind>(7)));
  TELL(cudaMemcpyPeer(p, 0, p + 64, 0, 16));
  TELL(cudaMemcpyPeer(p, 99, p + 64, 0, 16));
  TELL(cudaMemcpyPeer(p, 0, host, 0, 16));
  CHECK(cudaFree(p));
  TELL(cudaMemcpy(p, host, 16, cudaMemcpyHostToDevice));
}

void boxes() {
  char* p = nullptr;
  cudaArray_t array = nullptr, deep = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMalloc(&p, 4096));
  CHECK(cudaMallocArray(&array, &format, 16, 8));
  CHECK(cudaMalloc3DArray(&deep, &format, make_cudaExtent(8, 4, 2)));
  TELL(cudaMemcpy2DToArray(array, 0, 0, host, 64, 64, 8, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DToArray(array, 4, 0, host, 64, 64, 8, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DToArray(array, 0, 1, host, 64, 64, 8, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DToArray(array, 2, 0, host, 64, 4, 1, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DToArray(array, 0, 0, host, 64, 6, 1, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DToArray(array, 0, 0, host, 64, 64, 8, cudaMemcpyDeviceToHost));
  TELL(cudaMemcpy2DToArray(array, 0, 0, host, 64, 64, 8, cudaMemcpyHostToHost));
  TELL(cudaMemcpy2DToArray(array, 0, 0, host, 64, 0, 8, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DToArray(array, 0, 0, nullptr, 64, 64, 8, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DToArray(nullptr, 0, 0, host, 64, 64, 8, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DFromArray(host, 64, array, 0, 0, 64, 9, cudaMemcpyDeviceToHost));
  TELL(cudaMemcpy2DFromArray(host, 64, array, 0, 0, 64, 8, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy2DFromArray(host, 32, array, 0, 0, 64, 8, cudaMemcpyDeviceToHost));
  TELL(cudaMemcpy2DFromArray(host, 64, nullptr, 0, 0, 64, 8, cudaMemcpyDeviceToHost));
  TELL(cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 4, 64, 4, cudaMemcpyDeviceToDevice));
  TELL(cudaMemcpy2DArrayToArray(array, 0, 5, array, 0, 0, 64, 4, cudaMemcpyDeviceToDevice));
  TELL(cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 4, 64, 4, cudaMemcpyHostToDevice));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host, 32, 8, 4);
  copy.dstArray = deep;
  copy.extent = make_cudaExtent(8, 4, 2);
  copy.kind = cudaMemcpyHostToDevice;
  NOTE("box of host memory to an array", cudaMemcpy3D(&copy));
  copy.extent.depth = 3;
  NOTE("box that is too deep", cudaMemcpy3D(&copy));
  copy.extent = make_cudaExtent(9, 4, 2);
  NOTE("box that is too wide", cudaMemcpy3D(&copy));
  copy.extent = make_cudaExtent(8, 4, 2);
  copy.dstPos = make_cudaPos(1, 0, 0);
  NOTE("box that starts too far right", cudaMemcpy3D(&copy));
  copy.dstPos = {};
  copy.kind = cudaMemcpyDeviceToDevice;
  NOTE("box of host memory as the device's", cudaMemcpy3D(&copy));
  copy.kind = static_cast<cudaMemcpyKind>(8);
  NOTE("box of an unknown direction", cudaMemcpy3D(&copy));
  copy.kind = cudaMemcpyHostToDevice;
  copy.srcPtr.pitch = 16;
  NOTE("box with a pitch under the width", cudaMemcpy3D(&copy));
  copy.srcPtr.pitch = 32;
  copy.srcPtr.ysize = 2;
  NOTE("box with slices of too few rows", cudaMemcpy3D(&copy));
  copy.srcPtr.ysize = 4;
  copy.dstPtr = make_cudaPitchedPtr(p, 32, 8, 4);
  NOTE("box with two targets", cudaMemcpy3D(&copy));
  copy.dstArray = nullptr;
  copy.dstPtr.ptr = nullptr;
  NOTE("box without a target", cudaMemcpy3D(&copy));
  copy.dstPtr = make_cudaPitchedPtr(p, 32, 8, 4);
  copy.extent = make_cudaExtent(32, 4, 33);
  NOTE("box beyond device memory", cudaMemcpy3D(&copy));
  copy.extent.width = 0;
  NOTE("box without a width", cudaMemcpy3D(&copy));
  CHECK(cudaFreeArray(deep));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(p));
}

void fills() {
  char* p = nullptr;
  CHECK(cudaMalloc(&p, 4096));
  TELL(cudaMemset(p, 1, 4097));
  TELL(cudaMemset(p + 4096, 1, 1));
  TELL(cudaMemset(p + 4096, 1, 0));
  TELL(cudaMemset(nullptr, 1, 0));
  TELL(cudaMemset(host, 1, 16));
  TELL(cudaMemset2D(p, 64, 1, 64, 64));
  TELL(cudaMemset2D(p, 64, 1, 64, 65));
  TELL(cudaMemset2D(p, 64, 1, 65, 2));
  TELL(cudaMemset2D(p, 64, 1, 65, 1));
  TELL(cudaMemset2D(p, 0, 1, 0, 0));
  TELL(cudaMemset3D(make_cudaPitchedPtr(p, 64, 64, 8), 1, make_cudaExtent(64, 8, 8)));
  TELL(cudaMemset3D(make_cudaPitchedPtr(p, 64, 64, 8), 1, make_cudaExtent(64, 8, 9)));
  TELL(cudaMemset3D(make_cudaPitchedPtr(p, 64, 64, 8), 1, make_cudaExtent(65, 8, 2)));
  TELL(cudaMemset3D(make_cudaPitchedPtr(p, 64, 64, 4), 1, make_cudaExtent(64, 8, 2)));
  TELL(cudaMemset3D(make_cudaPitchedPtr(p, 64, 64, 8), 1, make_cudaExtent(64, 8, 0)));
  TELL(cudaMemset3D(make_cudaPitchedPtr(nullptr, 64, 64, 8), 1, make_cudaExtent(64, 8, 1)));
  CHECK(cudaFree(p));
  TELL(cudaMemset(p, 1, 16));
}

void symbols() {
  void* address = nullptr;
  std::size_t bytes = 0;
  float values[17] = {};
  TELL(cudaMemcpyToSymbol(table, values, 64));
  TELL(cudaMemcpyToSymbol(table, values, 65));
  TELL(cudaMemcpyToSymbol(table, values, 4, 64));
  TELL(cudaMemcpyToSymbol(table, values, 4, 60));
  TELL(cudaMemcpyToSymbol(table, values, 0, 64));
  TELL(cudaMemcpyToSymbol(table, values, 4, 0, cudaMemcpyDeviceToHost));
  TELL(cudaMemcpyToSymbol(table, nullptr, 4));
  TELL(cudaMemcpyToSymbol(static_cast<void*>(nullptr), values, 4));
  TELL(cudaMemcpyFromSymbol(values, table, 68));
  TELL(cudaMemcpyFromSymbol(values, table, 4, 0, cudaMemcpyHostToDevice));
  TELL(cudaMemcpyFromSymbol(nullptr, table, 4));
  TELL(cudaGetSymbolAddress(&address, counter));
  TELL(cudaGetSymbolAddress(&address, static_cast<void*>(nullptr)));
  TELL(cudaGetSymbolAddress(&address, values));
  TELL(cudaGetSymbolSize(&bytes, table));
  TELL(cudaGetSymbolSize(&bytes, values));
}

/// What a launch leaves as the last error.
template <class F>
void launch(const char* what, F&& function) {
  function();
  const cudaError_t code = cudaGetLastError();
  std::printf("%-72s %s\n", what, cudaGetErrorName(code));
  std::fflush(stdout);
}

void launches() {
  int* p = nullptr;
  CHECK(cudaMalloc(&p, 1 << 16));
  launch("1,024 threads", [] { nothing<<<1, 1024>>>(); });
  launch("1,025 threads", [] { nothing<<<1, 1025>>>(); });
  launch("1,024 by 2 threads", [] { nothing<<<1, dim3(1024, 2)>>>(); });
  launch("no threads", [] { nothing<<<1, 0>>>(); });
  launch("no rows of threads", [] { nothing<<<1, dim3(32, 0)>>>(); });
  launch("no slices of blocks", [] { nothing<<<dim3(1, 1, 0), 32>>>(); });
  launch("65,536 slices of blocks", [] { nothing<<<dim3(1, 1, 65536), 1>>>(); });
  launch("more threads than the launch bounds", [] { bounded<<<1, 65>>>(); });
  launch("as many threads as the launch bounds", [] { bounded<<<1, 64>>>(); });
  launch("48 KiB of dynamic shared memory", [&] { dynamic<<<1, 32, 48 << 10>>>(p); });
  launch("49 KiB of dynamic shared memory", [&] { dynamic<<<1, 32, 49 << 10>>>(p); });
  launch("static and dynamic shared memory above 48 KiB", [&] { wide<<<1, 32, 4096>>>(p); });
  launch("static and dynamic shared memory of 48 KiB", [&] { wide<<<1, 32, 1024>>>(p); });
  launch("the legacy stream by its handle", [] { nothing<<<1, 1, 0, cudaStreamLegacy>>>(); });
  launch("the thread's stream by its handle", [] { nothing<<<1, 1, 0, cudaStreamPerThread>>>(); });
  void* arguments[] = {&p};
  TELL(cudaLaunchKernel(dynamic, dim3(1), dim3(32), arguments, 1024, nullptr));
  TELL(cudaLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(32), arguments, 0, 0));
  TELL(cudaLaunchCooperativeKernel(nothing, dim3(1), dim3(32), arguments, 0, 0));
  TELL(cudaLaunchCooperativeKernel(nothing, dim3(1 << 20), dim3(1024), arguments, 0, 0));
  TELL(cudaLaunchCooperativeKernel(nothing, dim3(0), dim3(32), arguments, 0, 0));
  TELL(cudaDeviceSynchronize());
  CHECK(cudaFree(p));
}

void functions() {
  cudaFuncAttributes attributes;
  int blocks = 0, least = 0, most = 0;
  std::size_t bytes = 0;
  TELL(cudaFuncGetAttributes(&attributes, nothing));
  TELL(cudaFuncGetAttributes(&attributes, bounded));
  std::printf("bounded by %d threads\n", attributes.maxThreadsPerBlock);
  TELL(cudaFuncGetAttributes(&attributes, wide));
  std::printf("%zu bytes of shared memory\n", attributes.sharedSizeBytes);
  TELL(cudaFuncGetAttributes(nullptr, nothing));
  TELL(cudaFuncGetAttributes(&attributes, static_cast<const void*>(nullptr)));
  TELL(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152));
  TELL(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 0));
  TELL(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
  TELL(cudaFuncSetAttribute(dynamic, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  TELL(cudaFuncSetAttribute(dynamic, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
  TELL(cudaFuncSetAttribute(dynamic, cudaFuncAttributePreferredSharedMemoryCarveout, -2));
  TELL(cudaFuncSetAttribute(static_cast<const void*>(nullptr),
                            cudaFuncAttributeMaxDynamicSharedMemorySize, 0));
  TELL(cudaFuncSetCacheConfig(nothing, cudaFuncCachePreferL1));
  TELL(cudaFuncSetCacheConfig(nothing, static_cast<cudaFuncCache>(9)));
  TELL(cudaFuncSetCacheConfig(static_cast<const void*>(nullptr), cudaFuncCachePreferL1));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 32, 0));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, nothing, 32, 0));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, -1, 0));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 2048, 0));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 32, 1 << 30));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, static_cast<void (*)()>(nullptr), 32,
                                                     0));
  TELL(cudaOccupancyMaxPotentialBlockSize(&least, &most, nothing, 0, 0));
  TELL(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 1, 32));
  TELL(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 0, 32));
}

void pointers() {
  cudaPointerAttributes attributes;
  char *p = nullptr, *pinned = nullptr, *managed = nullptr;
  CHECK(cudaMalloc(&p, 4096));
  CHECK(cudaMallocHost(&pinned, 4096));
  CHECK(cudaMallocManaged(&managed, 4096));
  const auto show_kind = [&](const char* what, const void* pointer) {
    attributes = {};
    tell(what, cudaPointerGetAttributes(&attributes, pointer));
    std::printf("  type %d, device %d, device's %d, host's %d\n", attributes.type,
                attributes.device, attributes.devicePointer == pointer,
                attributes.hostPointer == pointer);
  };
  show_kind("device memory", p);
  show_kind("device memory, inside", p + 100);
  show_kind("pinned memory", pinned);
  show_kind("pinned memory, inside", pinned + 100);
  show_kind("managed memory", managed);
  show_kind("pageable memory", host);
  show_kind("no memory", nullptr);
  TELL(cudaPointerGetAttributes(nullptr, p));
  void* mapped = nullptr;
  unsigned flags = 0;
  TELL(cudaHostGetDevicePointer(&mapped, pinned, 0));
  TELL(cudaHostGetDevicePointer(&mapped, pinned + 64, 0));
  std::printf("inside %d\n", mapped == pinned + 64);
  TELL(cudaHostGetDevicePointer(&mapped, pinned, 1));
  TELL(cudaHostGetDevicePointer(nullptr, pinned, 0));
  TELL(cudaHostGetDevicePointer(&mapped, p, 0));
  TELL(cudaHostGetDevicePointer(&mapped, managed, 0));
  TELL(cudaHostGetFlags(&flags, pinned));
  std::printf("flags %u\n", flags);
  TELL(cudaHostGetFlags(&flags, host));
  TELL(cudaHostGetFlags(nullptr, pinned));
  TELL(cudaHostRegister(host, 4096, 0));
  TELL(cudaHostRegister(host, 4096, 0));
  TELL(cudaHostRegister(host + 1024, 1024, 0));
  show_kind("registered memory", host);
  TELL(cudaHostUnregister(host + 16));
  TELL(cudaHostUnregister(host));
  TELL(cudaHostUnregister(host));
  TELL(cudaHostRegister(host, 0, 0));
  TELL(cudaHostRegister(host, 64, 0x1000));
  TELL(cudaHostUnregister(pinned));
  TELL(cudaHostUnregister(nullptr));
  TELL(cudaFreeHost(pinned + 1));
  TELL(cudaFree(pinned));
  TELL(cudaFreeHost(pinned));
  TELL(cudaFreeHost(pinned));
  TELL(cudaFree(managed));
  TELL(cudaFree(managed));
  TELL(cudaFree(p));
  show_kind("freed memory", p);
}

void streams() {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr, second = nullptr;
  int value = 0, greatest = 0;
  unsigned flags = 0;
  float ms = 0;
  TELL(cudaStreamCreate(nullptr));
  TELL(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 1000));
  TELL(cudaStreamGetPriority(stream, &value));
  std::printf("priority %d\n", value);
  TELL(cudaStreamGetFlags(stream, &flags));
  std::printf("flags %u\n", flags);
  TELL(cudaStreamGetPriority(stream, nullptr));
  TELL(cudaStreamGetFlags(stream, nullptr));
  TELL(cudaStreamGetFlags(nullptr, &flags));
  TELL(cudaDeviceGetStreamPriorityRange(&value, &greatest));
  TELL(cudaStreamQuery(stream));
  TELL(cudaStreamQuery(nullptr));
  TELL(cudaStreamQuery(cudaStreamLegacy));
  TELL(cudaStreamQuery(cudaStreamPerThread));
  TELL(cudaStreamDestroy(nullptr));
  TELL(cudaStreamDestroy(cudaStreamLegacy));
  TELL(cudaStreamDestroy(cudaStreamPerThread));
  TELL(cudaEventCreate(nullptr));
  TELL(cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  TELL(cudaEventCreateWithFlags(&event, cudaEventBlockingSync));
  CHECK(cudaEventCreate(&second));
  TELL(cudaEventRecord(nullptr, stream));
  TELL(cudaEventQuery(nullptr));
  TELL(cudaEventSynchronize(nullptr));
  TELL(cudaEventDestroy(nullptr));
  TELL(cudaStreamWaitEvent(stream, nullptr, 0));
  TELL(cudaEventElapsedTime(&ms, event, second));
  TELL(cudaEventElapsedTime(nullptr, event, second));
  TELL(cudaEventElapsedTime(&ms, nullptr, second));
  TELL(cudaEventRecord(event, stream));
  TELL(cudaEventElapsedTime(&ms, event, second));
  TELL(cudaEventRecord(second, stream));
  TELL(cudaEventSynchronize(second));
  TELL(cudaEventElapsedTime(&ms, second, event));
  std::printf("backwards %d\n", ms <= 0);
  TELL(cudaStreamAddCallback(stream, nullptr, nullptr, 0));
  TELL(cudaLaunchHostFunc(nullptr, nullptr, nullptr));
  TELL(cudaEventDestroy(event));
  TELL(cudaEventDestroy(second));
  TELL(cudaStreamDestroy(stream));
}

void devices() {
  int value = 0;
  std::size_t bytes = 0;
  cudaDeviceProp properties;
  char text[64];
  TELL(cudaGetDeviceCount(nullptr));
  TELL(cudaGetDevice(nullptr));
  TELL(cudaSetDevice(-1));
  TELL(cudaGetDeviceProperties(&properties, 99));
  TELL(cudaGetDeviceProperties(nullptr, 0));
  TELL(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
  TELL(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
  TELL(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0));
  TELL(cudaDeviceGetPCIBusId(text, 0, 0));
  TELL(cudaDeviceGetPCIBusId(text, 5, 0));
  TELL(cudaDeviceGetPCIBusId(nullptr, 64, 0));
  TELL(cudaDeviceGetPCIBusId(text, 64, 99));
  TELL(cudaDeviceGetByPCIBusId(&value, "nonsense"));
  TELL(cudaDeviceGetByPCIBusId(&value, nullptr));
  TELL(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  TELL(cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
  TELL(cudaDeviceGetLimit(&bytes, static_cast<cudaLimit>(99)));
  TELL(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20));
  TELL(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  TELL(cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(9)));
  TELL(cudaDeviceGetCacheConfig(nullptr));
  TELL(cudaSetDeviceFlags(0x1000));
  TELL(cudaSetDeviceFlags(cudaDeviceScheduleYield | cudaDeviceScheduleSpin));
  TELL(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  TELL(cudaMemGetInfo(nullptr, nullptr));
  TELL(cudaDriverGetVersion(nullptr));
  TELL(cudaRuntimeGetVersion(nullptr));
  TELL(cudaDeviceCanAccessPeer(&value, 0, 0));
  TELL(cudaDeviceCanAccessPeer(nullptr, 0, 0));
  TELL(cudaDeviceEnablePeerAccess(99, 0));
  TELL(cudaDeviceEnablePeerAccess(0, 1));
  TELL(cudaChooseDevice(&value, nullptr));
  TELL(cudaChooseDevice(nullptr, nullptr));
}

constexpr Group kGroups[] = {{"copies", copies},       {"boxes", boxes},
                             {"fills", fills},         {"symbols", symbols},
                             {"launches", launches},   {"functions", functions},
                             {"pointers", pointers},   {"streams", streams},
                             {"devices", devices}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
