// Captures and graphs in the runtime interface's terms.
#include <cstring>

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

namespace {

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
  const CUDA_MEMCPY3D_PEER copy_of = linear_copy(to, target, from, source, bytes);
  if (CUresult code = check_copy(copy_of); code != eSuccess) return code;
  made.what = CopyOperation{copy_of};
  return eSuccess;
}

CUresult symbol_operation(const void* symbol, std::size_t offset, void* other, std::size_t bytes,
                          int kind, bool to_symbol, Operation& made) {
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

Operation fill_operation(const cudaMemsetParams& params) {
  return Operation{
      MemsetOperation{{reinterpret_cast<CUdeviceptr>(params.dst), params.pitch, params.value,
                       params.elementSize, params.width, params.height}}};
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

template <class T, class F>
CUresult look(CUgraphNode handle, F&& function) {
  auto node = find_node(handle);
  T* operation = node ? std::get_if<T>(&node->operation.what) : nullptr;
  return operation ? function(*operation)
                   : keep(fail(eInvalidValue, "the node is of another type"));
}

/// What a function does with an operation once it is made.
struct Target {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr, *made = nullptr;
  const CUgraphNode* before = nullptr;
  std::size_t count = 0;
};

CUresult put(CUresult code, Operation operation, const Target& target) {
  if (code == eSuccess) {
    if (target.made)
      code = append(target.graph, std::move(operation), target.before, target.count, target.made);
    else if (target.exec)
      code = replace(target.exec, target.node, std::move(operation));
    else
      code = replace(target.node, std::move(operation));
  }
  return keep(code);
}

Target adding(CUgraphNode* made, CUgraph graph, const CUgraphNode* before, std::size_t count) {
  static CUgraphNode nowhere;
  return {graph, nullptr, nullptr, made ? made : &nowhere, before, count};
}
Target changing(CUgraphNode node) { return {nullptr, nullptr, node, nullptr, nullptr, 0}; }
Target changing(CUgraphExec exec, CUgraphNode node) {
  return {nullptr, exec, node, nullptr, nullptr, 0};
}

CUresult capture_info(CUstream handle, int* status, unsigned long long* id, CUgraph* graph,
                      const CUgraphNode** nodes, std::size_t* count) {
  return call_in(handle, [&](ContextObject&, const auto& stream) -> CUresult {
    std::lock_guard lock(stream->mutex);
    const auto& current = stream->capture;
    if (status) *status = !current ? 0 : current->invalid ? 2 : 1;
    if (id) *id = current ? current->id : 0;
    if (graph) *graph = current ? current->graph.get() : nullptr;
    if (graph && *graph && !tables().graphs.has(*graph)) tables().graphs.add(current->graph);
    if (nodes) *nodes = stream->tail.data();
    if (count) *count = stream->tail.size();
    return eSuccess;
  });
}

}  // namespace

extern "C" {

CUresult cudaStreamBeginCapture(CUstream handle, int mode) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return begin_capture(stream, mode, nullptr, {});
  });
}
CUresult cudaStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode* nodes,
                                       const void*, std::size_t count, int mode) {
  auto into = tables().graphs.find(graph);
  if (!into || (count && !nodes)) return keep(eInvalidValue);
  for (std::size_t i = 0; i < count; ++i)
    if (!find_node(nodes[i])) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return begin_capture(stream, mode, into, {nodes, count});
  });
}
CUresult cudaStreamEndCapture(CUstream handle, CUgraph* graph) {
  if (!graph) return keep(eInvalidValue);
  return call_in(handle,
                 [&](ContextObject&, const auto& stream) { return end_capture(*stream, *graph); });
}
CUresult cudaStreamIsCapturing(CUstream handle, int* status) {
  if (!status) return keep(eInvalidValue);
  return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr);
}
#if PTX2SPV_CUDART >= 13
CUresult cudaStreamGetCaptureInfo(CUstream handle, int* status, unsigned long long* id,
                                  CUgraph* graph, const CUgraphNode** nodes, const void** edges,
                                  std::size_t* count) {
  if (edges) *edges = nullptr;
  return capture_info(handle, status, id, graph, nodes, count);
}
#else
CUresult cudaStreamGetCaptureInfo(CUstream handle, int* status, unsigned long long* id) {
  return capture_info(handle, status, id, nullptr, nullptr, nullptr);
}
CUresult cudaStreamGetCaptureInfo_v2(CUstream handle, int* status, unsigned long long* id,
                                     CUgraph* graph, const CUgraphNode** nodes,
                                     std::size_t* count) {
  return capture_info(handle, status, id, graph, nodes, count);
}
#endif
CUresult cudaThreadExchangeStreamCaptureMode(int* mode) {
  static thread_local int current = 0;
  if (!mode || *mode < 0 || *mode > 2) return keep(eInvalidValue);
  std::swap(*mode, current);
  return eSuccess;
}

