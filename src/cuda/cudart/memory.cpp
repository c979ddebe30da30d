// Allocations, page-locked and managed memory, pools, pointers and symbols.
#include <algorithm>
#include <cstring>

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

namespace {

CUresult allocate_rows(ContextObject& context, cudaPitchedPtr& made, std::size_t width,
                       std::size_t height, std::size_t depth) {
  made = {nullptr, 0, width, height};
  std::size_t pitch = 0, bytes = 0;
  if (__builtin_add_overflow(width, kPitch - 1, &pitch)) return fail(eInvalidValue, "too wide");
  pitch = pitch / kPitch * kPitch;
  if (__builtin_mul_overflow(pitch, height, &bytes) || __builtin_mul_overflow(bytes, depth, &bytes))
    return fail(eMemoryAllocation, "more than any memory holds");
  made.pitch = pitch;
  if (!bytes) return eSuccess;
  std::shared_ptr<Allocation> allocation;
  CUresult code = allocate(context, bytes, MemoryUse::device, 0, allocation);
  if (code == eSuccess) made.ptr = reinterpret_cast<void*>(allocation->address);
  return code;
}

CUresult give(ContextObject& context, void** pointer, std::size_t bytes, MemoryUse use,
              unsigned flags, PoolObject* pool = nullptr) {
  *pointer = nullptr;
  if (!bytes) return eSuccess;
  std::shared_ptr<Allocation> allocation;
  CUresult code = allocate(context, bytes, use, flags, allocation);
  if (code != eSuccess) return code;
  allocation->pool = pool;
  if (pool) {
    pool->used += bytes;
    pool->used_high = std::max(pool->used_high, pool->used);
  }
  *pointer = use == MemoryUse::host ? static_cast<void*>(allocation->host)
                                    : reinterpret_cast<void*>(allocation->address);
  return eSuccess;
}

}  // namespace

extern "C" {

CUresult cudaMalloc(void** pointer, std::size_t bytes) {
  if (!pointer) return keep(eInvalidValue);
  return call(
      [&](ContextObject& context) { return give(context, pointer, bytes, MemoryUse::device, 0); });
}

CUresult cudaFree(void* pointer) {
  return call([&](ContextObject&) -> CUresult {
    if (!pointer) return eSuccess;
    return release(reinterpret_cast<CUdeviceptr>(pointer), MemoryUse::device);
  });
}

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

CUresult cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (!pointer) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    return allocate_rows(context, *pointer, extent.width, extent.height, extent.depth);
  });
}

CUresult cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  if (!pointer || (flags & ~7u)) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    return give(context, pointer, bytes, MemoryUse::host, flags);
  });
}

CUresult cudaMallocHost(void** pointer, std::size_t bytes) {
  return cudaHostAlloc(pointer, bytes, 0);
}

CUresult cudaFreeHost(void* pointer) {
  return call([&](ContextObject&) { return pointer ? release_host(pointer) : eSuccess; });
}

CUresult cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  if (!pointer || (flags != 1 && flags != 2 && flags != 4) || !bytes) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    return give(context, pointer, bytes, MemoryUse::managed, flags);
  });
}

CUresult cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return call(
      [&](ContextObject& context) { return register_host(context, pointer, bytes, flags); });
}

CUresult cudaHostUnregister(void* pointer) {
  return call([&](ContextObject&) { return unregister_host(pointer); });
}

CUresult cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  if (!device || flags) return keep(eInvalidValue);
  return call([&](ContextObject&) -> CUresult {
    auto allocation = find_host(host);
    if (!allocation) return fail(eInvalidValue, "the pointer is of no page-locked memory");
    const auto offset = static_cast<std::byte*>(host) - allocation->host;
    *device = reinterpret_cast<void*>(allocation->address + static_cast<std::uint64_t>(offset));
    return eSuccess;
  });
}

