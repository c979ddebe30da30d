// Graphs.
#include <cstring>

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

namespace {

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

template <class T, class F>
CUresult look(CUgraphNode handle, F&& function) {
  auto node = find_node(handle);
  T* operation = node ? std::get_if<T>(&node->operation.what) : nullptr;
  return operation ? function(*operation) : fail(eInvalidValue, "the node is of another type");
}

CUresult event_operation(CUevent event, bool record, Operation& made) {
  if (!tables().events.has(event)) return fail(eInvalidResourceHandle, "no such event");
  if (record)
    made.what = RecordOperation{event};
  else
    made.what = WaitOperation{event};
  return eSuccess;
}

CUresult child_operation(CUgraph handle, Operation& made) {
  auto graph = tables().graphs.find(handle);
  if (!graph) return fail(eInvalidValue, "no such graph");
  auto copy_of = clone(*graph);
  tables().graphs.add(copy_of);
  made.what = ChildOperation{std::move(copy_of)};
  return eSuccess;
}

}  // namespace

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  if (!graph || flags) return eInvalidValue;
  *graph = tables().graphs.add(std::make_shared<GraphObject>());
  return eSuccess;
}
CUresult cuGraphDestroy(CUgraph graph) {
  return tables().graphs.take(graph) ? eSuccess : fail(eInvalidValue, "no such graph");
}
CUresult cuGraphClone(CUgraph* made, CUgraph handle) {
  auto graph = tables().graphs.find(handle);
  if (!made || !graph) return eInvalidValue;
  *made = tables().graphs.add(clone(*graph));
  return eSuccess;
}
CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph handle) {
  auto graph = tables().graphs.find(handle);
  if (!found || !graph) return eInvalidValue;
  for (const auto& each : graph->nodes)
    if (each->original == original) {
      *found = each.get();
      return eSuccess;
    }
  return fail(eInvalidValue, "the node has no counterpart in the clone");
}

// Nodes.
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                 std::size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  Operation operation;
  if (CUresult code = kernel_operation(params, true, operation); code != eSuccess) return code;
  return append(graph, std::move(operation), before, count, node);
}
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                              std::size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  Operation operation;
  if (CUresult code = kernel_operation(params, false, operation); code != eSuccess) return code;
  return append(graph, std::move(operation), before, count, node);
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  Operation operation;
  if (CUresult code = kernel_operation(params, true, operation); code != eSuccess) return code;
  return replace(node, std::move(operation));
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  Operation operation;
  if (CUresult code = kernel_operation(params, true, operation); code != eSuccess) return code;
  return replace(exec, node, std::move(operation));
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  if (!params) return eInvalidValue;
  return look<KernelOperation>(node, [&](KernelOperation& operation) {
    *params = {};
    params->func = operation.function;
    params->gridDimX = operation.config.grid.x;
    params->gridDimY = operation.config.grid.y;
    params->gridDimZ = operation.config.grid.z;
    params->blockDimX = operation.config.block.x;
    params->blockDimY = operation.config.block.y;
    params->blockDimZ = operation.config.block.z;
    params->sharedMemBytes = operation.config.dynamic_shared;
    params->kernelParams = param_pointers(operation);
    return eSuccess;
  });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                              std::size_t count, const CUDA_MEMCPY3D* params, CUcontext) {
  Operation operation;
  if (CUresult code = copy_operation(params, operation); code != eSuccess) return code;
  return append(graph, std::move(operation), before, count, node);
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  Operation operation;
  if (CUresult code = copy_operation(params, operation); code != eSuccess) return code;
  return replace(node, std::move(operation));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* params, CUcontext) {
  Operation operation;
  if (CUresult code = copy_operation(params, operation); code != eSuccess) return code;
  return replace(exec, node, std::move(operation));
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  if (!params) return eInvalidValue;
  return look<CopyOperation>(node, [&](CopyOperation& operation) {
    // Both have the same layout but for the contexts, which stand where words are reserved.
    static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER));
    std::memcpy(static_cast<void*>(params), &operation.copy, sizeof *params);
    params->reserved0 = params->reserved1 = nullptr;
    return eSuccess;
  });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                              std::size_t count, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  if (!params) return eInvalidValue;
  return append(graph, Operation{MemsetOperation{*params}}, before, count, node);
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  return params ? replace(node, Operation{MemsetOperation{*params}}) : eInvalidValue;
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  return params ? replace(exec, node, Operation{MemsetOperation{*params}}) : eInvalidValue;
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  if (!params) return eInvalidValue;
  return look<MemsetOperation>(node, [&](MemsetOperation& operation) {
    *params = operation.set;
    return eSuccess;
  });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                            std::size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  if (!params || !params->fn) return eInvalidValue;
  return append(graph, Operation{HostOperation{*params}}, before, count, node);
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return params && params->fn ? replace(node, Operation{HostOperation{*params}}) : eInvalidValue;
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  if (!params || !params->fn) return eInvalidValue;
  return replace(exec, node, Operation{HostOperation{*params}});
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  if (!params) return eInvalidValue;
  return look<HostOperation>(node, [&](HostOperation& operation) {
    *params = operation.host;
    return eSuccess;
  });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                  std::size_t count, CUgraph child) {
  Operation operation;
  if (CUresult code = child_operation(child, operation); code != eSuccess) return code;
  return append(graph, std::move(operation), before, count, node);
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  Operation operation;
  if (CUresult code = child_operation(child, operation); code != eSuccess) return code;
  return replace(exec, node, std::move(operation));
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  if (!graph) return eInvalidValue;
  return look<ChildOperation>(node, [&](ChildOperation& operation) {
    *graph = operation.graph.get();
    if (!tables().graphs.has(*graph)) tables().graphs.add(operation.graph);
    return eSuccess;
  });
}
CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                             std::size_t count) {
  return append(graph, Operation{EmptyOperation{}}, before, count, node);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                   std::size_t count, CUevent event) {
  Operation operation;
  if (CUresult code = event_operation(event, true, operation); code != eSuccess) return code;
  return append(graph, std::move(operation), before, count, node);
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                 std::size_t count, CUevent event) {
  Operation operation;
  if (CUresult code = event_operation(event, false, operation); code != eSuccess) return code;
  return append(graph, std::move(operation), before, count, node);
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  if (!event) return eInvalidValue;
  return look<RecordOperation>(node, [&](RecordOperation& operation) {
    *event = operation.event;
    return eSuccess;
  });
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  if (!event) return eInvalidValue;
  return look<WaitOperation>(node, [&](WaitOperation& operation) {
    *event = operation.event;
    return eSuccess;
  });
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return replace(node, Operation{RecordOperation{event}});
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return replace(node, Operation{WaitOperation{event}});
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return replace(exec, node, Operation{RecordOperation{event}});
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return replace(exec, node, Operation{WaitOperation{event}});
}

