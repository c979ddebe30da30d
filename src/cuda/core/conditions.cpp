// Conditional nodes of graphs: a word of the device's memory, which kernels set, says which graphs
// run. The host reads it when the node's turn comes.
#include <algorithm>

#include <fmt/format.h>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

/// What a handle stands for: the handle is the word's address.
struct Condition {
  Buffer word;
  ContextObject* context = nullptr;
  std::uint64_t graph = 0;  ///< GraphObject::id of the graph whose nodes may ask
  unsigned initial = 0;
  bool assign = false;             ///< launches begin with `initial`
  std::atomic<bool> asked{false};  ///< a node asks: no other may
  explicit Condition(Buffer buffer) : word(std::move(buffer)) {}
};

namespace {

enum : int { kIf = 0, kWhile = 1, kSwitch = 2 };  // CUgraphConditionalNodeType

struct Conditions {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::weak_ptr<Condition>> all;
};
Conditions& conditions() {
  static auto* list = new Conditions;
  return *list;
}

std::shared_ptr<Condition> find_condition(std::uint64_t handle) {
  std::lock_guard lock(conditions().mutex);
  auto found = conditions().all.find(handle);
  return found == conditions().all.end() ? nullptr : found->second.lock();
}

CUresult assign(Condition& condition, unsigned value) {
  Status status = condition.word.upload(0, std::as_bytes(std::span(&value, 1)));
  return status ? eSuccess : report(status.error());
}

CUresult value_of(StreamObject& stream, const Condition& condition, unsigned& value) {
  if (CUresult code = settle_before_host(stream); code != eSuccess) return code;
  Status status = condition.word.download(0, std::as_writable_bytes(std::span(&value, 1)));
  return status ? eSuccess : report(status.error());
}

}  // namespace

CUresult create_condition(ContextObject& context, CUgraph handle, unsigned initial, unsigned flags,
                          std::uint64_t* made) {
  constexpr unsigned kAssign = 1;
  auto graph = tables().graphs.find(handle);
  if (!made || !graph) return fail(eInvalidValue, "no such graph");
  if (flags & ~kAssign) return fail(eInvalidValue, "unknown flags of a condition");
  auto word = Buffer::create(context.gpu(), sizeof initial);
  if (!word) return report(word.error());
  word->set_name("cudaGraphConditionalHandleCreate");
  auto condition = std::make_shared<Condition>(std::move(*word));
  condition->context = &context;
  condition->graph = graph->id;
  condition->initial = initial;
  condition->assign = flags & kAssign;
  if (CUresult code = assign(*condition, initial); code != eSuccess) return code;
  *made = condition->word.address();
  {
    std::lock_guard lock(conditions().mutex);
    conditions().all[*made] = condition;
  }
  std::lock_guard lock(graph->mutex);
  graph->conditions.push_back(std::move(condition));
  return eSuccess;
}

CUresult conditional_operation(CUDA_CONDITIONAL_NODE_PARAMS& params, Operation& made) {
  auto condition = find_condition(params.handle);
  if (!condition) return fail(eInvalidValue, "no such handle of a condition");
  if (params.type < kIf || params.type > kSwitch)
    return fail(eInvalidValue, "no such type of conditional node");
  const unsigned most = params.type == kIf ? 2 : params.type == kWhile ? 1 : 1u << 16;
  if (!params.size || params.size > most)
    return fail(eInvalidValue, fmt::format("such a node has no {} bodies", params.size));
  if (condition->asked.exchange(true))
    return fail(eInvalidValue, "another node has the handle already");
  ConditionalOperation operation;
  operation.condition = std::move(condition);
  operation.type = params.type;
  for (unsigned i = 0; i < params.size; ++i) {
    operation.bodies.push_back(std::make_shared<GraphObject>());
    operation.bodies.back()->part = GraphObject::Part::body;
    operation.handles.push_back(tables().graphs.add(operation.bodies.back()));
  }
  params.phGraph_out = operation.handles.data();  // a move of the vector leaves it where it is
  made.what = std::move(operation);
  return eSuccess;
}

bool has_conditional(const GraphObject& graph) {
  return std::ranges::any_of(
      graph.nodes, [](const auto& each) { return node_type(each->operation) == kNodeConditional; });
}

namespace {

/// What CUDA's manual has for bodies: kernels, copies, fills, empty nodes, graphs and conditions.
CUresult check_body(const GraphObject& graph) {
  for (const auto& each : graph.nodes) {
    const int type = node_type(each->operation);
    if (type > kNodeMemset && type != kNodeEmpty && type != kNodeChild && type != kNodeConditional)
      return fail(eInvalidValue, "the body of a conditional node has a node of another kind");
    if (const auto* child = std::get_if<ChildOperation>(&each->operation.what))
      if (CUresult code = check_body(*child->graph); code != eSuccess) return code;
  }
  return check_bodies(graph);
}

}  // namespace

CUresult check_bodies(const GraphObject& graph) {
  for (const auto& each : graph.nodes)
    if (const auto* choice = std::get_if<ConditionalOperation>(&each->operation.what))
      for (const auto& body : choice->bodies)
        if (CUresult code = check_body(*body); code != eSuccess) return code;
  return eSuccess;
}

CUresult begin_conditions(const GraphObject& graph) {
  for (const auto& each : graph.conditions)
    if (each->assign)
      if (CUresult code = assign(*each, each->initial); code != eSuccess) return code;
  for (const auto& node : graph.nodes) {
    if (const auto* child = std::get_if<ChildOperation>(&node->operation.what))
      if (CUresult code = begin_conditions(*child->graph); code != eSuccess) return code;
    if (const auto* choice = std::get_if<ConditionalOperation>(&node->operation.what))
      for (const auto& body : choice->bodies)
        if (CUresult code = begin_conditions(*body); code != eSuccess) return code;
  }
  return eSuccess;
}

CUresult run_conditional(StreamObject& stream, const ConditionalOperation& operation) {
  unsigned value = 0;
  if (CUresult code = value_of(stream, *operation.condition, value); code != eSuccess) return code;
  if (operation.type == kWhile) {
    while (value) {
      if (CUresult code = run_graph(stream, *operation.bodies[0]); code != eSuccess) return code;
      if (CUresult code = value_of(stream, *operation.condition, value); code != eSuccess)
        return code;
    }
    return eSuccess;
  }
  const std::size_t chosen = operation.type == kSwitch ? value : value ? 0 : 1;
  return chosen < operation.bodies.size() ? run_graph(stream, *operation.bodies[chosen]) : eSuccess;
}

}  // namespace ptx2spv::cuda
