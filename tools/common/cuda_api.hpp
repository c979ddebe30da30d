// The part of the CUDA driver's interface that ptxrun and the benchmarks use, declared here so that
// nothing of CUDA is needed to build. Layouts and numbers are those of the driver's documented
// interface (version 12, 64-bit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ptx2spv::tools::cuda {

using Result = int;
using DeviceNumber = int;
using DevicePointer = std::uint64_t;
using Context = void*;
using ModuleHandle = void*;
using Function = void*;
using ArrayHandle = void*;
using MipmappedArray = void*;
using SurfRef = void*;
using TexRef = void*;
using EventHandle = void*;
using LinkState = void*;
using Object = unsigned long long;  // surface and texture objects

struct Array3DDescriptor {
  std::size_t width = 0, height = 0, depth = 0;
  int format = 0;
  unsigned channels = 0, flags = 0;
};
inline constexpr unsigned kLayered = 1, kSurfaceLoadStore = 2, kCubemap = 4, kGather = 8;
struct Array2DDescriptor {
  std::size_t width = 0, height = 0;
  int format = 0;
  unsigned channels = 0;
};

struct Memcpy3D {
  std::size_t src_x = 0, src_y = 0, src_z = 0, src_lod = 0;
  int src_type = 0;
  const void* src_host = nullptr;
  DevicePointer src_device = 0;
  ArrayHandle src_array = nullptr;
  void* reserved0 = nullptr;
  std::size_t src_pitch = 0, src_height = 0;
  std::size_t dst_x = 0, dst_y = 0, dst_z = 0, dst_lod = 0;
  int dst_type = 0;
  void* dst_host = nullptr;
  DevicePointer dst_device = 0;
  ArrayHandle dst_array = nullptr;
  void* reserved1 = nullptr;
  std::size_t dst_pitch = 0, dst_height = 0;
  std::size_t width_bytes = 0, height = 0, depth = 0;
};
inline constexpr int kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3;

struct ResourceDescriptor {
  struct Linear {
    DevicePointer pointer;
    int format;
    unsigned channels;
    std::size_t bytes;
  };
  struct Pitched {
    DevicePointer pointer;
    int format;
    unsigned channels;
    std::size_t width, height, pitch;
  };
  int type = 0;  ///< 0 array, 1 mipmapped array, 2 linear memory, 3 pitched memory
  union {
    void* array;
    Linear linear;
    Pitched pitched;
    int reserved[32];
  };
  unsigned flags = 0;
};
static_assert(sizeof(ResourceDescriptor) == 144);

struct TextureDescriptor {
  int address[3] = {1, 1, 1};
  int filter = 0;
  unsigned flags = 0, max_anisotropy = 0;
  int mipmap_filter = 0;
  float mipmap_bias = 0, min_level = 0, max_level = 0;
  float border[4] = {};
  int reserved[12] = {};
};
static_assert(sizeof(TextureDescriptor) == 104);

inline constexpr unsigned kReadAsInteger = 1, kNormalizedCoordinates = 2, kSrgb = 16,
                          kFullTrilinear = 32, kSeamless = 64;
inline constexpr int kMaxDynamicShared = 8;  // a function's attribute
inline constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6, kJitLevel = 7;
inline constexpr int kInputPtx = 1;

