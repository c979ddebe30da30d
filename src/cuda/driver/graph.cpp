// Graphs.
#include <cstring>

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

CUresult kernel_operation(const CUDA_KERNEL_NODE_PARAMS* params, bool second, Operation& made) {
  if (!params) return eInvalidValue;
  return call([&](ContextObject& current) -> CUresult {
    ContextObject& context =
        second && params->ctx && tables().contexts.has(params->ctx) ? *params->ctx : current;
    CUfunction handle = params->func;
    if (!handle && second) handle = reinterpret_cast<CUfunction>(params->kern);
    FunctionObject* function = nullptr;
    if (CUresult code = resolve_function(context, handle, function); code != eSuccess) return code;
    LaunchConfig config;
    config.grid = {params->gridDimX, params->gridDimY, params->gridDimZ};
    config.block = {params->blockDimX, params->blockDimY, params->blockDimZ};
    config.dynamic_shared = params->sharedMemBytes;
    KernelOperation operation;
    CUresult code = make_launch(*function, config, params->kernelParams, params->extra, operation);
    made.what = std::move(operation);
    return code;
  });
}

CUresult copy_operation(const CUDA_MEMCPY3D* params, Operation& made) {
  if (!params) return eInvalidValue;
  const CUDA_MEMCPY3D_PEER copy_of = peer_copy(*params);
  if (CUresult code = check_copy(copy_of); code != eSuccess) return code;
  made.what = CopyOperation{copy_of};
  return eSuccess;
}

CUresult generic_operation(CUgraphNodeParams* params, Operation& made) {
  if (!params) return eInvalidValue;
  if (params->reserved2 || params->reserved0[0] || params->reserved0[1] || params->reserved0[2])
    return fail(eInvalidValue, "reserved words of a node's parameters are 0");
  if (params->type == kNodeKernel) return kernel_operation(&params->of.kernel, true, made);
  if (params->type == kNodeMemcpy) {
    if (params->of.memcpy.flags) return fail(eInvalidValue, "a copy's flags are 0");
    return copy_operation(&params->of.memcpy.copy, made);
  }
  return call([&](ContextObject& context) {
    return common_operation(context, params->type, params->of, made);
  });
}

extern "C" {

// Nodes of each type: added, changed in a graph, changed in an instance, looked at.

// Of CUDA 11, whose struct ends before the kernel's handle.
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  KernelOperation* operation = kernel_of(node);
  if (!operation || !params) return fail(eInvalidValue, "the node is of another type");
  params->func = operation->function;
  params->gridDimX = operation->config.grid.x;
  params->gridDimY = operation->config.grid.y;
  params->gridDimZ = operation->config.grid.z;
  params->blockDimX = operation->config.block.x;
  params->blockDimY = operation->config.block.y;
  params->blockDimZ = operation->config.block.z;
  params->sharedMemBytes = operation->config.dynamic_shared;
  params->kernelParams = param_pointers(*operation);
  params->extra = nullptr;
  return eSuccess;
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return copy_node_attributes(to, from);
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  CUresult code = cuGraphKernelNodeGetParams(node, params);
  if (code == eSuccess) {
    params->kern = nullptr;
    params->ctx = nullptr;
  }
  return code;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  CopyOperation* operation = copy_of(node);
  if (!operation || !params) return fail(eInvalidValue, "the node is of another type");
  // Both have the same layout but for the contexts, which stand where words are reserved.
  static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER));
  std::memcpy(static_cast<void*>(params), &operation->copy, sizeof *params);
  params->reserved0 = params->reserved1 = nullptr;
  return eSuccess;
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* failed, char* log,
                               std::size_t bytes) {
  if (failed) *failed = nullptr;
  if (log && bytes) *log = 0;
  return IN_CONTEXT(make_exec(graph, 0, exec));
}
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* failed, char* log,
                            std::size_t bytes) {
  return cuGraphInstantiate_v2(exec, graph, failed, log, bytes);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, void* given) {
  struct Params {
    std::uint64_t flags;
    CUstream upload;
    CUgraphNode failed;
    int result;
  };
  auto* params = static_cast<Params*>(given);
  if (!params) return eInvalidValue;
  params->failed = nullptr;
  const auto upload = [&](ContextObject&, const auto&) {
    return make_uploaded(graph, params->flags, exec);
  };
  const CUresult code = params->flags & kGraphUpload
                            ? call_in(params->upload, upload)
                            : IN_CONTEXT(make_exec(graph, params->flags, exec));
  params->result = code == eSuccess ? 0 : 1;
  return code;
}
CUresult cuGraphExecGetFlags(CUgraphExec exec, std::uint64_t* flags) {
  unsigned long long found = 0;
  if (!flags) return eInvalidValue;
  CUresult code = exec_flags(exec, found);
  if (code == eSuccess) *flags = found;
  return code;
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* node, int* result) {
  CUgraphNode failed = nullptr;
  UpdateResult why{};
  CUresult code = update(exec, graph, failed, why);
  if (node) *node = failed;
  if (result) *result = static_cast<int>(why);
  return code;
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, void* given) {
  struct Result {
    int result;
    CUgraphNode failed, from;
  };
  CUgraphNode failed = nullptr;
  UpdateResult why{};
  CUresult code = update(exec, graph, failed, why);
  if (auto* result = static_cast<Result*>(given))
    *result = {static_cast<int>(why), failed, nullptr};
  return code;
}

}  // extern "C"

}  // namespace ptx2spv::cuda
