// Graphs: operations with an order between them. They are run one after the other, in an order that
// respects every edge. Kernels of an instance that is launched again are recorded: the device gets
// them at once, and runs those side by side that no edge orders.
#pragma once

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

/// Something of the program's that is destroyed with the last reference. CUDA counts those of the
/// program and of graphs together, and lets each release what others retained.
struct UserObject {
  void* pointer = nullptr;
  CUhostFn destroy = nullptr;
  std::atomic<std::int64_t> count{0};
};
/// Adds to the references, which destroys the object where none are left.
void count_references(const std::shared_ptr<UserObject>& object, std::int64_t more);

/// A graph's references, which go with it. Those of a copy are more of them.
class KeptObjects {
 public:
  KeptObjects() = default;
  KeptObjects(const KeptObjects& other);
  KeptObjects& operator=(KeptObjects other);
  ~KeptObjects();
  /// Without a word to the objects, which know of them already.
  void add(const std::shared_ptr<UserObject>& object, std::int64_t more) {
    counts_[object] += more;
  }

 private:
  std::map<std::shared_ptr<UserObject>, std::int64_t> counts_;
};

struct GraphObject {
  const std::uint64_t id = next_id();
  std::mutex mutex;  ///< what follows
  std::vector<std::shared_ptr<GraphNodeObject>> nodes;
  KeptObjects user_objects;
  std::vector<std::shared_ptr<Condition>> conditions;       ///< of clones, too
  enum class Part { none, child, body } part = Part::none;  ///< of the node that it goes with
  std::weak_ptr<GraphExecObject> instance;  ///< the last one, of a graph that has memory
  std::atomic<std::uint64_t> changes{0};    ///< of what nodes do
};

/// CUDA_GRAPH_INSTANTIATE_FLAG_: what of them has a meaning.
inline constexpr unsigned kGraphFreeOnLaunch = 1, kGraphUpload = 2, kGraphDeviceLaunch = 4;

/// Nodes of an instance that follow one another in its order.
struct GraphPart {
  std::vector<GraphNodeObject*> nodes;
  std::optional<Graph> recorded;  ///< the same as commands of the device
};

struct GraphExecObject {
  std::shared_ptr<GraphObject> graph;  ///< a clone: what was instantiated
  std::vector<GraphNodeObject*> order;
  unsigned long long flags = 0;
  std::weak_ptr<StreamObject> last;  ///< that it was launched in: launches come one after the other
  std::mutex mutex;                  ///< what follows
  std::vector<GraphPart> parts;      ///< of nodes that are enabled
  std::uint64_t launches = 0;        ///< since nodes changed
  std::uint64_t parts_for = UINT64_MAX;  ///< GraphObject::changes
};

inline bool is_part(const GraphObject& graph) { return graph.part != GraphObject::Part::none; }
CUresult add_node(GraphObject& graph, Operation operation, std::span<GraphNodeObject* const> before,
                  GraphNodeObject*& made);
CUresult add_edge(GraphNodeObject& from, GraphNodeObject& to);
CUresult remove_edge(GraphNodeObject& from, GraphNodeObject& to);
CUresult remove_node(GraphNodeObject& node);
/// Null where the handle is of no node that is alive.
std::shared_ptr<GraphNodeObject> find_node(CUgraphNode handle);
std::shared_ptr<GraphObject> clone(const GraphObject& graph);
/// Whether it has nodes that allocate or free memory: CUDA clones no such graph, deletes nothing in
/// it, and instantiates it once at a time.
bool has_memory(const GraphObject& graph);
/// An order that every edge holds in; eInvalidValue where there is a cycle.
CUresult sort(const GraphObject& graph, std::vector<GraphNodeObject*>& order);
CUresult instantiate(const GraphObject& graph, std::shared_ptr<GraphExecObject>& made);
/// The node of an instantiated graph that `node` became.
GraphNodeObject* instance_of(const GraphExecObject& exec, const GraphNodeObject& node);
CUresult launch_graph(StreamObject& stream, GraphExecObject& exec);
CUresult upload_graph(CUgraphExec exec);
/// Bytes in whole blocks, in which NVIDIA's driver counts memory of graphs and pools.
std::uint64_t blocks_of(std::uint64_t bytes);

// What both interfaces have under different names.

/// CUgraphNodeType.
inline constexpr int kNodeKernel = 0, kNodeMemcpy = 1, kNodeMemset = 2, kNodeHost = 3,
                     kNodeChild = 4, kNodeEmpty = 5, kNodeWait = 6, kNodeRecord = 7,
                     kNodeSignalSemaphore = 8, kNodeWaitSemaphore = 9, kNodeAllocate = 10,
                     kNodeFree = 11, kNodeBatch = 12, kNodeConditional = 13;

