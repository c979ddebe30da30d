// Captures and graphs in the runtime interface's terms.
#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

CUresult kernel_operation(const cudaKernelNodeParams* params, Operation& made) {
  if (!params) return eInvalidValue;
  return call([&](ContextObject& context) -> CUresult {
    FunctionObject* function = nullptr;
    if (CUresult code = find_kernel(context, params->func, function); code != eSuccess) return code;
    LaunchConfig config;
    config.grid = {params->gridDim.x, params->gridDim.y, params->gridDim.z};
    config.block = {params->blockDim.x, params->blockDim.y, params->blockDim.z};
    config.dynamic_shared = params->sharedMemBytes;
    KernelOperation operation;
    void* none[1] = {};
    void** given = params->kernelParams || params->extra ? params->kernelParams : none;
    CUresult code = make_launch(*function, config, given, params->extra, operation);
    made.what = std::move(operation);
    return code;
  });
}

CUresult copy_operation(const cudaMemcpy3DParms* params, Operation& made) {
  if (!params) return eInvalidValue;
  CUDA_MEMCPY3D_PEER copy_of;
  if (CUresult code = convert_copy(*params, copy_of); code != eSuccess) return code;
  if (CUresult code = check_copy(copy_of); code != eSuccess) return code;
  made.what = CopyOperation{copy_of};
  return eSuccess;
}

CUresult linear_operation(void* to, const void* from, std::size_t bytes, int kind,
                          Operation& made) {
  unsigned source = 0, target = 0;
  if (!sides_of(kind, source, target)) return eInvalidMemcpyDirection;
  if (!bytes) return fail(eInvalidValue, "a node copies something");
  const CUDA_MEMCPY3D_PEER copy_of = linear_copy(to, target, from, source, bytes);
  if (CUresult code = check_copy(copy_of); code != eSuccess) return code;
  made.what = CopyOperation{copy_of};
  return eSuccess;
}

CUresult symbol_operation(const void* symbol, std::size_t offset, void* other, std::size_t bytes,
                          int kind, bool to_symbol, Operation& made) {
  unsigned source = 0, target = 0;
  if (!sides_of(kind, source, target) || (to_symbol ? target : source) == kMemoryHost)
    return eInvalidMemcpyDirection;
  CUdeviceptr address = 0;
  std::size_t size = 0;
  CUresult code =
      call([&](ContextObject& context) { return find_symbol(context, symbol, address, size); });
  if (code != eSuccess) return code;
  if (offset > size || bytes > size - offset)
    return fail(eInvalidValue, "the copy reaches beyond the variable");
  auto* place = reinterpret_cast<void*>(address + offset);
  return to_symbol ? linear_operation(place, other, bytes, kind, made)
                   : linear_operation(other, place, bytes, kind, made);
}

#if PTX2SPV_CUDART >= 12
/// A kernel node's or a copy's operation out of the runtime interface's parameters, others' as the
/// driver interface has them.
CUresult generic_operation(cudaGraphNodeParams* params, Operation& made) {
  if (!params) return eInvalidValue;
  if (params->reserved2 || params->reserved0[0] || params->reserved0[1] || params->reserved0[2])
    return fail(eInvalidValue, "reserved words of a node's parameters are 0");
  if (params->type == kNodeKernel) return kernel_operation(&params->of.kernel, made);
  if (params->type == kNodeMemcpy) {
    if (params->of.memcpy.flags) return fail(eInvalidValue, "a copy's flags are 0");
    return copy_operation(&params->of.memcpy.copy, made);
  }
  return call([&](ContextObject& context) {
    return common_operation(context, params->type, params->of.common, made);
  });
}
#endif

extern "C" {

// Nodes of each type: added, looked at, changed in a graph, changed in an instance.
CUresult cudaGraphKernelNodeGetParams(CUgraphNode node, cudaKernelNodeParams* params) {
  if (!params) return keep(eInvalidValue);
  KernelOperation* operation = kernel_of(node);
  if (!operation) return keep(fail(eInvalidValue, "the node is of another type"));
  const LaunchConfig& config = operation->config;
  *params = {const_cast<void*>(symbol_of(*operation->function)),
             {config.grid.x, config.grid.y, config.grid.z},
             {config.block.x, config.block.y, config.block.z},
             config.dynamic_shared,
             param_pointers(*operation),
             nullptr};
  return eSuccess;
}

// Instances.
#if PTX2SPV_CUDART < 12
CUresult cudaGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* failed, char* log,
                              std::size_t bytes) {
  if (failed) *failed = nullptr;
  if (log && bytes) *log = 0;
  return keep(make_exec(graph, 0, exec));
}
#endif
CUresult cudaGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                        cudaGraphInstantiateParams* params) {
  if (!params) return keep(eInvalidValue);
  params->errNode_out = nullptr;
  const auto upload = [&](ContextObject&, const auto&) {
    return make_uploaded(graph, params->flags, exec);
  };
  const CUresult code = params->flags & kGraphUpload ? call_in(params->uploadStream, upload)
                                                     : make_exec(graph, params->flags, exec);
  params->result_out = code == eSuccess ? 0 : 1;
  return keep(code);
}
#if PTX2SPV_CUDART >= 12
CUresult cudaGraphExecUpdate(CUgraphExec exec, CUgraph graph,
                             cudaGraphExecUpdateResultInfo* result) {
  CUgraphNode failed = nullptr;
  UpdateResult why{};
  CUresult code = update(exec, graph, failed, why);
  if (result) *result = {static_cast<int>(why), failed, nullptr};
  return keep(code);
}
#else
CUresult cudaGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* node, int* result) {
  CUgraphNode failed = nullptr;
  UpdateResult why{};
  CUresult code = update(exec, graph, failed, why);
  if (node) *node = failed;
  if (result) *result = static_cast<int>(why);
  return keep(code);
}
#endif
#if PTX2SPV_CUDART >= 13
CUresult cudaGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
#else
CUresult cudaGraphKernelNodeCopyAttributes(CUgraphNode from, CUgraphNode to) {
#endif
  return keep(copy_node_attributes(to, from));
}
CUresult cudaGraphMemcpyNodeGetParams(CUgraphNode node, cudaMemcpy3DParms* params) {
  CopyOperation* operation = copy_of(node);
  if (!operation || !params) return keep(fail(eInvalidValue, "the node is of another type"));
  return keep(given_copy(operation->copy, *params));
}

}  // extern "C"

}  // namespace ptx2spv::cuda
