// Questions about graphs and changes of them, as both interfaces ask for.
#include <algorithm>
#include <deque>
#include <ranges>
#include <unordered_map>

#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

namespace {

CUresult no_graph() { return fail(eInvalidValue, "no such graph"); }
CUresult no_node() { return fail(eInvalidValue, "no such node"); }

/// CUDA's form: without a place for them the number alone; the rest of the places become null.
template <class T>
CUresult give(const std::vector<T>& all, T* places, std::size_t* count) {
  if (!count) return eInvalidValue;
  if (places)
    for (std::size_t i = 0; i < *count; ++i) places[i] = i < all.size() ? all[i] : nullptr;
  if (!places || *count > all.size()) *count = all.size();
  return eSuccess;
}

}  // namespace

CUresult list_nodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count, bool roots) {
  auto graph = tables().graphs.find(handle);
  if (!graph) return no_graph();
  std::vector<CUgraphNode> all;
  std::lock_guard lock(graph->mutex);
  for (const auto& each : graph->nodes)
    if (!roots || each->before.empty()) all.push_back(each.get());
  if (roots) std::ranges::reverse(all);  // as an H100's driver (580.159) has them
  return give(all, nodes, count);
}

CUresult list_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  auto graph = tables().graphs.find(handle);
  if (!graph || !count || (from != nullptr) != (to != nullptr)) return no_graph();
  std::vector<CUgraphNode> first, second;
  std::lock_guard lock(graph->mutex);
  for (const auto& each : graph->nodes)
    for (CUgraphNode other : each->after) {
      first.push_back(each.get());
      second.push_back(other);
    }
  std::size_t same = *count;
  if (CUresult code = give(first, from, &same); code != eSuccess) return code;
  return give(second, to, count);
}

CUresult list_neighbours(CUgraphNode handle, CUgraphNode* nodes, std::size_t* count, bool before) {
  auto node = find_node(handle);
  if (!node) return no_node();
  std::lock_guard lock(node->graph->mutex);
  return give(before ? node->before : node->after, nodes, count);
}

CUresult change_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                      std::size_t count, bool add) {
  if (!tables().graphs.has(graph)) return no_graph();
  if (count && (!from || !to)) return eInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    auto first = find_node(from[i]), second = find_node(to[i]);
    if (!first || !second || first->graph != graph) return no_node();
    CUresult code = add ? add_edge(*first, *second) : remove_edge(*first, *second);
    if (code != eSuccess) return code;
  }
  return eSuccess;
}

CUresult append(CUgraph handle, Operation operation, const CUgraphNode* before, std::size_t count,
                CUgraphNode* made) {
  auto graph = tables().graphs.find(handle);
  if (!graph) return no_graph();
  if (!made || (count && !before)) return eInvalidValue;
  return add_node(*graph, std::move(operation), {before, count}, *made);
}

CUresult replace(CUgraphNode handle, Operation operation) {
  auto node = find_node(handle);
  if (!node) return no_node();
  if (node->operation.what.index() != operation.what.index())
    return fail(eInvalidValue, "the node is of another type");
  std::lock_guard lock(node->graph->mutex);
  node->operation = std::move(operation);
  ++node->graph->changes;
  return eSuccess;
}

