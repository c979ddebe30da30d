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

CUresult put(const CUDA_EXT_SEM_NODE_PARAMS* params, bool waits, const NodePlace& place) {
  return place_operation(make(semaphore_operation, params, waits), place);
}

}  // namespace

extern "C" {

CUresult cuImportExternalMemory(CUexternalMemory* made,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
  return call([&](ContextObject& context) { return import_external(context, made, desc); });
}
CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  return call([&](ContextObject&) { return destroy_external(memory); });
}
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* address, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* desc) {
  return call([&](ContextObject&) { return map_external(memory, address, desc); });
}
CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray* mipmap, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* desc) {
  return call([&](ContextObject&) { return map_external(memory, mipmap, desc); });
}
CUresult cuImportExternalSemaphore(CUexternalSemaphore* made,
                                   const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
  return call([&](ContextObject& context) { return import_external(context, made, desc); });
}
CUresult cuDestroyExternalSemaphore(CUexternalSemaphore semaphore) {
  return call([&](ContextObject&) { return destroy_external(semaphore); });
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

CUresult cuGraphAddExternalSemaphoresSignalNode(CUgraphNode* node, CUgraph graph,
                                                const CUgraphNode* before, std::size_t count,
                                                const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, false, adding(node, graph, before, count));
}
CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode node,
                                                      CUDA_EXT_SEM_NODE_PARAMS* params) {
  return semaphores_of(node, params, false);
}
CUresult cuGraphExternalSemaphoresSignalNodeSetParams(CUgraphNode node,
                                                      const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, false, changing(node));
}
CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                          const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, false, changing(exec, node));
}

CUresult cuGraphAddExternalSemaphoresWaitNode(CUgraphNode* node, CUgraph graph,
                                              const CUgraphNode* before, std::size_t count,
                                              const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, true, adding(node, graph, before, count));
}
CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode node,
                                                    CUDA_EXT_SEM_NODE_PARAMS* params) {
  return semaphores_of(node, params, true);
}
CUresult cuGraphExternalSemaphoresWaitNodeSetParams(CUgraphNode node,
                                                    const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, true, changing(node));
}
CUresult cuGraphExecExternalSemaphoresWaitNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                        const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, true, changing(exec, node));
}

}  // extern "C"

}  // namespace ptx2spv::cuda
