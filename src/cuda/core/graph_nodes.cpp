// Nodes of graphs in both interfaces' common terms: made out of handles, and asked for what they
// hold.
#include <algorithm>
#include <cstring>

#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

CUresult check_edges(const void* data, std::size_t count) {
  // CUgraphEdgeData: two ports, a type and reserved bytes, eight in all. Zeros are a dependency on
  // the whole node.
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  if (bytes && std::any_of(bytes, bytes + count * 8, [](std::uint8_t each) { return each; }))
    return not_supported("a programmatic dependency of a graph",
                         "nodes wait for the end of those that they depend on");
  return eSuccess;
}

void clear_edges(void* data, const std::size_t* count) {
  if (data && count) std::memset(data, 0, *count * 8);
}

CUresult event_operation(CUevent event, bool record, Operation& made) {
  if (!event) return fail(eInvalidValue, "no event");
  if (!tables().events.has(event)) return fail(eInvalidResourceHandle, "no such event");
  if (record)
    made.what = RecordOperation{event};
  else
    made.what = WaitOperation{event};
  return eSuccess;
}

CUresult host_operation(const CUDA_HOST_NODE_PARAMS* params, Operation& made) {
  if (!params || !params->fn) return fail(eInvalidValue, "a host node has a function");
  made.what = HostOperation{*params};
  return eSuccess;
}

CUresult fill_operation(const CUDA_MEMSET_NODE_PARAMS* params, Operation& made) {
  if (!params) return eInvalidValue;
  if (!params->width || !params->height) return fail(eInvalidValue, "a node fills something");
  if (CUresult code = check_fill(*params); code != eSuccess) return code;
  made.what = MemsetOperation{*params};
  return eSuccess;
}

CUresult child_operation(CUgraph handle, int ownership, Operation& made) {
  auto graph = tables().graphs.find(handle);
  if (!graph) return fail(eInvalidValue, "no such graph");
  if (ownership)
    return not_supported("a child graph whose ownership moves", "child graphs are cloned");
  if (is_part(*graph)) return fail(eNotSupported, "the graph is another node's");
  if (has_conditional(*graph)) return fail(eNotSupported, "a child graph has no conditional nodes");
  if (has_memory(*graph))
    return fail(eNotSupported, "a cloned child graph allocates or frees memory");
  auto copy_of = clone(*graph);
  tables().graphs.add(copy_of);
  made.what = ChildOperation{std::move(copy_of)};
  return eSuccess;
}

CUresult allocate_operation(ContextObject& context, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                            Operation& made) {
  constexpr int kPinned = 1, kDevice = 1;
  if (!params || !params->bytesize) return eInvalidValue;
  const CUmemPoolProps& props = params->poolProps;
  if (props.allocType != kPinned || props.handleTypes || props.location.type != kDevice ||
      !device_at(props.location.id))
    return fail(eInvalidValue, "a graph allocates pinned memory of a device");
  if (device_at(props.location.id) != context.device)
    return fail(eInvalidValue, "a graph allocates on the current device");
  if (params->accessDescCount > static_cast<std::size_t>(device_count()))
    return fail(eInvalidValue, "access for more devices than there are");
  for (std::size_t i = 0; i < params->accessDescCount; ++i) {
    int can = 0;
    if (!params->accessDescs) return fail(eInvalidValue, "no access is described");
    const int peer = params->accessDescs[i].location.id;
    if (CUresult code = can_access_peer(peer, props.location.id, can); code != eSuccess)
      return code;
    if (!can && peer != props.location.id)
      return fail(ePeerAccessUnsupported, "kernels do not reach that device's memory");
  }
  AllocateOperation operation;
  CUresult code = make_graph_memory(context, params->bytesize, operation.memory);
  if (code != eSuccess) return code;
  params->dptr = operation.memory->allocation->address;
  made.what = std::move(operation);
  return eSuccess;
}

CUresult free_operation(CUdeviceptr address, Operation& made) {
  FreeOperation operation;
  CUresult code = make_graph_free(address, operation);
  made.what = std::move(operation);
  return code;
}

CUresult common_operation(ContextObject& context, int type, NodeParams& params, Operation& made) {
  switch (type) {
    case kNodeMemset: return fill_operation(&params.memset, made);
    case kNodeHost: return host_operation(&params.host, made);
    case kNodeChild: return child_operation(params.graph.graph, params.graph.ownership, made);
    case kNodeEmpty: made.what = EmptyOperation{}; return eSuccess;
    case kNodeWait: return event_operation(params.event, false, made);
    case kNodeRecord: return event_operation(params.event, true, made);
    case kNodeAllocate: return allocate_operation(context, &params.alloc, made);
    case kNodeFree: return free_operation(params.free, made);
    case kNodeSignalSemaphore: return semaphore_operation(&params.semaphores, false, made);
    case kNodeWaitSemaphore: return semaphore_operation(&params.semaphores, true, made);
    case kNodeBatch: return batch_node_operation(&params.batch, made);
    case kNodeConditional: return conditional_operation(params.conditional, made);
    default: return fail(eInvalidValue, "no such type of node");
  }
}

// ---------------------------------------------------------------------------------------- graphs

namespace {

/// The operation of type T that a node holds, or null.
template <class T>
T* held_by(CUgraphNode handle) {
  auto node = find_node(handle);
  return node ? std::get_if<T>(&node->operation.what) : nullptr;
}

CUresult other_type() { return fail(eInvalidValue, "the node is of another type"); }

template <class T, class Get>
CUresult read(CUgraphNode node, const void* place, Get&& get) {
  auto* operation = held_by<T>(node);
  if (!operation || !place) return other_type();
  get(*operation);
  return eSuccess;
}

}  // namespace

