// The types of CUDA's driver interface, declared here so that nothing needs a toolkit to build.
// Names, order and values are the interface's; tests/cuda/abi.cu compares them with the toolkit's
// headers where one is installed. Handles are the core's own objects.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptx2spv::cuda {

struct ContextObject;
struct ModuleObject;
struct FunctionObject;
struct LibraryObject;
struct KernelObject;
struct ArrayObject;
struct MipmapObject;
struct TextureRefObject;
struct SurfaceRefObject;
struct StreamObject;
struct EventObject;
struct GraphObject;
struct GraphNodeObject;
struct GraphExecObject;
struct LinkObject;
struct PoolObject;
struct UserObject;
struct GraphicsObject;
struct ExternalMemoryObject;
struct ExternalSemaphoreObject;

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = ContextObject*;
using CUmodule = ModuleObject*;
using CUfunction = FunctionObject*;
using CUlibrary = LibraryObject*;
using CUkernel = KernelObject*;
using CUarray = ArrayObject*;
using CUmipmappedArray = MipmapObject*;
using CUtexref = TextureRefObject*;
using CUsurfref = SurfaceRefObject*;
using CUstream = StreamObject*;
using CUevent = EventObject*;
using CUgraph = GraphObject*;
using CUgraphNode = GraphNodeObject*;
using CUgraphExec = GraphExecObject*;
using CUlinkState = LinkObject*;
using CUmemoryPool = PoolObject*;
using CUtexObject = unsigned long long;
using CUsurfObject = unsigned long long;
using CUuserObject = UserObject*;
using CUgraphicsResource = GraphicsObject*;
using CUexternalMemory = ExternalMemoryObject*;
using CUexternalSemaphore = ExternalSemaphoreObject*;
using CUhostFn = void (*)(void* data);

struct CUuuid {
  char bytes[16];
};

/// CUresult and cudaError_t: one set of numbers, of which some belong to the runtime alone.
enum CUresult : int {
#define PTX2SPV_CUDA_ERROR(value, name, driver, runtime, text) name = value,
#define PTX2SPV_CUDA_RUNTIME_ERROR(value, name, runtime, text) name = value,
#define PTX2SPV_CUDA_DRIVER_ERROR(value, name, driver, text) name = value,
#include "src/cuda/errors.def"
};

enum CUarray_format : int {
  kUnsignedInt8 = 0x01,
  kUnsignedInt16 = 0x02,
  kUnsignedInt32 = 0x03,
  kSignedInt8 = 0x08,
  kSignedInt16 = 0x09,
  kSignedInt32 = 0x0a,
  kHalf = 0x10,
  kFloat = 0x20,
  kUnorm8x1 = 0xc0,
  kUnorm8x2 = 0xc1,
  kUnorm8x4 = 0xc2,
  kUnorm16x1 = 0xc3,
  kUnorm16x2 = 0xc4,
  kUnorm16x4 = 0xc5,
  kSnorm8x1 = 0xc6,
  kSnorm8x2 = 0xc7,
  kSnorm8x4 = 0xc8,
  kSnorm16x1 = 0xc9,
  kSnorm16x2 = 0xca,
  kSnorm16x4 = 0xcb,
};

// CUmemorytype.
inline constexpr unsigned kMemoryHost = 1, kMemoryDevice = 2, kMemoryArray = 3, kMemoryUnified = 4;
// CUDA_ARRAY3D_ flags.
inline constexpr unsigned kArrayLayered = 1, kArraySurface = 2, kArrayCubemap = 4, kArrayGather = 8,
                          kArrayDepth = 16, kArrayColour = 0x20, kArraySparse = 0x40,
                          kArrayDeferred = 0x80;
// CU_TRSF_ flags.
inline constexpr unsigned kReadAsInteger = 1, kNormalizedCoordinates = 2, kSrgb = 0x10,
                          kNoTrilinearOptimization = 0x20, kSeamlessCubemap = 0x40;
// CUresourcetype.
inline constexpr unsigned kResourceArray = 0, kResourceMipmap = 1, kResourceLinear = 2,
                          kResourcePitch2D = 3;
// CU_STREAM_ and CU_EVENT_ flags.
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2, kEventInterprocess = 4;

struct CUDA_ARRAY_DESCRIPTOR {
  std::size_t Width, Height;
  CUarray_format Format;
  unsigned NumChannels;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
  std::size_t Width, Height, Depth;
  CUarray_format Format;
  unsigned NumChannels, Flags;
};

struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes, srcY;
  unsigned srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes, dstY;
  unsigned dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes, Height;
};

struct CUDA_MEMCPY3D {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  unsigned srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void* reserved0;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  unsigned dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void* reserved1;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};

struct CUDA_MEMCPY3D_PEER {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  unsigned srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  CUcontext srcContext;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  unsigned dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  CUcontext dstContext;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};

struct CUDA_RESOURCE_DESC {
  unsigned resType;
  union {
    struct {
      CUarray hArray;
    } array;
    struct {
      CUmipmappedArray hMipmappedArray;
    } mipmap;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      std::size_t sizeInBytes;
    } linear;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
    struct {
      int reserved[32];
    } reserved;
  } res;
  unsigned flags;
};

struct CUDA_TEXTURE_DESC {
  unsigned addressMode[3];  ///< wrap, clamp, mirror, border
  unsigned filterMode;      ///< point, linear
  unsigned flags;
  unsigned maxAnisotropy;
  unsigned mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
};

