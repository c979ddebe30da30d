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

/// NVIDIA's words, by the nodes' types.
constexpr const char* kTypes[] = {
    "KERNEL",       "MEMCPY",       "MEMSET",           "HOST",           "GRAPH",     "EMPTY",
    "EVENT_WAIT",   "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE",
    "BATCH_MEM_OP", "CONDITIONAL"};
/// cudaGraphDebugDotFlags: all, or a kind of detail.
constexpr unsigned kVerbose = 1, kKernels = 4, kCopies = 8, kFills = 16, kHosts = 32, kEvents = 64,
                   kAttributes = 512, kHandles = 1024;

struct CopySide {
  char letter;
  const char* memory;
};
CopySide side_of(unsigned type, const void* host, CUdeviceptr device) {
  if (type == kMemoryArray) return {'A', "DEVICE"};
  if (type == kMemoryDevice || (type == kMemoryUnified && find_address(device)))
    return {'D', "DEVICE"};
  return {'H', find_host(host) ? "HOST PINNED" : "HOST PAGEABLE"};
}

std::string detail(const CopyOperation& operation, unsigned flags) {
  const CUDA_MEMCPY3D_PEER& c = operation.copy;
  const CopySide from = side_of(c.srcMemoryType, c.srcHost, c.srcDevice);
  const CopySide to = side_of(c.dstMemoryType, c.dstHost, c.dstDevice);
  const std::string kind = fmt::format("{}to{}", from.letter, to.letter);
  if (!(flags & kCopies))
    return fmt::format("({},{})\n", kind, c.WidthInBytes * c.Height * c.Depth);
  return fmt::format(
      "kind: {} ({} to {})\nsrcPos: ({}, {}, {}), pitch {}\ndstPos: ({}, {}, {}), pitch {}\n"
      "Extent: {} x {} x {}\n",
      kind, from.memory, to.memory, c.srcXInBytes, c.srcY, c.srcZ, c.srcPitch, c.dstXInBytes,
      c.dstY, c.dstZ, c.dstPitch, c.WidthInBytes, c.Height, c.Depth);
}

std::string detail(const KernelOperation& kernel, unsigned flags) {
  const LaunchConfig& c = kernel.config;
  std::string text = kernel.function->name + "\n";
  if (flags & kKernels)
    text += fmt::format("<<<{{{},{},{}}},{{{},{},{}}},{}>>>\n", c.grid.x, c.grid.y, c.grid.z,
                        c.block.x, c.block.y, c.block.z, c.dynamic_shared);
  if (flags & kAttributes) text += fmt::format("cooperative: {}\n", int{c.cooperative});
  return text;
}

std::string detail(const MemsetOperation& operation, unsigned flags) {
  const CUDA_MEMSET_NODE_PARAMS& set = operation.set;
  if (!(flags & kFills))
    return fmt::format("({},{})\n", set.value, set.elementSize * set.width * set.height);
  return fmt::format("dptr: {:#x}, pitch: {}, value: {}, elementSize: {}, width: {}, height: {}\n",
                     set.dst, set.pitch, set.value, set.elementSize, set.width, set.height);
}

std::string detail(const HostOperation& each, unsigned flags) {
  if (!(flags & kHosts)) return {};
  return fmt::format("fn: {}\nuserData: {}\n", reinterpret_cast<const void*>(each.host.fn),
                     each.host.userData);
}

std::string detail_of_event(const EventObject* event, unsigned flags) {
  return flags & kEvents ? fmt::format("event: {}\n", fmt::ptr(event)) : std::string();
}
std::string detail(const WaitOperation& each, unsigned flags) {
  return detail_of_event(each.event, flags);
}
std::string detail(const RecordOperation& each, unsigned flags) {
  return detail_of_event(each.event, flags);
}

std::string detail(const AllocateOperation& each, unsigned flags) {
  const Allocation& made = *each.memory->allocation;
  return flags & kVerbose ? fmt::format("bytesize: {}\ndptr: {:#x}\n", made.bytes, made.address)
                          : std::string();
}
std::string detail(const FreeOperation& each, unsigned flags) {
  return flags & kVerbose ? fmt::format("dptr: {:#x}\n", each.address) : std::string();
}
std::string detail(const ChildOperation& each, unsigned) {
  return fmt::format("graph_{}\n", each.graph->id);
}
std::string detail(const EmptyOperation&, unsigned) { return {}; }
std::string detail(const BatchOperation&, unsigned) { return {}; }
std::string detail(const SemaphoreOperation&, unsigned) { return {}; }
std::string detail(const ConditionalOperation&, unsigned) { return {}; }

std::string describe(const Operation& operation, unsigned flags) {
  const int type = node_type(operation);
  const bool named = type == kNodeChild || (type == kNodeKernel && !(flags & kAttributes));
  return (named ? "" : std::string(kTypes[type]) + "\n") +
         std::visit([&](const auto& each) { return detail(each, flags); }, operation.what);
}

/// A cluster of its nodes, then those of graphs that nodes hold.
void draw(const GraphObject& graph, unsigned flags, std::string& text) {
  auto& source = const_cast<GraphObject&>(graph);
  std::lock_guard lock(source.mutex);
  std::unordered_map<const GraphNodeObject*, std::size_t> places;
  text += fmt::format("subgraph cluster_{0} {{\nlabel=\"graph_{0}\" graph[style=\"dashed\"];\n",
                      graph.id);
  for (const auto& each : source.nodes) {
    const std::size_t place = places.size();
    places[each.get()] = place;
    const int type = node_type(each->operation);
    const char* shape = type == kNodeKernel   ? "octagon"
                        : type == kNodeMemcpy ? "trapezium"
                        : type == kNodeMemset ? "invtrapezium"
                                              : "rectangle";
    text += fmt::format("\"graph_{}_node_{}\"[style=\"{}\" shape=\"{}\" label=\"{}\n{}", graph.id,
                        place, type == kNodeKernel ? "bold" : "solid", shape, place,
                        describe(each->operation, flags));
    if (flags & kHandles) text += fmt::format("node handle: {}\n", fmt::ptr(each.get()));
    text += "\"];\n\n";
  }
  for (const auto& each : source.nodes)
    for (const GraphNodeObject* other : each->after)
      text += fmt::format("\"graph_{0}_node_{1}\" -> \"graph_{0}_node_{2}\";\n", graph.id,
                          places[each.get()], places[other]);
  text += "}\n";
  for (const auto& each : source.nodes) {
    if (const auto* child = std::get_if<ChildOperation>(&each->operation.what))
      draw(*child->graph, flags, text);
    if (const auto* choice = std::get_if<ConditionalOperation>(&each->operation.what))
      for (const auto& body : choice->bodies) draw(*body, flags, text);
  }
}

}  // namespace

CUresult print_graph(CUgraph handle, const char* path, unsigned flags) {
  auto graph = tables().graphs.find(handle);
  if (!graph || !path) return fail(eInvalidValue, "no such graph or path");
  std::string text = "digraph dot {\n";
  draw(*graph, flags & kVerbose ? ~0u : flags, text);
  text += "}\n";
  std::FILE* file = std::fopen(path, "w");
  if (!file) return fail(eOperatingSystem, fmt::format("{} cannot be written", path));
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && whole) return eSuccess;
  std::remove(path);
  return fail(eOperatingSystem, fmt::format("{} cannot be written", path));
}

}  // namespace ptx2spv::cuda
