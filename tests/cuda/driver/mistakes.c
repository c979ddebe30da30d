/* Wrong calls of the driver interface, and what each answers. The first argument names a group;
 * each has a process of its own, since one call may end it. */
#include "driver.h"

static const char kKernels[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".global .align 4 .u32 total = 5;\n"
    ".global .surfref plane;\n"
    ".global .texref image;\n"
    ".visible .entry put(.param .u64 out, .param .u32 value) .maxntid 64, 1, 1 {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [value]; st.global.u32 [%rd1], %r1;\n"
    "  ret;\n}\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry look(.param .u64 out) {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<8>;\n"
    "  ld.param.u64 %rd1, [out]; mov.u32 %r1, 0;\n"
    "  tex.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [image, {%r1, %r1}];\n"
    "  sust.b.2d.b32.trap [plane, {%r1, %r1}], {%r4};\n"
    "  st.global.u32 [%rd1], %r4; ret;\n}\n";

/* Declared here: no other program of this folder uses them. */
extern CUresult cuModuleLoad(CUmodule*, const char*);
extern CUresult cuModuleLoadFatBinary(CUmodule*, const void*);
extern CUresult cuStreamGetPriority(CUstream, int*);
extern CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
extern CUresult cuEventQuery(CUevent);
extern CUresult cuMemHostGetFlags(unsigned*, void*);
extern CUresult cuMemHostRegister_v2(void*, size_t, unsigned);
extern CUresult cuMemHostUnregister(void*);
extern CUresult cuMemAllocPitch_v2(CUdeviceptr*, size_t*, size_t, size_t, unsigned);
extern CUresult cuMemAllocManaged(CUdeviceptr*, size_t, unsigned);
extern CUresult cuMemsetD2D8_v2(CUdeviceptr, size_t, unsigned char, size_t, size_t);
extern CUresult cuMemcpyHtoA_v2(CUarray, size_t, const void*, size_t);
extern CUresult cuMemcpyAtoH_v2(void*, CUarray, size_t, size_t);
extern CUresult cuMipmappedArrayCreate(CUmipmappedArray*, const ArrayDesc*, unsigned);
extern CUresult cuMipmappedArrayDestroy(CUmipmappedArray);
extern CUresult cuMipmappedArrayGetLevel(CUarray*, CUmipmappedArray, unsigned);
extern CUresult cuTexRefGetArray(CUarray*, CUtexref);
extern CUresult cuTexRefGetFormat(int*, int*, CUtexref);
extern CUresult cuTexRefGetFlags(unsigned*, CUtexref);
extern CUresult cuTexRefGetAddressMode(int*, CUtexref, int);
extern CUresult cuTexRefSetMaxAnisotropy(CUtexref, unsigned);
extern CUresult cuTexRefSetMipmappedArray(CUtexref, CUmipmappedArray, unsigned);
extern CUresult cuDeviceGetUuid(void*, CUdevice);
extern CUresult cuDeviceGetPCIBusId(char*, int, CUdevice);
extern CUresult cuCtxGetDevice(CUdevice*);
extern CUresult cuCtxGetLimit(size_t*, int);
extern CUresult cuCtxSetLimit(int, size_t);
extern CUresult cuCtxGetApiVersion(CUcontext, unsigned*);
extern CUresult cuFuncGetModule(CUmodule*, CUfunction);
extern CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int*, CUfunction, int, size_t);

static void tell(const char* what, CUresult code) {
  const char* name = "none";
  cuGetErrorName(code, &name);
  printf("%-76s %s\n", what, name);
  fflush(stdout);
}
#ifndef TELL
#define TELL(call) tell(#call, (call))
#endif

static CUcontext context;
static CUmodule module;
static void begin(void) {
  CUdevice device;
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  OK(cuModuleLoadData(&module, kKernels));
}

