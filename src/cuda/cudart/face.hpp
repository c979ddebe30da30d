// What the files of the runtime interface share. Each is compiled for CUDA 11, for CUDA 12 and for
// CUDA 13, whose layouts and signatures differ here and there (PTX2SPV_CUDART).
#pragma once

#include "src/cuda/face.hpp"
#include "src/cuda/runtime_types.hpp"

/// The name of a function that both interfaces have (src/cuda/both.hpp).
#define PTX2SPV_BOTH(runtime, driver) runtime
#define PTX2SPV_CU(name) cuda##name

namespace ptx2spv::cuda {

#if PTX2SPV_CUDART >= 13
using cudaDeviceProp = cudaDeviceProp13;
#else
using cudaDeviceProp = cudaDeviceProp12;
#endif
// What a row of the table, or a piece of code, is compiled for.
#define PTX2SPV_IF_11(...)
#define PTX2SPV_IF_12(...)
#define PTX2SPV_IF_13(...)
#define PTX2SPV_IF_11_12(...) __VA_ARGS__
#define PTX2SPV_IF_12_13(...) __VA_ARGS__
#define PTX2SPV_IF_all(...) __VA_ARGS__
#if PTX2SPV_CUDART == 11
#undef PTX2SPV_IF_11
#define PTX2SPV_IF_11(...) __VA_ARGS__
#undef PTX2SPV_IF_12_13
#define PTX2SPV_IF_12_13(...)
#elif PTX2SPV_CUDART == 12
#undef PTX2SPV_IF_12
#define PTX2SPV_IF_12(...) __VA_ARGS__
#else
#undef PTX2SPV_IF_13
#define PTX2SPV_IF_13(...) __VA_ARGS__
#undef PTX2SPV_IF_11_12
#define PTX2SPV_IF_11_12(...)
#endif

// Every function is declared by its row of the table.
extern "C" {
#define PTX2SPV_CUDART_FUNCTION(versions, name, variant, ...) \
  PTX2SPV_IF_##versions(PTX2SPV_DECLARE(name, __VA_ARGS__))
#define PTX2SPV_CUDART_MISSING(versions, name, variant, reason)
#include "src/cuda/cudart/functions.def"
PTX2SPV_EXPORT CUresult __cudaGetKernel(CUkernel* found, const void* host);
}

/// Bytes of the value of a launch's attribute: a union that CUDA 12 made larger.
inline constexpr std::size_t kAttributeBytes = PTX2SPV_CUDART >= 12 ? 64 : 32;

/// Runs `function(context)` in the current context, with the error kept.
template <class F>
CUresult call(F&& function) {
  ContextObject* context = nullptr;
  CUresult code = enter_runtime(context);
  if (code == eSuccess) code = function(*context);
  return code == eSuccess ? code : keep(code);
}

/// For functions of a device or a pool, which need no context.
template <class F>
CUresult initialized_call(F&& function) {
  return keep(IF_GOOD(initialize(), function()));
}

/// There is always a current context.
template <class F>
CUresult call_in_any(F&& function) {
  return call(std::forward<F>(function));
}
template <class F>
CUresult call_anywhere(F&& function) {
  return call([&](ContextObject& context) -> CUresult { return function(&context); });
}

/// The kernel of a host function, a cudaKernel_t or a cudaFunction_t: whatever a program launches.
/// `missing`: the answer where it is none.
CUresult find_kernel(ContextObject& context, const void* symbol, FunctionObject*& found,
                     CUresult missing = eInvalidDeviceFunction);
template <class F>
CUresult with_kernel(const void* symbol, F&& function, CUresult missing = eInvalidDeviceFunction) {
  return call([&](ContextObject& context) -> CUresult {
    FunctionObject* found = nullptr;
    if (CUresult code = find_kernel(context, symbol, found, missing); code != eSuccess) return code;
    return function(*found);
  });
}

/// The address that the program knows a kernel by; a function that no program registered is its
/// own.
const void* symbol_of(const FunctionObject& function);
/// The variable that a host variable stands for.
CUresult find_symbol(ContextObject& context, const void* symbol, CUdeviceptr& address,
                     std::size_t& bytes);

/// The texture or surface reference that a host variable stands for, of the current context.
/// `normalized`: its type has reads give integers as floats up to 1.
CUresult find_texture_ref(ContextObject& context, const void* variable, TextureRefObject*& found,
                          bool& normalized);
CUresult find_surface_ref(ContextObject& context, const void* variable, SurfaceRefObject*& found);

// Operations of a graph's nodes.
CUresult kernel_operation(const cudaKernelNodeParams* params, Operation& made);
CUresult copy_operation(const cudaMemcpy3DParms* params, Operation& made);
CUresult linear_operation(void* to, const void* from, std::size_t bytes, int kind, Operation& made);
CUresult symbol_operation(const void* symbol, std::size_t offset, void* other, std::size_t bytes,
                          int kind, bool to_symbol, Operation& made);
CUresult generic_operation(cudaGraphNodeParams* params, Operation& made);

CUresult fill_in_stream(CUstream handle, const CUDA_MEMSET_NODE_PARAMS& set);
CUresult allocate_rows(ContextObject& context, cudaPitchedPtr& made, std::size_t width,
                       std::size_t height, std::size_t depth);
CUresult allocate_pointer(ContextObject& context, void** pointer, std::size_t bytes, MemoryUse use,
                          unsigned flags);
/// `pool` null: the device's current one.
CUresult allocate_async(void** pointer, std::size_t bytes, CUmemoryPool pool, CUstream handle);
CUresult enqueue_symbol(const void* symbol, const dim3& grid, const dim3& block, void** args,
                        std::size_t shared, CUstream handle, bool cooperative);

bool array_format(const cudaChannelFormatDesc& desc, CUarray_format& format, unsigned& channels);
CUresult describe_array(const cudaChannelFormatDesc* channels, const cudaExtent& extent,
                        unsigned flags, CUDA_ARRAY3D_DESCRIPTOR& desc);
cudaChannelFormatDesc channel_desc(CUarray_format format, unsigned channels);
CUresult convert_copy(const cudaMemcpy3DParms& given, CUDA_MEMCPY3D_PEER& copy);
/// The other way, for who asks what a graph's node does.
CUresult given_copy(const CUDA_MEMCPY3D_PEER& copy, cudaMemcpy3DParms& given);
/// kMemoryHost ... of one side of a copy; false: no such kind.
bool sides_of(int kind, unsigned& from, unsigned& to);

/// What cudaTextureDesc and textureReference say alike of reads.
template <class From>
CUresult copy_reads(const From& from, CUDA_TEXTURE_DESC& to) {
  for (int i = 0; i < 3; ++i) {
    if (from.addressMode[i] < 0 || from.addressMode[i] > 3)
      return fail(eInvalidValue, "no such address mode");
    to.addressMode[i] = static_cast<unsigned>(from.addressMode[i]);
  }
  to.filterMode = static_cast<unsigned>(from.filterMode);
  to.mipmapFilterMode = static_cast<unsigned>(from.mipmapFilterMode);
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  to.flags =
      (from.sRGB ? kSrgb : 0) | (from.disableTrilinearOptimization ? kNoTrilinearOptimization : 0);
  return eSuccess;
}

}  // namespace ptx2spv::cuda