namespace {

/// Where a side of a copy lies: in an array, in a device's memory or in the host's.
unsigned side_of(unsigned type, const void* host, CUdeviceptr device) {
  if (type == kMemoryArray) return kMemoryArray;
  const auto found = find_place(type == kMemoryHost ? reinterpret_cast<CUdeviceptr>(host) : device);
  const bool pinned = found.allocation && (found.allocation->use == MemoryUse::host ||
                                           found.allocation->use == MemoryUse::registered);
  return found.allocation && !pinned ? kMemoryDevice : kMemoryHost;
}

bool fits(const CUDA_MEMCPY3D_PEER& is, const CUDA_MEMCPY3D_PEER& becomes) {
  const auto rows = [](const CUDA_MEMCPY3D_PEER& p) { return std::max(p.Height, p.Depth); };
  const bool same = is.WidthInBytes == becomes.WidthInBytes && is.Height == becomes.Height &&
                    is.Depth == becomes.Depth;
  // What a copy says of its sides stays, too: an H100 (580.159) takes no other direction, and none
  // for one that the pointers tell.
  return (same || std::max(rows(is), rows(becomes)) <= 1) &&
         is.srcMemoryType == becomes.srcMemoryType && is.dstMemoryType == becomes.dstMemoryType &&
         side_of(is.srcMemoryType, is.srcHost, is.srcDevice) ==
             side_of(becomes.srcMemoryType, becomes.srcHost, becomes.srcDevice) &&
         side_of(is.dstMemoryType, is.dstHost, is.dstDevice) ==
             side_of(becomes.dstMemoryType, becomes.dstHost, becomes.dstDevice);
}

bool fits(const CUDA_MEMSET_NODE_PARAMS& is, const CUDA_MEMSET_NODE_PARAMS& becomes) {
  const bool same = is.width == becomes.width && is.height == becomes.height &&
                    is.pitch == becomes.pitch && is.elementSize == becomes.elementSize;
  return same || std::max(is.height, becomes.height) <= 1;
}

bool same_context(const RecordOperation& is, const RecordOperation& becomes) {
  const auto first = tables().events.find(is.event), second = tables().events.find(becomes.event);
  return !first || !second || first->context == second->context;
}

/// The nodes of an instance, each with the one that it becomes.
using Pairs = std::vector<std::pair<GraphNodeObject*, GraphNodeObject*>>;

/// Whether a graph's nodes may become another's: `updated`, or why not, and at which of these.
UpdateResult compare(const GraphObject& is, const GraphObject& becomes, Pairs& pairs,
                     CUgraphNode& failed);

/// The same for an instance's node alone. Copies stay between the same kinds of memory. What is
/// copied or filled may change its size where it is one row.
UpdateResult compare(const Operation& is, const Operation& becomes, CUgraphNode& failed) {
  Pairs inner;
  if (is.what.index() != becomes.what.index()) return UpdateResult::node_type_changed;
  bool fit = true;
  if (const auto* copy = std::get_if<CopyOperation>(&is.what))
    fit = fits(copy->copy, std::get<CopyOperation>(becomes.what).copy);
  if (const auto* fill = std::get_if<MemsetOperation>(&is.what))
    fit = fits(fill->set, std::get<MemsetOperation>(becomes.what).set);
  if (const auto* child = std::get_if<ChildOperation>(&is.what))
    return compare(*child->graph, *std::get<ChildOperation>(becomes.what).graph, inner, failed);
  if (const auto* record = std::get_if<RecordOperation>(&is.what))
    fit = same_context(*record, std::get<RecordOperation>(becomes.what));
  if (const auto* choice = std::get_if<ConditionalOperation>(&is.what)) {
    const auto& other = std::get<ConditionalOperation>(becomes.what);
    if (choice->type != other.type || choice->bodies.size() != other.bodies.size())
      return UpdateResult::parameters_changed;
    for (std::size_t i = 0; i < other.bodies.size(); ++i)
      if (const auto result = compare(*choice->bodies[i], *other.bodies[i], inner, failed);
          result != UpdateResult::updated)
        return result;
  }
  return fit ? UpdateResult::updated : UpdateResult::parameters_changed;
}

/// The newest first.
std::vector<GraphNodeObject*> leaves(const GraphObject& graph) {
  std::vector<GraphNodeObject*> found;
  for (const auto& each : std::views::reverse(graph.nodes))
    if (each->after.empty()) found.push_back(each.get());
  return found;
}

/// As an H100's driver (580.159) finds pairs: from the leaves on, breadth first.
UpdateResult compare(const GraphObject& is, const GraphObject& becomes, Pairs& pairs,
                     CUgraphNode& failed) {
  std::scoped_lock lock(const_cast<GraphObject&>(is).mutex,
                        const_cast<GraphObject&>(becomes).mutex);
  failed = nullptr;
  if (is.nodes.size() != becomes.nodes.size()) return UpdateResult::topology_changed;
  const auto own = leaves(is), others = leaves(becomes);
  if (own.size() < others.size()) failed = others[own.size()];
  if (own.size() != others.size()) return UpdateResult::topology_changed;
  std::deque<Pairs::value_type> open;
  const auto add = [&](const auto& from, const auto& to) {
    for (std::size_t i = 0; i < from.size(); ++i) open.emplace_back(from[i], to[i]);
  };
  add(own, others);
  std::unordered_map<const GraphNodeObject*, const GraphNodeObject*> partners;
  for (; !open.empty(); open.pop_front()) {
    const auto [node, other] = open.front();
    const bool first = partners.try_emplace(node, other).second;
    const bool both = partners.try_emplace(other, node).second && first;
    if (!first && partners[node] == other) continue;
    failed = other;
    if (!both || node->before.size() != other->before.size()) return UpdateResult::topology_changed;
    const UpdateResult result = compare(node->operation, other->operation, failed);
    if (result != UpdateResult::updated) return result;
    pairs.push_back(open.front());
    add(node->before, other->before);
  }
  failed = nullptr;
  return UpdateResult::updated;
}

}  // namespace