// Name in this interface, symbol in the library, parameters.
#define PTX2SPV_CUDA_FUNCTIONS(F)                                                               \
  F(init, "cuInit", (unsigned))                                                                 \
  F(driver_version, "cuDriverGetVersion", (int*))                                               \
  F(device_count, "cuDeviceGetCount", (int*))                                                   \
  F(device_get, "cuDeviceGet", (DeviceNumber*, int))                                            \
  F(device_name, "cuDeviceGetName", (char*, int, DeviceNumber))                                 \
  F(device_attribute, "cuDeviceGetAttribute", (int*, int, DeviceNumber))                        \
  F(context_retain, "cuDevicePrimaryCtxRetain", (Context*, DeviceNumber))                       \
  F(context_release, "cuDevicePrimaryCtxRelease_v2", (DeviceNumber))                            \
  F(context_current, "cuCtxSetCurrent", (Context))                                              \
  F(synchronize, "cuCtxSynchronize", ())                                                        \
  F(error_name, "cuGetErrorName", (Result, const char**))                                       \
  F(error_text, "cuGetErrorString", (Result, const char**))                                     \
  F(mem_alloc, "cuMemAlloc_v2", (DevicePointer*, std::size_t))                                  \
  F(mem_free, "cuMemFree_v2", (DevicePointer))                                                  \
  F(to_device, "cuMemcpyHtoD_v2", (DevicePointer, const void*, std::size_t))                    \
  F(to_host, "cuMemcpyDtoH_v2", (void*, DevicePointer, std::size_t))                            \
  F(copy3d, "cuMemcpy3D_v2", (const Memcpy3D*))                                                 \
  F(array_create, "cuArray3DCreate_v2", (ArrayHandle*, const Array3DDescriptor*))               \
  F(array_destroy, "cuArrayDestroy", (ArrayHandle))                                             \
  F(mipmap_create, "cuMipmappedArrayCreate",                                                    \
    (MipmappedArray*, const Array3DDescriptor*, unsigned))                                      \
  F(mipmap_level, "cuMipmappedArrayGetLevel", (ArrayHandle*, MipmappedArray, unsigned))         \
  F(mipmap_destroy, "cuMipmappedArrayDestroy", (MipmappedArray))                                \
  F(surface_create, "cuSurfObjectCreate", (Object*, const ResourceDescriptor*))                 \
  F(texture_create, "cuTexObjectCreate",                                                        \
    (Object*, const ResourceDescriptor*, const TextureDescriptor*, const void*))                \
  F(link_create, "cuLinkCreate_v2", (unsigned, int*, void**, LinkState*))                       \
  F(link_add, "cuLinkAddData_v2",                                                               \
    (LinkState, int, void*, std::size_t, const char*, unsigned, int*, void**))                  \
  F(link_complete, "cuLinkComplete", (LinkState, void**, std::size_t*))                         \
  F(module_load, "cuModuleLoadDataEx", (ModuleHandle*, const void*, unsigned, int*, void**))    \
  F(module_function, "cuModuleGetFunction", (Function*, ModuleHandle, const char*))             \
  F(module_global, "cuModuleGetGlobal_v2",                                                      \
    (DevicePointer*, std::size_t*, ModuleHandle, const char*))                                  \
  F(module_surfref, "cuModuleGetSurfRef", (SurfRef*, ModuleHandle, const char*))                \
  F(surfref_array, "cuSurfRefSetArray", (SurfRef, ArrayHandle, unsigned))                       \
  F(module_texref, "cuModuleGetTexRef", (TexRef*, ModuleHandle, const char*))                   \
  F(texref_array, "cuTexRefSetArray", (TexRef, ArrayHandle, unsigned))                          \
  F(texref_address, "cuTexRefSetAddressMode", (TexRef, int, int))                               \
  F(texref_filter, "cuTexRefSetFilterMode", (TexRef, int))                                      \
  F(texref_border, "cuTexRefSetBorderColor", (TexRef, float*))                                  \
  F(texref_format, "cuTexRefSetFormat", (TexRef, int, int))                                     \
  F(texref_linear, "cuTexRefSetAddress_v2", (std::size_t*, TexRef, DevicePointer, std::size_t)) \
  F(texref_address_2d, "cuTexRefSetAddress2D_v3",                                               \
    (TexRef, const Array2DDescriptor*, DevicePointer, std::size_t))                             \
  F(texref_mipmap, "cuTexRefSetMipmappedArray", (TexRef, MipmappedArray, unsigned))             \
  F(texref_mipmap_filter, "cuTexRefSetMipmapFilterMode", (TexRef, int))                         \
  F(texref_mipmap_bias, "cuTexRefSetMipmapLevelBias", (TexRef, float))                          \
  F(texref_mipmap_clamp, "cuTexRefSetMipmapLevelClamp", (TexRef, float, float))                 \
  F(texref_anisotropy, "cuTexRefSetMaxAnisotropy", (TexRef, unsigned))                          \
  F(texref_flags, "cuTexRefSetFlags", (TexRef, unsigned))                                       \
  F(function_attribute, "cuFuncSetAttribute", (Function, int, int))                             \
  F(launch, "cuLaunchKernel",                                                                   \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,     \
     void**, void**))                                                                           \
  F(event_create, "cuEventCreate", (EventHandle*, unsigned))                                    \
  F(event_record, "cuEventRecord", (EventHandle, void*))                                        \
  F(event_elapsed, "cuEventElapsedTime", (float*, EventHandle, EventHandle))                    \
  F(event_destroy, "cuEventDestroy_v2", (EventHandle))

/// The driver's functions, found by name when the library is opened.
struct Api {
#define PTX2SPV_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  PTX2SPV_CUDA_FUNCTIONS(PTX2SPV_CUDA_MEMBER)
#undef PTX2SPV_CUDA_MEMBER
};

/// Opens libcuda. On failure false and the reason. A function that the driver does not have stays
/// null; the deprecated reference functions are the ones that may go.
bool load_api(Api& api, std::string& reason);

}  // namespace ptx2spv::tools::cuda