struct CUDA_RESOURCE_VIEW_DESC {
  unsigned format;
  std::size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
  unsigned reserved[16];
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char pad[64];
    int cooperative;
    int priority;
    struct {
      unsigned x, y, z;
    } clusterDim;
    struct {
      CUevent event;
      int flags, triggerAtBlockStart;
    } programmaticEvent;
    struct {
      CUevent event;
      int flags;
    } launchCompletionEvent;
  } value;
};
inline constexpr int kLaunchCooperative = 2, kLaunchClusterDimension = 4,
                     kLaunchProgrammaticEvent = 7, kLaunchPreferredCluster = 11,
                     kLaunchCompletionEvent = 12, kLaunchDeviceUpdatable = 13, kLaunchLastHint = 16;

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void** kernelParams;
  void** extra;
  CUkernel kern;
  CUcontext ctx;
};

struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  std::size_t pitch;
  unsigned value, elementSize;
  std::size_t width, height;
};

struct CUDA_HOST_NODE_PARAMS {
  CUhostFn fn;
  void* userData;
};

struct CUmemLocation {
  int type, id;
};

struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};

struct CUmemPoolProps {
  int allocType, handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

struct CUmemAllocationProp {
  int type, requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  unsigned char compressionType, gpuDirectRDMACapable;
  unsigned short usage;
  unsigned char reserved[4];
};

struct CUDA_MEM_ALLOC_NODE_PARAMS {
  CUmemPoolProps poolProps;
  const CUmemAccessDesc* accessDescs;
  std::size_t accessDescCount, bytesize;
  CUdeviceptr dptr;  ///< out
};

/// An operation of cuStreamBatchMemOp: a union whose members agree but for the barrier's flags.
struct CUstreamBatchMemOpParams {
  int operation;
  unsigned barrier_flags;
  CUdeviceptr address;
  std::uint64_t value;  ///< of operations on 32 bits: the first half
  unsigned flags;
  CUdeviceptr alias;
  std::uint64_t pad;
};
static_assert(sizeof(CUstreamBatchMemOpParams) == 48);

struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
  CUcontext ctx;
  unsigned count;
  CUstreamBatchMemOpParams* paramArray;
  unsigned flags;
};

/// What another interface gives; of memory up to `flags`, behind which versions differ.
struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
  } handle;
  unsigned long long size;
  unsigned flags;
};
struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
  unsigned long long offset, size;
  unsigned flags;
};
struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC {
  unsigned long long offset;
  CUDA_ARRAY3D_DESCRIPTOR arrayDesc;
  unsigned numLevels;
};
struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
  } handle;
  unsigned flags;
};
/// Of a signal and of a wait.
struct CUDA_EXTERNAL_SEMAPHORE_PARAMS {
  unsigned long long value;
  unsigned other[16];  ///< of NvSci and Direct3D
  unsigned flags;
  unsigned reserved[16];
};
struct CUDA_EXT_SEM_NODE_PARAMS {
  CUexternalSemaphore* extSemArray;
  const CUDA_EXTERNAL_SEMAPHORE_PARAMS* paramsArray;
  unsigned numExtSems;
};

struct CUDA_CONDITIONAL_NODE_PARAMS {
  std::uint64_t handle;
  int type;  ///< if, while, switch
  unsigned size;
  CUgraph* phGraph_out;  ///< out
  CUcontext ctx;         ///< the runtime's ends before
};

/// The union in CUgraphNodeParams and cudaGraphNodeParams: what both have alike.
union NodeParams {
  long long reserved[29];
  CUDA_KERNEL_NODE_PARAMS kernel;
  struct {
    int flags, reserved;
    CUcontext context;
    CUDA_MEMCPY3D copy;
  } memcpy;
  CUDA_MEMSET_NODE_PARAMS memset;
  CUDA_HOST_NODE_PARAMS host;
  struct {
    CUgraph graph;
    int ownership;
  } graph;
  CUevent event;
  CUDA_MEM_ALLOC_NODE_PARAMS alloc;
  CUdeviceptr free;
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch;
  CUDA_EXT_SEM_NODE_PARAMS semaphores;
  CUDA_CONDITIONAL_NODE_PARAMS conditional;
};
struct CUgraphNodeParams {
  int type;
  int reserved0[3];
  NodeParams of;
  long long reserved2;
};

/// CUdevice_attribute; 0 is none.
struct DeviceAttribute {
  enum : int {
    none,
#define ATTRIBUTE(number, name, value) name = number,
#include "src/cuda/device_attributes.def"
  };
};

/// CUfunction_attribute, from 0.
struct FunctionAttribute {
  enum : int {
    MAX_THREADS_PER_BLOCK,
    SHARED_SIZE_BYTES,
    CONST_SIZE_BYTES,
    LOCAL_SIZE_BYTES,
    NUM_REGS,
    PTX_VERSION,
    BINARY_VERSION,
    CACHE_MODE_CA,
    MAX_DYNAMIC_SHARED_SIZE_BYTES,
    PREFERRED_SHARED_MEMORY_CARVEOUT,
    CLUSTER_SIZE_MUST_BE_SET,
    REQUIRED_CLUSTER_WIDTH,
    REQUIRED_CLUSTER_HEIGHT,
    REQUIRED_CLUSTER_DEPTH,
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
    CLUSTER_SCHEDULING_POLICY_PREFERENCE
  };
};

struct CUdevprop {
  int maxThreadsPerBlock;
  int maxThreadsDim[3], maxGridSize[3];
  int sharedMemPerBlock, totalConstantMemory, SIMDWidth, memPitch, regsPerBlock, clockRate,
      textureAlign;
};

}  // namespace ptx2spv::cuda
