// Memory and semaphores of other interfaces.
#include "src/cuda/core/external.hpp"

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

namespace {

/// Bytes of the parameters, and where their flags are: what CUDA 11.1 had, and all since then.
struct Layout {
  std::size_t bytes, flags;
};
constexpr Layout kNow{sizeof(CUDA_EXTERNAL_SEMAPHORE_PARAMS),
                      offsetof(CUDA_EXTERNAL_SEMAPHORE_PARAMS, flags)};
constexpr Layout kSignal = PTX2SPV_CUDART >= 13 ? kNow : Layout{32, 24};
constexpr Layout kWait = PTX2SPV_CUDART >= 13 ? kNow : Layout{40, 32};

CUresult use(const CUexternalSemaphore* list, const void* params, unsigned count, CUstream handle,
             bool waits, Layout layout) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return use_semaphores(*stream, list, params, count, waits, layout.bytes, layout.flags);
  });
}

}  // namespace

extern "C" {

CUresult cudaExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray* mipmap, CUexternalMemory memory,
    const cudaExternalMemoryMipmappedArrayDesc* desc) {
  if (!desc) return keep(eInvalidValue);
  return call([&](ContextObject&) -> CUresult {
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC described{};
    described.offset = desc->offset;
    described.numLevels = desc->numLevels;
    CUresult code =
        describe_array(&desc->formatDesc, desc->extent, desc->flags, described.arrayDesc);
    return code == eSuccess ? map_external(memory, mipmap, &described) : code;
  });
}
CUresult cudaSignalExternalSemaphoresAsync(const CUexternalSemaphore* list, const void* params,
                                           unsigned count, CUstream stream) {
  return use(list, params, count, stream, false, kSignal);
}
CUresult cudaWaitExternalSemaphoresAsync(const CUexternalSemaphore* list, const void* params,
                                         unsigned count, CUstream stream) {
  return use(list, params, count, stream, true, kWait);
}
#if PTX2SPV_CUDART < 13
CUresult cudaSignalExternalSemaphoresAsync_v2(const CUexternalSemaphore* list,
                                              const CUDA_EXTERNAL_SEMAPHORE_PARAMS* params,
                                              unsigned count, CUstream stream) {
  return use(list, params, count, stream, false, kNow);
}
CUresult cudaWaitExternalSemaphoresAsync_v2(const CUexternalSemaphore* list,
                                            const CUDA_EXTERNAL_SEMAPHORE_PARAMS* params,
                                            unsigned count, CUstream stream) {
  return use(list, params, count, stream, true, kNow);
}
#endif

}  // extern "C"

}  // namespace ptx2spv::cuda
