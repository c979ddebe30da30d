// Allocations, page-locked and managed memory, pools, pointers and symbols.

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

CUresult allocate_rows(ContextObject& context, cudaPitchedPtr& made, std::size_t width,
                       std::size_t height, std::size_t depth) {
  made = {nullptr, 0, width, height};
  if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
  std::size_t pitch = 0, bytes = 0;
  if (CUresult code = pitch_of(width, pitch); code != eSuccess) return code;
  if (__builtin_mul_overflow(pitch, height, &bytes) || __builtin_mul_overflow(bytes, depth, &bytes))
    return fail(eMemoryAllocation, "more than any memory holds");
  if (!bytes) return eSuccess;
  made.pitch = pitch;
  std::shared_ptr<Allocation> allocation;
  CUresult code =
      allocate(context, bytes, MemoryUse::device, 0, allocation, nullptr, BufferMemory::rows);
  if (code == eSuccess) made.ptr = reinterpret_cast<void*>(allocation->address);
  return code;
}

CUresult allocate_pointer(ContextObject& context, void** pointer, std::size_t bytes, MemoryUse use,
                          unsigned flags) {
  *pointer = nullptr;
  if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
  if (!bytes) return eSuccess;
  std::shared_ptr<Allocation> allocation;
  CUresult code = allocate(context, bytes, use, flags, allocation);
  if (code != eSuccess) return code;
  *pointer = use == MemoryUse::host ? static_cast<void*>(allocation->host)
                                    : reinterpret_cast<void*>(allocation->address);
  return eSuccess;
}

CUresult allocate_async(void** pointer, std::size_t bytes, CUmemoryPool pool, CUstream handle) {
  if (!pointer) return keep(eInvalidValue);
  *pointer = nullptr;
  return call_in(handle, [&](ContextObject& context, const auto& stream) -> CUresult {
    if (!bytes) return eSuccess;
    CUdeviceptr address = 0;
    CUresult code = allocate_in_stream(context, *stream, pool, bytes, address);
    *pointer = reinterpret_cast<void*>(address);
    return code;
  });
}

extern "C" {

CUresult cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                         std::size_t height) {
  if (!pointer || !pitch) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    cudaPitchedPtr made;
    CUresult code = allocate_rows(context, made, width, height, 1);
    *pointer = made.ptr;
    *pitch = made.pitch;
    return code;
  });
}

CUresult cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  if (!device || flags) return keep(eInvalidValue);
  return call([&](ContextObject&) {
    CUdeviceptr address = 0;
    const CUresult code = device_pointer(host, address);
    if (code == eSuccess) *device = reinterpret_cast<void*>(address);
    return code;
  });
}

CUresult cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (!attributes) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    cudaPointerAttributes a{};
    const auto [allocation, offset] = find_place(reinterpret_cast<CUdeviceptr>(pointer));
    if (!allocation) {
      // Memory that CUDA does not know: a device that reads pageable memory says so much.
      a.device = -2;
      if (context.device->shared_addresses) a.devicePointer = const_cast<void*>(pointer);
      a.hostPointer = const_cast<void*>(pointer);
    } else {
      const bool host =
          allocation->use == MemoryUse::host || allocation->use == MemoryUse::registered;
      a.type = host ? 1 : allocation->host ? 3 : 2;
      a.device = allocation->context->device->ordinal;
      a.devicePointer = reinterpret_cast<void*>(allocation->address + offset);
      a.hostPointer = allocation->host ? allocation->host + offset : nullptr;
    }
    *attributes = a;
    return eSuccess;
  });
}

CUresult cudaGetSymbolAddress(void** pointer, const void* symbol) {
  if (!pointer) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CUresult code = find_symbol(context, symbol, address, bytes);
    if (code == eSuccess) *pointer = reinterpret_cast<void*>(address);
    return code;
  });
}

CUresult cudaGetSymbolSize(std::size_t* size, const void* symbol) {
  if (!size) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    CUdeviceptr address = 0;
    return find_symbol(context, symbol, address, *size);
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
