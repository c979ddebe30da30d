#include "src/stream/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/launch/report.hpp"

namespace ptx2spv::runtime {

namespace {
constexpr std::uint32_t kQueries = 256;  // two a timed launch
}  // namespace

Result<std::shared_ptr<StreamState>> StreamState::create(DeviceState& device, bool keep_device) {
  auto stream = std::make_shared<StreamState>(device);
  if (keep_device) stream->keep = device.shared_from_this();
  if (Status status = stream->commands.open(device.traits.queue_family); !status)
    return status.error();
  if (Status status = stream->ring.open(device.heap); !status) return status.error();
  stream->descriptors.open(device);
  return stream;
}

StreamState::~StreamState() {
  if (last_value) (void)device.queue.wait(last_value);
  retire();
  printf.collect(printed);
  if (keep)
    print_calls(device, printed);  // the synchronous stream's calls were printed by their launch
  if (queries) device.vk.DestroyQueryPool(device.handle, queries, nullptr);
}

Result<std::shared_ptr<StreamState>> synchronous_stream(DeviceState& device) {
  std::lock_guard lock(device.synchronous_mutex);
  if (!device.synchronous) {
    auto stream = StreamState::create(device, false);
    if (!stream) return stream.error();
    device.synchronous = std::move(*stream);
  }
  return device.synchronous;
}

Result<std::uint64_t> StreamState::submit(VkCommandBuffer recorded, bool signal) {
  auto value = commands.submit(recorded, signal);
  if (value) last_value = *value;
  return value;
}

/// Where the memory lies that launches share.
Status StreamState::place_memory(const LaunchPlan& plan, LaunchPlace& place) {
  const auto put = [&](Result<std::uint64_t> address, std::uint64_t& to) -> Status {
    if (!address) {
      ring.cancel();
      return address.error();
    }
    to = *address;
    return {};
  };
  if (plan.slab_bytes) place.slab_address = slab.address();
  if (plan.variant->info.uses_heap)
    if (Status status = put(device.kernel_heap.address(device), place.heap_address); !status)
      return status;
  if (!plan.variant->info.uses_printf) return {};
  return put(printf.address(device), place.printf_address);
}

/// The slice of old launches that a new one's takes over are looked at before.
Status StreamState::make_room(const LaunchPlan& plan) {
  while (std::uint64_t busy = ring.blocked_by(slice_bytes(plan))) {
    if (Status status = device.queue.wait(std::min(busy, last_value)); !status) return status;
    retire();
  }
  return {};
}

Pending StreamState::pend(LaunchPlan&& plan, const LaunchPlace& place, std::uint64_t value) {
  if (!plan.rest) {
    std::lock_guard lock(device.statistics_mutex);
    device.statistics.launches += plan.repeat;
    if (plan.interpreted) device.statistics.interpreted_launches += plan.repeat;
  }
  Pending launch;
  launch.value = value;
  launch.params = {place.slice.mapped, plan.params.size()};
  launch.module = std::move(plan.module);
  launch.kernel = plan.kernel;
  launch.variant = std::move(plan.variant);
  launch.pipeline = std::move(plan.pipeline);
  launch.keep = std::move(plan.keep);
  launch.sanitized = std::move(plan.sanitized);
  for (auto& array : plan.mirrored) launch.keep.push_back(array);
  launch.trap = ring.memory().mapped() + place.trap_offset;
  return launch;
}

Status StreamState::launch(LaunchPlan&& plan, const std::shared_ptr<Outcome>& outcome,
                           std::uint64_t* value_out) {
  if (plan.interpreted) return interpret(std::move(plan), outcome, value_out);
  if (pending.size() % CommandPool::kUnasked == CommandPool::kUnasked - 1) retire();
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
  if (Status status = make_room(plan); !status) return status;
  auto place = place_launch(plan, ring, descriptors);
  if (!place) {
    ring.cancel();
    return place.error();
  }
  if (Status status = place_memory(plan, *place); !status) return status;
  auto recording = commands.begin(work_of(plan));
  if (!recording) {
    ring.cancel();
    return recording.error();
  }
  auto index = static_cast<std::uint32_t>(query);
  if (query >= 0) {
    device.vk.CmdResetQueryPool(*recording, queries, index, 2);
    device.vk.CmdWriteTimestamp(*recording, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, index);
  }
  LaunchBound bound;
  record_launch(*recording, plan, *place, bound);
  if (query >= 0)
    device.vk.CmdWriteTimestamp(*recording, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries,
                                index + 1);
  auto value = submit(*recording, outcome != nullptr);
  if (!value) {
    ring.cancel();
    return value.error();
  }
  ring.close(*value);
  if (device.queue.has_timeout())
    device.queue.name(*value, "kernel '" + plan.kernel->info->name + "'");
  Pending launch = pend(std::move(plan), *place, *value);
  launch.query = query;
  launch.outcome = outcome;
  pending.push_back(std::move(launch));
  if (value_out) *value_out = *value;
  return {};
}

Status StreamState::transfer(const std::function<void(VkCommandBuffer)>& record,
                             std::vector<std::shared_ptr<const void>> keeps,
                             std::function<void()> finish) {
  retire();
  auto recording = commands.begin();
  if (!recording) return recording.error();
  record(*recording);
  auto value = submit(*recording, false);
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
        TrapReport report =
            make_report(*done.module, *done.kernel, *done.variant, record, done.params);
        if (done.sanitized) note_trap(*done.module, *done.sanitized, report);
        failure = trap_error(std::move(report));
      }
      if (done.sanitized)
        read_fault_log(*done.module, *done.kernel, *done.variant, *done.sanitized);
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
        done.outcome->device_ms = std::max(done.outcome->device_ms, 0.0) +
                                  static_cast<double>(ticks[1] - ticks[0]) *
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

}  // namespace ptx2spv::runtime