static void before(void) {
  int count = 0;
  CUdeviceptr p;
  CUcontext current;
  TELL(cuDeviceGetCount(&count));
  TELL(cuMemAlloc_v2(&p, 64));
  TELL(cuCtxGetCurrent(&current));
  TELL(cuCtxSynchronize());
  TELL(cuInit(1));
  TELL(cuDeviceGetCount(&count));
  TELL(cuInit(0));
  TELL(cuInit(0));
  TELL(cuMemAlloc_v2(&p, 64));
  TELL(cuCtxSynchronize());
  TELL(cuCtxGetCurrent(&current));
  TELL(cuCtxGetCurrent(NULL));
  TELL(cuCtxPopCurrent_v2(&current));
  TELL(cuCtxPushCurrent_v2(NULL));
  TELL(cuCtxSetCurrent(NULL));
}

static void devices(void) {
  int value;
  size_t bytes;
  char text[64];
  CUdevice device;
  begin();
  TELL(cuDeviceGet(&device, -1));
  TELL(cuDeviceGet(&device, 99));
  TELL(cuDeviceGet(NULL, 0));
  TELL(cuDeviceGetCount(NULL));
  TELL(cuDeviceGetName(text, 64, 99));
  TELL(cuDeviceGetName(NULL, 64, 0));
  TELL(cuDeviceTotalMem_v2(&bytes, 99));
  TELL(cuDeviceTotalMem_v2(NULL, 0));
  TELL(cuDeviceGetAttribute(&value, 0, 0));
  TELL(cuDeviceGetAttribute(&value, 9999, 0));
  TELL(cuDeviceGetAttribute(NULL, 1, 0));
  TELL(cuDeviceGetUuid(NULL, 0));
  TELL(cuDeviceGetPCIBusId(text, 2, 0));
  TELL(cuDeviceGetPCIBusId(NULL, 20, 0));
  TELL(cuDriverGetVersion(NULL));
  TELL(cuCtxGetDevice(NULL));
  TELL(cuCtxGetLimit(&bytes, 99));
  TELL(cuCtxGetLimit(NULL, 0));
  TELL(cuCtxSetLimit(99, 1));
  TELL(cuCtxGetApiVersion(NULL, (unsigned*)&value));
  TELL(cuDevicePrimaryCtxRetain(NULL, 0));
  TELL(cuDevicePrimaryCtxRetain(&context, 99));
  TELL(cuDevicePrimaryCtxRelease_v2(99));
  TELL(cuDevicePrimaryCtxRelease_v2(0));
  TELL(cuCtxSynchronize());
}

static void modules(void) {
  CUmodule other = NULL;
  CUfunction function = NULL;
  CUdeviceptr address;
  CUtexref texture;
  CUsurfref surface;
  size_t bytes;
  char zeroes[256] = {0};
  begin();
  TELL(cuModuleLoadData(&other, NULL));
  TELL(cuModuleLoadData(NULL, kKernels));
  TELL(cuModuleLoadData(&other, ""));
  TELL(cuModuleLoadData(&other, zeroes));
  TELL(cuModuleLoadData(&other, "this is no PTX"));
  TELL(cuModuleLoadData(&other, ".version 99.0\n.target sm_75\n.address_size 64\n"));
  TELL(cuModuleLoadData(&other, ".version 7.0\n.target sm_999\n.address_size 64\n"));
  TELL(cuModuleLoadData(&other, ".version 7.0\n.target sm_75\n.address_size 64\n"));
  TELL(cuModuleUnload(other));
  TELL(cuModuleLoad(&other, "/nonexistent/kernel.ptx"));
  TELL(cuModuleLoad(&other, NULL));
  TELL(cuModuleLoadFatBinary(&other, NULL));
  TELL(cuModuleGetFunction(&function, module, "missing"));
  TELL(cuModuleGetFunction(&function, module, ""));
  TELL(cuModuleGetFunction(&function, module, NULL));
  TELL(cuModuleGetFunction(NULL, module, "put"));
  TELL(cuModuleGetFunction(&function, NULL, "put"));
  TELL(cuModuleGetFunction(&function, module, "total"));
  TELL(cuModuleGetGlobal_v2(&address, &bytes, module, "missing"));
  TELL(cuModuleGetGlobal_v2(&address, &bytes, module, "put"));
  TELL(cuModuleGetGlobal_v2(&address, NULL, module, "total"));
  TELL(cuModuleGetGlobal_v2(NULL, &bytes, module, "total"));
  TELL(cuModuleGetGlobal_v2(NULL, NULL, module, "total"));
  TELL(cuModuleGetGlobal_v2(&address, &bytes, module, "image"));
  TELL(cuModuleGetTexRef(&texture, module, "missing"));
  TELL(cuModuleGetTexRef(&texture, module, "total"));
  TELL(cuModuleGetTexRef(&texture, module, "plane"));
  TELL(cuModuleGetTexRef(NULL, module, "image"));
  TELL(cuModuleGetSurfRef(&surface, module, "missing"));
  TELL(cuModuleGetSurfRef(&surface, module, "image"));
  TELL(cuModuleUnload(NULL));
  TELL(cuFuncGetModule(&other, NULL));
  TELL(cuModuleUnload(module));
  TELL(cuModuleGetFunction(&function, module, "put"));
  TELL(cuModuleUnload(module));
}