/// Refuses edges with data: ports of programmatic dependencies. Null is none.
CUresult check_edges(const void* data, std::size_t count);
/// What edges carry, for who asks.
void clear_edges(void* data, const std::size_t* count);
CUresult event_operation(CUevent event, bool record, Operation& made);
CUresult host_operation(const CUDA_HOST_NODE_PARAMS* params, Operation& made);
CUresult fill_operation(const CUDA_MEMSET_NODE_PARAMS* params, Operation& made);
CUresult child_operation(CUgraph graph, int ownership, Operation& made);
/// Allocates: `params` gets the address.
CUresult allocate_operation(ContextObject& context, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                            Operation& made);
CUresult free_operation(CUdeviceptr address, Operation& made);
/// Operations on words, checked; in a stream, captured or not.
CUresult batch_operation(const CUstreamBatchMemOpParams* list, unsigned count, unsigned flags,
                         CUcontext context, Operation& made);
CUresult batch_node_operation(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params, Operation& made);
CUresult batch_of(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* params);
/// Semaphores of other interfaces, of an operation of a stream or of a graph.
CUresult semaphore_operation(const CUDA_EXT_SEM_NODE_PARAMS* params, bool waits, Operation& made);
CUresult semaphores_of(CUgraphNode node, CUDA_EXT_SEM_NODE_PARAMS* params, bool waits);
/// The number that cudaGraphSetConditional takes. `assign`: launches begin with `initial`.
CUresult create_condition(ContextObject& context, CUgraph graph, unsigned initial, unsigned flags,
                          std::uint64_t* made);
/// Makes the bodies' graphs, too: `params` gets them.
CUresult conditional_operation(CUDA_CONDITIONAL_NODE_PARAMS& params, Operation& made);
bool has_conditional(const GraphObject& graph);
/// Whether the bodies of conditional nodes, if there are any, have nodes that may be in them.
CUresult check_bodies(const GraphObject& graph);
/// Gives conditions the values that launches of the graph begin with.
CUresult begin_conditions(const GraphObject& graph);
/// A node's operation out of generic parameters, for types that both interfaces describe alike:
/// all but kernels and copies.
CUresult common_operation(ContextObject& context, int type, NodeParams& params, Operation& made);

/// An operation, and what making it answered.
struct MadeOperation {
  CUresult code = eSuccess;
  Operation operation;
};
/// Calls one of the functions that make an operation into their last argument.
template <class Maker, class... Args>
MadeOperation make(Maker&& maker, Args&&... args) {
  MadeOperation made;
  made.code = maker(std::forward<Args>(args)..., made.operation);
  return made;
}

/// Where an operation goes: to a new node of a graph, or to one that is there, in the graph or in
/// an instance of it.
struct NodePlace {
  enum class Into { new_node, graph, instance };
  Into into = Into::graph;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr, *made = nullptr;
  const CUgraphNode* before = nullptr;
  std::size_t count = 0;
};
NodePlace adding(CUgraphNode* made, CUgraph graph, const CUgraphNode* before, std::size_t count);
NodePlace changing(CUgraphNode node);
NodePlace changing(CUgraphExec exec, CUgraphNode node);
CUresult apply_operation(MadeOperation made, const NodePlace& place);

/// What a node holds; null or eInvalidValue where it is of another type.
KernelOperation* kernel_of(CUgraphNode node);
CopyOperation* copy_of(CUgraphNode node);
CUresult memset_of(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params);
CUresult host_of(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params);
CUresult event_of(CUgraphNode node, CUevent* event, bool record);
CUresult child_of(CUgraphNode node, CUgraph* graph);
CUresult allocation_of(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params);
CUresult freed_by(CUgraphNode node, CUdeviceptr* address);
CUresult type_of(CUgraphNode node, int* type);
CUresult destroy_node(CUgraphNode node);

CUresult create_graph(CUgraph* graph, unsigned flags);
CUresult destroy_graph(CUgraph graph);
CUresult clone_graph(CUgraph* made, CUgraph graph);
CUresult find_in_clone(CUgraphNode* found, CUgraphNode original, CUgraph clone);
CUresult exec_flags(CUgraphExec exec, unsigned long long& flags);
CUresult destroy_exec(CUgraphExec exec);
/// Whether a node of an instance runs: set, or asked for.
CUresult node_enabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled, bool set);

