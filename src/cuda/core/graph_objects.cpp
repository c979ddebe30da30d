// What programs hang on graphs: objects that live as long, attributes of kernel nodes, edges of
// captures, and a picture for Graphviz.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

// --------------------------------------------------------------------------------- user objects

CUresult create_user_object(CUuserObject* made, void* pointer, CUhostFn destroy, unsigned count,
                            unsigned flags) {
  constexpr unsigned kNoDestructorSync = 1;  // which is what programs have to ask for
  if (!made || !destroy || !count || flags != kNoDestructorSync)
    return fail(eInvalidValue, "a user object has a destructor, references and the flag 1");
  auto object = std::make_shared<UserObject>();
  object->pointer = pointer;
  object->destroy = destroy;
  object->count = count;
  *made = tables().user_objects.add(std::move(object));
  return eSuccess;
}

void count_references(const std::shared_ptr<UserObject>& object, std::int64_t more) {
  if (object->count.fetch_add(more) + more != 0) return;
  if (tables().user_objects.take(object.get())) object->destroy(object->pointer);
}

KeptObjects::KeptObjects(const KeptObjects& other) : counts_(other.counts_) {
  for (const auto& [object, count] : counts_) count_references(object, count);
}
KeptObjects& KeptObjects::operator=(KeptObjects other) {
  counts_.swap(other.counts_);
  return *this;
}
KeptObjects::~KeptObjects() {
  for (const auto& [object, count] : counts_) count_references(object, -count);
}

namespace {
CUresult change_references(CUuserObject handle, unsigned count, bool retained) {
  auto object = tables().user_objects.find(handle);
  if (!object || !count || count > INT32_MAX) return fail(eInvalidValue, "no such user object");
  count_references(object, retained ? std::int64_t{count} : -std::int64_t{count});
  return eSuccess;
}
}  // namespace

CUresult retain_user_object(CUuserObject handle, unsigned count) {
  return change_references(handle, count, true);
}

CUresult release_user_object(CUuserObject handle, unsigned count) {
  return change_references(handle, count, false);
}

CUresult retain_in_graph(CUgraph graph_handle, CUuserObject handle, unsigned count,
                         unsigned flags) {
  constexpr unsigned kMove = 1;  // the program's own become the graph's
  auto graph = tables().graphs.find(graph_handle);
  auto object = tables().user_objects.find(handle);
  if (!graph || !object || !count || count > INT32_MAX || (flags & ~kMove))
    return fail(eInvalidValue, "no such graph or user object");
  if (!(flags & kMove)) count_references(object, count);
  std::lock_guard lock(graph->mutex);
  graph->user_objects.add(object, count);
  return eSuccess;
}

CUresult release_from_graph(CUgraph graph_handle, CUuserObject handle, unsigned count) {
  auto graph = tables().graphs.find(graph_handle);
  auto object = tables().user_objects.find(handle);
  if (!graph || !object || !count || count > INT32_MAX)
    return fail(eInvalidValue, "no such graph or user object");
  {
    std::lock_guard lock(graph->mutex);
    graph->user_objects.add(object, -std::int64_t{count});
  }
  count_references(object, -std::int64_t{count});  // without the lock: its destructor is a stranger
  return eSuccess;
}

// ---------------------------------------------------------------------- attributes of kernel nodes

namespace {

/// Attributes of launches that a node may have: those of events belong to launches alone.
bool node_attribute(int id) {
  return id == 1 || id == kLaunchCooperative || id == kLaunchClusterDimension || id == 5 ||
         (id >= 8 && id <= 10) || id == kLaunchPreferredCluster || id == 14;
}

GraphNodeObject* kernel_node(CUgraphNode handle) {
  auto node = find_node(handle);
  return node && node_type(node->operation) == kNodeKernel ? node.get() : nullptr;
}

}  // namespace

CUresult set_node_attribute(CUgraphNode handle, int id, const void* value, std::size_t bytes) {
  GraphNodeObject* node = kernel_node(handle);
  if (!node || !value || !node_attribute(id))
    return fail(eInvalidValue, "no kernel node, or no attribute of one");
  CUlaunchAttribute attribute{};
  attribute.id = id;
  std::memcpy(&attribute.value, value, bytes);
  LaunchAttributes read;
  if (CUresult code = read_attributes(&attribute, 1, read); code != eSuccess) return code;
  std::lock_guard lock(node->graph->mutex);
  if (id == kLaunchCooperative)
    std::get<KernelOperation>(node->operation.what).config.cooperative = read.cooperative;
  node->attributes[id] = attribute;
  return eSuccess;
}

CUresult ask_node_attribute(CUgraphNode handle, int id, void* value, std::size_t bytes) {
  GraphNodeObject* node = kernel_node(handle);
  if (!node || !value || !node_attribute(id))
    return fail(eInvalidValue, "no kernel node, or no attribute of one");
  std::lock_guard lock(node->graph->mutex);
  auto found = node->attributes.find(id);
  if (found == node->attributes.end())
    std::memset(value, 0, bytes);
  else
    std::memcpy(value, &found->second.value, bytes);
  return eSuccess;
}