static void launches(void) {
  CUfunction put, nothing;
  CUdeviceptr p;
  unsigned value = 1;
  int blocks;
  begin();
  OK(cuModuleGetFunction(&put, module, "put"));
  OK(cuModuleGetFunction(&nothing, module, "nothing"));
  OK(cuMemAlloc_v2(&p, 4096));
  void* params[] = {&p, &value};
  struct {
    CUdeviceptr p;
    unsigned value, behind[13];
  } packed = {p, 2, {0}};
  size_t size = 12, small = 8, large = 64, padded = 16, more = 20;
  void* extra[] = {(void*)1, &packed, (void*)2, &size, NULL};
  void* short_extra[] = {(void*)1, &packed, (void*)2, &small, NULL};
  void* long_extra[] = {(void*)1, &packed, (void*)2, &large, NULL};
  void* padded_extra[] = {(void*)1, &packed, (void*)2, &padded, NULL};
  void* more_extra[] = {(void*)1, &packed, (void*)2, &more, NULL};
  void* odd_extra[] = {(void*)7, &packed, NULL};
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, params, extra));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, short_extra));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, long_extra));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, padded_extra));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, more_extra));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, odd_extra));
  TELL(cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  TELL(cuLaunchKernel(put, 1, 1, 1, 65, 1, 1, 0, NULL, params, NULL));
  TELL(cuLaunchKernel(put, 1, 1, 1, 8, 8, 1, 0, NULL, params, NULL));
  TELL(cuLaunchKernel(put, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
  TELL(cuLaunchKernel(put, 1, 1, 1, 0, 1, 1, 0, NULL, params, NULL));
  TELL(cuLaunchKernel(put, 1, 65536, 1, 32, 1, 1, 0, NULL, params, NULL));
  TELL(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 65, 0, NULL, params, NULL));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 1 << 20, NULL, params, NULL));
  TELL(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, (CUstream)1, params, NULL));
  TELL(cuLaunchKernel(put, 1, 1, 1, 32, 1, 1, 0, (CUstream)2, params, NULL));
  TELL(cuLaunchCooperativeKernel(put, 1 << 20, 1, 1, 64, 1, 1, 0, NULL, params));
  TELL(cuFuncGetAttribute(&blocks, 0, put));
  printf("threads %d\n", blocks);
  TELL(cuFuncGetAttribute(&blocks, 99, put));
  TELL(cuFuncGetAttribute(NULL, 0, put));
  TELL(cuFuncGetAttribute(&blocks, 0, NULL));
  TELL(cuFuncSetAttribute(put, 8, 1 << 20));
  TELL(cuFuncSetAttribute(put, 0, 5));
  TELL(cuFuncSetAttribute(put, 99, 5));
  TELL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, put, 0, 0));
  TELL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 32, 0));
  TELL(cuCtxSynchronize());
  OK(cuMemFree_v2(p));
}

