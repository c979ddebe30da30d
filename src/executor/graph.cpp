#include "src/executor/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/executor/tier.hpp"
#include "src/launch/report.hpp"

namespace ptx2spv::runtime {

GraphState::~GraphState() {
  if (!device) return;
  if (last_value) (void)device->queue.wait(last_value);
  if (pool) device->vk.DestroyCommandPool(device->handle, pool, nullptr);
}

bool LaunchNode::depends() const {
  const EntryInfo& info = *plan.kernel().info;
  return info.dynamic_handles || info.uses_textures || !plan.variant->key.assume_live_handles;
}

Status GraphState::refresh() {
  const std::uint64_t now = device->surfaces.changes() + device->textures.changes();
  const std::uint64_t moves_now = device->moves;
  if (now == planned_for && moves_now == moves) return {};
  for (auto& node : nodes) {
    auto* launch = std::get_if<LaunchNode>(&node);
    if (!launch || (!launch->depends() && launch->plan.moves == moves_now)) continue;
    auto plan = plan_for_device(launch->plan.facts);
    if (!plan) return plan.error();
    // The old plan keeps what a replay may still be using.
    if (last_value)
      if (Status status = device->queue.wait(last_value); !status) return status;
    if (!missed && !trapped) missed = find_trap();
    recorded = false;
    if (device->queue.reached(last_value)) read_fault_logs();
    if (plan->sanitized) ignore_global_races(*plan->variant, *plan->sanitized, plan->params);
    launch->plan = std::move(*plan);
  }
  planned_for = now;
  moves = moves_now;
  return {};
}

Status GraphState::record() {
  if (recorded) return {};
  if (last_value)
    if (Status status = device->queue.wait(last_value); !status) return status;
  if (!missed && !trapped) missed = find_trap();
  std::uint64_t bytes = 0, slab_bytes = 0;
  for (const auto& node : nodes)
    if (auto* launch = std::get_if<LaunchNode>(&node)) {
      bytes += (slice_bytes(launch->plan) + 255) / 256 * 256;
      slab_bytes = std::max(slab_bytes, launch->plan.vulkan.slab_bytes);
    }
  ring = Ring();
  traps.clear();
  trapped = false;
  descriptors.clear();
  descriptors.open(*device);
  if (Status status = ring.open(device->heap, std::max<std::uint64_t>(bytes, 256)); !status)
    return status;
  if (slab_bytes > slab.size() || (slab_bytes && !slab)) {
    auto memory = device->heap.allocate(MemoryKind::device, slab_bytes);
    if (!memory) return memory.error();
    slab = std::move(*memory);
  }
  if (!pool) {
    VkCommandPoolCreateInfo create{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    create.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    create.queueFamilyIndex = device->queue.family();
    VkResult result = device->vk.CreateCommandPool(device->handle, &create, nullptr, &pool);
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateCommandPool");
    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    result = device->vk.AllocateCommandBuffers(device->handle, &allocate, &commands);
    if (result != VK_SUCCESS) return vulkan_error(result, "AllocateCommandBuffers");
  }
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  VkResult result = device->vk.BeginCommandBuffer(commands, &begin);
  if (result != VK_SUCCESS) return vulkan_error(result, "BeginCommandBuffer");
  LaunchBound bound;
  Work before = Work::any;   // other submissions
  Work fenced = Work::none;  // kinds that the last barrier holds up
  std::size_t covered = 0;   // nodes that it waits for
  bool slab_used = false;    // since then
  alone = false;
  barriers = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto* launch = std::get_if<LaunchNode>(&nodes[i]);
    auto* copy = std::get_if<CopyNode>(&nodes[i]);
    const Work now = launch
                         ? work_of(launch->plan)
                         : work_of_rows(*device, copy->from->base(), copy->to->base(), copy->row);
    const bool uses_slab = launch && launch->plan.vulkan.slab_bytes;
    const bool beside =
        has_all(fenced, now) && !(uses_slab && slab_used) &&
        std::ranges::all_of(after[i], [&](std::size_t each) { return each < covered; });
    if (beside) {
      before = before | now;
      slab_used = slab_used || uses_slab;
    } else {
      barrier(*device, commands, std::exchange(before, now), now);
      fenced = now;
      ++barriers;
      covered = i;
      slab_used = uses_slab;
    }
    if (copy) {
      record_rows(*device, commands, copy->from->base(), copy->from_offset, copy->to->base(),
                  copy->row);
      bound = {};
      continue;
    }
    const LaunchPlan& plan = launch->plan;
    alone = alone || lane_of(plan, 0) == Queue::kAlone;
    auto place = allocate_and_bind(plan, ring, printf, descriptors);
    if (!place) return place.error();
    if (plan.vulkan.slab_bytes) place->slab_address = slab.address();
    traps.emplace_back(i, place->slice.trap);
    record_launch(commands, plan, *place, bound);
  }
  host_barrier(*device, commands);
  result = device->vk.EndCommandBuffer(commands);
  if (result != VK_SUCCESS) return vulkan_error(result, "EndCommandBuffer");
  recorded = true;
  return {};
}

Result<bool> GraphState::add(const Facts& facts, std::vector<std::size_t> before) {
  if (facts->checks != no_checks) return false;
  auto plan = choose_plan(facts);
  if (!plan) return plan.error();
  const EntryInfo& info = *plan->kernel().info;
  if (plan->executor != &vulkan_executor() || lane_of(*plan, 0) == Queue::kAlone ||
      info.uses_printf || plan->facts->workspace)
    return false;
  std::lock_guard lock(mutex);
  nodes.emplace_back(LaunchNode{std::move(*plan)});
  after.push_back(std::move(before));
  recorded = false;
  return true;
}

Result<std::uint64_t> GraphState::replay(StreamState& stream) {
  std::shared_lock<std::shared_mutex> residency;
  // Planning a node may move an array that another was planned for. What has to come back into
  // memory stays there for a while, so that this ends.
  for (;;) {
    if (Status status = refresh(); !status) return status.error();
    residency = std::shared_lock(device->residency);
    if (moves == device->moves) break;
    residency.unlock();
  }
  // Replays come one after the other.
  stream.wait_for(last_value);
  if (Status status = record(); !status) return status.error();
  if (trapped) {
    // The records still hold the last trap; they may only be cleared when no replay is running.
    if (Status status = device->queue.wait(last_value); !status) return status.error();
    for (auto& [node, trap] : traps) std::memset(trap, 0, abi::kTrapWords * 4);
    trapped = false;
  }
  const auto value =
      device->queue.push(commands, alone ? Queue::kAlone : stream.lane, stream.before());
  if (value) last_value = *value;
  if (value && device->queue.has_timeout())
    for (const auto& node : nodes)
      if (const auto* launch = std::get_if<LaunchNode>(&node)) {
        device->queue.name(
            *value, fmt::format("a graph with kernel '{}'", launch->plan.kernel().info->name));
        break;
      }
  return value;
}

std::optional<Error> GraphState::check(StreamState& stream) {
  std::lock_guard lock(mutex);
  read_fault_logs();
  if (device->queue.reached(last_value)) printf.collect(stream.printed);
  std::optional<Error> first = std::exchange(missed, std::nullopt);
  return first ? first : find_trap();
}

void GraphState::read_fault_logs() {
  for (auto& node : nodes)
    if (auto* launch = std::get_if<LaunchNode>(&node); launch && launch->plan.sanitized) {
      const LaunchPlan& plan = launch->plan;
      read_fault_log(*plan.facts->module, plan.kernel(), *plan.variant, *plan.sanitized);
    }
}

std::optional<Error> GraphState::find_trap() {
  for (auto& [node, trap] : traps) {
    std::uint32_t count = 0;
    std::memcpy(&count, trap, 4);
    if (!count) continue;
    trapped = true;
    std::uint32_t record[abi::kTrapWords];
    std::memcpy(record, trap, sizeof record);
    const LaunchPlan& plan = std::get<LaunchNode>(nodes[node]).plan;
    TrapReport report =
        make_report(*plan.facts->module, plan.kernel(), *plan.variant, record, plan.params);
    if (plan.sanitized) note_trap(*plan.facts->module, *plan.sanitized, report);
    return trap_error(std::move(report));
  }
  return std::nullopt;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

namespace {

/// Nodes that are added in order come after one another.
void follow_last(GraphState& state) {
  const std::size_t count = state.nodes.size();
  state.after.push_back(count > 1 ? std::vector{count - 2} : std::vector<std::size_t>());
  state.recorded = false;
}

}  // namespace

Result<Graph> Graph::create(const Device& device) {
  auto graph = std::make_shared<GraphState>();
  graph->device = device.state();
  graph->descriptors.open(*graph->device);
  return Graph(std::move(graph));
}

Status Graph::add(const Kernel& kernel, const LaunchConfig& config, const Args& args) {
  if (kernel.state()->module->device != state_->device)
    return bad_argument("the kernel and the graph belong to different devices");
  auto facts = gather_facts(*kernel.state(), config, args);
  if (!facts) return facts.error();
  auto plan = plan_for_device(*facts);
  if (!plan) return plan.error();
  if (plan->sanitized) ignore_global_races(*plan->variant, *plan->sanitized, plan->params);
  std::lock_guard lock(state_->mutex);
  state_->nodes.emplace_back(LaunchNode{std::move(*plan)});
  follow_last(*state_);
  return {};
}

Status Graph::add_copy(const Buffer& from, std::uint64_t from_offset, const Buffer& to,
                       std::uint64_t to_offset, std::uint64_t bytes) {
  auto inside = [bytes](const Buffer& buffer, std::uint64_t offset) {
    return offset <= buffer.size() && bytes <= buffer.size() - offset;
  };
  if (!bytes || !inside(from, from_offset) || !inside(to, to_offset))
    return bad_argument("{} bytes do not lie in both buffers of the copy", bytes);
  if (from.state() == to.state() && from_offset < to_offset + bytes &&
      to_offset < from_offset + bytes)
    return bad_argument("the ranges of a copy overlap");
  if (!from.state()->buffer || !to.state()->buffer)
    return make_error(ErrorCode::unsupported,
                      "a graph copies no buffers over the driver's largest allocation");
  to.state()->written(to_offset, bytes);
  Rows row;
  row.offset = to.state()->offset + to_offset;
  row.row_bytes = row.row_pitch = row.host_row_pitch = bytes;
  std::lock_guard lock(state_->mutex);
  state_->nodes.emplace_back(
      CopyNode{from.state(), to.state(), from.state()->offset + from_offset, row});
  follow_last(*state_);
  return {};
}

std::size_t Graph::size() const {
  std::lock_guard lock(state_->mutex);
  return state_->nodes.size();
}

}  // namespace ptx2spv
