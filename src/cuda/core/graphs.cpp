#include "src/cuda/core/graph.hpp"

#include "src/cuda/core/backlog.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "src/device/device.hpp"
#include "src/executor/graph.hpp"

namespace ptx2spv::cuda {

namespace {

template <class... F>
struct Visitor : F... {
  using F::operator()...;
};
template <class... F>
Visitor(F...) -> Visitor<F...>;

/// Every node alive, so that a handle is checked before it is followed.
struct Nodes {
  std::mutex mutex;
  std::unordered_map<const GraphNodeObject*, std::weak_ptr<GraphNodeObject>> all;
};
Nodes& nodes() {
  static auto* list = new Nodes;
  return *list;
}

/// In the stream's own thread.
CUresult run_host(StreamObject& stream, const HostOperation& operation) {
  if (CUresult code = settle_before_host(stream); code != eSuccess) return code;
  call_host(operation.host.fn, operation.host.userData);
  return eSuccess;
}

/// Null: it has no kernel, or that one's context is destroyed.
std::shared_ptr<ContextObject> kernel_context(const Operation& operation) {
  const auto* kernel = std::get_if<KernelOperation>(&operation.what);
  return kernel ? tables().contexts.find(kernel->function->module->context) : nullptr;
}

/// Whether kernels of the graph itself run on another device than the stream's.
bool spans_devices(const StreamObject& stream, const GraphObject& graph) {
  return std::ranges::any_of(graph.nodes, [&](const auto& node) {
    const auto context = kernel_context(node->operation);
    return context && context->device != stream.context->device;
  });
}

/// Whether the host takes part in it.
bool calls_host(const Operation& operation) {
  const auto* kernel = std::get_if<KernelOperation>(&operation.what);
  return (kernel && may_wait(*kernel)) || std::holds_alternative<HostOperation>(operation.what) ||
         std::holds_alternative<BatchOperation>(operation.what) ||
         std::holds_alternative<ConditionalOperation>(operation.what);
}
bool calls_host(const StreamObject& stream, const GraphObject& graph) {
  return spans_devices(stream, graph) || std::ranges::any_of(graph.nodes, [&](const auto& node) {
           const auto* child = std::get_if<ChildOperation>(&node->operation.what);
           return calls_host(node->operation) || (child && calls_host(stream, *child->graph));
         });
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
                            [](const FreeOperation&) { return kNodeFree; },
                            [](const BatchOperation&) { return kNodeBatch; },
                            [](const SemaphoreOperation& each) {
                              return each.waits ? kNodeWaitSemaphore : kNodeSignalSemaphore;
                            },
                            [](const ConditionalOperation&) { return kNodeConditional; }},
                    operation.what);
}

CUresult run(StreamObject& stream, const Operation& operation) {
  return std::visit(
      Visitor{[&](const KernelOperation& each) {
                if (!kernel_context(operation))
                  return fail(eContextIsDestroyed, "the context of a graph's kernel is destroyed");
                return run_kernel(stream, *each.function, each.config, each.args);
              },
              [&](const CopyOperation& each) { return copy_in_turn(stream, each.copy); },
              [&](const MemsetOperation& each) { return set_in_turn(stream, each.set); },
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
              },
              [&](const BatchOperation& each) { return run_batch(stream, each); },
              [&](const SemaphoreOperation& each) { return run_semaphores(stream, each); },
              [&](const ConditionalOperation& each) { return run_conditional(stream, each); }},
      operation.what);
}

CUresult enqueue(StreamObject& stream, Operation operation) {
  bool captured = false;
  if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
  if (captured) return capture(stream, std::move(operation));
  const bool host = calls_host(operation);
  auto work = [own = stream.shared_from_this(), all = std::move(operation)] {
    return run(*own, all);
  };
  return host ? in_own_thread(stream, std::move(work)) : in_order(stream, std::move(work));
}

// ---------------------------------------------------------------------------------------- graphs

namespace {

bool frees(const GraphObject& graph, const GraphMemory& memory) {
  return std::ranges::any_of(graph.nodes, [&](const auto& each) {
    const auto* free = std::get_if<FreeOperation>(&each->operation.what);
    return free && free->memory.lock().get() == &memory;
  });
}

/// Graphs inside of one that is sorted have no cycle either.
CUresult sort_children(const GraphObject& graph) {
  for (const auto& node : graph.nodes) {
    std::vector<std::shared_ptr<GraphObject>> inside;
    if (const auto* child = std::get_if<ChildOperation>(&node->operation.what))
      inside = {child->graph};
    if (const auto* choice = std::get_if<ConditionalOperation>(&node->operation.what))
      inside.assign(choice->bodies.begin(), choice->bodies.end());
    for (const auto& each : inside) {
      std::vector<GraphNodeObject*> order;
      if (CUresult code = sort(*each, order); code != eSuccess) return code;
      if (CUresult code = sort_children(*each); code != eSuccess) return code;
    }
  }
  return eSuccess;
}

}  // namespace