CUresult cudaHostGetFlags(unsigned* flags, void* host) {
  if (!flags) return keep(eInvalidValue);
  return call([&](ContextObject&) -> CUresult {
    auto allocation = find_host(host);
    if (!allocation) return fail(eInvalidValue, "the pointer is of no page-locked memory");
    *flags = allocation->flags | 2;  // all of it is mapped
    return eSuccess;
  });
}

CUresult cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (!free || !total) return keep(eInvalidValue);
  return call([&](ContextObject& context) { return memory_info(context, *free, *total); });
}

CUresult cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (!attributes) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    cudaPointerAttributes a{};
    auto allocation = find_address(reinterpret_cast<CUdeviceptr>(pointer));
    if (!allocation) allocation = find_host(pointer);
    if (!allocation) {
      // Memory that CUDA does not know: a device that reads pageable memory says so much.
      a.device = -2;
      if (context.device->shared_addresses) a.devicePointer = const_cast<void*>(pointer);
      a.hostPointer = const_cast<void*>(pointer);
    } else {
      const bool by_host = allocation->host && allocation->host <= pointer &&
                           pointer < allocation->host + allocation->bytes;
      const std::uint64_t offset =
          by_host ? static_cast<std::uint64_t>(static_cast<const std::byte*>(pointer) -
                                               allocation->host)
                  : reinterpret_cast<CUdeviceptr>(pointer) - allocation->address;
      a.type = allocation->use == MemoryUse::managed                                            ? 3
               : allocation->use == MemoryUse::host || allocation->use == MemoryUse::registered ? 1
               : allocation->host                                                               ? 3
                                                                                                : 2;
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

// ------------------------------------------------------------------------ stream-ordered memory

CUresult cudaMallocAsync(void** pointer, std::size_t bytes, CUstream handle) {
  return cudaMallocFromPoolAsync(pointer, bytes, nullptr, handle);
}

CUresult cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, CUmemoryPool pool,
                                 CUstream handle) {
  if (!pointer) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject& context, const auto& stream) -> CUresult {
    if (pool && !tables().pools.has(pool)) return fail(eInvalidValue, "no such pool");
    CUresult code = give(context, pointer, bytes, MemoryUse::device, 0, pool);
    if (code == eSuccess && capturing(*stream))
      return capture(*stream,
                     Operation{AllocateOperation{reinterpret_cast<CUdeviceptr>(*pointer), bytes}});
    return code;
  });
}

CUresult cudaFreeAsync(void* pointer, CUstream handle) {
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    if (!pointer) return fail(eInvalidValue, "a null pointer is not freed in a stream");
    const auto address = reinterpret_cast<CUdeviceptr>(pointer);
    // What a graph allocates stays for the graph's next launch.
    if (capturing(*stream)) return capture(*stream, Operation{FreeOperation{address}});
    return release(address, MemoryUse::device);
  });
}

CUresult cudaDeviceGetDefaultMemPool(CUmemoryPool* pool, int ordinal) {
  if (!pool) return keep(eInvalidValue);
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  if (!device_at(ordinal)) return keep(eInvalidDevice);
  static std::mutex mutex;
  static auto* builtin = new std::map<int, PoolObject*>;
  std::lock_guard lock(mutex);
  PoolObject*& found = (*builtin)[ordinal];
  if (!found) {
    auto made = std::make_shared<PoolObject>();
    made->device = ordinal;
    made->builtin = true;
    found = tables().pools.add(std::move(made));
  }
  *pool = found;
  return eSuccess;
}

CUresult cudaDeviceGetMemPool(CUmemoryPool* pool, int ordinal) {
  return cudaDeviceGetDefaultMemPool(pool, ordinal);
}

CUresult cudaDeviceSetMemPool(int ordinal, CUmemoryPool pool) {
  if (!device_at(ordinal)) return keep(eInvalidDevice);
  return keep(tables().pools.has(pool) ? eSuccess : eInvalidValue);
}

CUresult cudaMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  if (!pool || !props) return keep(eInvalidValue);
  return call([&](ContextObject&) -> CUresult {
    if (props->handleTypes)
      return not_supported("a memory pool for other processes",
                           "memory is not shared between processes");
    auto made = std::make_shared<PoolObject>();
    made->device = props->location.id;
    *pool = tables().pools.add(std::move(made));
    return eSuccess;
  });
}

