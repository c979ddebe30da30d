/* The driver interface as these programs use it, declared here so that no toolkit is needed. */
#ifndef PTX2SPV_TESTS_CUDA_DRIVER_H
#define PTX2SPV_TESTS_CUDA_DRIVER_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr, CUtexObject, CUsurfObject;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUarray_st* CUarray;
typedef struct CUmipmappedArray_st* CUmipmappedArray;
typedef struct CUtexref_st* CUtexref;
typedef struct CUsurfref_st* CUsurfref;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef struct CUlinkState_st* CUlinkState;
typedef struct CUlib_st* CUlibrary;
typedef struct CUkern_st* CUkernel;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUgraphExec_st* CUgraphExec;

typedef struct {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
} ArrayDesc;
typedef struct {
  size_t src_x, src_y;
  unsigned src_type;
  const void* src_host;
  CUdeviceptr src_device;
  CUarray src_array;
  size_t src_pitch, dst_x, dst_y;
  unsigned dst_type;
  void* dst_host;
  CUdeviceptr dst_device;
  CUarray dst_array;
  size_t dst_pitch, width, height;
} Copy2D;
typedef struct {
  unsigned type;
  union {
    CUarray array;
    CUmipmappedArray mipmap;
    struct {
      CUdeviceptr address;
      int format;
      unsigned channels;
      size_t bytes;
    } linear;
    int reserved[32];
  } of;
  unsigned flags;
} ResourceDesc;
typedef struct {
  unsigned address[3], filter, flags, anisotropy, mipmap_filter;
  float bias, least, most, border[4];
  int reserved[12];
} TextureDesc;
typedef struct {
  int id;
  char pad[4];
  char value[64];
} LaunchAttribute;
typedef struct {
  unsigned gx, gy, gz, bx, by, bz, shared;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned count;
} LaunchConfig;

typedef struct {
  size_t src_x, src_y, src_z, src_level;
  unsigned src_type;
  const void* src_host;
  CUdeviceptr src_device;
  CUarray src_array;
  void* reserved0;
  size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_level;
  unsigned dst_type;
  void* dst_host;
  CUdeviceptr dst_device;
  CUarray dst_array;
  void* reserved1;
  size_t dst_pitch, dst_height, width, height, depth;
} Copy3D;
extern CUresult cuInit(unsigned);
extern CUresult cuGetErrorName(CUresult, const char**);
extern CUresult cuGetErrorString(CUresult, const char**);
extern CUresult cuDriverGetVersion(int*);
extern CUresult cuDeviceGet(CUdevice*, int);
extern CUresult cuDeviceGetCount(int*);
extern CUresult cuDeviceGetName(char*, int, CUdevice);
extern CUresult cuDeviceTotalMem_v2(size_t*, CUdevice);
extern CUresult cuDeviceGetAttribute(int*, int, CUdevice);
extern CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);
extern CUresult cuCtxDestroy_v2(CUcontext);
extern CUresult cuCtxPushCurrent_v2(CUcontext);
extern CUresult cuCtxPopCurrent_v2(CUcontext*);
extern CUresult cuCtxGetCurrent(CUcontext*);
extern CUresult cuCtxSetCurrent(CUcontext);
extern CUresult cuCtxSynchronize(void);
extern CUresult cuCtxSynchronize_v2(CUcontext);
extern CUresult cuCtxGetDevice_v2(CUdevice*, CUcontext);
extern CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
extern CUresult cuDevicePrimaryCtxRelease_v2(CUdevice);
extern CUresult cuModuleLoad(CUmodule*, const char*);
extern CUresult cuModuleLoadData(CUmodule*, const void*);
extern CUresult cuModuleLoadDataEx(CUmodule*, const void*, unsigned, int*, void**);
extern CUresult cuModuleUnload(CUmodule);
extern CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*);
extern CUresult cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule, const char*);
extern CUresult cuModuleGetTexRef(CUtexref*, CUmodule, const char*);
extern CUresult cuModuleGetSurfRef(CUsurfref*, CUmodule, const char*);
extern CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
extern CUresult cuMemFree_v2(CUdeviceptr);
extern CUresult cuMemGetInfo_v2(size_t*, size_t*);
extern CUresult cuMemGetAddressRange_v2(CUdeviceptr*, size_t*, CUdeviceptr);
extern CUresult cuMemHostAlloc(void**, size_t, unsigned);
extern CUresult cuMemFreeHost(void*);
extern CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr*, void*, unsigned);
extern CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void*, size_t);
extern CUresult cuMemcpyDtoH_v2(void*, CUdeviceptr, size_t);
extern CUresult cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t);
extern CUresult cuMemcpy2D_v2(const Copy2D*);
extern CUresult cuMemcpy3D_v2(const Copy3D*);
extern CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
extern CUresult cuMemsetD16_v2(CUdeviceptr, unsigned short, size_t);
extern CUresult cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
extern CUresult cuPointerGetAttribute(void*, int, CUdeviceptr);
extern CUresult cuPointerGetAttributes(unsigned, int*, void**, CUdeviceptr);
extern CUresult cuArray3DCreate_v2(CUarray*, const ArrayDesc*);
extern CUresult cuArray3DGetDescriptor_v2(ArrayDesc*, CUarray);
extern CUresult cuArrayDestroy(CUarray);
extern CUresult cuSurfObjectCreate(CUsurfObject*, const ResourceDesc*);
extern CUresult cuSurfObjectDestroy(CUsurfObject);
extern CUresult cuTexObjectCreate(CUtexObject*, const ResourceDesc*, const TextureDesc*,
                                  const void*);
