// Memory and semaphores of other interfaces.
#include "src/cuda/core/external.hpp"

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

namespace {

CUresult use(const CUexternalSemaphore* list, const CUDA_EXTERNAL_SEMAPHORE_PARAMS* params,
             unsigned count, CUstream handle, bool waits) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return use_semaphores(*stream, list, params, count, waits, sizeof *params,
                          offsetof(CUDA_EXTERNAL_SEMAPHORE_PARAMS, flags));
  });
}

}  // namespace

extern "C" {

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* address, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* desc) {
  return call([&](ContextObject&) { return map_external(memory, address, desc); });
}
CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray* mipmap, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* desc) {
  return call([&](ContextObject&) { return map_external(memory, mipmap, desc); });
}
CUresult cuSignalExternalSemaphoresAsync(const CUexternalSemaphore* list,
                                         const CUDA_EXTERNAL_SEMAPHORE_PARAMS* params,
                                         unsigned count, CUstream stream) {
  return use(list, params, count, stream, false);
}
CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore* list,
                                       const CUDA_EXTERNAL_SEMAPHORE_PARAMS* params, unsigned count,
                                       CUstream stream) {
  return use(list, params, count, stream, true);
}

}  // extern "C"

}  // namespace ptx2spv::cuda
