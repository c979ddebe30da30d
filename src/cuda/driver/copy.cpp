// cuMemcpy and cuMemset in all their forms.
#include "src/cuda/core/backlog.hpp"
#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

namespace {

CUresult submit(CUstream handle, const CUDA_MEMCPY3D_PEER& copy_of) {
  return call_in(handle, [&](ContextObject& context, const auto& stream) {
    return copy_in(context, *stream, copy_of);
  });
}

CUresult linear(CUstream stream, void* to, unsigned to_kind, const void* from, unsigned from_kind,
                std::size_t bytes) {
  return submit(stream, linear_copy(to, to_kind, from, from_kind, bytes));
}

/// A row of an array and memory. `x`: bytes from the row's start.
CUresult row(CUstream stream, CUarray to_array, CUarray from_array, std::size_t to_x,
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
  return submit(stream, p);
}

CUresult fill(CUstream handle, CUdeviceptr to, std::size_t pitch, unsigned value, unsigned element,
              std::size_t width, std::size_t height) {
  const CUDA_MEMSET_NODE_PARAMS set{to, pitch, value, element, width, height};
  return call_in(handle, [&](ContextObject& context, const auto& stream) {
    return fill_in(context, *stream, set);
  });
}

}  // namespace

extern "C" {

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return linear(stream, pointer(to), kMemoryUnified, pointer(from), kMemoryUnified, bytes);
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  const Synchronous scope;
  return cuMemcpyAsync(to, from, bytes, nullptr);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext,
                           std::size_t bytes, CUstream stream) {
  return linear(stream, pointer(to), kMemoryDevice, pointer(from), kMemoryDevice, bytes);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, std::size_t bytes) {
  const Synchronous scope;
  return cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, nullptr);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes,
                              CUstream stream) {
  return linear(stream, pointer(to), kMemoryDevice, from, kMemoryHost, bytes);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  const Synchronous scope;
  return cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return linear(stream, to, kMemoryHost, pointer(from), kMemoryDevice, bytes);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  const Synchronous scope;
  return cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                              CUstream stream) {
  return linear(stream, pointer(to), kMemoryDevice, pointer(from), kMemoryDevice, bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  const Synchronous scope;
  return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr);
}
CUresult cuMemcpyDtoA_v2(CUarray to, std::size_t x, CUdeviceptr from, std::size_t bytes) {
  return row(nullptr, to, nullptr, x, 0, kMemoryDevice, pointer(from), bytes);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, std::size_t x, std::size_t bytes) {
  return row(nullptr, nullptr, from, 0, x, kMemoryDevice, pointer(to), bytes);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, std::size_t x, const void* from, std::size_t bytes,
                              CUstream stream) {
  return row(stream, to, nullptr, x, 0, kMemoryHost, const_cast<void*>(from), bytes);
}
CUresult cuMemcpyHtoA_v2(CUarray to, std::size_t x, const void* from, std::size_t bytes) {
  const Synchronous scope;
  return cuMemcpyHtoAAsync_v2(to, x, from, bytes, nullptr);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, std::size_t x, std::size_t bytes,
                              CUstream stream) {
  return row(stream, nullptr, from, 0, x, kMemoryHost, to, bytes);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, std::size_t x, std::size_t bytes) {
  const Synchronous scope;
  return cuMemcpyAtoHAsync_v2(to, from, x, bytes, nullptr);
}
CUresult cuMemcpyAtoA_v2(CUarray to, std::size_t to_x, CUarray from, std::size_t from_x,
                         std::size_t bytes) {
  return row(nullptr, to, from, to_x, from_x, kMemoryHost, nullptr, bytes);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* given, CUstream stream) {
  return given ? submit(stream, peer_copy(*given)) : eInvalidValue;
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* given) {
  const Synchronous scope;
  return cuMemcpy2DAsync_v2(given, nullptr);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* given) {
  const Synchronous scope;
  return cuMemcpy2DAsync_v2(given, nullptr);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* given, CUstream stream) {
  if (!given) return eInvalidValue;
  if ((given->srcMemoryType == kMemoryArray && !given->srcArray) ||
      (given->dstMemoryType == kMemoryArray && !given->dstArray))
    return fail(eInvalidValue, "no array");
  if ((given->srcMemoryType == kMemoryArray && given->srcLOD) ||
      (given->dstMemoryType == kMemoryArray && given->dstLOD))
    return fail(eInvalidValue, "a level is an array of its own");
  return submit(stream, peer_copy(*given));
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* given) {
  const Synchronous scope;
  return cuMemcpy3DAsync_v2(given, nullptr);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* given, CUstream stream) {
  return given ? submit(stream, *given) : eInvalidValue;
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* given) {
  const Synchronous scope;
  return cuMemcpy3DPeerAsync(given, nullptr);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill(stream, to, 0, value, 1, count, 1);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                          CUstream stream) {
  return fill(stream, to, 0, value, 2, count, 1);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill(stream, to, 0, value, 4, count, 1);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value,
                           std::size_t width, std::size_t height, CUstream stream) {
  return fill(stream, to, pitch, value, 1, width, height);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, std::size_t pitch, unsigned short value,
                            std::size_t width, std::size_t height, CUstream stream) {
  return fill(stream, to, pitch, value, 2, width, height);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                            std::size_t height, CUstream stream) {
  return fill(stream, to, pitch, value, 4, width, height);
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  return cuMemsetD8Async(to, value, count, nullptr);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, std::size_t count) {
  return cuMemsetD16Async(to, value, count, nullptr);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, std::size_t count) {
  return cuMemsetD32Async(to, value, count, nullptr);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                         std::size_t height) {
  return cuMemsetD2D8Async(to, pitch, value, width, height, nullptr);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, std::size_t pitch, unsigned short value,
                          std::size_t width, std::size_t height) {
  return cuMemsetD2D16Async(to, pitch, value, width, height, nullptr);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                          std::size_t height) {
  return cuMemsetD2D32Async(to, pitch, value, width, height, nullptr);
}

}  // extern "C"

}  // namespace ptx2spv::cuda