extern CUresult cuTexObjectDestroy(CUtexObject);
extern CUresult cuTexRefSetArray(CUtexref, CUarray, unsigned);
extern CUresult cuTexRefSetAddress_v2(size_t*, CUtexref, CUdeviceptr, size_t);
extern CUresult cuTexRefSetFormat(CUtexref, int, int);
extern CUresult cuTexRefSetFlags(CUtexref, unsigned);
extern CUresult cuTexRefSetAddressMode(CUtexref, int, int);
extern CUresult cuTexRefSetFilterMode(CUtexref, int);
extern CUresult cuSurfRefSetArray(CUsurfref, CUarray, unsigned);
extern CUresult cuSurfRefGetArray(CUarray*, CUsurfref);
extern CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, CUstream, void**, void**);
extern CUresult cuLaunchKernelEx(const LaunchConfig*, CUfunction, void**, void**);
extern CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned,
                                          unsigned, unsigned, unsigned, CUstream, void**);
extern CUresult cuFuncGetAttribute(int*, int, CUfunction);
extern CUresult cuFuncSetAttribute(CUfunction, int, int);
extern CUresult cuFuncSetBlockShape(CUfunction, int, int, int);
extern CUresult cuParamSetSize(CUfunction, unsigned);
extern CUresult cuParamSetv(CUfunction, int, void*, unsigned);
extern CUresult cuParamSeti(CUfunction, int, unsigned);
extern CUresult cuLaunchGrid(CUfunction, int, int);
extern CUresult cuStreamCreate(CUstream*, unsigned);
extern CUresult cuStreamDestroy_v2(CUstream);
extern CUresult cuStreamSynchronize(CUstream);
extern CUresult cuStreamQuery(CUstream);
extern CUresult cuEventCreate(CUevent*, unsigned);
extern CUresult cuEventRecord(CUevent, CUstream);
extern CUresult cuEventSynchronize(CUevent);
extern CUresult cuEventElapsedTime_v2(float*, CUevent, CUevent);
extern CUresult cuEventDestroy_v2(CUevent);
extern CUresult cuLinkCreate_v2(unsigned, int*, void**, CUlinkState*);
extern CUresult cuLinkAddData_v2(CUlinkState, int, void*, size_t, const char*, unsigned, int*,
                                 void**);
extern CUresult cuLinkComplete(CUlinkState, void**, size_t*);
extern CUresult cuLinkDestroy(CUlinkState);
extern CUresult cuLibraryLoadData(CUlibrary*, const void*, int*, void**, unsigned, int*, void**,
                                  unsigned);
extern CUresult cuLibraryGetKernel(CUkernel*, CUlibrary, const char*);
extern CUresult cuLibraryUnload(CUlibrary);
extern CUresult cuGetProcAddress_v2(const char*, void**, int, uint64_t, int*);
extern CUresult cuGetExportTable(const void**, const void*);
extern CUresult cuIpcGetMemHandle(void*, CUdeviceptr);
extern CUresult cuOccupancyMaxPotentialBlockSize(int*, int*, CUfunction, size_t (*)(int), size_t,
                                                 int);

/* A call that has to succeed, and one that has to fail so. */
#define OK(call) expect(0, (call), #call, __LINE__)
#define FAILS(code, call) expect((code), (call), #call, __LINE__)
#define TRUE(condition) check((condition) != 0, #condition, __LINE__)

static int failures = 0;
static inline void expect(CUresult wanted, CUresult code, const char* call, int line) {
  const char *name = "?", *wanted_name = "?";
  if (code == wanted) return;
  cuGetErrorName(code, &name);
  cuGetErrorName(wanted, &wanted_name);
  printf("line %d: %s gave %d (%s), not %d (%s)\n", line, call, code, name, wanted, wanted_name);
  ++failures;
}
static inline void check(int good, const char* condition, int line) {
  if (good) return;
  printf("line %d: %s does not hold\n", line, condition);
  ++failures;
}
#endif