CUresult add_node(GraphObject& graph, Operation operation, std::span<GraphNodeObject* const> before,
                  GraphNodeObject*& made) {
  auto node = std::make_shared<GraphNodeObject>();
  node->graph = &graph;
  node->operation = std::move(operation);
  if (const auto* each = std::get_if<AllocateOperation>(&node->operation.what))
    each->memory->graph = graph.id;
  // Memory may be freed by another graph, or by the program. In a graph of its own it cannot be
  // once an instance is there, which leaves it to whoever launched that.
  std::lock_guard lock(graph.mutex);
  const auto* free = std::get_if<FreeOperation>(&node->operation.what);
  if (const auto memory = free ? free->memory.lock() : nullptr) {
    if (memory->graph == graph.id && memory->instantiated)
      return fail(eInvalidValue, "the graph was instantiated without the node that frees");
    if (frees(graph, *memory))
      return fail(eInvalidValue, "another node of the graph frees the memory");
  }
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

bool has_memory(const GraphObject& graph) {
  return std::ranges::any_of(graph.nodes, [](const auto& each) {
    const int type = node_type(each->operation);
    return type == kNodeAllocate || type == kNodeFree;
  });
}

namespace {

CUresult check_deletion(const GraphObject& graph) {
  return has_memory(graph) ? fail(eNotSupported, "nothing is deleted in a graph that has memory")
                           : eSuccess;
}

}  // namespace

CUresult remove_edge(GraphNodeObject& from, GraphNodeObject& to) {
  if (from.graph != to.graph) return fail(eInvalidValue, "no such dependency");
  std::lock_guard lock(from.graph->mutex);
  if (CUresult code = check_deletion(*from.graph); code != eSuccess) return code;
  if (!std::erase(from.after, &to)) return fail(eInvalidValue, "no such dependency");
  std::erase(to.before, &from);
  return eSuccess;
}

CUresult remove_node(GraphNodeObject& node) {
  GraphObject& graph = *node.graph;
  std::lock_guard lock(graph.mutex);
  if (CUresult code = check_deletion(graph); code != eSuccess) return code;
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
  copy->conditions = source.conditions;
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
    if (auto* choice = std::get_if<ConditionalOperation>(&node->operation.what))
      for (auto& body : choice->bodies) body = clone(*body);
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
  if (CUresult code = check_bodies(graph); code != eSuccess) return code;
  auto exec = std::make_shared<GraphExecObject>();
  exec->graph = clone(graph);
  if (CUresult code = sort(*exec->graph, exec->order); code != eSuccess) return code;
  if (CUresult code = sort_children(*exec->graph); code != eSuccess) return code;
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

namespace {

/// A run of a graph over several devices, whose queues know nothing of each other: the host waits
/// between a node and those that it comes after on other devices.
class SpanningRun {
 public:
  explicit SpanningRun(StreamObject& stream) : stream_(stream) {}
  CUresult run(const std::vector<GraphNodeObject*>& order) {
    const Ends before{end_of(*stream_.context)};
    for (const GraphNodeObject* node : order) {
      const auto context = kernel_context(node->operation);
      const DeviceObject* device = context ? context->device : nullptr;
      if (node->before.empty())
        if (CUresult code = wait(before, device); code != eSuccess) return code;
      for (const GraphNodeObject* each : node->before)
        if (CUresult code = wait(ends_[each], device); code != eSuccess) return code;
      if (node->enabled)
        if (CUresult code = run_node(node->operation, context); code != eSuccess) return code;
      ends_[node] = ends_of(device);
    }
    for (const auto& [context, stream] : others_)
      if (CUresult code = settle(*stream); code != eSuccess) return code;
    return eSuccess;
  }

 private:
  /// Where a device's queue was.
  struct End {
    ContextObject* context = nullptr;
    std::uint64_t value = 0;
  };
  using Ends = std::vector<End>;

  static End end_of(ContextObject& context) {
    return {&context, context.gpu().state()->queue.submitted()};
  }
  /// Of the node that ran last; null: it may have used any device.
  Ends ends_of(const DeviceObject* device) {
    Ends ends;
    if (!device || device == stream_.context->device) ends.push_back(end_of(*stream_.context));
    for (const auto& [context, stream] : others_)
      if (!device || device == context->device) ends.push_back(end_of(*context));
    return ends;
  }
  /// A device's own queue is in order. Null: the host waits for all.
  static CUresult wait(const Ends& ends, const DeviceObject* device) {
    for (const End& each : ends) {
      if (each.context->device == device) continue;
      if (Status status = each.context->gpu().state()->queue.wait(each.value); !status)
        return stick(*each.context, status.error());
    }
    return eSuccess;
  }
  /// Kernels of other devices run in a stream of this run: theirs are the program's.
  CUresult run_node(const Operation& operation, const std::shared_ptr<ContextObject>& context) {
    if (!context || context->device == stream_.context->device)
      return cuda::run(stream_, operation);
    auto& stream = others_[context];
    if (!stream) {
      stream = std::make_shared<StreamObject>();
      stream->context = context.get();
    }
    const CUresult code = cuda::run(*stream, operation);
    if (code == eSuccess) mark_dirty(stream);
    return code;
  }

  StreamObject& stream_;
  std::map<std::shared_ptr<ContextObject>, std::shared_ptr<StreamObject>> others_;
  std::unordered_map<const GraphNodeObject*, Ends> ends_;
};

}  // namespace

CUresult run_graph(StreamObject& stream, const GraphObject& graph) {
  std::vector<GraphNodeObject*> order;
  if (CUresult code = sort(graph, order); code != eSuccess) return code;
  if (spans_devices(stream, graph)) return SpanningRun(stream).run(order);
  for (const GraphNodeObject* each : order)
    if (each->enabled)
      if (CUresult code = run(stream, each->operation); code != eSuccess) return code;
  return eSuccess;
}

namespace {

/// Work of other streams that wait nodes come after is kept still: the whole graph waits for it.
void wait_for_kept(StreamObject& stream, const GraphObject& graph) {
  for (const auto& node : graph.nodes) {
    if (const auto* each = std::get_if<WaitOperation>(&node->operation.what);
        each && tables().events.has(each->event))
      (void)defer_wait(stream, *each->event);
    if (const auto* each = std::get_if<ChildOperation>(&node->operation.what))
      wait_for_kept(stream, *each->graph);
  }
}

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

namespace {

bool comes_before(const GraphNodeObject& from, const GraphNodeObject& to) {
  std::unordered_set<const GraphNodeObject*> seen;
  std::vector<const GraphNodeObject*> next{&from};
  while (!next.empty()) {
    const GraphNodeObject* node = next.back();
    next.pop_back();
    if (node == &to) return true;
    for (const GraphNodeObject* each : node->after)
      if (seen.insert(each).second) next.push_back(each);
  }
  return false;
}

/// What a node takes once another has freed it, where their order is certain.
struct Room {
  std::uint64_t blocks = 0;
  const GraphNodeObject* freed = nullptr;
};

/// Counts what the nodes have at once, as far as they are not in each other's order.
void reserve_memory_of(const GraphObject& graph) {
  std::vector<Room> rooms;
  std::unordered_map<const GraphMemory*, std::size_t> taken;
  DeviceObject* device = nullptr;
  std::vector<GraphNodeObject*> order;
  if (!has_memory(graph) || sort(graph, order) != eSuccess) return;
  for (const GraphNodeObject* node : order) {
    if (const auto* each = std::get_if<AllocateOperation>(&node->operation.what)) {
      if (each->memory->live) return;  // the launch fails
      device = each->memory->device;
      const std::uint64_t blocks = blocks_of(each->memory->allocation->bytes);
      auto room = std::ranges::find_if(rooms, [&](const Room& old) {
        return old.freed && old.blocks >= blocks && comes_before(*old.freed, *node);
      });
      if (room == rooms.end()) room = rooms.insert(room, {blocks});
      room->freed = nullptr;
      taken[each->memory.get()] = static_cast<std::size_t>(room - rooms.begin());
    }
    if (const auto* each = std::get_if<FreeOperation>(&node->operation.what))
      if (const auto found = taken.find(each->memory.lock().get()); found != taken.end())
        rooms[found->second].freed = node;
  }
  std::uint64_t all = 0;
  for (const Room& each : rooms) all += each.blocks;
  if (device) reserve_graph_memory(*device, all);
}

}  // namespace

namespace {

/// So many kernels at least are worth a submission of their own.
constexpr std::size_t kLeastRecorded = 4;

/// Records kernels that follow one another; nothing where one of them is not to be recorded.
std::optional<Graph> record_kernels(StreamObject& stream, std::span<GraphNodeObject* const> nodes) {
  auto made = Graph::create(stream.context->gpu());
  if (!made) return std::nullopt;
  std::unordered_map<const GraphNodeObject*, std::size_t> places;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& kernel = std::get<KernelOperation>(nodes[i]->operation.what);
    std::vector<std::size_t> after;
    for (const GraphNodeObject* each : nodes[i]->before)
      if (const auto found = places.find(each); found != places.end())
        after.push_back(found->second);
    places[nodes[i]] = i;
    const auto facts =
        runtime::gather_facts(*kernel.function->kernel.state(), kernel.config, kernel.args);
    if (!facts) return std::nullopt;
    const auto added = made->state()->add(*facts, std::move(after));
    if (!added || !*added) return std::nullopt;
  }
  return std::move(*made);
}

bool is_recordable(const StreamObject& stream, const GraphNodeObject& node) {
  const auto* kernel = std::get_if<KernelOperation>(&node.operation.what);
  return kernel && kernel_context(node.operation).get() == stream.context &&
         !kernel->config.cooperative && !kernel->function->module->has_texture_refs;
}

/// Finds what of the instance is recorded, with its lock. What is launched once is not, and what
/// could not be is tried again after twice as many launches.
void find_parts(StreamObject& stream, GraphExecObject& exec) {
  const std::uint64_t now = exec.graph->changes;
  if (std::exchange(exec.parts_for, now) != now) {
    exec.launches = 0;
    exec.parts.clear();
  }
  const bool again = exec.launches < 2 || (exec.launches & (exec.launches - 1)) == 0;
  ++exec.launches;
  if (!again) return;
  const bool records = exec.launches > 1;
  std::vector<GraphPart> parts;
  for (GraphNodeObject* node : exec.order) {
    if (!node->enabled) continue;
    const bool fits = is_recordable(stream, *node);
    if (parts.empty() || !fits || !is_recordable(stream, *parts.back().nodes.back()))
      parts.emplace_back();
    parts.back().nodes.push_back(node);
  }
  for (GraphPart& part : parts) {
    if (!records || part.nodes.size() < kLeastRecorded) continue;
    const auto old = std::ranges::find_if(exec.parts, [&](const GraphPart& each) {
      return each.recorded && each.nodes == part.nodes;
    });
    part.recorded =
        old != exec.parts.end() ? std::move(old->recorded) : record_kernels(stream, part.nodes);
  }
  exec.parts = std::move(parts);
}

CUresult run_part(StreamObject& stream, const GraphPart& part) {
  Stream* opened = nullptr;
  const auto fits = [&](const auto* node) { return is_recordable(stream, *node); };
  if (part.recorded && std::ranges::all_of(part.nodes, fits)) {
    if (CUresult code = open_stream(stream, opened); code != eSuccess) return code;
    const Status status = opened->replay(*part.recorded);
    return status ? eSuccess : report(status.error());
  }
  for (const GraphNodeObject* each : part.nodes)
    if (CUresult code = run(stream, each->operation); code != eSuccess) return code;
  return eSuccess;
}

}  // namespace

CUresult launch_graph(StreamObject& stream, GraphExecObject& exec) {
  const auto last = exec.last.lock();
  exec.last = stream.weak_from_this();
  if (last && last.get() != &stream)
    if (CUresult code = come_after(stream, *last); code != eSuccess) return code;
  wait_for_kept(stream, *exec.graph);
  const bool host = calls_host(stream, *exec.graph);
  if (!host && !is_held_up(stream)) {
    if (exec.flags & kGraphFreeOnLaunch) free_memory_of(*exec.graph);
    reserve_memory_of(*exec.graph);
    std::lock_guard lock(exec.mutex);
    find_parts(stream, exec);
    for (const GraphPart& each : exec.parts)
      if (CUresult code = run_part(stream, each); code != eSuccess) return code;
    return eSuccess;
  }
  // As the instance is now: what becomes of it later is for later launches.
  const bool frees = exec.flags & kGraphFreeOnLaunch;
  auto work = [own = stream.shared_from_this(), graph = clone(*exec.graph), frees] {
    if (frees) free_memory_of(*graph);
    reserve_memory_of(*graph);
    if (CUresult code = begin_conditions(*graph); code != eSuccess) return code;
    return run_graph(*own, *graph);
  };
  return host ? in_own_thread(stream, std::move(work)) : in_order(stream, std::move(work));
}

CUresult upload_graph(CUgraphExec handle) {
  auto exec = tables().graph_execs.find(handle);
  if (!exec) return fail(eInvalidValue, "no such instance of a graph");
  reserve_memory_of(*exec->graph);
  return eSuccess;
}

}  // namespace ptx2spv::cuda
