// Questions about graphs and changes of them, as both interfaces ask for.
#include <algorithm>

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
  return eSuccess;
}

CUresult replace(CUgraphExec handle, CUgraphNode node, Operation operation) {
  auto exec = tables().graph_execs.find(handle);
  auto original = find_node(node);
  if (!exec || !original) return no_node();
  GraphNodeObject* instance = instance_of(*exec, *original);
  return instance ? replace(instance, std::move(operation)) : no_node();
}

CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphNode& failed) {
  failed = nullptr;
  auto exec = tables().graph_execs.find(handle);
  auto graph = tables().graphs.find(graph_handle);
  if (!exec || !graph) return no_graph();
  std::vector<GraphNodeObject*> order;
  if (CUresult code = sort(*graph, order); code != eSuccess) return code;
  if (order.size() != exec->order.size())
    return fail(eGraphExecUpdateFailure, "the graphs differ in the number of nodes");
  for (std::size_t i = 0; i < order.size(); ++i) {
    failed = order[i];
    if (order[i]->operation.what.index() != exec->order[i]->operation.what.index() ||
        order[i]->before.size() != exec->order[i]->before.size())
      return fail(eGraphExecUpdateFailure, "the graphs differ in a node");
  }
  failed = nullptr;
  for (std::size_t i = 0; i < order.size(); ++i) {
    exec->order[i]->operation = order[i]->operation;
    exec->order[i]->original = order[i];
  }
  return eSuccess;
}

CUresult make_exec(CUgraph handle, unsigned long long flags, CUgraphExec* made) {
  if (!made) return eInvalidValue;
  auto graph = tables().graphs.find(handle);
  if (!graph) return no_graph();
  if (flags & ~0xfull) return fail(eInvalidValue, "unknown flags of a graph");
  if (flags & kGraphDeviceLaunch)
    return not_supported("a graph for launches by kernels", "kernels launch nothing");
  std::shared_ptr<GraphExecObject> exec;
  if (CUresult code = instantiate(*graph, exec); code != eSuccess) return code;
  exec->flags = flags;
  *made = tables().graph_execs.add(std::move(exec));
  return eSuccess;
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

CUresult place_operation(MadeOperation made, const NodePlace& place) {
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