CUresult cudaMemPoolDestroy(CUmemoryPool pool) {
  auto found = tables().pools.find(pool);
  if (!found || found->builtin) return keep(eInvalidValue);
  tables().pools.take(pool);
  return eSuccess;
}

CUresult cudaMemPoolTrimTo(CUmemoryPool pool, std::size_t) {
  return keep(tables().pools.has(pool) ? eSuccess : eInvalidValue);
}

CUresult cudaMemPoolSetAttribute(CUmemoryPool pool, int attribute, void* value) {
  auto found = tables().pools.find(pool);
  if (!found || !value) return keep(eInvalidValue);
  if (attribute >= 1 && attribute <= 3)
    std::memcpy(&found->reuse[attribute - 1], value, sizeof(int));
  else if (attribute == 4)
    std::memcpy(&found->release_threshold, value, 8);
  else if (attribute == 8)
    found->used_high = found->used;
  else if (attribute != 6)
    return keep(eInvalidValue);
  return eSuccess;
}

CUresult cudaMemPoolGetAttribute(CUmemoryPool pool, int attribute, void* value) {
  auto found = tables().pools.find(pool);
  if (!found || !value) return keep(eInvalidValue);
  if (attribute >= 1 && attribute <= 3) {
    std::memcpy(value, &found->reuse[attribute - 1], sizeof(int));
    return eSuccess;
  }
  // Freed memory goes back at once: what is reserved is what is used.
  const std::uint64_t numbers[] = {found->release_threshold, found->used, found->used_high,
                                   found->used, found->used_high};
  if (attribute < 4 || attribute > 8) return keep(eInvalidValue);
  std::memcpy(value, &numbers[attribute - 4], 8);
  return eSuccess;
}

CUresult cudaMemPoolSetAccess(CUmemoryPool pool, const void*, std::size_t) {
  return keep(tables().pools.has(pool) ? eSuccess : eInvalidValue);
}

CUresult cudaMemPoolGetAccess(int* flags, CUmemoryPool pool, CUmemLocation* location) {
  auto found = tables().pools.find(pool);
  if (!found || !flags || !location) return keep(eInvalidValue);
  *flags = location->id == found->device ? 3 : 0;
  return eSuccess;
}

#if PTX2SPV_CUDART >= 13
CUresult cudaMemAdvise(const void* pointer, std::size_t bytes, int advice, CUmemLocation) {
#else
CUresult cudaMemAdvise_v2(const void* pointer, std::size_t bytes, int advice, CUmemLocation) {
  return cudaMemAdvise(pointer, bytes, advice, 0);
}
CUresult cudaMemAdvise(const void* pointer, std::size_t bytes, int advice, int) {
#endif
  return call([&](ContextObject&) -> CUresult {
    auto allocation = find_address(reinterpret_cast<CUdeviceptr>(pointer));
    if (!bytes || advice < 1 || advice > 6 || !allocation || allocation->use != MemoryUse::managed)
      return fail(eInvalidValue, "the memory is not managed");
    return eSuccess;  // a hint: the memory is where device and host reach it
  });
}

#if PTX2SPV_CUDART >= 13
CUresult cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, CUmemLocation, unsigned,
                              CUstream handle) {
#else
CUresult cudaMemPrefetchAsync_v2(const void* pointer, std::size_t bytes, CUmemLocation, unsigned,
                                 CUstream handle) {
  return cudaMemPrefetchAsync(pointer, bytes, 0, handle);
}
CUresult cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int, CUstream handle) {
#endif
  return call_in(handle, [&](ContextObject&, const auto&) -> CUresult {
    auto allocation = find_address(reinterpret_cast<CUdeviceptr>(pointer));
    if (!bytes || !allocation || allocation->use != MemoryUse::managed)
      return fail(eInvalidValue, "the memory is not managed");
    return eSuccess;
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
