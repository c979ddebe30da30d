// Calls that no other program of this folder makes: copies and fills in a stream, symbols,
// functions, streams and devices, with what they leave and what they answer when they are wrong.
#include <cuda_profiler_api.h>

#include "mistakes.cuh"

__device__ int table[16];
__constant__ int fixed[16];

__global__ void add(int* p, int value) { p[threadIdx.x] += value; }
__global__ void read_fixed(int* p) {
  p[threadIdx.x] = fixed[threadIdx.x & 15] + table[threadIdx.x & 15];
}

namespace {

/// The first eight words of memory.
void words(const char* what, const int* device) {
  int host[8];
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDefault));
  std::printf("%s:", what);
  for (int each : host) std::printf(" %d", each);
  std::printf("\n");
}

void copies() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
  cudaArray_t array, other, cube;
  CHECK(cudaMallocArray(&array, &desc, 8, 4));
  CHECK(cudaMallocArray(&other, &desc, 8, 4));
  CHECK(cudaMalloc3DArray(&cube, &desc, {4, 3, 2}));
  int *device, *pinned, host[64];
  CHECK(cudaMalloc(&device, 1024));
  CHECK(cudaMallocHost(&pinned, 1024));
  CHECK(cudaMemset(device, 0, 1024));
  for (cudaArray_t each : {array, other})
    CHECK(cudaMemcpy2DToArray(each, 0, 0, device, 32, 32, 4, cudaMemcpyDeviceToDevice));
  for (int i = 0; i < 64; ++i) host[i] = i;
  TELL(cudaMemcpy2DAsync(device, 64, host, 32, 32, 4, cudaMemcpyHostToDevice, stream));
  TELL(cudaMemcpy2DAsync(device, 16, host, 32, 32, 4, cudaMemcpyHostToDevice, stream));
  TELL(cudaMemset2DAsync(device + 1, 64, 0x01, 4, 4, stream));
  TELL(cudaMemset2DAsync(device, 2, 1, 4, 4, stream));
  words("rows", device);
  words("next row", device + 16);
  TELL(cudaMemcpy2DToArrayAsync(array, 4, 1, host, 32, 16, 2, cudaMemcpyHostToDevice, stream));
  TELL(cudaMemcpy2DToArrayAsync(array, 24, 0, host, 32, 16, 1, cudaMemcpyHostToDevice, stream));
  TELL(
      cudaMemcpy2DFromArrayAsync(device, 32, array, 0, 1, 32, 2, cudaMemcpyDeviceToDevice, stream));
  TELL(
      cudaMemcpy2DFromArrayAsync(device, 16, array, 0, 1, 32, 2, cudaMemcpyDeviceToDevice, stream));
  words("array", device);
  TELL(cudaMemcpyToArrayAsync(array, 0, 0, host + 10, 64, cudaMemcpyHostToDevice, stream));
  TELL(cudaMemcpyToArrayAsync(array, 0, 3, host, 64, cudaMemcpyHostToDevice, stream));
  TELL(cudaMemcpyFromArrayAsync(pinned, array, 4, 1, 16, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::printf("%d %d %d %d\n", pinned[0], pinned[1], pinned[2], pinned[3]);
  TELL(cudaMemcpyFromArray(host, array, 28, 0, 8, cudaMemcpyDeviceToHost));
  std::printf("%d %d\n", host[0], host[1]);
  TELL(cudaMemcpyArrayToArray(other, 0, 0, array, 0, 1, 32, cudaMemcpyDeviceToDevice));
  TELL(cudaMemcpyArrayToArray(other, 0, 0, array, 0, 1, 32, cudaMemcpyHostToDevice));
  TELL(cudaMemcpyArrayToArray(other, 0, 4, array, 0, 1, 32, cudaMemcpyDeviceToDevice));
  TELL(cudaMemcpyFromArray(device, other, 0, 0, 32, cudaMemcpyDeviceToDevice));
  words("other", device);
  cudaMemcpy3DParms box{};
  for (int i = 0; i < 64; ++i) host[i] = 100 + i;
  box.srcPtr = make_cudaPitchedPtr(host, 16, 4, 3);
  box.dstArray = cube;
  box.extent = make_cudaExtent(4, 3, 2);
  box.kind = cudaMemcpyHostToDevice;
  TELL(cudaMemcpy3DAsync(&box, stream));
  box = {};
  box.srcArray = cube;
  box.srcPos = make_cudaPos(1, 1, 1);
  box.dstPtr = make_cudaPitchedPtr(device, 16, 4, 3);
  box.extent = make_cudaExtent(2, 2, 1);
  box.kind = cudaMemcpyDeviceToDevice;
  TELL(cudaMemcpy3DAsync(&box, stream));
  words("corner", device);
  box.kind = cudaMemcpyHostToHost;
  TELL(cudaMemcpy3DAsync(&box, stream));
  TELL(cudaMemcpy3DAsync(nullptr, stream));
  cudaMemcpy3DPeerParms peers{};
  peers.srcArray = cube;
  peers.dstPtr = make_cudaPitchedPtr(device, 16, 4, 3);
  peers.extent = make_cudaExtent(4, 2, 1);
  TELL(cudaMemcpy3DPeer(&peers));
  words("between devices", device);
  TELL(cudaMemcpy3DPeerAsync(&peers, stream));
  TELL(cudaMemcpy3DPeer(nullptr));
  TELL(cudaMemcpyPeerAsync(device + 16, 0, device, 0, 32, stream));
  TELL(cudaMemcpyPeerAsync(device + 16, 0, device, 0, 4096, stream));
  TELL(cudaMemset3DAsync(make_cudaPitchedPtr(device, 32, 32, 2), 2, {8, 2, 2}, stream));
  TELL(cudaMemset3DAsync(make_cudaPitchedPtr(device, 32, 32, 2), 2, {8, 2, 0}, stream));
  TELL(cudaMemset3DAsync(make_cudaPitchedPtr(device, 4, 4, 2), 2, {8, 2, 2}, stream));
  words("filled", device);
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(device));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(other));
  CHECK(cudaFreeArray(cube));
  CHECK(cudaStreamDestroy(stream));
}

