// Functions of graphs that both interfaces have, compiled into each of them.
#pragma once

#include "src/cuda/core/external.hpp"

namespace ptx2spv::cuda {

namespace {

CUresult put(const CUDA_EXT_SEM_NODE_PARAMS* params, bool waits, const NodePlace& place) {
  return put(make(semaphore_operation, params, waits), place);
}

}  // namespace

extern "C" {

CUresult PTX2SPV_CU(StreamIsCapturing)(CUstream handle, int* status) {
  if (!status) return keep(eInvalidValue);
  return call_in(
      handle, [&](ContextObject&, const auto& stream) { return capture_status(*stream, *status); });
}
CUresult PTX2SPV_CU(GraphCreate)(CUgraph* graph, unsigned flags) {
  return keep(create_graph(graph, flags));
}
CUresult PTX2SPV_CU(GraphDestroy)(CUgraph graph) { return keep(destroy_graph(graph)); }
CUresult PTX2SPV_CU(GraphClone)(CUgraph* made, CUgraph graph) {
  return keep(clone_graph(made, graph));
}
CUresult PTX2SPV_CU(GraphNodeFindInClone)(CUgraphNode* found, CUgraphNode original, CUgraph graph) {
  return keep(find_in_clone(found, original, graph));
}
CUresult PTX2SPV_CU(GraphMemsetNodeSetParams)(CUgraphNode node,
                                              const CUDA_MEMSET_NODE_PARAMS* params) {
  return put(make(fill_operation, params), changing(node));
}
CUresult PTX2SPV_CU(GraphMemsetNodeGetParams)(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  return keep(memset_of(node, params));
}
CUresult PTX2SPV_CU(GraphAddHostNode)(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                      std::size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  return put(make(host_operation, params), adding(node, graph, before, count));
}
CUresult PTX2SPV_CU(GraphHostNodeSetParams)(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return put(make(host_operation, params), changing(node));
}
CUresult PTX2SPV_CU(GraphExecHostNodeSetParams)(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_HOST_NODE_PARAMS* params) {
  return put(make(host_operation, params), changing(exec, node));
}
CUresult PTX2SPV_CU(GraphHostNodeGetParams)(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  return keep(host_of(node, params));
}
CUresult PTX2SPV_CU(GraphAddChildGraphNode)(CUgraphNode* node, CUgraph graph,
                                            const CUgraphNode* before, std::size_t count,
                                            CUgraph child) {
  return put(make(child_operation, child, 0), adding(node, graph, before, count));
}
CUresult PTX2SPV_CU(GraphExecChildGraphNodeSetParams)(CUgraphExec exec, CUgraphNode node,
                                                      CUgraph child) {
  return put(make(child_operation, child, 0), changing(exec, node));
}
CUresult PTX2SPV_CU(GraphChildGraphNodeGetGraph)(CUgraphNode node, CUgraph* graph) {
  return keep(child_of(node, graph));
}
CUresult PTX2SPV_CU(GraphAddMemAllocNode)(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* before, std::size_t count,
                                          CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  MadeOperation made;
  made.code = call(
      [&](ContextObject& context) { return allocate_operation(context, params, made.operation); });
  return put(std::move(made), adding(node, graph, before, count));
}
CUresult PTX2SPV_CU(GraphMemAllocNodeGetParams)(CUgraphNode node,
                                                CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return keep(allocation_of(node, params));
}
CUresult PTX2SPV_CU(GraphAddEventRecordNode)(CUgraphNode* node, CUgraph graph,
                                             const CUgraphNode* before, std::size_t count,
                                             CUevent event) {
  return put(make(event_operation, event, true), adding(node, graph, before, count));
}
CUresult PTX2SPV_CU(GraphEventRecordNodeSetEvent)(CUgraphNode node, CUevent event) {
  return put(make(event_operation, event, true), changing(node));
}
CUresult PTX2SPV_CU(GraphExecEventRecordNodeSetEvent)(CUgraphExec exec, CUgraphNode node,
                                                      CUevent event) {
  return put(make(event_operation, event, true), changing(exec, node));
}
CUresult PTX2SPV_CU(GraphEventRecordNodeGetEvent)(CUgraphNode node, CUevent* event) {
  return keep(event_of(node, event, true));
}
CUresult PTX2SPV_CU(GraphAddEventWaitNode)(CUgraphNode* node, CUgraph graph,
                                           const CUgraphNode* before, std::size_t count,
                                           CUevent event) {
  return put(make(event_operation, event, false), adding(node, graph, before, count));
}
CUresult PTX2SPV_CU(GraphEventWaitNodeSetEvent)(CUgraphNode node, CUevent event) {
  return put(make(event_operation, event, false), changing(node));
}
CUresult PTX2SPV_CU(GraphExecEventWaitNodeSetEvent)(CUgraphExec exec, CUgraphNode node,
                                                    CUevent event) {
  return put(make(event_operation, event, false), changing(exec, node));
}
CUresult PTX2SPV_CU(GraphEventWaitNodeGetEvent)(CUgraphNode node, CUevent* event) {
  return keep(event_of(node, event, false));
}
CUresult PTX2SPV_CU(GraphNodeGetType)(CUgraphNode node, int* type) {
  return keep(type_of(node, type));
}
CUresult PTX2SPV_CU(GraphDestroyNode)(CUgraphNode node) { return keep(destroy_node(node)); }
CUresult PTX2SPV_CU(GraphGetNodes)(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return keep(list_nodes(graph, nodes, count, false));
}
CUresult PTX2SPV_CU(GraphGetRootNodes)(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return keep(list_nodes(graph, nodes, count, true));
}
CUresult PTX2SPV_CU(GraphInstantiateWithFlags)(CUgraphExec* exec, CUgraph graph,
                                               unsigned long long flags) {
  return keep(make_exec(graph, flags, exec));
}
CUresult PTX2SPV_CU(GraphExecDestroy)(CUgraphExec exec) { return keep(destroy_exec(exec)); }
CUresult PTX2SPV_CU(GraphUpload)(CUgraphExec exec, CUstream handle) {
  return call_in(handle, [&](ContextObject&, const auto&) {
    return tables().graph_execs.has(exec) ? eSuccess : eInvalidValue;
  });
}
CUresult PTX2SPV_CU(GraphLaunch)(CUgraphExec exec, CUstream handle) {
  return call_in(handle,
                 [&](ContextObject&, const auto& stream) { return launch_exec(exec, stream); });
}
CUresult PTX2SPV_CU(GraphDebugDotPrint)(CUgraph graph, const char* path, unsigned flags) {
  return keep(print_graph(graph, path, flags));
}
CUresult PTX2SPV_CU(UserObjectCreate)(CUuserObject* made, void* pointer, CUhostFn destroy,
                                      unsigned count, unsigned flags) {
  return keep(create_user_object(made, pointer, destroy, count, flags));
}
CUresult PTX2SPV_CU(UserObjectRetain)(CUuserObject object, unsigned count) {
  return keep(retain_user_object(object, count));
}
CUresult PTX2SPV_CU(UserObjectRelease)(CUuserObject object, unsigned count) {
  return keep(release_user_object(object, count));
}
CUresult PTX2SPV_CU(GraphRetainUserObject)(CUgraph graph, CUuserObject object, unsigned count,
                                           unsigned flags) {
  return keep(retain_in_graph(graph, object, count, flags));
}
CUresult PTX2SPV_CU(GraphReleaseUserObject)(CUgraph graph, CUuserObject object, unsigned count) {
  return keep(release_from_graph(graph, object, count));
}
CUresult PTX2SPV_CU(GraphKernelNodeSetAttribute)(CUgraphNode node, int id, const void* value) {
  return keep(set_node_attribute(node, id, value, kAttributeBytes));
}
CUresult PTX2SPV_CU(GraphKernelNodeGetAttribute)(CUgraphNode node, int id, void* value) {
  return keep(ask_node_attribute(node, id, value, kAttributeBytes));
}
CUresult PTX2SPV_CU(GraphNodeSetEnabled)(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return keep(node_enabled(exec, node, &enabled, true));
}
CUresult PTX2SPV_CU(GraphNodeGetEnabled)(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  return keep(node_enabled(exec, node, enabled, false));
}
CUresult PTX2SPV_CU(GraphAddEmptyNode)(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                       std::size_t count) {
  return put({eSuccess, Operation{EmptyOperation{}}}, adding(node, graph, before, count));
}

CUresult PTX2SPV_CU(GraphAddExternalSemaphoresSignalNode)(CUgraphNode* node, CUgraph graph,
                                                          const CUgraphNode* before,
                                                          std::size_t count,
                                                          const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, false, adding(node, graph, before, count));
}
CUresult PTX2SPV_CU(GraphExternalSemaphoresSignalNodeGetParams)(CUgraphNode node,
                                                                CUDA_EXT_SEM_NODE_PARAMS* params) {
  return keep(semaphores_of(node, params, false));
}
CUresult PTX2SPV_CU(GraphExternalSemaphoresSignalNodeSetParams)(
    CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, false, changing(node));
}
CUresult PTX2SPV_CU(GraphExecExternalSemaphoresSignalNodeSetParams)(
    CUgraphExec exec, CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, false, changing(exec, node));
}
CUresult PTX2SPV_CU(GraphAddExternalSemaphoresWaitNode)(CUgraphNode* node, CUgraph graph,
                                                        const CUgraphNode* before,
                                                        std::size_t count,
                                                        const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, true, adding(node, graph, before, count));
}
CUresult PTX2SPV_CU(GraphExternalSemaphoresWaitNodeGetParams)(CUgraphNode node,
                                                              CUDA_EXT_SEM_NODE_PARAMS* params) {
  return keep(semaphores_of(node, params, true));
}
CUresult PTX2SPV_CU(GraphExternalSemaphoresWaitNodeSetParams)(
    CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, true, changing(node));
}
CUresult PTX2SPV_CU(GraphExecExternalSemaphoresWaitNodeSetParams)(
    CUgraphExec exec, CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return put(params, true, changing(exec, node));
}

}  // extern "C"

}  // namespace ptx2spv::cuda