CUresult replace(CUgraphExec handle, CUgraphNode node, Operation operation) {
  auto exec = tables().graph_execs.find(handle);
  auto original = find_node(node);
  if (!exec || !original) return no_node();
  GraphNodeObject* instance = instance_of(*exec, *original);
  if (!instance) return no_node();
  const bool child = std::holds_alternative<ChildOperation>(operation.what);
  CUgraphNode failed = nullptr;
  if (compare(instance->operation, operation, failed) != UpdateResult::updated)
    return fail(child ? eGraphExecUpdateFailure : eInvalidValue,
                "an instance's node changes its type, its shape or where its memory lies");
  return replace(instance, std::move(operation));
}

CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphNode& failed,
                UpdateResult& result) {
  failed = nullptr;
  result = UpdateResult::error;
  auto exec = tables().graph_execs.find(handle);
  auto graph = tables().graphs.find(graph_handle);
  if (!exec || !graph || is_part(*graph)) return no_graph();
  std::vector<GraphNodeObject*> order;
  if (CUresult code = sort(*graph, order); code != eSuccess) return code;
  Pairs pairs;
  result = compare(*exec->graph, *graph, pairs, failed);
  if (result != UpdateResult::updated)
    return fail(eGraphExecUpdateFailure, "the graphs differ in more than what nodes are given");
  exec->graph->conditions = graph->conditions;
  ++exec->graph->changes;
  for (const auto& [node, other] : pairs) {
    Operation& own = node->operation;
    own = other->operation;
    if (auto* child = std::get_if<ChildOperation>(&own.what)) child->graph = clone(*child->graph);
    if (auto* choice = std::get_if<ConditionalOperation>(&own.what))
      for (auto& body : choice->bodies) body = clone(*body);
    node->original = other;
  }
  return eSuccess;
}

CUresult make_exec(CUgraph handle, unsigned long long flags, CUgraphExec* made) {
  if (!made) return eInvalidValue;
  auto graph = tables().graphs.find(handle);
  if (!graph) return no_graph();
  if (flags & ~0xfull) return fail(eInvalidValue, "unknown flags of a graph");
  if (flags & kGraphUpload)
    return fail(eInvalidValue, "an instance is uploaded in the stream of its parameters");
  if (is_part(*graph)) return fail(eNotSupported, "the graph is instantiated with its node's");
  if (flags & kGraphDeviceLaunch)
    return not_supported("a graph for launches by kernels", "kernels launch nothing");
  const bool memory = has_memory(*graph);
  if (memory && !graph->instance.expired())
    return fail(eNotSupported, "a graph that has memory is instantiated once at a time");
  std::shared_ptr<GraphExecObject> exec;
  if (CUresult code = instantiate(*graph, exec); code != eSuccess) return code;
  exec->flags = flags & kGraphFreeOnLaunch;  // of the others nothing is left to ask for
  if (memory) graph->instance = exec;
  *made = tables().graph_execs.add(std::move(exec));
  return eSuccess;
}

CUresult make_uploaded(CUgraph graph, unsigned long long flags, CUgraphExec* made) {
  const CUresult code = make_exec(graph, flags & ~std::uint64_t{kGraphUpload}, made);
  return code == eSuccess ? upload_graph(*made) : code;
}

CUresult launch_exec(CUgraphExec handle, const std::shared_ptr<StreamObject>& stream) {
  auto exec = tables().graph_execs.find(handle);
  if (!exec) return fail(eInvalidValue, "no such graph");
  bool captured = false;
  if (CUresult code = begin_work(*stream, captured); code != eSuccess) return code;
  if (captured) return capture(*stream, Operation{ChildOperation{clone(*exec->graph)}});
  mark_dirty(stream);
  return launch_graph(*stream, *exec);
}

NodePlace adding(CUgraphNode* made, CUgraph graph, const CUgraphNode* before, std::size_t count) {
  return {NodePlace::Into::new_node, graph, nullptr, nullptr, made, before, count};
}
NodePlace changing(CUgraphNode node) {
  return {NodePlace::Into::graph, nullptr, nullptr, node, nullptr, nullptr, 0};
}
NodePlace changing(CUgraphExec exec, CUgraphNode node) {
  return {NodePlace::Into::instance, nullptr, exec, node, nullptr, nullptr, 0};
}

CUresult apply_operation(MadeOperation made, const NodePlace& place) {
  if (made.code != eSuccess) return made.code;
  switch (place.into) {
    case NodePlace::Into::new_node:
      return append(place.graph, std::move(made.operation), place.before, place.count, place.made);
    case NodePlace::Into::graph: return replace(place.node, std::move(made.operation));
    case NodePlace::Into::instance:
      return replace(place.exec, place.node, std::move(made.operation));
  }
  return eInvalidValue;
}

}  // namespace ptx2spv::cuda