CUresult cudaGraphCreate(CUgraph* graph, unsigned flags) {
  if (!graph || flags) return keep(eInvalidValue);
  *graph = tables().graphs.add(std::make_shared<GraphObject>());
  return eSuccess;
}
CUresult cudaGraphDestroy(CUgraph graph) {
  return keep(tables().graphs.take(graph) ? eSuccess : eInvalidValue);
}
CUresult cudaGraphClone(CUgraph* made, CUgraph handle) {
  auto graph = tables().graphs.find(handle);
  if (!made || !graph) return keep(eInvalidValue);
  *made = tables().graphs.add(clone(*graph));
  return eSuccess;
}
CUresult cudaGraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph handle) {
  auto graph = tables().graphs.find(handle);
  if (!found || !graph) return keep(eInvalidValue);
  for (const auto& each : graph->nodes)
    if (each->original == original) {
      *found = each.get();
      return eSuccess;
    }
  return keep(eInvalidValue);
}

// Nodes of each type: added, looked at, changed in a graph, changed in an instance.
CUresult cudaGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                std::size_t count, const cudaKernelNodeParams* params) {
  Operation operation;
  CUresult code = kernel_operation(params, operation);
  return put(code, std::move(operation), adding(node, graph, before, count));
}
CUresult cudaGraphKernelNodeSetParams(CUgraphNode node, const cudaKernelNodeParams* params) {
  Operation operation;
  CUresult code = kernel_operation(params, operation);
  return put(code, std::move(operation), changing(node));
}
CUresult cudaGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const cudaKernelNodeParams* params) {
  Operation operation;
  CUresult code = kernel_operation(params, operation);
  return put(code, std::move(operation), changing(exec, node));
}
CUresult cudaGraphKernelNodeGetParams(CUgraphNode node, cudaKernelNodeParams* params) {
  if (!params) return keep(eInvalidValue);
  return look<KernelOperation>(node, [&](KernelOperation& operation) {
    const LaunchConfig& config = operation.config;
    *params = {operation.function,
               {config.grid.x, config.grid.y, config.grid.z},
               {config.block.x, config.block.y, config.block.z},
               config.dynamic_shared,
               param_pointers(operation),
               nullptr};
    return eSuccess;
  });
}