static void memory(void) {
  CUdeviceptr p, q;
  size_t bytes, pitch;
  char host[4096];
  void* pinned;
  unsigned flags;
  begin();
  TELL(cuMemAlloc_v2(NULL, 64));
  TELL(cuMemAlloc_v2(&p, 0));
  TELL(cuMemAllocPitch_v2(&p, &pitch, 100, 4, 4));
  TELL(cuMemFree_v2(p));
  TELL(cuMemAllocPitch_v2(&p, &pitch, 100, 4, 3));
  TELL(cuMemAllocPitch_v2(&p, &pitch, 0, 4, 4));
  TELL(cuMemAllocManaged(&p, 64, 0));
  TELL(cuMemAllocManaged(&p, 0, 1));
  OK(cuMemAlloc_v2(&p, 4096));
  TELL(cuMemFree_v2(0));
  TELL(cuMemFree_v2(p + 16));
  TELL(cuMemGetAddressRange_v2(&q, &bytes, p + 100));
  printf("same %d, %zu bytes\n", q == p, bytes);
  TELL(cuMemGetAddressRange_v2(&q, &bytes, 16));
  TELL(cuMemGetAddressRange_v2(NULL, NULL, p));
  TELL(cuMemGetInfo_v2(NULL, NULL));
  TELL(cuMemcpyHtoD_v2(p, host, 4097));
  TELL(cuMemcpyHtoD_v2(0, host, 16));
  TELL(cuMemcpyHtoD_v2(0, host, 0));
  TELL(cuMemcpyHtoD_v2(p, NULL, 16));
  TELL(cuMemcpyDtoH_v2(NULL, p, 16));
  TELL(cuMemcpyDtoD_v2(p, 16, 16));
  TELL(cuMemsetD8_v2(p, 0, 4097));
  TELL(cuMemsetD8_v2(p, 0, 0));
  TELL(cuMemsetD16_v2(p + 1, 0, 4));
  TELL(cuMemsetD32_v2(p + 2, 0, 4));
  TELL(cuMemsetD32_v2(p, 0, 1025));
  TELL(cuMemsetD2D8_v2(p, 64, 0, 65, 2));
  TELL(cuMemsetD2D8_v2(p, 64, 0, 64, 65));
  TELL(cuMemHostAlloc(&pinned, 64, 0x100));
  TELL(cuMemHostAlloc(&pinned, 0, 0));
  TELL(cuMemHostAlloc(NULL, 64, 0));
  TELL(cuMemHostAlloc(&pinned, 64, 0));
  TELL(cuMemHostGetDevicePointer_v2(&q, host, 0));
  TELL(cuMemHostGetDevicePointer_v2(&q, pinned, 7));
  TELL(cuMemHostGetFlags(&flags, host));
  TELL(cuMemHostRegister_v2(NULL, 64, 0));
  TELL(cuMemHostUnregister(host));
  TELL(cuMemFreeHost(host));
  TELL(cuMemFreeHost(NULL));
  TELL(cuMemFreeHost(pinned));
  TELL(cuPointerGetAttribute(&flags, 2, p));
  TELL(cuPointerGetAttribute(&flags, 2, (CUdeviceptr)host));
  TELL(cuPointerGetAttribute(&flags, 999, p));
  TELL(cuPointerGetAttribute(NULL, 2, p));
  Copy2D copy = {0};
  TELL(cuMemcpy2D_v2(NULL));
  TELL(cuMemcpy2D_v2(&copy));
  copy.width = 16;
  copy.height = 4;
  tell("a copy of no kind of memory", cuMemcpy2D_v2(&copy));
  copy.src_type = 1;
  copy.src_host = host;
  copy.dst_type = 2;
  copy.dst_device = p;
  tell("rows without a pitch", cuMemcpy2D_v2(&copy));
  copy.src_pitch = 8;
  copy.dst_pitch = 16;
  tell("rows of a pitch under the width", cuMemcpy2D_v2(&copy));
  copy.src_pitch = 16;
  copy.height = 257;
  tell("more rows than the memory has", cuMemcpy2D_v2(&copy));
  copy.height = 4;
  copy.dst_type = 9;
  tell("an unknown kind of memory", cuMemcpy2D_v2(&copy));
  OK(cuMemFree_v2(p));
  TELL(cuMemFree_v2(p));
}

static void array_of(const char* what, size_t width, size_t height, size_t depth, int format,
                     unsigned channels, unsigned flags) {
  ArrayDesc desc = {width, height, depth, format, channels, flags};
  CUarray array = NULL;
  tell(what, cuArray3DCreate_v2(&array, &desc));
  if (array) OK(cuArrayDestroy(array));
}

