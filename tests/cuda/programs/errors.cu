// What wrong calls answer, and how the last error is kept.
#include "common.cuh"

__global__ void nothing() {}
__global__ void one(int* p) { p[threadIdx.x] = 1; }

// What an address is that no kernel has. CUDA 13 takes it for a kernel's handle, as recorded; CUDA
// 12 and older call it an invalid device function.
const char* name_of(cudaError_t code) {
  const bool older = CUDART_VERSION < 13000 && code == cudaErrorInvalidDeviceFunction;
  return cudaGetErrorName(older ? cudaErrorInvalidResourceHandle : code);
}

#define TELL(call) std::printf("%-70s %s\n", #call, name_of(call))

int main() {
  void* p = nullptr;
  cudaArray_t array = nullptr, whole = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr, other = nullptr;
  float ms;
  int value;
  CHECK(cudaFree(0));
  TELL(cudaSetDevice(99));
  TELL(cudaPeekAtLastError());
  TELL(cudaGetLastError());
  TELL(cudaGetLastError());
  TELL(cudaMalloc(&p, 0));
  TELL(cudaFree(nullptr));
  TELL(cudaFreeArray(nullptr));
  TELL(cudaFreeHost(nullptr));
  TELL(cudaFree((void*)&value));
  TELL(cudaMalloc(nullptr, 16));
  TELL(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  TELL(cudaMemcpy(&value, &value, 4, (cudaMemcpyKind)9));
  CHECK(cudaMalloc(&p, 1024));
  TELL(cudaMemcpy2D(p, 8, p, 8, 16, 2, cudaMemcpyDeviceToDevice));
  TELL(cudaMemset(nullptr, 0, 16));
  cudaChannelFormatDesc odd = cudaCreateChannelDesc(7, 0, 0, 0, cudaChannelFormatKindUnsigned);
  TELL(cudaMallocArray(&array, &odd, 16, 16));
  TELL(cudaGetLastError());
  TELL(cudaGetLastError());
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&whole, &format, 16, 16));
  TELL(cudaMemcpy2DToArray(whole, 0, 0, p, 64, 64, 17, cudaMemcpyDeviceToDevice));
  TELL(cudaMemcpy2DToArray(whole, 0, 0, p, 32, 64, 1, cudaMemcpyDeviceToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = p;
  resource.res.linear.desc = format;
  resource.res.linear.sizeInBytes = 1024;
  cudaSurfaceObject_t surface;
  TELL(cudaCreateSurfaceObject(&surface, &resource));
  resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = whole;
  TELL(cudaCreateSurfaceObject(&surface, &resource));
  TELL(cudaDestroySurfaceObject(surface));
  cudaChannelFormatDesc words = cudaCreateChannelDesc<unsigned>();
  cudaArray_t integers;
  CHECK(cudaMallocArray(&integers, &words, 16, 16));
  resource.res.array.array = integers;
  cudaTextureDesc desc{};
  cudaTextureObject_t texture;
  desc.filterMode = cudaFilterModeLinear;
  TELL(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
  desc.filterMode = cudaFilterModePoint;
  desc.readMode = cudaReadModeNormalizedFloat;
  TELL(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
  TELL(cudaEventQuery(event));
  TELL(cudaEventSynchronize(event));
  TELL(cudaStreamWaitEvent(stream, event, 0));
  TELL(cudaEventElapsedTime(&ms, event, event));
  TELL(cudaEventRecord(other, stream));
  TELL(cudaEventElapsedTime(&ms, other, other));
  TELL(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
  TELL(cudaFuncSetAttribute(one, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30));
  TELL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, one, 0, 0));
  TELL(cudaHostUnregister(&value));
  while (cudaGetLastError() != cudaSuccess) {
  }
  nothing<<<1, 2048>>>();
  TELL(cudaGetLastError());
  nothing<<<0, 32>>>();
  TELL(cudaGetLastError());
  nothing<<<1, 32, 1 << 20>>>();
  TELL(cudaGetLastError());
  nothing<<<dim3(1, 70000), 32>>>();
  TELL(cudaGetLastError());
  nothing<<<1, dim3(1, 1, 65)>>>();
  TELL(cudaGetLastError());
  nothing<<<1, 1, 0, stream>>>();
  TELL(cudaGetLastError());
  TELL(cudaLaunchKernel((const void*)&value, dim3(1), dim3(1), nullptr, 0, 0));
  TELL(cudaGetLastError());
  TELL(cudaStreamSynchronize(stream));
  TELL(cudaEventDestroy(event));
  TELL(cudaStreamDestroy(stream));
  TELL(cudaDeviceSynchronize());
  std::printf("%s\n%s\n", cudaGetErrorString(cudaErrorNotSupported),
              cudaGetErrorName((cudaError_t)12345));
  TELL(cudaDeviceReset());
}
