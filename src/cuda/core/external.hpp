// Memory and semaphores of other interfaces, by file descriptors (Vulkan's OPAQUE_FD).
#pragma once

#include "src/cuda/core/core.hpp"

namespace ptx2spv::cuda {

/// On success the descriptor is the library's.
CUresult import_external(ContextObject& context, CUexternalMemory* made,
                         const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc);
CUresult destroy_external(CUexternalMemory memory);
/// Memory and arrays that the program frees like its own.
CUresult map_external(CUexternalMemory memory, CUdeviceptr* address,
                      const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* desc);
CUresult map_external(CUexternalMemory memory, CUmipmappedArray* mipmap,
                      const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* desc);
CUresult import_external(ContextObject& context, CUexternalSemaphore* made,
                         const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc);
CUresult destroy_external(CUexternalSemaphore semaphore);
/// `stride`: bytes of each of the parameters, whose version is the caller's, and `flags` where
/// these have their flags.
CUresult use_semaphores(StreamObject& stream, const CUexternalSemaphore* list, const void* params,
                        unsigned count, bool waits,
                        std::size_t stride = sizeof(CUDA_EXTERNAL_SEMAPHORE_PARAMS),
                        std::size_t flags = offsetof(CUDA_EXTERNAL_SEMAPHORE_PARAMS, flags));
void forget_externals(const ContextObject& context);

}  // namespace ptx2spv::cuda
