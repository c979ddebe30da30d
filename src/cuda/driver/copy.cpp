// cuMemcpy and cuMemset in all their forms.
#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

CUresult copy_in_stream(CUstream handle, const CUDA_MEMCPY3D_PEER& copy_of) {
  return call_in(handle, [&](ContextObject& context, const auto& stream) {
    return copy_in(context, *stream, copy_of);
  });
}

CUresult copy_linear(CUstream stream, void* to, unsigned to_kind, const void* from,
                     unsigned from_kind, std::size_t bytes) {
  return copy_in_stream(stream, linear_copy(to, to_kind, from, from_kind, bytes));
}

/// A row of an array and memory. `x`: bytes from the row's start.
CUresult copy_row(CUstream stream, CUarray to_array, CUarray from_array, std::size_t to_x,
                  std::size_t from_x, unsigned kind, void* memory, std::size_t bytes) {
  if (!to_array && !from_array) return fail(eInvalidValue, "no array");
  CUDA_MEMCPY3D_PEER p = linear_copy(memory, kind, memory, kind, bytes);
  if (to_array) {
    p.dstMemoryType = kMemoryArray;
    p.dstArray = to_array;
    p.dstXInBytes = to_x;
  }
  if (from_array) {
    p.srcMemoryType = kMemoryArray;
    p.srcArray = from_array;
    p.srcXInBytes = from_x;
  }
  return copy_in_stream(stream, p);
}

CUresult fill_in_stream(CUstream handle, CUdeviceptr to, std::size_t pitch, unsigned value,
                        unsigned element, std::size_t width, std::size_t height) {
  const CUDA_MEMSET_NODE_PARAMS set{to, pitch, value, element, width, height};
  return call_in(handle, [&](ContextObject& context, const auto& stream) {
    return fill_in(context, *stream, set);
  });
}

extern "C" {

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* given, CUstream stream) {
  if (!given) return eInvalidValue;
  if ((given->srcMemoryType == kMemoryArray && !given->srcArray) ||
      (given->dstMemoryType == kMemoryArray && !given->dstArray))
    return fail(eInvalidValue, "no array");
  if ((given->srcMemoryType == kMemoryArray && given->srcLOD) ||
      (given->dstMemoryType == kMemoryArray && given->dstLOD))
    return fail(eInvalidValue, "a level is an array of its own");
  return copy_in_stream(stream, peer_copy(*given));
}

}  // extern "C"

}  // namespace ptx2spv::cuda