CUresult copy_node_attributes(CUgraphNode to, CUgraphNode from) {
  GraphNodeObject *target = kernel_node(to), *source = kernel_node(from);
  if (!target || !source) return fail(eInvalidValue, "no kernel node");
  if (target == source) return eSuccess;
  std::map<int, CUlaunchAttribute> all;
  {
    std::lock_guard lock(source->graph->mutex);
    all = source->attributes;
  }
  std::lock_guard lock(target->graph->mutex);
  target->attributes = std::move(all);
  return eSuccess;
}

// ---------------------------------------------------------------------------------------- capture

CUresult change_capture(StreamObject& stream, const CUgraphNode* nodes, const void* edges,
                        std::size_t count, unsigned flags) {
  constexpr unsigned kSet = 1;
  if ((flags & ~kSet) || (count && !nodes)) return fail(eInvalidValue, "no nodes, or bad flags");
  if (CUresult code = check_edges(edges, count); code != eSuccess) return code;
  std::lock_guard lock(stream.mutex);
  if (!stream.capture) return fail(eIllegalState, "the stream is not capturing");
  if (stream.capture->invalid) return fail(eStreamCaptureInvalidated, "the capture failed before");
  std::vector<GraphNodeObject*> tail;
  if (!(flags & kSet)) tail = stream.tail;
  for (std::size_t i = 0; i < count; ++i) {
    auto node = find_node(nodes[i]);
    if (!node || node->graph != stream.capture->graph.get())
      return fail(eInvalidValue, "a dependency is no node of the captured graph");
    if (std::find(tail.begin(), tail.end(), node.get()) == tail.end()) tail.push_back(node.get());
  }
  if (flags & kSet) {
    std::lock_guard held(stream.capture->mutex);
    auto& all = stream.capture->replaced;
    all.insert(all.end(), stream.tail.begin(), stream.tail.end());
  }
  stream.tail = std::move(tail);
  return eSuccess;
}

// ----------------------------------------------------------------------------------------- picture

namespace {

constexpr const char* kTypes[] = {"kernel",     "copy", "fill",   "host function", "graph",
                                  "empty",      "wait", "record", "signal",        "wait",
                                  "allocation", "free", "words",  "condition"};

std::string describe(const Operation& operation) {
  std::string text = kTypes[node_type(operation)];
  if (const auto* kernel = std::get_if<KernelOperation>(&operation.what)) {
    const LaunchConfig& c = kernel->config;
    text += fmt::format(" {}\\n{} x {} x {} blocks of {} x {} x {}", kernel->function->name,
                        c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z);
  } else if (const auto* copy = std::get_if<CopyOperation>(&operation.what)) {
    text += fmt::format("\\n{} bytes x {} x {}", copy->copy.WidthInBytes, copy->copy.Height,
                        copy->copy.Depth);
  } else if (const auto* fill = std::get_if<MemsetOperation>(&operation.what)) {
    text += fmt::format("\\n{} x {} elements of {} bytes with {:#x}", fill->set.width,
                        fill->set.height, fill->set.elementSize, fill->set.value);
  } else if (const auto* taken = std::get_if<AllocateOperation>(&operation.what)) {
    text += fmt::format("\\n{} bytes", taken->memory->allocation->bytes);
  }
  return text;
}

/// A cluster of its nodes; `number` counts the graphs, of which a node may hold another.
void draw(const GraphObject& graph, unsigned& number, std::string& text) {
  const unsigned own = number++;
  auto& source = const_cast<GraphObject&>(graph);
  std::lock_guard lock(source.mutex);
  std::unordered_map<const GraphNodeObject*, std::size_t> places;
  text += fmt::format("subgraph cluster_{0} {{\nlabel=\"graph {0}\";\n", own);
  for (const auto& each : source.nodes) {
    const std::size_t place = places.size();
    places[each.get()] = place;
    text += fmt::format("n{}_{}[shape=box,label=\"{}: {}\"];\n", own, place, place,
                        describe(each->operation));
  }
  for (const auto& each : source.nodes)
    for (const GraphNodeObject* other : each->after)
      text += fmt::format("n{0}_{1} -> n{0}_{2};\n", own, places[each.get()], places[other]);
  text += "}\n";
  for (const auto& each : source.nodes)
    if (const auto* child = std::get_if<ChildOperation>(&each->operation.what)) {
      const unsigned inner = number;
      draw(*child->graph, number, text);
      if (!child->graph->nodes.empty())
        text += fmt::format("n{}_{} -> n{}_0[style=dotted,lhead=cluster_{}];\n", own,
                            places[each.get()], inner, inner);
    }
}

}  // namespace

/// Flags ask for more than names, unknown ones for nothing; what is known is always there.
CUresult print_graph(CUgraph handle, const char* path, unsigned /*flags*/) {
  auto graph = tables().graphs.find(handle);
  if (!graph || !path) return fail(eInvalidValue, "no such graph or path");
  std::string text = "digraph dot {\ncompound=true;\n";
  unsigned number = 0;
  draw(*graph, number, text);
  text += "}\n";
  std::FILE* file = std::fopen(path, "w");
  if (!file) return fail(eOperatingSystem, fmt::format("{} cannot be written", path));
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && whole) return eSuccess;
  std::remove(path);
  return fail(eOperatingSystem, fmt::format("{} cannot be written", path));
}

}  // namespace ptx2spv::cuda