struct CaptureInfo {
  int status = 0;  ///< none, active, invalidated
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;  ///< that the next captured one comes after
  std::size_t count = 0;
};
CUresult capture_info(StreamObject& stream, CaptureInfo& info);
CUresult begin_capture_into(const std::shared_ptr<StreamObject>& stream, int mode, CUgraph graph,
                            const CUgraphNode* nodes, const void* edges, std::size_t count);

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
/// CUgraphExecUpdateResult: what of it is given.
enum class UpdateResult {
  updated = 0,
  error = 1,
  topology_changed = 2,
  node_type_changed = 3,
  parameters_changed = 5
};
/// Takes over the parameters of `graph`, whose nodes have to match those of `exec` in type and
/// order; `failed` is the first that does not, null where they differ in number.
CUresult update(CUgraphExec exec, CUgraph graph, CUgraphNode& failed, UpdateResult& result);
CUresult make_exec(CUgraph graph, unsigned long long flags, CUgraphExec* made);
/// The same with the flag of uploads, by the function that takes a stream for them.
CUresult make_uploaded(CUgraph graph, unsigned long long flags, CUgraphExec* made);
CUresult launch_exec(CUgraphExec exec, const std::shared_ptr<StreamObject>& stream);

CUresult create_user_object(CUuserObject* made, void* pointer, CUhostFn destroy, unsigned count,
                            unsigned flags);
CUresult retain_user_object(CUuserObject handle, unsigned count);
CUresult release_user_object(CUuserObject handle, unsigned count);
/// Flag 1 gives the graph references of the program's.
CUresult retain_in_graph(CUgraph graph, CUuserObject handle, unsigned count, unsigned flags);
CUresult release_from_graph(CUgraph graph, CUuserObject handle, unsigned count);

/// Attributes of a kernel node; a value has `bytes`. One that was not set is 0.
CUresult set_node_attribute(CUgraphNode node, int id, const void* value, std::size_t bytes);
CUresult ask_node_attribute(CUgraphNode node, int id, void* value, std::size_t bytes);
CUresult copy_node_attributes(CUgraphNode to, CUgraphNode from);

/// What the next captured node comes after, too; with flag 1: alone.
CUresult change_capture(StreamObject& stream, const CUgraphNode* nodes, const void* edges,
                        std::size_t count, unsigned flags);
/// Writes the graph and those in its nodes for Graphviz.
CUresult print_graph(CUgraph graph, const char* path, unsigned flags);

CUresult begin_capture(const std::shared_ptr<StreamObject>& stream, int mode,
                       std::shared_ptr<GraphObject> into, std::span<GraphNodeObject* const> before);
/// A null `made` drops a graph that the capture itself began.
CUresult end_capture(StreamObject& stream, CUgraph* made);
bool capturing(StreamObject& stream);
/// cuEventRecord and cuStreamWaitEvent, in a capture or not.
CUresult record(StreamObject& stream, EventObject& event);
CUresult wait(StreamObject& stream, EventObject& event);
/// The same for events that others record or wait for: nodes of a capture, and only there.
CUresult record_external(StreamObject& stream, EventObject& event);
CUresult wait_external(StreamObject& stream, EventObject& event);
/// Whether any stream of the calling process is capturing: what waits for the device is refused.
bool anyone_captures();
/// Makes the stream's capture fail, and returns `code`.
CUresult break_capture(StreamObject& stream, CUresult code);
CUresult destroy_stream(CUstream handle);
/// Ends a capture whose stream is destroyed.
void abandon_capture(StreamObject& stream);
/// Before work goes into a stream: whether it is `captured`. Work in the legacy stream would wait
/// for every blocking one, so those captures fail.
CUresult begin_work(StreamObject& stream, bool& captured);
/// Before something waits for a stream, or for a context's device.
CUresult begin_wait(StreamObject& stream);
CUresult begin_wait(ContextObject& context);
/// Before a call that CUDA calls potentially unsafe in captures: those that began in mode global,
/// or in this thread, fail.
CUresult begin_unsafe_call();
/// cudaThreadExchangeStreamCaptureMode.
CUresult exchange_capture_mode(int* mode);
/// cudaStreamIsCapturing.
CUresult capture_status(StreamObject& stream, int& status);
/// A copy or a fill in a stream, captured or not.
CUresult copy_in(ContextObject& context, StreamObject& stream, const CUDA_MEMCPY3D_PEER& what);
CUresult fill_in(ContextObject& context, StreamObject& stream, const CUDA_MEMSET_NODE_PARAMS& set);

}  // namespace ptx2spv::cuda
