/* What examples/mpi uses of the driver interface, where no toolkit is installed. */
#ifndef PTX2SPV_TESTS_MPI_CUDA_H
#define PTX2SPV_TESTS_MPI_CUDA_H
#include <stddef.h>

typedef int CUdevice;
typedef unsigned long long CUdeviceptr, CUsurfObject;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUarray_st* CUarray;
typedef struct CUstream_st* CUstream;

typedef enum { CUDA_SUCCESS = 0 } CUresult;
typedef enum { CU_AD_FORMAT_FLOAT = 0x20 } CUarray_format;
typedef enum {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3
} CUmemorytype;
typedef enum { CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101 } CUdevice_attribute;
typedef enum { CU_RESOURCE_TYPE_ARRAY = 0 } CUresourcetype;
enum { CUDA_ARRAY3D_SURFACE_LDST = 2, CU_MEM_ATTACH_GLOBAL = 1 };

typedef struct {
  size_t Width, Height, Depth;
  CUarray_format Format;
  unsigned NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;
typedef struct {
  CUresourcetype resType;
  union {
    struct {
      CUarray hArray;
    } array;
    int reserved[32];
  } res;
  unsigned flags;
} CUDA_RESOURCE_DESC;
typedef struct {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void* reserved0;
  size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void* reserved1;
  size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

#define cuArray3DCreate cuArray3DCreate_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemcpy3D cuMemcpy3D_v2
CUresult cuInit(unsigned flags);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuModuleLoad(CUmodule* module, const char* file);
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* form);
CUresult cuSurfObjectCreate(CUsurfObject* surface, const CUDA_RESOURCE_DESC* resource);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr* memory, size_t bytes, unsigned flags);
CUresult cuMemFree(CUdeviceptr memory);
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void* memory);
CUresult cuMemcpy3D(const CUDA_MEMCPY3D* copy);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** parameters, void** extra);
#endif