void symbols() {
  int host[16], *device;
  CHECK(cudaMalloc(&device, 256));
  for (int i = 0; i < 16; ++i) host[i] = i + 1;
  TELL(cudaMemcpyToSymbolAsync(fixed, host, sizeof host, 0, cudaMemcpyHostToDevice));
  TELL(cudaMemcpyToSymbolAsync(table, host, 8, 8, cudaMemcpyHostToDevice, 0));
  TELL(cudaMemcpyToSymbolAsync(table, host, 8, 60, cudaMemcpyHostToDevice, 0));
  TELL(cudaMemcpyToSymbolAsync(table, host, 64, 4, cudaMemcpyHostToDevice, 0));
  TELL(cudaMemcpyToSymbolAsync(table, host, 0, 64, cudaMemcpyHostToDevice, 0));
  TELL(cudaMemcpyToSymbolAsync(table, host, 4, 0, cudaMemcpyDeviceToHost, 0));
  TELL(cudaMemcpyToSymbolAsync(host, host, 4, 0, cudaMemcpyHostToDevice, 0));
  read_fixed<<<1, 16>>>(device);
  words("symbols", device);
  TELL(cudaMemcpyFromSymbolAsync(device, fixed, 32, 16, cudaMemcpyDeviceToDevice, 0));
  words("constants", device);
  TELL(cudaMemcpyFromSymbolAsync(host, table, 8, 60, cudaMemcpyDeviceToHost, 0));
  TELL(cudaMemcpyFromSymbolAsync(host, table, 4, 0, cudaMemcpyHostToDevice, 0));
  TELL(cudaMemcpyFromSymbolAsync(nullptr, table, 4, 0, cudaMemcpyDeviceToHost, 0));
  CHECK(cudaFree(device));
}

void functions() {
  const char* name = "none";
  TELL(cudaFuncGetName(&name, reinterpret_cast<const void*>(add)));
  std::printf("%s\n", name);
  TELL(cudaFuncGetName(nullptr, reinterpret_cast<const void*>(add)));
  TELL(cudaFuncGetName(&name, nullptr));
  TELL(cudaFuncGetName(&name, &name));
  cudaFunction_t function = nullptr;
  TELL(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(add)));
  std::printf("function %d\n", function != nullptr);
  TELL(cudaGetFuncBySymbol(nullptr, reinterpret_cast<const void*>(add)));
  TELL(cudaGetFuncBySymbol(&function, &name));
  cudaKernel_t kernel = nullptr;
  TELL(cudaGetKernel(&kernel, reinterpret_cast<const void*>(add)));
  std::printf("kernel %d\n", kernel != nullptr);
  TELL(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024,
                                       0));
  TELL(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, -2, 0));
  TELL(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024,
                                       99));
  TELL(
      cudaFuncSetSharedMemConfig(reinterpret_cast<const void*>(add), cudaSharedMemBankSizeDefault));
  TELL(cudaFuncSetSharedMemConfig(&name, cudaSharedMemBankSizeDefault));
  int blocks = -1;
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add, 128, 0, 0));
  std::printf("blocks %d\n", blocks > 0);
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add, 128, 0, 1));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add, 128, 0, 8));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add, 0, 0, 0));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add, 4096, 0, 0));
  std::printf("blocks %d\n", blocks);
}

