// Graphs: operations with an order between them. They are run one after the other, in an order that
// respects every edge: a device's queue does nothing else with streams either.
#pragma once

#include <list>

#include "src/cuda/core/core.hpp"

namespace ptx2spv::cuda {

struct GraphNodeObject {
  GraphObject* graph = nullptr;
  Operation operation;
  std::vector<GraphNodeObject*> before, after;
  const GraphNodeObject* original = nullptr;  ///< of a clone
  bool enabled = true;
  std::map<int, CUlaunchAttribute> attributes;
};

struct GraphObject {
  std::mutex mutex;  ///< what follows
  std::vector<std::shared_ptr<GraphNodeObject>> nodes;
};

struct GraphExecObject {
  std::shared_ptr<GraphObject> graph;  ///< a clone: what was instantiated
  std::vector<GraphNodeObject*> order;
  unsigned long long flags = 0;
};

CUresult add_node(GraphObject& graph, Operation operation, std::span<GraphNodeObject* const> before,
                  GraphNodeObject*& made);
CUresult add_edge(GraphNodeObject& from, GraphNodeObject& to);
CUresult remove_edge(GraphNodeObject& from, GraphNodeObject& to);
CUresult remove_node(GraphNodeObject& node);
/// Null where the handle is of no node that is alive.
std::shared_ptr<GraphNodeObject> find_node(CUgraphNode handle);
std::shared_ptr<GraphObject> clone(const GraphObject& graph);
/// An order that every edge holds in; eInvalidValue where there is a cycle.
CUresult sort(const GraphObject& graph, std::vector<GraphNodeObject*>& order);
CUresult instantiate(const GraphObject& graph, std::shared_ptr<GraphExecObject>& made);
/// The node of an instantiated graph that `node` became.
GraphNodeObject* instance_of(const GraphExecObject& exec, const GraphNodeObject& node);
CUresult launch_graph(StreamObject& stream, GraphExecObject& exec);

// What both interfaces have under different names.
CUresult list_nodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count, bool roots);
CUresult list_edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count);
CUresult list_neighbours(CUgraphNode node, CUgraphNode* nodes, std::size_t* count, bool before);
CUresult change_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                      std::size_t count, bool add);
/// Adds a node with `count` dependencies.
CUresult append(CUgraph graph, Operation operation, const CUgraphNode* before, std::size_t count,
                CUgraphNode* made);
/// Another operation of the same type in a graph's node, or in what it became in `exec`.
CUresult replace(CUgraphNode node, Operation operation);
CUresult replace(CUgraphExec exec, CUgraphNode node, Operation operation);
/// Takes over the parameters of `graph`, whose nodes have to match those of `exec` in type and
/// order; `failed` is the first that does not.
CUresult update(CUgraphExec exec, CUgraph graph, CUgraphNode& failed);
CUresult make_exec(CUgraph graph, unsigned long long flags, CUgraphExec* made);
CUresult launch_exec(CUgraphExec exec, const std::shared_ptr<StreamObject>& stream);

CUresult begin_capture(const std::shared_ptr<StreamObject>& stream, int mode,
                       std::shared_ptr<GraphObject> into, std::span<GraphNodeObject* const> before);
CUresult end_capture(StreamObject& stream, CUgraph& made);
bool capturing(StreamObject& stream);
/// cuEventRecord and cuStreamWaitEvent, in a capture or not.
CUresult record(StreamObject& stream, EventObject& event);
CUresult wait(StreamObject& stream, EventObject& event);
/// Whether any stream of the calling process is capturing: what waits for the device is refused.
bool anyone_captures();

}  // namespace ptx2spv::cuda