CUresult cuGraphNodeGetType(CUgraphNode handle, int* type) {
  auto node = find_node(handle);
  if (!node || !type) return eInvalidValue;
  *type = node_type(node->operation);
  return eSuccess;
}
CUresult cuGraphDestroyNode(CUgraphNode handle) {
  auto node = find_node(handle);
  return node ? remove_node(*node) : fail(eInvalidValue, "no such node");
}

// Lists and edges. Edges carry no data: none but the default means anything here.
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return list_nodes(graph, nodes, count, false);
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return list_nodes(graph, nodes, count, true);
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  return list_edges(graph, from, to, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, void* data,
                            std::size_t* count) {
  if (data && count) std::memset(data, 0, *count * 8);
  return list_edges(graph, from, to, count);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, std::size_t* count) {
  return list_neighbours(node, nodes, count, true);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, void* data,
                                       std::size_t* count) {
  if (data && count) std::memset(data, 0, *count * 8);
  return list_neighbours(node, nodes, count, true);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, std::size_t* count) {
  return list_neighbours(node, nodes, count, false);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, void* data,
                                         std::size_t* count) {
  if (data && count) std::memset(data, 0, *count * 8);
  return list_neighbours(node, nodes, count, false);
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                std::size_t count) {
  return change_edges(graph, from, to, count, true);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const void*, std::size_t count) {
  return change_edges(graph, from, to, count, true);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   std::size_t count) {
  return change_edges(graph, from, to, count, false);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const void*, std::size_t count) {
  return change_edges(graph, from, to, count, false);
}

// Instances.
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return make_exec(graph, flags, exec);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* failed, char* log,
                               std::size_t bytes) {
  if (failed) *failed = nullptr;
  if (log && bytes) *log = 0;
  return make_exec(graph, 0, exec);
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
  CUresult code = make_exec(graph, params->flags, exec);
  params->result = code == eSuccess ? 0 : 1;
  return code;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return tables().graph_execs.take(exec) ? eSuccess : fail(eInvalidValue, "no such graph");
}
CUresult cuGraphExecGetFlags(CUgraphExec handle, std::uint64_t* flags) {
  auto exec = tables().graph_execs.find(handle);
  if (!exec || !flags) return eInvalidValue;
  *flags = exec->flags;
  return eSuccess;
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream handle) {
  return call_in(handle, [&](ContextObject&, const auto&) {
    return tables().graph_execs.has(exec) ? eSuccess : eInvalidValue;
  });
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  return call_in(handle,
                 [&](ContextObject&, const auto& stream) { return launch_exec(exec, stream); });
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, void* given) {
  struct Result {
    int result;
    CUgraphNode failed, from;
  };
  CUgraphNode failed = nullptr;
  CUresult code = update(exec, graph, failed);
  if (auto* result = static_cast<Result*>(given))
    *result = {code == eSuccess ? 0 : failed ? 4 : 2, failed, nullptr};
  return code;
}
CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned enabled) {
  auto exec = tables().graph_execs.find(handle);
  auto original = find_node(node);
  GraphNodeObject* instance = exec && original ? instance_of(*exec, *original) : nullptr;
  if (!instance || node_type(instance->operation) > 2) return eInvalidValue;
  instance->enabled = enabled != 0;
  return eSuccess;
}
CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned* enabled) {
  auto exec = tables().graph_execs.find(handle);
  auto original = find_node(node);
  GraphNodeObject* instance = exec && original ? instance_of(*exec, *original) : nullptr;
  if (!instance || !enabled) return eInvalidValue;
  *enabled = instance->enabled;
  return eSuccess;
}

}  // extern "C"

}  // namespace ptx2spv::cuda