CUresult cudaGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                std::size_t count, const cudaMemcpy3DParms* params) {
  Operation operation;
  CUresult code = copy_operation(params, operation);
  return put(code, std::move(operation), adding(node, graph, before, count));
}
CUresult cudaGraphMemcpyNodeSetParams(CUgraphNode node, const cudaMemcpy3DParms* params) {
  Operation operation;
  CUresult code = copy_operation(params, operation);
  return put(code, std::move(operation), changing(node));
}
CUresult cudaGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const cudaMemcpy3DParms* params) {
  Operation operation;
  CUresult code = copy_operation(params, operation);
  return put(code, std::move(operation), changing(exec, node));
}
CUresult cudaGraphAddMemcpyNode1D(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                  std::size_t count, void* to, const void* from, std::size_t bytes,
                                  int kind) {
  Operation operation;
  CUresult code = linear_operation(to, from, bytes, kind, operation);
  return put(code, std::move(operation), adding(node, graph, before, count));
}
CUresult cudaGraphMemcpyNodeSetParams1D(CUgraphNode node, void* to, const void* from,
                                        std::size_t bytes, int kind) {
  Operation operation;
  CUresult code = linear_operation(to, from, bytes, kind, operation);
  return put(code, std::move(operation), changing(node));
}
CUresult cudaGraphExecMemcpyNodeSetParams1D(CUgraphExec exec, CUgraphNode node, void* to,
                                            const void* from, std::size_t bytes, int kind) {
  Operation operation;
  CUresult code = linear_operation(to, from, bytes, kind, operation);
  return put(code, std::move(operation), changing(exec, node));
}
CUresult cudaGraphAddMemcpyNodeToSymbol(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                        std::size_t count, const void* symbol, const void* from,
                                        std::size_t bytes, std::size_t offset, int kind) {
  Operation operation;
  CUresult code =
      symbol_operation(symbol, offset, const_cast<void*>(from), bytes, kind, true, operation);
  return put(code, std::move(operation), adding(node, graph, before, count));
}
CUresult cudaGraphAddMemcpyNodeFromSymbol(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* before, std::size_t count, void* to,
                                          const void* symbol, std::size_t bytes, std::size_t offset,
                                          int kind) {
  Operation operation;
  CUresult code = symbol_operation(symbol, offset, to, bytes, kind, false, operation);
  return put(code, std::move(operation), adding(node, graph, before, count));
}
CUresult cudaGraphMemcpyNodeSetParamsToSymbol(CUgraphNode node, const void* symbol,
                                              const void* from, std::size_t bytes,
                                              std::size_t offset, int kind) {
  Operation operation;
  CUresult code =
      symbol_operation(symbol, offset, const_cast<void*>(from), bytes, kind, true, operation);
  return put(code, std::move(operation), changing(node));
}
CUresult cudaGraphMemcpyNodeSetParamsFromSymbol(CUgraphNode node, void* to, const void* symbol,
                                                std::size_t bytes, std::size_t offset, int kind) {
  Operation operation;
  CUresult code = symbol_operation(symbol, offset, to, bytes, kind, false, operation);
  return put(code, std::move(operation), changing(node));
}
CUresult cudaGraphExecMemcpyNodeSetParamsToSymbol(CUgraphExec exec, CUgraphNode node,
                                                  const void* symbol, const void* from,
                                                  std::size_t bytes, std::size_t offset, int kind) {
  Operation operation;
  CUresult code =
      symbol_operation(symbol, offset, const_cast<void*>(from), bytes, kind, true, operation);
  return put(code, std::move(operation), changing(exec, node));
}
CUresult cudaGraphExecMemcpyNodeSetParamsFromSymbol(CUgraphExec exec, CUgraphNode node, void* to,
                                                    const void* symbol, std::size_t bytes,
                                                    std::size_t offset, int kind) {
  Operation operation;
  CUresult code = symbol_operation(symbol, offset, to, bytes, kind, false, operation);
  return put(code, std::move(operation), changing(exec, node));
}

CUresult cudaGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                std::size_t count, const cudaMemsetParams* params) {
  if (!params) return keep(eInvalidValue);
  return put(eSuccess, fill_operation(*params), adding(node, graph, before, count));
}
CUresult cudaGraphMemsetNodeSetParams(CUgraphNode node, const cudaMemsetParams* params) {
  if (!params) return keep(eInvalidValue);
  return put(eSuccess, fill_operation(*params), changing(node));
}
CUresult cudaGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const cudaMemsetParams* params) {
  if (!params) return keep(eInvalidValue);
  return put(eSuccess, fill_operation(*params), changing(exec, node));
}
CUresult cudaGraphMemsetNodeGetParams(CUgraphNode node, cudaMemsetParams* params) {
  if (!params) return keep(eInvalidValue);
  return look<MemsetOperation>(node, [&](MemsetOperation& operation) {
    const CUDA_MEMSET_NODE_PARAMS& set = operation.set;
    *params = {reinterpret_cast<void*>(set.dst),
               set.pitch,
               set.value,
               set.elementSize,
               set.width,
               set.height};
    return eSuccess;
  });
}