KernelOperation* kernel_of(CUgraphNode node) { return held_by<KernelOperation>(node); }
CopyOperation* copy_of(CUgraphNode node) { return held_by<CopyOperation>(node); }

CUresult memset_of(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  return read<MemsetOperation>(node, params, [&](auto& held) { *params = held.set; });
}

CUresult host_of(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  return read<HostOperation>(node, params, [&](auto& held) { *params = held.host; });
}

CUresult event_of(CUgraphNode node, CUevent* event, bool record) {
  if (!event) return eInvalidValue;
  const auto get = [&](auto& held) { *event = held.event; };
  return record ? read<RecordOperation>(node, event, get) : read<WaitOperation>(node, event, get);
}

CUresult child_of(CUgraphNode node, CUgraph* graph) {
  return read<ChildOperation>(node, graph, [&](auto& held) {
    held.graph->part = GraphObject::Part::child;
    *graph = held.graph.get();
    if (!tables().graphs.has(*graph)) tables().graphs.add(held.graph);
  });
}

CUresult allocation_of(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return read<AllocateOperation>(node, params, [&](auto& held) {
    const Allocation& memory = *held.memory->allocation;
    *params = {};
    params->poolProps.allocType = 1;
    params->poolProps.location = {1, held.memory->device->ordinal};
    params->bytesize = memory.bytes;
    params->dptr = memory.address;
  });
}

CUresult freed_by(CUgraphNode node, CUdeviceptr* address) {
  return read<FreeOperation>(node, address, [&](auto& held) { *address = held.address; });
}

CUresult batch_of(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return read<BatchOperation>(node, params, [&](auto& held) {
    *params = {held.context, static_cast<unsigned>(held.list.size()), held.list.data(), held.flags};
  });
}

CUresult semaphores_of(CUgraphNode node, CUDA_EXT_SEM_NODE_PARAMS* params, bool waits) {
  auto* held = held_by<SemaphoreOperation>(node);
  if (!held || !params || held->waits != waits) return other_type();
  *params = {held->list.data(), held->params.data(), static_cast<unsigned>(held->list.size())};
  return eSuccess;
}

CUresult type_of(CUgraphNode handle, int* type) {
  auto node = find_node(handle);
  if (!node || !type) return fail(eInvalidValue, "no such node");
  *type = node_type(node->operation);
  return eSuccess;
}

CUresult destroy_node(CUgraphNode handle) {
  auto node = find_node(handle);
  return node ? remove_node(*node) : fail(eInvalidValue, "no such node");
}

CUresult create_graph(CUgraph* graph, unsigned flags) {
  if (!graph || flags) return fail(eInvalidValue, "the flags of a graph are 0");
  *graph = tables().graphs.add(std::make_shared<GraphObject>());
  return eSuccess;
}

CUresult destroy_graph(CUgraph graph) {
  if (auto found = tables().graphs.find(graph); found && is_part(*found))
    return fail(eInvalidValue, "the graph goes with its node");
  return tables().graphs.take(graph) ? eSuccess : fail(eInvalidValue, "no such graph");
}

CUresult clone_graph(CUgraph* made, CUgraph handle) {
  auto graph = tables().graphs.find(handle);
  if (!made || !graph) return fail(eInvalidValue, "no such graph");
  if (has_conditional(*graph) || graph->part == GraphObject::Part::body)
    return fail(eNotSupported, "conditional nodes and their bodies are not cloned");
  if (has_memory(*graph)) return fail(eNotSupported, "a graph that has memory is not cloned");
  *made = tables().graphs.add(clone(*graph));
  return eSuccess;
}

CUresult find_in_clone(CUgraphNode* found, CUgraphNode original, CUgraph handle) {
  auto graph = tables().graphs.find(handle);
  if (!found || !graph || !find_node(original)) return fail(eInvalidValue, "no such graph or node");
  std::lock_guard lock(graph->mutex);
  for (const auto& each : graph->nodes)
    if (each->original == original) {
      *found = each.get();
      return eSuccess;
    }
  return fail(eInvalidValue, "the node has no counterpart in the clone");
}

CUresult exec_flags(CUgraphExec handle, unsigned long long& flags) {
  auto exec = tables().graph_execs.find(handle);
  if (!exec) return fail(eInvalidValue, "no such graph");
  flags = exec->flags;
  return eSuccess;
}

CUresult destroy_exec(CUgraphExec exec) {
  return tables().graph_execs.take(exec) ? eSuccess : fail(eInvalidValue, "no such graph");
}

CUresult node_enabled(CUgraphExec handle, CUgraphNode node, unsigned* enabled, bool set) {
  auto exec = tables().graph_execs.find(handle);
  auto original = find_node(node);
  GraphNodeObject* instance = exec && original ? instance_of(*exec, *original) : nullptr;
  if (!instance || !enabled || node_type(instance->operation) > kNodeMemset)
    return fail(eInvalidValue, "kernels, copies and fills are enabled, in an instance");
  if (set) {
    instance->enabled = *enabled != 0;
    ++exec->graph->changes;
  } else {
    *enabled = instance->enabled;
  }
  return eSuccess;
}

CUresult begin_capture_into(const std::shared_ptr<StreamObject>& stream, int mode, CUgraph graph,
                            const CUgraphNode* nodes, const void* edges, std::size_t count) {
  auto into = tables().graphs.find(graph);
  if (!into || (count && !nodes)) return fail(eInvalidValue, "no such graph");
  if (CUresult code = check_edges(edges, count); code != eSuccess) return code;
  for (std::size_t i = 0; i < count; ++i) {
    auto node = find_node(nodes[i]);
    if (!node || node->graph != graph)
      return fail(eInvalidValue, "a dependency is no node of the graph");
  }
  return begin_capture(stream, mode, into, {nodes, count});
}

}  // namespace ptx2spv::cuda
