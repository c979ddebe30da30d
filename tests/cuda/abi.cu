// The declarations of src/cuda against a toolkit's headers: sizes, offsets and values. It is only
// compiled. PTX2SPV_CUDART names the major version whose layouts are declared.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "src/cuda/runtime_types.hpp"

namespace own = ptx2spv::cuda;

#define SIZE(type) \
  static_assert(sizeof(own::type) == sizeof(::type) && alignof(own::type) == alignof(::type), #type)
#define FIELD(type, field) \
  static_assert(offsetof(own::type, field) == offsetof(::type, field), #type "::" #field)
#define VALUE(name, toolkit) \
  static_assert(static_cast<long long>(own::name) == static_cast<long long>(toolkit), #toolkit)

SIZE(CUDA_ARRAY_DESCRIPTOR);
FIELD(CUDA_ARRAY_DESCRIPTOR, Width);
FIELD(CUDA_ARRAY_DESCRIPTOR, Height);
FIELD(CUDA_ARRAY_DESCRIPTOR, Format);
FIELD(CUDA_ARRAY_DESCRIPTOR, NumChannels);
SIZE(CUDA_ARRAY3D_DESCRIPTOR);
FIELD(CUDA_ARRAY3D_DESCRIPTOR, Width);
FIELD(CUDA_ARRAY3D_DESCRIPTOR, Height);
FIELD(CUDA_ARRAY3D_DESCRIPTOR, Depth);
FIELD(CUDA_ARRAY3D_DESCRIPTOR, Format);
FIELD(CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
FIELD(CUDA_ARRAY3D_DESCRIPTOR, Flags);
FIELD(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle.fd);
FIELD(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
FIELD(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags);
FIELD(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
FIELD(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags);
FIELD(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, arrayDesc);
FIELD(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, numLevels);
FIELD(cudaExternalMemoryMipmappedArrayDesc, formatDesc);
FIELD(cudaExternalMemoryMipmappedArrayDesc, extent);
FIELD(cudaExternalMemoryMipmappedArrayDesc, flags);
FIELD(cudaExternalMemoryMipmappedArrayDesc, numLevels);
FIELD(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, handle.fd);
FIELD(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, flags);
static_assert(sizeof(own::CUDA_EXTERNAL_SEMAPHORE_PARAMS) ==
              sizeof(::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS));
static_assert(sizeof(own::CUDA_EXTERNAL_SEMAPHORE_PARAMS) ==
              sizeof(::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS));
static_assert(offsetof(own::CUDA_EXTERNAL_SEMAPHORE_PARAMS, flags) ==
              offsetof(::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, flags));
static_assert(offsetof(own::CUDA_EXTERNAL_SEMAPHORE_PARAMS, flags) ==
              offsetof(::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, flags));
VALUE(kArrayColour, CUDA_ARRAY3D_COLOR_ATTACHMENT);
SIZE(CUDA_MEMCPY2D);
FIELD(CUDA_MEMCPY2D, srcXInBytes);
FIELD(CUDA_MEMCPY2D, srcY);
FIELD(CUDA_MEMCPY2D, srcMemoryType);
FIELD(CUDA_MEMCPY2D, srcHost);
FIELD(CUDA_MEMCPY2D, srcDevice);
FIELD(CUDA_MEMCPY2D, srcArray);
FIELD(CUDA_MEMCPY2D, srcPitch);
FIELD(CUDA_MEMCPY2D, dstXInBytes);
FIELD(CUDA_MEMCPY2D, dstY);
FIELD(CUDA_MEMCPY2D, dstMemoryType);
FIELD(CUDA_MEMCPY2D, dstHost);
FIELD(CUDA_MEMCPY2D, dstDevice);
FIELD(CUDA_MEMCPY2D, dstArray);
FIELD(CUDA_MEMCPY2D, dstPitch);
FIELD(CUDA_MEMCPY2D, WidthInBytes);
FIELD(CUDA_MEMCPY2D, Height);
SIZE(CUDA_MEMCPY3D);
FIELD(CUDA_MEMCPY3D, srcXInBytes);
FIELD(CUDA_MEMCPY3D, srcY);
FIELD(CUDA_MEMCPY3D, srcZ);
FIELD(CUDA_MEMCPY3D, srcLOD);
FIELD(CUDA_MEMCPY3D, srcMemoryType);
FIELD(CUDA_MEMCPY3D, srcHost);
FIELD(CUDA_MEMCPY3D, srcDevice);
FIELD(CUDA_MEMCPY3D, srcArray);
FIELD(CUDA_MEMCPY3D, reserved0);
FIELD(CUDA_MEMCPY3D, srcPitch);
FIELD(CUDA_MEMCPY3D, srcHeight);
FIELD(CUDA_MEMCPY3D, dstXInBytes);
FIELD(CUDA_MEMCPY3D, dstY);
FIELD(CUDA_MEMCPY3D, dstZ);
FIELD(CUDA_MEMCPY3D, dstLOD);
FIELD(CUDA_MEMCPY3D, dstMemoryType);
FIELD(CUDA_MEMCPY3D, dstHost);
FIELD(CUDA_MEMCPY3D, dstDevice);
FIELD(CUDA_MEMCPY3D, dstArray);
FIELD(CUDA_MEMCPY3D, reserved1);
FIELD(CUDA_MEMCPY3D, dstPitch);
FIELD(CUDA_MEMCPY3D, dstHeight);
FIELD(CUDA_MEMCPY3D, WidthInBytes);
FIELD(CUDA_MEMCPY3D, Height);
FIELD(CUDA_MEMCPY3D, Depth);
SIZE(CUDA_MEMCPY3D_PEER);
FIELD(CUDA_MEMCPY3D_PEER, srcXInBytes);
FIELD(CUDA_MEMCPY3D_PEER, srcY);
FIELD(CUDA_MEMCPY3D_PEER, srcZ);
FIELD(CUDA_MEMCPY3D_PEER, srcLOD);
FIELD(CUDA_MEMCPY3D_PEER, srcMemoryType);
FIELD(CUDA_MEMCPY3D_PEER, srcHost);
FIELD(CUDA_MEMCPY3D_PEER, srcDevice);
FIELD(CUDA_MEMCPY3D_PEER, srcArray);
FIELD(CUDA_MEMCPY3D_PEER, srcContext);
FIELD(CUDA_MEMCPY3D_PEER, srcPitch);
FIELD(CUDA_MEMCPY3D_PEER, srcHeight);
FIELD(CUDA_MEMCPY3D_PEER, dstXInBytes);
FIELD(CUDA_MEMCPY3D_PEER, dstY);
FIELD(CUDA_MEMCPY3D_PEER, dstZ);
FIELD(CUDA_MEMCPY3D_PEER, dstLOD);
FIELD(CUDA_MEMCPY3D_PEER, dstMemoryType);
FIELD(CUDA_MEMCPY3D_PEER, dstHost);
FIELD(CUDA_MEMCPY3D_PEER, dstDevice);
FIELD(CUDA_MEMCPY3D_PEER, dstArray);
FIELD(CUDA_MEMCPY3D_PEER, dstContext);
FIELD(CUDA_MEMCPY3D_PEER, dstPitch);
FIELD(CUDA_MEMCPY3D_PEER, dstHeight);
FIELD(CUDA_MEMCPY3D_PEER, WidthInBytes);
FIELD(CUDA_MEMCPY3D_PEER, Height);
FIELD(CUDA_MEMCPY3D_PEER, Depth);
SIZE(CUDA_RESOURCE_DESC);
FIELD(CUDA_RESOURCE_DESC, resType);
FIELD(CUDA_RESOURCE_DESC, res);
FIELD(CUDA_RESOURCE_DESC, flags);
SIZE(CUDA_TEXTURE_DESC);
FIELD(CUDA_TEXTURE_DESC, addressMode);
FIELD(CUDA_TEXTURE_DESC, filterMode);
FIELD(CUDA_TEXTURE_DESC, flags);
FIELD(CUDA_TEXTURE_DESC, maxAnisotropy);
FIELD(CUDA_TEXTURE_DESC, mipmapFilterMode);
FIELD(CUDA_TEXTURE_DESC, mipmapLevelBias);
FIELD(CUDA_TEXTURE_DESC, minMipmapLevelClamp);
FIELD(CUDA_TEXTURE_DESC, maxMipmapLevelClamp);
FIELD(CUDA_TEXTURE_DESC, borderColor);
FIELD(CUDA_TEXTURE_DESC, reserved);
SIZE(CUDA_RESOURCE_VIEW_DESC);
FIELD(CUDA_RESOURCE_VIEW_DESC, format);
FIELD(CUDA_RESOURCE_VIEW_DESC, width);
FIELD(CUDA_RESOURCE_VIEW_DESC, height);
FIELD(CUDA_RESOURCE_VIEW_DESC, depth);
FIELD(CUDA_RESOURCE_VIEW_DESC, firstMipmapLevel);
FIELD(CUDA_RESOURCE_VIEW_DESC, lastMipmapLevel);
FIELD(CUDA_RESOURCE_VIEW_DESC, firstLayer);
FIELD(CUDA_RESOURCE_VIEW_DESC, lastLayer);
FIELD(CUDA_RESOURCE_VIEW_DESC, reserved);
SIZE(CUlaunchAttribute);
FIELD(CUlaunchAttribute, id);
FIELD(CUlaunchAttribute, value);
SIZE(CUlaunchConfig);
FIELD(CUlaunchConfig, gridDimX);
FIELD(CUlaunchConfig, gridDimY);
FIELD(CUlaunchConfig, gridDimZ);
FIELD(CUlaunchConfig, blockDimX);
FIELD(CUlaunchConfig, blockDimY);
FIELD(CUlaunchConfig, blockDimZ);
FIELD(CUlaunchConfig, sharedMemBytes);
FIELD(CUlaunchConfig, hStream);
FIELD(CUlaunchConfig, attrs);
FIELD(CUlaunchConfig, numAttrs);
SIZE(CUDA_KERNEL_NODE_PARAMS);
FIELD(CUDA_KERNEL_NODE_PARAMS, func);
FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimX);
FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimY);
FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimZ);
FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimX);
FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimY);
FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimZ);
FIELD(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams);
FIELD(CUDA_KERNEL_NODE_PARAMS, extra);
FIELD(CUDA_KERNEL_NODE_PARAMS, kern);
FIELD(CUDA_KERNEL_NODE_PARAMS, ctx);
SIZE(CUDA_MEMSET_NODE_PARAMS);
FIELD(CUDA_MEMSET_NODE_PARAMS, dst);
FIELD(CUDA_MEMSET_NODE_PARAMS, pitch);
FIELD(CUDA_MEMSET_NODE_PARAMS, value);
FIELD(CUDA_MEMSET_NODE_PARAMS, elementSize);
FIELD(CUDA_MEMSET_NODE_PARAMS, width);
FIELD(CUDA_MEMSET_NODE_PARAMS, height);
SIZE(CUDA_HOST_NODE_PARAMS);
FIELD(CUDA_HOST_NODE_PARAMS, fn);
FIELD(CUDA_HOST_NODE_PARAMS, userData);
SIZE(CUmemLocation);
FIELD(CUmemLocation, type);
FIELD(CUmemLocation, id);
SIZE(CUmemPoolProps);
FIELD(CUmemPoolProps, allocType);
FIELD(CUmemPoolProps, handleTypes);
FIELD(CUmemPoolProps, location);
FIELD(CUmemPoolProps, win32SecurityAttributes);
FIELD(CUmemPoolProps, maxSize);
#if CUDA_VERSION >= 13000  // earlier, it is of the reserved bytes
FIELD(CUmemPoolProps, usage);
FIELD(CUmemPoolProps, reserved);
#endif
SIZE(CUdevprop);
FIELD(CUdevprop, maxThreadsPerBlock);
FIELD(CUdevprop, maxThreadsDim);
FIELD(CUdevprop, maxGridSize);
FIELD(CUdevprop, sharedMemPerBlock);
FIELD(CUdevprop, totalConstantMemory);
FIELD(CUdevprop, SIMDWidth);
FIELD(CUdevprop, memPitch);
FIELD(CUdevprop, regsPerBlock);
FIELD(CUdevprop, clockRate);
FIELD(CUdevprop, textureAlign);
SIZE(cudaExtent);
FIELD(cudaExtent, width);
FIELD(cudaExtent, height);
FIELD(cudaExtent, depth);
SIZE(cudaPos);
FIELD(cudaPos, x);
FIELD(cudaPos, y);
FIELD(cudaPos, z);
SIZE(cudaPitchedPtr);
FIELD(cudaPitchedPtr, ptr);
FIELD(cudaPitchedPtr, pitch);
FIELD(cudaPitchedPtr, xsize);
FIELD(cudaPitchedPtr, ysize);
SIZE(cudaChannelFormatDesc);
FIELD(cudaChannelFormatDesc, x);
FIELD(cudaChannelFormatDesc, y);
FIELD(cudaChannelFormatDesc, z);
FIELD(cudaChannelFormatDesc, w);
FIELD(cudaChannelFormatDesc, f);
SIZE(cudaMemcpy3DParms);
FIELD(cudaMemcpy3DParms, srcArray);
FIELD(cudaMemcpy3DParms, srcPos);
FIELD(cudaMemcpy3DParms, srcPtr);
FIELD(cudaMemcpy3DParms, dstArray);
FIELD(cudaMemcpy3DParms, dstPos);
FIELD(cudaMemcpy3DParms, dstPtr);
FIELD(cudaMemcpy3DParms, extent);
FIELD(cudaMemcpy3DParms, kind);
SIZE(cudaMemcpy3DPeerParms);
FIELD(cudaMemcpy3DPeerParms, srcArray);
FIELD(cudaMemcpy3DPeerParms, srcPos);
FIELD(cudaMemcpy3DPeerParms, srcPtr);
FIELD(cudaMemcpy3DPeerParms, srcDevice);
FIELD(cudaMemcpy3DPeerParms, dstArray);
FIELD(cudaMemcpy3DPeerParms, dstPos);
FIELD(cudaMemcpy3DPeerParms, dstPtr);
FIELD(cudaMemcpy3DPeerParms, dstDevice);
FIELD(cudaMemcpy3DPeerParms, extent);
SIZE(cudaResourceDesc);
FIELD(cudaResourceDesc, resType);
FIELD(cudaResourceDesc, res);
SIZE(cudaResourceViewDesc);
FIELD(cudaResourceViewDesc, format);
FIELD(cudaResourceViewDesc, width);
FIELD(cudaResourceViewDesc, height);
FIELD(cudaResourceViewDesc, depth);
FIELD(cudaResourceViewDesc, firstMipmapLevel);
FIELD(cudaResourceViewDesc, lastMipmapLevel);
FIELD(cudaResourceViewDesc, firstLayer);
FIELD(cudaResourceViewDesc, lastLayer);
SIZE(cudaTextureDesc);
FIELD(cudaTextureDesc, addressMode);
FIELD(cudaTextureDesc, filterMode);
FIELD(cudaTextureDesc, readMode);
FIELD(cudaTextureDesc, sRGB);
FIELD(cudaTextureDesc, borderColor);
FIELD(cudaTextureDesc, normalizedCoords);
FIELD(cudaTextureDesc, maxAnisotropy);
FIELD(cudaTextureDesc, mipmapFilterMode);
FIELD(cudaTextureDesc, mipmapLevelBias);
FIELD(cudaTextureDesc, minMipmapLevelClamp);
FIELD(cudaTextureDesc, maxMipmapLevelClamp);
FIELD(cudaTextureDesc, disableTrilinearOptimization);
FIELD(cudaTextureDesc, seamlessCubemap);
SIZE(cudaPointerAttributes);
FIELD(cudaPointerAttributes, type);
FIELD(cudaPointerAttributes, device);
FIELD(cudaPointerAttributes, devicePointer);
FIELD(cudaPointerAttributes, hostPointer);
SIZE(cudaFuncAttributes);
FIELD(cudaFuncAttributes, sharedSizeBytes);
FIELD(cudaFuncAttributes, constSizeBytes);
FIELD(cudaFuncAttributes, localSizeBytes);
FIELD(cudaFuncAttributes, maxThreadsPerBlock);
FIELD(cudaFuncAttributes, numRegs);
FIELD(cudaFuncAttributes, ptxVersion);
FIELD(cudaFuncAttributes, binaryVersion);
FIELD(cudaFuncAttributes, cacheModeCA);
FIELD(cudaFuncAttributes, maxDynamicSharedSizeBytes);
FIELD(cudaFuncAttributes, preferredShmemCarveout);
FIELD(cudaFuncAttributes, clusterDimMustBeSet);
FIELD(cudaFuncAttributes, requiredClusterWidth);
FIELD(cudaFuncAttributes, requiredClusterHeight);
FIELD(cudaFuncAttributes, requiredClusterDepth);
FIELD(cudaFuncAttributes, clusterSchedulingPolicyPreference);
FIELD(cudaFuncAttributes, nonPortableClusterSizeAllowed);
FIELD(cudaFuncAttributes, reserved);
SIZE(cudaLaunchConfig_t);
FIELD(cudaLaunchConfig_t, gridDim);
FIELD(cudaLaunchConfig_t, blockDim);
FIELD(cudaLaunchConfig_t, dynamicSmemBytes);
FIELD(cudaLaunchConfig_t, stream);
FIELD(cudaLaunchConfig_t, attrs);
FIELD(cudaLaunchConfig_t, numAttrs);
SIZE(cudaKernelNodeParams);
FIELD(cudaKernelNodeParams, func);
FIELD(cudaKernelNodeParams, gridDim);
FIELD(cudaKernelNodeParams, blockDim);
FIELD(cudaKernelNodeParams, sharedMemBytes);
FIELD(cudaKernelNodeParams, kernelParams);
FIELD(cudaKernelNodeParams, extra);
SIZE(cudaMemsetParams);
FIELD(cudaMemsetParams, dst);
FIELD(cudaMemsetParams, pitch);
FIELD(cudaMemsetParams, value);
FIELD(cudaMemsetParams, elementSize);
FIELD(cudaMemsetParams, width);
FIELD(cudaMemsetParams, height);
SIZE(cudaGraphExecUpdateResultInfo);
FIELD(cudaGraphExecUpdateResultInfo, result);
FIELD(cudaGraphExecUpdateResultInfo, errorNode);
FIELD(cudaGraphExecUpdateResultInfo, errorFromNode);
SIZE(cudaGraphInstantiateParams);
FIELD(cudaGraphInstantiateParams, flags);
FIELD(cudaGraphInstantiateParams, uploadStream);
FIELD(cudaGraphInstantiateParams, errNode_out);
FIELD(cudaGraphInstantiateParams, result_out);