CUresult cudaGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                              std::size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  if (!params || !params->fn) return keep(eInvalidValue);
  return put(eSuccess, Operation{HostOperation{*params}}, adding(node, graph, before, count));
}
CUresult cudaGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  if (!params || !params->fn) return keep(eInvalidValue);
  return put(eSuccess, Operation{HostOperation{*params}}, changing(node));
}
CUresult cudaGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_HOST_NODE_PARAMS* params) {
  if (!params || !params->fn) return keep(eInvalidValue);
  return put(eSuccess, Operation{HostOperation{*params}}, changing(exec, node));
}
CUresult cudaGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  if (!params) return keep(eInvalidValue);
  return look<HostOperation>(node, [&](HostOperation& operation) {
    *params = operation.host;
    return eSuccess;
  });
}

CUresult cudaGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                    std::size_t count, CUgraph child) {
  Operation operation;
  CUresult code = child_operation(child, operation);
  return put(code, std::move(operation), adding(node, graph, before, count));
}
CUresult cudaGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  Operation operation;
  CUresult code = child_operation(child, operation);
  return put(code, std::move(operation), changing(exec, node));
}
CUresult cudaGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  if (!graph) return keep(eInvalidValue);
  return look<ChildOperation>(node, [&](ChildOperation& operation) {
    *graph = operation.graph.get();
    if (!tables().graphs.has(*graph)) tables().graphs.add(operation.graph);
    return eSuccess;
  });
}
CUresult cudaGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                               std::size_t count) {
  return put(eSuccess, Operation{EmptyOperation{}}, adding(node, graph, before, count));
}

CUresult cudaGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                     std::size_t count, CUevent event) {
  Operation operation;
  CUresult code = event_operation(event, true, operation);
  return put(code, std::move(operation), adding(node, graph, before, count));
}
CUresult cudaGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                   std::size_t count, CUevent event) {
  Operation operation;
  CUresult code = event_operation(event, false, operation);
  return put(code, std::move(operation), adding(node, graph, before, count));
}
CUresult cudaGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  if (!event) return keep(eInvalidValue);
  return look<RecordOperation>(node, [&](RecordOperation& operation) {
    *event = operation.event;
    return eSuccess;
  });
}
CUresult cudaGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  if (!event) return keep(eInvalidValue);
  return look<WaitOperation>(node, [&](WaitOperation& operation) {
    *event = operation.event;
    return eSuccess;
  });
}
CUresult cudaGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return put(eSuccess, Operation{RecordOperation{event}}, changing(node));
}
CUresult cudaGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return put(eSuccess, Operation{WaitOperation{event}}, changing(node));
}
CUresult cudaGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return put(eSuccess, Operation{RecordOperation{event}}, changing(exec, node));
}
CUresult cudaGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return put(eSuccess, Operation{WaitOperation{event}}, changing(exec, node));
}

CUresult cudaGraphNodeGetType(CUgraphNode handle, int* type) {
  auto node = find_node(handle);
  if (!node || !type) return keep(eInvalidValue);
  *type = node_type(node->operation);
  return eSuccess;
}
CUresult cudaGraphDestroyNode(CUgraphNode handle) {
  auto node = find_node(handle);
  return keep(node ? remove_node(*node) : eInvalidValue);
}

// Lists and edges. Edges carry no data: none but the default means anything here.
CUresult cudaGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return keep(list_nodes(graph, nodes, count, false));
}
CUresult cudaGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return keep(list_nodes(graph, nodes, count, true));
}

#if PTX2SPV_CUDART >= 13
#define PTX2SPV_WITH_DATA(name) name
#else
#define PTX2SPV_WITH_DATA(name) name##_v2
CUresult cudaGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  return keep(list_edges(graph, from, to, count));
}
CUresult cudaGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, std::size_t* count) {
  return keep(list_neighbours(node, nodes, count, true));
}
CUresult cudaGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, std::size_t* count) {
  return keep(list_neighbours(node, nodes, count, false));
}
CUresult cudaGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                  std::size_t count) {
  return keep(change_edges(graph, from, to, count, true));
}
CUresult cudaGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                     std::size_t count) {
  return keep(change_edges(graph, from, to, count, false));
}
#endif