static void arrays(void) {
  char host[256];
  CUarray array = NULL, level = NULL;
  CUmipmappedArray mipmap = NULL;
  ArrayDesc desc = {8, 8, 0, 0x20, 1, 0}, read;
  begin();
  array_of("floats", 8, 8, 0, 0x20, 1, 0);
  array_of("no width", 0, 8, 0, 0x20, 1, 0);
  array_of("three channels", 8, 8, 0, 0x20, 3, 0);
  array_of("no channels", 8, 8, 0, 0x20, 0, 0);
  array_of("format 0", 8, 8, 0, 0, 1, 0);
  array_of("format 0x30", 8, 8, 0, 0x30, 1, 0);
  array_of("unknown flags", 8, 8, 0, 0x20, 1, 0x4000);
  array_of("layers", 8, 8, 3, 0x20, 1, 1);
  array_of("layers of a cube", 6, 6, 12, 0x20, 1, 5);
  array_of("a cube of five faces", 6, 6, 5, 0x20, 1, 4);
  array_of("depth without height", 8, 0, 8, 0x20, 1, 0);
  array_of("a depth texture", 8, 8, 0, 0x20, 1, 0x10);
  array_of("too wide", 1 << 20, 8, 0, 0x20, 1, 0);
  TELL(cuArray3DCreate_v2(NULL, &desc));
  TELL(cuArray3DCreate_v2(&array, NULL));
  TELL(cuArray3DCreate_v2(&array, &desc));
  TELL(cuArray3DGetDescriptor_v2(NULL, array));
  TELL(cuArray3DGetDescriptor_v2(&read, NULL));
  TELL(cuMemcpyHtoA_v2(array, 0, host, 32));
  TELL(cuMemcpyHtoA_v2(array, 4, host, 32));
  TELL(cuMemcpyHtoA_v2(array, 0, host, 33));
  TELL(cuMemcpyHtoA_v2(NULL, 0, host, 32));
  TELL(cuMemcpyAtoH_v2(NULL, array, 0, 32));
  TELL(cuMemcpyAtoH_v2(host, array, 0, 64));
  TELL(cuMipmappedArrayCreate(&mipmap, &desc, 0));
  TELL(cuMipmappedArrayGetLevel(&level, mipmap, 1));
  TELL(cuMipmappedArrayDestroy(mipmap));
  TELL(cuMipmappedArrayCreate(&mipmap, &desc, 9));
  TELL(cuMipmappedArrayGetLevel(&level, mipmap, 9));
  TELL(cuMipmappedArrayCreate(&mipmap, NULL, 1));
  TELL(cuMipmappedArrayDestroy(NULL));
  TELL(cuArrayDestroy(NULL));
  TELL(cuArrayDestroy(array));
}

static void references(void) {
  CUtexref texture;
  CUsurfref surface;
  CUarray array = NULL, plain = NULL;
  CUdeviceptr p;
  CUfunction look;
  size_t offset;
  int format, channels, mode;
  unsigned flags;
  ArrayDesc desc = {8, 8, 0, 3, 1, 2};
  begin();
  OK(cuModuleGetTexRef(&texture, module, "image"));
  OK(cuModuleGetSurfRef(&surface, module, "plane"));
  OK(cuModuleGetFunction(&look, module, "look"));
  OK(cuMemAlloc_v2(&p, 4096));
  OK(cuArray3DCreate_v2(&array, &desc));
  desc.flags = 0;
  OK(cuArray3DCreate_v2(&plain, &desc));
  TELL(cuTexRefGetArray(&array, texture));
  TELL(cuTexRefSetArray(texture, NULL, 1));
  TELL(cuTexRefSetArray(NULL, plain, 1));
  TELL(cuTexRefSetArray(texture, plain, 0));
  TELL(cuTexRefSetArray(texture, plain, 1));
  TELL(cuTexRefSetFormat(texture, 0, 1));
  TELL(cuTexRefSetFormat(texture, 3, 3));
  TELL(cuTexRefSetFormat(texture, 0x20, 4));
  TELL(cuTexRefGetFormat(&format, &channels, texture));
  printf("format %d, channels %d\n", format, channels);
  TELL(cuTexRefSetFlags(texture, 0x1000));
  TELL(cuTexRefGetFlags(&flags, texture));
  TELL(cuTexRefSetAddressMode(texture, 0, 9));
  TELL(cuTexRefSetAddressMode(texture, 3, 0));
  TELL(cuTexRefGetAddressMode(&mode, texture, 3));
  TELL(cuTexRefSetFilterMode(texture, 9));
  TELL(cuTexRefSetMaxAnisotropy(texture, 99));
  TELL(cuTexRefSetMipmappedArray(texture, NULL, 1));
  TELL(cuTexRefSetAddress_v2(&offset, texture, p, 4096));
  TELL(cuTexRefSetAddress_v2(&offset, texture, p + 4, 64));
  printf("offset %zu\n", offset);
  TELL(cuTexRefSetAddress_v2(NULL, texture, p + 4, 64));
  TELL(cuTexRefSetAddress_v2(&offset, texture, 0, 0));
  TELL(cuTexRefSetAddress_v2(&offset, texture, 16, 64));
  TELL(cuSurfRefSetArray(surface, NULL, 0));
  TELL(cuSurfRefSetArray(surface, plain, 0));
  TELL(cuSurfRefSetArray(surface, plain, 7));
  TELL(cuSurfRefSetArray(NULL, plain, 0));
  TELL(cuMemFree_v2(p));
}