#if PTX2SPV_CUDART >= 13
using DeviceProperties = own::cudaDeviceProp13;
#define PTX2SPV_PROP(since12, since13, attribute, type, name, count) PROPERTY_##since13(name)
#else
using DeviceProperties = own::cudaDeviceProp12;
#define PTX2SPV_PROP(since12, since13, attribute, type, name, count) PROPERTY_##since12(name)
#endif
#define PROPERTY_1(name) \
  static_assert(offsetof(DeviceProperties, name) == offsetof(::cudaDeviceProp, name), #name);
#define PROPERTY_0(name)
#include "src/cuda/device_properties.def"
static_assert(sizeof(DeviceProperties) == sizeof(::cudaDeviceProp));

// Codes and attributes of later toolkits are not in earlier ones.
#if CUDART_VERSION >= 13000
#define ATTRIBUTE(number, name, value) \
  VALUE(DeviceAttribute::name, CU_DEVICE_ATTRIBUTE_##name);
#include "src/cuda/device_attributes.def"
#undef ATTRIBUTE
VALUE(FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES,
      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
VALUE(FunctionAttribute::CLUSTER_SCHEDULING_POLICY_PREFERENCE,
      CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
#define PTX2SPV_CUDA_ERROR(value, name, driver, runtime, text) \
  VALUE(name, ::driver);                                       \
  VALUE(name, ::runtime);
#define PTX2SPV_CUDA_RUNTIME_ERROR(value, name, runtime, text) VALUE(name, ::runtime);
#define PTX2SPV_CUDA_DRIVER_ERROR(value, name, driver, text) VALUE(name, ::driver);
#include "src/cuda/errors.def"
#endif

SIZE(CUmemAccessDesc);
FIELD(CUmemAccessDesc, flags);
SIZE(CUgraphNodeParams);
FIELD(CUgraphNodeParams, type);
FIELD(CUgraphNodeParams, reserved2);
static_assert(offsetof(own::CUgraphNodeParams, of) == offsetof(::CUgraphNodeParams, kernel));
static_assert(sizeof(own::NodeParams) == sizeof(::CUgraphNodeParams::reserved1));
static_assert(offsetof(own::CUgraphNodeParams, of.memcpy.copy) ==
              offsetof(::CUgraphNodeParams, memcpy.copyParams));
static_assert(offsetof(own::CUgraphNodeParams, of.graph.ownership) ==
              offsetof(::CUgraphNodeParams, graph.graph) + sizeof(CUgraph));
static_assert(offsetof(own::CUgraphNodeParams, of.alloc.dptr) ==
              offsetof(::CUgraphNodeParams, alloc.dptr));
SIZE(cudaGraphNodeParams);
FIELD(cudaGraphNodeParams, reserved2);
static_assert(offsetof(own::cudaGraphNodeParams, of) == offsetof(::cudaGraphNodeParams, kernel));
static_assert(offsetof(own::cudaGraphNodeParams, of.memcpy.copy) ==
              offsetof(::cudaGraphNodeParams, memcpy.copyParams));
SIZE(cudaMemAllocNodeParams);
FIELD(cudaMemAllocNodeParams, accessDescs);
FIELD(cudaMemAllocNodeParams, bytesize);
FIELD(cudaMemAllocNodeParams, dptr);
#if CUDA_VERSION >= 13000
VALUE(kLaunchPreferredCluster, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
#endif
VALUE(kLaunchDeviceUpdatable, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);

VALUE(kUnsignedInt8, CU_AD_FORMAT_UNSIGNED_INT8);
VALUE(kUnsignedInt16, CU_AD_FORMAT_UNSIGNED_INT16);
VALUE(kUnsignedInt32, CU_AD_FORMAT_UNSIGNED_INT32);
VALUE(kSignedInt8, CU_AD_FORMAT_SIGNED_INT8);
VALUE(kSignedInt16, CU_AD_FORMAT_SIGNED_INT16);
VALUE(kSignedInt32, CU_AD_FORMAT_SIGNED_INT32);
VALUE(kHalf, CU_AD_FORMAT_HALF);
VALUE(kFloat, CU_AD_FORMAT_FLOAT);
VALUE(kUnorm8x1, CU_AD_FORMAT_UNORM_INT8X1);
VALUE(kUnorm8x4, CU_AD_FORMAT_UNORM_INT8X4);
VALUE(kUnorm16x1, CU_AD_FORMAT_UNORM_INT16X1);
VALUE(kSnorm8x1, CU_AD_FORMAT_SNORM_INT8X1);
VALUE(kSnorm16x4, CU_AD_FORMAT_SNORM_INT16X4);
VALUE(kMemoryHost, CU_MEMORYTYPE_HOST);
VALUE(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
VALUE(kMemoryArray, CU_MEMORYTYPE_ARRAY);
VALUE(kMemoryUnified, CU_MEMORYTYPE_UNIFIED);
VALUE(kArrayLayered, CUDA_ARRAY3D_LAYERED);
VALUE(kArraySurface, CUDA_ARRAY3D_SURFACE_LDST);
VALUE(kArrayCubemap, CUDA_ARRAY3D_CUBEMAP);
VALUE(kArrayGather, CUDA_ARRAY3D_TEXTURE_GATHER);
VALUE(kArrayDepth, CUDA_ARRAY3D_DEPTH_TEXTURE);
VALUE(kArraySparse, CUDA_ARRAY3D_SPARSE);
VALUE(kArrayDeferred, CUDA_ARRAY3D_DEFERRED_MAPPING);
VALUE(kReadAsInteger, CU_TRSF_READ_AS_INTEGER);
VALUE(kNormalizedCoordinates, CU_TRSF_NORMALIZED_COORDINATES);
VALUE(kSrgb, CU_TRSF_SRGB);
VALUE(kNoTrilinearOptimization, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
VALUE(kSeamlessCubemap, CU_TRSF_SEAMLESS_CUBEMAP);
VALUE(kResourceArray, CU_RESOURCE_TYPE_ARRAY);
VALUE(kResourceMipmap, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
VALUE(kResourceLinear, CU_RESOURCE_TYPE_LINEAR);
VALUE(kResourcePitch2D, CU_RESOURCE_TYPE_PITCH2D);
VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
VALUE(kEventInterprocess, CU_EVENT_INTERPROCESS);
VALUE(kLaunchCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
VALUE(kLaunchClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
VALUE(kLaunchProgrammaticEvent, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
VALUE(kLaunchCompletionEvent, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
VALUE(kChannelSigned, cudaChannelFormatKindSigned);
VALUE(kChannelUnsigned, cudaChannelFormatKindUnsigned);
VALUE(kChannelFloat, cudaChannelFormatKindFloat);
VALUE(kChannelNone, cudaChannelFormatKindNone);
VALUE(kChannelUnorm8x1, cudaChannelFormatKindUnsignedNormalized8X1);
VALUE(kHostToHost, cudaMemcpyHostToHost);
VALUE(kHostToDevice, cudaMemcpyHostToDevice);
VALUE(kDeviceToHost, cudaMemcpyDeviceToHost);
VALUE(kDeviceToDevice, cudaMemcpyDeviceToDevice);
VALUE(kDefault, cudaMemcpyDefault);
