#include "src/cuda/core/graph.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_set>

namespace ptx2spv::cuda {

namespace {

template <class... F>
struct Visitor : F... {
  using F::operator()...;
};
template <class... F>
Visitor(F...) -> Visitor<F...>;

std::atomic<int> g_captures{0};

/// Every node alive, so that a handle is checked before it is followed.
struct Nodes {
  std::mutex mutex;
  std::unordered_map<const GraphNodeObject*, std::weak_ptr<GraphNodeObject>> all;
};
Nodes& nodes() {
  static auto* list = new Nodes;
  return *list;
}

CUresult run_host(StreamObject& stream, const HostOperation& operation) {
  if (CUresult code = synchronize(*stream.context); code != eSuccess) return code;
  operation.host.fn(operation.host.userData);
  return eSuccess;
}

}  // namespace

int node_type(const Operation& operation) {
  return std::visit(Visitor{[](const KernelOperation&) { return kNodeKernel; },
                            [](const CopyOperation&) { return kNodeMemcpy; },
                            [](const MemsetOperation&) { return kNodeMemset; },
                            [](const HostOperation&) { return kNodeHost; },
                            [](const ChildOperation&) { return kNodeChild; },
                            [](const EmptyOperation&) { return kNodeEmpty; },
                            [](const WaitOperation&) { return kNodeWait; },
                            [](const RecordOperation&) { return kNodeRecord; },
                            [](const AllocateOperation&) { return kNodeAllocate; },
                            [](const FreeOperation&) { return kNodeFree; }},
                    operation.what);
}

CUresult run(StreamObject& stream, const Operation& operation) {
  ContextObject& context = *stream.context;
  return std::visit(
      Visitor{[&](const KernelOperation& each) { return run_kernel(stream, each); },
              [&](const CopyOperation& each) { return copy(context, each.copy); },
              [&](const MemsetOperation& each) { return set_memory(context, each.set); },
              [&](const HostOperation& each) { return run_host(stream, each); },
              [&](const ChildOperation& each) { return run_graph(stream, *each.graph); },
              [](const EmptyOperation&) { return eSuccess; },
              [&](const WaitOperation& each) {
                return tables().events.has(each.event) ? wait_event(stream, *each.event) : eSuccess;
              },
              [&](const RecordOperation& each) {
                if (!tables().events.has(each.event)) return eInvalidResourceHandle;
                return record_event(stream, *each.event);
              },
              [](const AllocateOperation& each) { return take_graph_memory(*each.memory, true); },
              [](const FreeOperation& each) {
                auto memory = each.memory.lock();
                if (!memory) return fail(eInvalidValue, "the graph's memory is gone");
                return take_graph_memory(*memory, false);
              }},
      operation.what);
}

CUresult enqueue(StreamObject& stream, Operation operation) {
  if (capturing(stream)) return capture(stream, std::move(operation));
  return run(stream, operation);
}

// ---------------------------------------------------------------------------------------- graphs

CUresult add_node(GraphObject& graph, Operation operation, std::span<GraphNodeObject* const> before,
                  GraphNodeObject*& made) {
  auto node = std::make_shared<GraphNodeObject>();
  node->graph = &graph;
  node->operation = std::move(operation);
  if (const auto* each = std::get_if<AllocateOperation>(&node->operation.what))
    each->memory->graph = graph.id;
  // Memory may be freed by another graph, or by the program. In a graph of its own it cannot be
  // once an instance is there, which leaves it to whoever launched that.
  if (const auto* each = std::get_if<FreeOperation>(&node->operation.what))
    if (auto memory = each->memory.lock();
        memory && memory->graph == graph.id && memory->instantiated)
      return fail(eInvalidValue, "the graph was instantiated without the node that frees");
  std::lock_guard lock(graph.mutex);
  for (GraphNodeObject* each : before) {
    auto known = find_node(each);
    if (!known || known->graph != &graph)
      return fail(eInvalidValue, "a dependency is no node of the graph");
    if (std::find(node->before.begin(), node->before.end(), each) != node->before.end())
      return fail(eInvalidValue, "a dependency is named twice");
    node->before.push_back(each);
  }
  for (GraphNodeObject* each : node->before) each->after.push_back(node.get());
  {
    std::lock_guard all(nodes().mutex);
    nodes().all[node.get()] = node;
  }
  made = node.get();
  graph.nodes.push_back(std::move(node));
  return eSuccess;
}

CUresult add_edge(GraphNodeObject& from, GraphNodeObject& to) {
  if (from.graph != to.graph || &from == &to)
    return fail(eInvalidValue, "the nodes of a dependency are two of one graph");
  std::lock_guard lock(from.graph->mutex);
  if (std::find(from.after.begin(), from.after.end(), &to) != from.after.end())
    return fail(eInvalidValue, "the dependency is there already");
  from.after.push_back(&to);
  to.before.push_back(&from);
  return eSuccess;
}

CUresult remove_edge(GraphNodeObject& from, GraphNodeObject& to) {
  if (from.graph != to.graph) return fail(eInvalidValue, "no such dependency");
  std::lock_guard lock(from.graph->mutex);
  if (!std::erase(from.after, &to)) return fail(eInvalidValue, "no such dependency");
  std::erase(to.before, &from);
  return eSuccess;
}

CUresult remove_node(GraphNodeObject& node) {
  GraphObject& graph = *node.graph;
  std::lock_guard lock(graph.mutex);
  for (GraphNodeObject* each : node.before) std::erase(each->after, &node);
  for (GraphNodeObject* each : node.after) std::erase(each->before, &node);
  {
    std::lock_guard all(nodes().mutex);
    nodes().all.erase(&node);
  }
  std::erase_if(graph.nodes, [&](const auto& each) { return each.get() == &node; });
  return eSuccess;
}

std::shared_ptr<GraphNodeObject> find_node(CUgraphNode handle) {
  std::lock_guard lock(nodes().mutex);
  auto found = nodes().all.find(handle);
  if (found == nodes().all.end()) return nullptr;
  auto node = found->second.lock();
  if (!node) nodes().all.erase(found);
  return node;
}

std::shared_ptr<GraphObject> clone(const GraphObject& graph) {
  auto& source = const_cast<GraphObject&>(graph);
  std::lock_guard lock(source.mutex);
  auto copy = std::make_shared<GraphObject>();
  copy->user_objects = source.user_objects;
  std::unordered_map<const GraphNodeObject*, GraphNodeObject*> made;
  for (const auto& each : source.nodes) {
    auto node = std::make_shared<GraphNodeObject>();
    node->graph = copy.get();
    node->operation = each->operation;
    node->original = each.get();
    node->enabled = each->enabled;
    node->attributes = each->attributes;
    if (auto* child = std::get_if<ChildOperation>(&node->operation.what))
      child->graph = clone(*child->graph);
    made[each.get()] = node.get();
    std::lock_guard all(nodes().mutex);
    nodes().all[node.get()] = node;
    copy->nodes.push_back(std::move(node));
  }
  for (const auto& each : source.nodes) {
    for (GraphNodeObject* other : each->before) made[each.get()]->before.push_back(made[other]);
    for (GraphNodeObject* other : each->after) made[each.get()]->after.push_back(made[other]);
  }
  return copy;
}

CUresult sort(const GraphObject& graph, std::vector<GraphNodeObject*>& order) {
  auto& source = const_cast<GraphObject&>(graph);
  std::lock_guard lock(source.mutex);
  std::unordered_map<GraphNodeObject*, std::size_t> waits;
  std::deque<GraphNodeObject*> ready;
  for (const auto& each : source.nodes) {
    waits[each.get()] = each->before.size();
    if (each->before.empty()) ready.push_back(each.get());
  }
  while (!ready.empty()) {
    GraphNodeObject* node = ready.front();
    ready.pop_front();
    order.push_back(node);
    for (GraphNodeObject* each : node->after)
      if (--waits[each] == 0) ready.push_back(each);
  }
  return order.size() == source.nodes.size() ? eSuccess
                                             : fail(eInvalidValue, "the graph has a cycle");
}

CUresult instantiate(const GraphObject& graph, std::shared_ptr<GraphExecObject>& made) {
  auto exec = std::make_shared<GraphExecObject>();
  exec->graph = clone(graph);
  if (CUresult code = sort(*exec->graph, exec->order); code != eSuccess) return code;
  for (const GraphNodeObject* node : exec->order)
    if (const auto* each = std::get_if<AllocateOperation>(&node->operation.what))
      each->memory->instantiated = true;
  made = std::move(exec);
  return eSuccess;
}

GraphNodeObject* instance_of(const GraphExecObject& exec, const GraphNodeObject& node) {
  for (const auto& each : exec.graph->nodes)
    if (each->original == &node) return each.get();
  return nullptr;
}

CUresult run_graph(StreamObject& stream, const GraphObject& graph) {
  std::vector<GraphNodeObject*> order;
  if (CUresult code = sort(graph, order); code != eSuccess) return code;
  for (const GraphNodeObject* each : order)
    if (each->enabled)
      if (CUresult code = run(stream, each->operation); code != eSuccess) return code;
  return eSuccess;
}

namespace {

/// Frees what a launch before left, where the graph was instantiated so.
void free_memory_of(const GraphObject& graph) {
  for (const auto& node : graph.nodes) {
    if (const auto* each = std::get_if<AllocateOperation>(&node->operation.what);
        each && each->memory->live)
      (void)take_graph_memory(*each->memory, false);
    if (const auto* each = std::get_if<ChildOperation>(&node->operation.what))
      free_memory_of(*each->graph);
  }
}

}  // namespace

CUresult launch_graph(StreamObject& stream, GraphExecObject& exec) {
  if (exec.flags & kGraphFreeOnLaunch) free_memory_of(*exec.graph);
  for (const GraphNodeObject* each : exec.order)
    if (each->enabled)
      if (CUresult code = run(stream, each->operation); code != eSuccess) return code;
  return eSuccess;
}

// --------------------------------------------------------------------------------------- capture

bool anyone_captures() { return g_captures.load(std::memory_order_relaxed) != 0; }

bool capturing(StreamObject& stream) {
  if (!anyone_captures()) return false;
  std::lock_guard lock(stream.mutex);
  return stream.capture != nullptr;
}

CUresult capture(StreamObject& stream, Operation operation) {
  std::lock_guard lock(stream.mutex);
  if (!stream.capture) return fail(eIllegalState, "the stream is not capturing");
  if (stream.capture->invalid) return fail(eStreamCaptureInvalidated, "the capture failed before");
  GraphNodeObject* node = nullptr;
  if (CUresult code = add_node(*stream.capture->graph, std::move(operation), stream.tail, node);
      code != eSuccess)
    return code;
  stream.tail = {node};
  return eSuccess;
}

CUresult record(StreamObject& stream, EventObject& event) {
  if (!capturing(stream)) return record_event(stream, event);
  std::scoped_lock lock(stream.mutex, event.mutex);
  event.capture = stream.capture;
  event.nodes = stream.tail;
  return eSuccess;
}

CUresult wait(StreamObject& stream, EventObject& event) {
  std::shared_ptr<Capture> other;
  std::vector<GraphNodeObject*> nodes;
  {
    std::lock_guard lock(event.mutex);
    other = event.capture;
    nodes = event.nodes;
  }
  if (!other) {
    if (!capturing(stream)) return wait_event(stream, event);
    return fail(eStreamCaptureIsolation, "a capture would wait for work outside of it");
  }
  std::lock_guard lock(stream.mutex);
  if (stream.capture && stream.capture != other)
    return fail(eStreamCaptureMerge, "two captures would become one");
  // The stream joins the capture that the event belongs to.
  stream.capture = other;
  for (GraphNodeObject* each : nodes)
    if (std::find(stream.tail.begin(), stream.tail.end(), each) == stream.tail.end())
      stream.tail.push_back(each);
  return eSuccess;
}

CUresult record_external(StreamObject& stream, EventObject& event) {
  if (!capturing(stream)) return fail(eIllegalState, "an external event is a capture's");
  return capture(stream, Operation{RecordOperation{&event}});
}

CUresult wait_external(StreamObject& stream, EventObject& event) {
  if (!capturing(stream)) return fail(eIllegalState, "an external event is a capture's");
  return capture(stream, Operation{WaitOperation{&event}});
}

CUresult begin_capture(const std::shared_ptr<StreamObject>& stream, int mode,
                       std::shared_ptr<GraphObject> into,
                       std::span<GraphNodeObject* const> before) {
  if (mode < 0 || mode > 2) return fail(eInvalidValue, "no such mode of capture");
  if (stream->builtin && stream == stream->context->legacy)
    return fail(eStreamCaptureUnsupported, "the legacy stream cannot be captured");
  std::lock_guard lock(stream->mutex);
  if (stream->capture) return fail(eIllegalState, "the stream is capturing already");
  auto made = std::make_shared<Capture>();
  made->graph = into ? std::move(into) : std::make_shared<GraphObject>();
  made->origin = stream.get();
  made->id = next_id();
  made->mode = mode;
  stream->capture = std::move(made);
  stream->tail.assign(before.begin(), before.end());
  ++g_captures;
  return eSuccess;
}

CUresult end_capture(StreamObject& stream, CUgraph& made) {
  made = nullptr;
  std::shared_ptr<Capture> ended;
  std::vector<GraphNodeObject*> tail;
  {
    std::lock_guard lock(stream.mutex);
    if (!stream.capture) return fail(eIllegalState, "the stream is not capturing");
    if (stream.capture->origin != &stream)
      return fail(eStreamCaptureUnmatched, "the capture began in another stream");
    ended = std::move(stream.capture);
    stream.capture = nullptr;
    tail.swap(stream.tail);
  }
  --g_captures;
  // Work of other streams that nobody joined again is lost to who waits for the graph's end.
  bool unjoined = false;
  std::unordered_set<const GraphNodeObject*> reached(tail.begin(), tail.end());
  std::deque<const GraphNodeObject*> open(tail.begin(), tail.end());
  while (!open.empty()) {
    const GraphNodeObject* node = open.front();
    open.pop_front();
    for (const GraphNodeObject* each : node->before)
      if (reached.insert(each).second) open.push_back(each);
  }
  for (const auto& each : tables().streams.all()) {
    std::lock_guard lock(each->mutex);
    if (each->capture != ended) continue;
    for (const GraphNodeObject* node : each->tail) unjoined = unjoined || !reached.count(node);
    each->capture = nullptr;
    each->tail.clear();
  }
  if (ended->invalid) return fail(eStreamCaptureInvalidated, "the capture failed before");
  if (unjoined) return fail(eStreamCaptureUnjoined, "work of another stream was not joined");
  made = ended->graph.get();
  if (!tables().graphs.has(made)) tables().graphs.add(ended->graph);
  return eSuccess;
}

}  // namespace ptx2spv::cuda
