// The types of CUDA's runtime interface beside those that it shares with the driver's. Names, order
// and values are the interface's; tests/cuda/abi.cu compares them with a toolkit's headers.
#pragma once

#include "src/cuda/driver_types.hpp"

#ifndef PTX2SPV_CUDART
#define PTX2SPV_CUDART 13  // the major version whose layouts are declared
#endif

namespace ptx2spv::cuda {

struct dim3 {
  unsigned x, y, z;
};

struct cudaExtent {
  std::size_t width, height, depth;
};
struct cudaPos {
  std::size_t x, y, z;
};
struct cudaPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};

struct cudaChannelFormatDesc {
  int x, y, z, w;
  int f;  ///< cudaChannelFormatKind
};
inline constexpr int kChannelSigned = 0, kChannelUnsigned = 1, kChannelFloat = 2, kChannelNone = 3,
                     kChannelUnorm8x1 = 5;

// cudaMemcpyKind.
inline constexpr int kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3,
                     kDefault = 4;

struct cudaMemcpy3DParms {
  CUarray srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  CUarray dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  int kind;
};

struct cudaMemcpy3DPeerParms {
  CUarray srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  int srcDevice;
  CUarray dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  int dstDevice;
  cudaExtent extent;
};

struct cudaResourceDesc {
  int resType;
  union {
    struct {
      CUarray array;
    } array;
    struct {
      CUmipmappedArray mipmap;
    } mipmap;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
#if PTX2SPV_CUDART >= 13
    struct {
      int reserved[32];
    } reserved;
#endif
  } res;
#if PTX2SPV_CUDART >= 13
  unsigned flags;
#endif
};

struct cudaResourceViewDesc {
  int format;
  std::size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
#if PTX2SPV_CUDART >= 13
  unsigned reserved[16];
#endif
};

struct cudaTextureDesc {
  int addressMode[3];
  int filterMode;
  int readMode;  ///< 0: element type, 1: normalised float
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization;
  int seamlessCubemap;  ///< not of CUDA 11's struct, which ends before it
};

/// The host's variable of a texture reference, up to CUDA 11.
struct textureReference {
  int normalized;
  int filterMode;
  int addressMode[3];
  cudaChannelFormatDesc channelDesc;
  int sRGB;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization;
  int reserved[14];
};
struct surfaceReference {
  cudaChannelFormatDesc channelDesc;
};

struct cudaPointerAttributes {
  int type;  ///< cudaMemoryType: unregistered, host, device, managed
  int device;
  void *devicePointer, *hostPointer;
#if PTX2SPV_CUDART >= 13
  long reserved[8];
#endif
};

/// CUDA 11's ends before clusterDimMustBeSet.
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA,
      maxDynamicSharedSizeBytes, preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth,
      requiredClusterHeight, requiredClusterDepth, clusterSchedulingPolicyPreference,
      nonPortableClusterSizeAllowed;
  int reserved[16];
};

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  CUstream stream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

struct cudaExternalMemoryMipmappedArrayDesc {
  unsigned long long offset;
  cudaChannelFormatDesc formatDesc;
  cudaExtent extent;
  unsigned flags, numLevels;
};

struct cudaKernelNodeParams {
  const void* func;
  dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};

// The driver interface has the same.
using cudaMemsetParams = CUDA_MEMSET_NODE_PARAMS;
using cudaMemAllocNodeParams = CUDA_MEM_ALLOC_NODE_PARAMS;

struct cudaGraphNodeParams {
  int type;
  int reserved0[3];
  union {
    NodeParams common;
    cudaKernelNodeParams kernel;
    struct {
      int flags, reserved[3];
      cudaMemcpy3DParms copy;
    } memcpy;
  } of;
  long long reserved2;
};

struct cudaGraphExecUpdateResultInfo {
  int result;
  CUgraphNode errorNode, errorFromNode;
};

struct cudaGraphInstantiateParams {
  unsigned long long flags;
  CUstream uploadStream;
  CUgraphNode errNode_out;
  int result_out;
};

using cudaStreamCallback = void (*)(CUstream stream, CUresult status, void* data);

/// The fields that cudaDeviceProp has in CUDA 12 and 13 alike are named alike.
struct cudaDeviceProp12 {
#define PTX2SPV_PROP(since12, since13, attribute, type, name, count) \
  PTX2SPV_PROP_##since12(type, name, count)
#define PTX2SPV_PROP_1(type, name, count) type name count;
#define PTX2SPV_PROP_0(type, name, count)
#include "src/cuda/device_properties.def"
};
struct cudaDeviceProp13 {
#define PTX2SPV_PROP(since12, since13, attribute, type, name, count) \
  PTX2SPV_PROP_##since13(type, name, count)
#include "src/cuda/device_properties.def"
#undef PTX2SPV_PROP_1
#undef PTX2SPV_PROP_0
};

}  // namespace ptx2spv::cuda