void devices() {
  TELL(cudaInitDevice(0, 0, 0));
  TELL(cudaInitDevice(99, 0, 0));
  TELL(cudaInitDevice(0, 0, cudaInitDeviceFlagsAreValid));
  TELL(cudaInitDevice(0, 0x4000, cudaInitDeviceFlagsAreValid));
  TELL(cudaInitDevice(0, 0, 4));
  unsigned flags = 99;
  TELL(cudaGetDeviceFlags(&flags));
  std::printf("flags %u\n", flags);
  TELL(cudaGetDeviceFlags(nullptr));
  TELL(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  TELL(cudaGetDeviceFlags(&flags));
  std::printf("flags %u\n", flags);
  int order[] = {0, 99};
  TELL(cudaSetValidDevices(order, 1));
  TELL(cudaSetValidDevices(order, 2));
  TELL(cudaSetValidDevices(nullptr, 0));
  int value = -1;
  TELL(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
  TELL(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 99));
  TELL(cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrAccessSupported, 0, 0));
  TELL(cudaDeviceGetP2PAttribute(&value, static_cast<cudaDeviceP2PAttr>(77), 0, 0));
  cudaSharedMemConfig banks{};
  TELL(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
  TELL(cudaDeviceGetSharedMemConfig(&banks));
  std::printf("banks %d\n", static_cast<int>(banks));
  TELL(cudaDeviceGetSharedMemConfig(nullptr));
  std::size_t texels = 0;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();
  TELL(cudaDeviceGetTexture1DLinearMaxWidth(&texels, &desc, 0));
  std::printf("texels %d\n", texels >= std::size_t{1} << 27);
  TELL(cudaDeviceGetTexture1DLinearMaxWidth(nullptr, &desc, 0));
  TELL(cudaDeviceGetTexture1DLinearMaxWidth(&texels, nullptr, 0));
  TELL(cudaDeviceGetTexture1DLinearMaxWidth(&texels, &desc, 99));
  TELL(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &(texels = 0)));
  TELL(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &texels));
  TELL(cudaDeviceSetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &texels));
  TELL(cudaCtxResetPersistingL2Cache());
  TELL(cudaProfilerStart());
  TELL(cudaProfilerStop());
}

void events() {
  cudaEvent_t start, stop, untimed;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  float ms = -1;
  TELL(cudaEventElapsedTime(&ms, start, stop));
  TELL(cudaEventQuery(start));
  TELL(cudaEventSynchronize(start));
  CHECK(cudaEventRecord(start));
  TELL(cudaEventElapsedTime(&ms, start, stop));
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventRecord(untimed));
  TELL(cudaEventSynchronize(stop));
  TELL(cudaEventElapsedTime(&ms, start, stop));
  std::printf("time %d\n", ms >= 0);
  TELL(cudaEventElapsedTime(&ms, start, untimed));
  TELL(cudaEventElapsedTime(&ms, stop, start));
  std::printf("backwards %d\n", ms <= 0);
  TELL(cudaEventElapsedTime(nullptr, start, stop));
  TELL(cudaEventElapsedTime(&ms, nullptr, stop));
  TELL(cudaEventCreateWithFlags(&untimed, cudaEventInterprocess));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  // The last error stays until it is asked for.
  (void)cudaMalloc(nullptr, 4);
  std::printf("%s\n", cudaGetErrorName(cudaPeekAtLastError()));
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  std::printf("%s\n", cudaGetErrorName(cudaPeekAtLastError()));
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}

}  // namespace

int main(int argc, char** argv) {
  const Group groups[] = {{"copies", copies},
                          {"symbols", symbols},
                          {"functions", functions},
                          {"devices", devices},
                          {"events", events}};
  return run_group(groups, argc, argv);
}