CUresult PTX2SPV_WITH_DATA(cudaGraphGetEdges)(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                              void* data, std::size_t* count) {
  if (data && count) std::memset(data, 0, *count * 8);
  return keep(list_edges(graph, from, to, count));
}
CUresult PTX2SPV_WITH_DATA(cudaGraphNodeGetDependencies)(CUgraphNode node, CUgraphNode* nodes,
                                                         void* data, std::size_t* count) {
  if (data && count) std::memset(data, 0, *count * 8);
  return keep(list_neighbours(node, nodes, count, true));
}
CUresult PTX2SPV_WITH_DATA(cudaGraphNodeGetDependentNodes)(CUgraphNode node, CUgraphNode* nodes,
                                                           void* data, std::size_t* count) {
  if (data && count) std::memset(data, 0, *count * 8);
  return keep(list_neighbours(node, nodes, count, false));
}
CUresult PTX2SPV_WITH_DATA(cudaGraphAddDependencies)(CUgraph graph, const CUgraphNode* from,
                                                     const CUgraphNode* to, const void*,
                                                     std::size_t count) {
  return keep(change_edges(graph, from, to, count, true));
}
CUresult PTX2SPV_WITH_DATA(cudaGraphRemoveDependencies)(CUgraph graph, const CUgraphNode* from,
                                                        const CUgraphNode* to, const void*,
                                                        std::size_t count) {
  return keep(change_edges(graph, from, to, count, false));
}

// Instances.
CUresult cudaGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return keep(make_exec(graph, flags, exec));
}
CUresult cudaGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return keep(make_exec(graph, flags, exec));
}
CUresult cudaGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                        cudaGraphInstantiateParams* params) {
  if (!params) return keep(eInvalidValue);
  params->errNode_out = nullptr;
  CUresult code = make_exec(graph, params->flags, exec);
  params->result_out = code == eSuccess ? 0 : 1;
  return keep(code);
}
CUresult cudaGraphExecDestroy(CUgraphExec exec) {
  return keep(tables().graph_execs.take(exec) ? eSuccess : eInvalidValue);
}
CUresult cudaGraphExecGetFlags(CUgraphExec handle, unsigned long long* flags) {
  auto exec = tables().graph_execs.find(handle);
  if (!exec || !flags) return keep(eInvalidValue);
  *flags = exec->flags;
  return eSuccess;
}
CUresult cudaGraphUpload(CUgraphExec exec, CUstream handle) {
  return call_in(handle, [&](ContextObject&, const auto&) {
    return tables().graph_execs.has(exec) ? eSuccess : eInvalidValue;
  });
}
CUresult cudaGraphLaunch(CUgraphExec exec, CUstream handle) {
  return call_in(handle,
                 [&](ContextObject&, const auto& stream) { return launch_exec(exec, stream); });
}
CUresult cudaGraphExecUpdate(CUgraphExec exec, CUgraph graph,
                             cudaGraphExecUpdateResultInfo* result) {
  CUgraphNode failed = nullptr;
  CUresult code = update(exec, graph, failed);
  if (result) *result = {code == eSuccess ? 0 : failed ? 4 : 2, failed, nullptr};
  return keep(code);
}
CUresult cudaGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned enabled) {
  auto exec = tables().graph_execs.find(handle);
  auto original = find_node(node);
  GraphNodeObject* instance = exec && original ? instance_of(*exec, *original) : nullptr;
  if (!instance || node_type(instance->operation) > 2) return keep(eInvalidValue);
  instance->enabled = enabled != 0;
  return eSuccess;
}
CUresult cudaGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned* enabled) {
  auto exec = tables().graph_execs.find(handle);
  auto original = find_node(node);
  GraphNodeObject* instance = exec && original ? instance_of(*exec, *original) : nullptr;
  if (!instance || !enabled) return keep(eInvalidValue);
  *enabled = instance->enabled;
  return eSuccess;
}

}  // extern "C"

}  // namespace ptx2spv::cuda
