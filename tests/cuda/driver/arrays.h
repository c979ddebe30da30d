/* Arrays filled and read back through the driver interface, for programs that print what a device
 * gave: everything random comes out of one generator. */
#ifndef PTX2SPV_TESTS_CUDA_ARRAYS_H
#define PTX2SPV_TESTS_CUDA_ARRAYS_H
#include "driver.h"

/* Nothing that a program prints means anything after a call that failed unforeseen. */
#define NEED(call) need((call), #call, __LINE__)

enum { kU8 = 1, kU16 = 2, kU32 = 3, kS8 = 8, kS16 = 9, kS32 = 10, kHalf = 16, kFloat = 32 };
enum { kUnorm8 = 0xc0, kUnorm16 = 0xc3, kSnorm8 = 0xc6, kSnorm16 = 0xc9 }; /* of one channel */
enum { kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8 };

extern CUresult cuMipmappedArrayCreate(CUmipmappedArray*, const ArrayDesc*, unsigned);
extern CUresult cuMipmappedArrayDestroy(CUmipmappedArray);
extern CUresult cuMipmappedArrayGetLevel(CUarray*, CUmipmappedArray, unsigned);

static inline void need(CUresult code, const char* call, int line) {
  const char* name = "?";
  if (!code) return;
  cuGetErrorName(code, &name);
  printf("line %d: %s gave %d (%s)\n", line, call, code, name);
  fflush(stdout);
  exit(1);
}

static inline void begin_device(void) {
  CUdevice device;
  CUcontext context;
  NEED(cuInit(0));
  NEED(cuDeviceGet(&device, 0));
  NEED(cuDevicePrimaryCtxRetain(&context, device));
  NEED(cuCtxSetCurrent(context));
}

static inline CUfunction load(const char* text, const char* name) {
  CUmodule module;
  CUfunction found;
  NEED(cuModuleLoadData(&module, text));
  NEED(cuModuleGetFunction(&found, module, name));
  return found;
}

static inline void launch(CUfunction kernel, unsigned blocks, unsigned threads, void** parameters) {
  NEED(cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL));
}

static inline unsigned mixed(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

/* FNV-1a over bytes. */
static inline unsigned digest(const void* data, size_t bytes) {
  unsigned value = 2166136261u;
  for (size_t i = 0; i < bytes; ++i) value = (value ^ ((const unsigned char*)data)[i]) * 16777619u;
  return value;
}

static inline unsigned channel_bytes(int format) {
  if (format >= kUnorm8)
    return format < kUnorm16 || (format >= kSnorm8 && format < kSnorm16) ? 1 : 2;
  switch (format) {
    case kU8:
    case kS8: return 1;
    case kU16:
    case kS16:
    case kHalf: return 2;
    default: return 4;
  }
}

/* The whole array to or from dense rows: depth counts slices or layers. */
static inline void copy_array(CUarray array, void* rows, int to_array) {
  ArrayDesc desc;
  Copy3D copy;
  NEED(cuArray3DGetDescriptor_v2(&desc, array));
  memset(&copy, 0, sizeof copy);
  copy.src_type = to_array ? 1 : 3;
  copy.dst_type = to_array ? 3 : 1;
  copy.src_host = copy.dst_host = rows;
  copy.src_array = copy.dst_array = array;
  copy.width = desc.width * desc.channels * channel_bytes(desc.format);
  copy.height = desc.height ? desc.height : 1;
  copy.depth = desc.depth ? desc.depth : 1;
  copy.src_pitch = copy.dst_pitch = copy.width;
  copy.src_height = copy.dst_height = copy.height;
  NEED(cuMemcpy3D_v2(&copy));
}

static inline CUarray make_array(int format, unsigned channels, size_t w, size_t h, size_t d,
                                 unsigned flags) {
  ArrayDesc desc = {w, h, d, format, channels, flags};
  CUarray array;
  NEED(cuArray3DCreate_v2(&array, &desc));
  return array;
}

static inline CUsurfObject surface_of(CUarray array) {
  ResourceDesc resource;
  CUsurfObject surface;
  memset(&resource, 0, sizeof resource);
  resource.of.array = array;
  NEED(cuSurfObjectCreate(&surface, &resource));
  return surface;
}
#endif
