#include "src/stream/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/launch/report.hpp"

namespace ptx2spv::runtime {

namespace {
constexpr std::uint32_t kQueries = 256;  // two a timed launch
constexpr std::size_t kUnasked = 32;     // submissions from one question to the driver to the next
}  // namespace

Result<std::shared_ptr<StreamState>> StreamState::create(DeviceState& device, bool keep_device) {
  auto stream = std::make_shared<StreamState>(device);
  if (keep_device) stream->keep = device.shared_from_this();
  VkCommandPoolCreateInfo create{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  create.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  create.queueFamilyIndex = device.traits.queue_family;
  VkResult result = device.vk.CreateCommandPool(device.handle, &create, nullptr, &stream->pool);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateCommandPool");
  if (Status status = stream->ring.open(device); !status) return status.error();
  stream->descriptors.open(device);
  return stream;
}

StreamState::~StreamState() {
  if (last_value) (void)device.queue.wait(last_value);
  retire();
  printf.collect(printed);
  if (keep)
    print_calls(device, printed);  // the internal stream's calls were printed by their launch
  if (queries) device.vk.DestroyQueryPool(device.handle, queries, nullptr);
  if (pool) device.vk.DestroyCommandPool(device.handle, pool, nullptr);
}

void barrier(const DeviceState& device, VkCommandBuffer commands, Work before, Work after) {
  auto has = [](Work work, Work kind) {
    return (static_cast<unsigned>(work) & static_cast<unsigned>(kind)) != 0;
  };
  VkPipelineStageFlags stages[2] = {};
  VkAccessFlags writes[2] = {}, reads[2] = {};
  const Work sides[2] = {before, after};
  for (int i = 0; i < 2; ++i) {
    if (has(sides[i], Work::kernel)) {
      stages[i] |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
      writes[i] |= VK_ACCESS_SHADER_WRITE_BIT;
      reads[i] |= VK_ACCESS_SHADER_READ_BIT;
    }
    if (has(sides[i], Work::copy)) {
      stages[i] |= VK_PIPELINE_STAGE_TRANSFER_BIT;
      writes[i] |= VK_ACCESS_TRANSFER_WRITE_BIT;
      reads[i] |= VK_ACCESS_TRANSFER_READ_BIT;
    }
  }
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = writes[0];
  memory.dstAccessMask = writes[1] | reads[1];
  device.vk.CmdPipelineBarrier(commands, stages[0], stages[1], 0, 1, &memory, 0, nullptr, 0,
                               nullptr);
}

Result<VkCommandBuffer> StreamState::begin(Work first) {
  // Asking the driver what is over costs about as much as a small launch.
  if (free.empty() && in_flight.size() % kUnasked == kUnasked - 1)
    while (!in_flight.empty() && device.queue.reached(in_flight.front().second)) {
      free.push_back(in_flight.front().first);
      in_flight.pop_front();
    }
  VkCommandBuffer commands = VK_NULL_HANDLE;
  if (!free.empty()) {
    commands = free.back();
    free.pop_back();
  } else {
    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    VkResult result = device.vk.AllocateCommandBuffers(device.handle, &allocate, &commands);
    if (result != VK_SUCCESS) return vulkan_error(result, "AllocateCommandBuffers");
  }
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  VkResult result = device.vk.BeginCommandBuffer(commands, &begin);
  if (result != VK_SUCCESS) {
    free.push_back(commands);
    return vulkan_error(result, "BeginCommandBuffer");
  }
  // A barrier's first scope reaches back over everything submitted to the queue before.
  barrier(device, commands, Work::any, first);
  return commands;
}

void host_barrier(const DeviceState& device, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
  device.vk.CmdPipelineBarrier(
      commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
      VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void StreamState::abandon(VkCommandBuffer commands) {
  device.vk.EndCommandBuffer(commands);
  free.push_back(commands);
}

Result<std::uint64_t> StreamState::submit(VkCommandBuffer commands, bool signal) {
  host_barrier(device, commands);
  VkResult result = device.vk.EndCommandBuffer(commands);
  if (result != VK_SUCCESS) {
    free.push_back(commands);
    return vulkan_error(result, "EndCommandBuffer");
  }
  auto value = device.queue.submit(commands, signal);
  if (!value) {
    free.push_back(commands);
    return value.error();
  }
  in_flight.emplace_back(commands, *value);
  last_value = *value;
  return *value;
}

Status StreamState::launch(LaunchPlan&& plan, const std::shared_ptr<Outcome>& outcome,
                           std::uint64_t* value_out) {
  if (pending.size() % kUnasked == kUnasked - 1) retire();
  if (descriptors.full()) {
    if (Status status = wait_all(); !status) return status;
    descriptors.clear();
  }
  if (plan.slab_bytes > slab.size() || (plan.slab_bytes && !slab)) {
    auto memory = device.heap.allocate(MemoryKind::device, plan.slab_bytes);
    if (!memory) return memory.error();
    slab = std::move(*memory);
  }
  int query = -1;
  if (plan.timed && device.traits.timestamp_bits) {
    if (!queries) {
      VkQueryPoolCreateInfo create{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
      create.queryType = VK_QUERY_TYPE_TIMESTAMP;
      create.queryCount = kQueries;
      VkResult result = device.vk.CreateQueryPool(device.handle, &create, nullptr, &queries);
      if (result != VK_SUCCESS) return vulkan_error(result, "CreateQueryPool");
    }
    if (pending.size() >= kQueries / 2)
      if (Status status = wait_all(); !status) return status;
    query = static_cast<int>(next_query);
    next_query = (next_query + 2) % kQueries;
  }
  // Old records are looked at before they are written over.
  while (std::uint64_t busy = ring.blocked_by(slice_bytes(plan))) {
    if (Status status = device.queue.wait(std::min(busy, last_value)); !status) return status;
    retire();
  }
  auto place = place_launch(plan, ring, descriptors);
  if (!place) {
    ring.cancel();
    return place.error();
  }
  if (plan.slab_bytes) place->slab_address = slab.address();
  if (plan.variant->info.uses_printf) {
    auto address = printf.address(device);
    if (!address) {
      ring.cancel();
      return address.error();
    }
    place->printf_address = *address;
  }
  auto commands = begin(work_of(plan));
  if (!commands) {
    ring.cancel();
    return commands.error();
  }
  auto index = static_cast<std::uint32_t>(query);
  if (query >= 0) {
    device.vk.CmdResetQueryPool(*commands, queries, index, 2);
    device.vk.CmdWriteTimestamp(*commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, index);
  }
  LaunchBound bound;
  record_launch(*commands, plan, *place, bound);
  if (query >= 0)
    device.vk.CmdWriteTimestamp(*commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries,
                                index + 1);
  auto value = submit(*commands, outcome != nullptr);
  if (!value) {
    ring.cancel();
    return value.error();
  }
  ring.close(*value);
  Pending launch;
  launch.value = *value;
  launch.module = std::move(plan.module);
  launch.kernel = plan.kernel;
  launch.variant = plan.variant;
  launch.keep = std::move(plan.keep);
  for (auto& array : plan.mirrored) launch.keep.push_back(array);
  launch.trap = ring.memory().mapped() + place->trap_offset;
  launch.params = {place->slice.mapped, plan.params.size()};
  launch.query = query;
  launch.outcome = outcome;
  pending.push_back(std::move(launch));
  if (value_out) *value_out = *value;
  std::lock_guard lock(device.statistics_mutex);
  device.statistics.launches += plan.repeat;
  return {};
}

Status StreamState::transfer(const std::function<void(VkCommandBuffer)>& record,
                             std::vector<std::shared_ptr<const void>> keeps,
                             std::function<void()> finish) {
  retire();
  auto commands = begin();
  if (!commands) return commands.error();
  record(*commands);
  auto value = submit(*commands, false);
  if (!value) return value.error();
  Pending copy;
  copy.value = *value;
  copy.keep = std::move(keeps);
  copy.finish = std::move(finish);
  pending.push_back(std::move(copy));
  return {};
}

void StreamState::retire() {
  while (!pending.empty() && device.queue.reached(pending.front().value)) {
    Pending done = std::move(pending.front());
    pending.pop_front();
    std::optional<Error> failure;
    if (device.queue.lost()) {
      failure = vulkan_error(VK_ERROR_DEVICE_LOST, "QueueSubmit");
    } else if (done.trap) {
      std::uint32_t count = 0;
      std::memcpy(&count, done.trap, 4);
      if (count) {
        std::uint32_t record[abi::kTrapWords];
        std::memcpy(record, done.trap, sizeof record);
        failure =
            trap_error(make_report(*done.module, *done.kernel, *done.variant, record, done.params));
      }
      // Other launches of this stream may still be printing.
      if (done.variant->info.uses_printf && done.outcome && pending.empty())
        printf.collect(printed);
    }
    if (done.check && !failure) failure = done.check(*this);
    ring.release(done.value);
    if (done.finish && !failure) done.finish();
    if (done.query >= 0 && done.outcome && !device.queue.lost()) {
      std::uint64_t ticks[2] = {};
      VkResult result = device.vk.GetQueryPoolResults(
          device.handle, queries, static_cast<std::uint32_t>(done.query), 2, sizeof ticks, ticks, 8,
          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
      if (result == VK_SUCCESS)
        done.outcome->device_ms = static_cast<double>(ticks[1] - ticks[0]) *
                                  device.traits.properties.limits.timestampPeriod * 1e-6;
    }
    if (done.outcome) {
      done.outcome->error = std::move(failure);
      done.outcome->done = true;
    } else if (failure && !error) {
      error = std::move(failure);
    }
  }
}

Status StreamState::wait_all() {
  Status status = last_value ? device.queue.wait(last_value) : Status();
  retire();
  printf.collect(printed);
  return status;
}

Status run_commands(DeviceState& device, const std::function<void(VkCommandBuffer)>& record) {
  auto stream = device.internal_stream();
  if (!stream) return stream.error();
  std::uint64_t value = 0;
  {
    std::lock_guard lock((*stream)->mutex);
    auto commands = (*stream)->begin();
    if (!commands) return commands.error();
    record(*commands);
    auto submitted = (*stream)->submit(*commands);
    if (!submitted) return submitted.error();
    value = *submitted;
  }
  return device.queue.wait(value);
}

}  // namespace ptx2spv::runtime