static void streams(void) {
  CUstream stream = NULL;
  CUevent event = NULL, other = NULL;
  float ms;
  int priority;
  begin();
  TELL(cuStreamCreate(NULL, 0));
  TELL(cuStreamCreate(&stream, 0x40));
  TELL(cuStreamCreate(&stream, 1));
  TELL(cuStreamGetPriority(stream, NULL));
  TELL(cuStreamGetPriority(stream, &priority));
  TELL(cuStreamDestroy_v2(NULL));
  TELL(cuStreamDestroy_v2((CUstream)1));
  TELL(cuEventCreate(NULL, 0));
  TELL(cuEventCreate(&event, 0x40));
  TELL(cuEventCreate(&event, 4));
  TELL(cuEventCreate(&event, 0));
  TELL(cuEventCreate(&other, 2));
  TELL(cuEventRecord(NULL, stream));
  TELL(cuEventQuery(event));
  TELL(cuEventQuery(NULL));
  TELL(cuEventSynchronize(event));
  TELL(cuEventElapsedTime_v2(&ms, event, event));
  TELL(cuEventRecord(event, stream));
  TELL(cuEventRecord(other, stream));
  TELL(cuEventElapsedTime_v2(&ms, event, other));
  TELL(cuStreamWaitEvent(stream, NULL, 0));
  TELL(cuStreamWaitEvent(stream, event, 9));
  TELL(cuEventDestroy_v2(NULL));
  TELL(cuEventDestroy_v2(event));
  TELL(cuEventDestroy_v2(other));
  TELL(cuStreamDestroy_v2(stream));
}

static void destroyed(void) {
  CUcontext own;
  CUdeviceptr p;
  CUstream stream;
  OK(cuInit(0));
  OK(cuCtxCreate_v2(&own, 0, 0));
  OK(cuMemAlloc_v2(&p, 64));
  OK(cuStreamCreate(&stream, 0));
  TELL(cuCtxCreate_v2(&context, 0x4000, 0));
  TELL(cuCtxCreate_v2(&context, 0, 99));
  TELL(cuCtxCreate_v2(NULL, 0, 0));
  TELL(cuCtxDestroy_v2(NULL));
  TELL(cuCtxDestroy_v2(own));
  TELL(cuMemFree_v2(p));
  TELL(cuCtxSynchronize());
  TELL(cuStreamSynchronize(stream));
}

static const struct {
  const char* name;
  void (*run)(void);
} kGroups[] = {{"before", before},         {"devices", devices}, {"modules", modules},
               {"launches", launches},     {"memory", memory},   {"arrays", arrays},
               {"references", references}, {"streams", streams}, {"destroyed", destroyed}};

int main(int count, char** arguments) {
  for (size_t i = 0; i < sizeof kGroups / sizeof *kGroups; ++i) {
    if (count == 1) printf("%s\n", kGroups[i].name);
    if (count == 2 && strcmp(kGroups[i].name, arguments[1]) == 0) kGroups[i].run();
  }
  (void)check;
  return failures != 0;
}
