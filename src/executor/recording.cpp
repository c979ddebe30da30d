// Launches in command buffers of the application's.
#include <cstring>
#include <deque>

#include "ptx2spv/vulkan.hpp"
#include "src/executor/executor.hpp"
#include "src/launch/report.hpp"

namespace ptx2spv::runtime {

/// A launch and the memory that only it uses.
struct RecordedLaunch {
  explicit RecordedLaunch(LaunchPlan given) : plan(std::move(given)) {}
  LaunchPlan plan;
  Ring ring;
  Memory slab;
  std::byte* trap = nullptr;
};

struct RecordingState {
  std::shared_ptr<DeviceState> device;
  std::deque<RecordedLaunch> launches;
  Descriptors descriptors;
  PrintfBuffer printf;

  explicit RecordingState(std::shared_ptr<DeviceState> owner) : device(std::move(owner)) {
    descriptors.open(*device);
  }
  RecordingState(const RecordingState&) = delete;
  RecordingState& operator=(const RecordingState&) = delete;
  ~RecordingState() {
    if (!launches.empty()) --device->pins;
  }

  Status record(VkCommandBuffer commands, LaunchPlan&& plan);
  Status place(RecordedLaunch& launch, LaunchPlace& at);
};

namespace {

/// Between the application's commands and a launch, whatever those do.
void order(const DeviceState& device, VkCommandBuffer commands) {
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  memory.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  device.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                               VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &memory, 0, nullptr, 0,
                               nullptr);
}

Status check_recordable(const LaunchPlan& plan) {
  const EntryInfo& info = *plan.kernel().info;
  if (info.dynamic_handles || info.textures.dynamic)
    return make_error(ErrorCode::unsupported,
                      "kernel '" + info.name +
                          "' takes handles out of memory: which surfaces and textures those name "
                          "is not known when it is recorded");
  if (plan.sanitized)
    return make_error(ErrorCode::unsupported,
                      "launches with the sanitizer's checks cannot be recorded: the table of "
                      "allocations would be of the past");
  return {};
}

}  // namespace

Status RecordingState::place(RecordedLaunch& launch, LaunchPlace& at) {
  const LaunchPlan& plan = launch.plan;
  if (Status status = launch.ring.open(device->heap, slice_bytes(plan) + Heap::kAlignment); !status)
    return status;
  auto placed = allocate_and_bind(plan, launch.ring, printf, descriptors);
  if (!placed) return placed.error();
  at = *placed;
  if (plan.vulkan.slab_bytes) {
    auto memory = device->heap.allocate(MemoryKind::device, plan.vulkan.slab_bytes);
    if (!memory) return memory.error();
    launch.slab = std::move(*memory);
    at.slab_address = launch.slab.address();
  }
  launch.trap = at.slice.trap;
  return {};
}

Status RecordingState::record(VkCommandBuffer commands, LaunchPlan&& plan) {
  RecordedLaunch launch(std::move(plan));
  LaunchPlace at;
  if (Status status = place(launch, at); !status) return status;
  order(*device, commands);
  LaunchBound bound;
  record_launch(commands, launch.plan, at, bound);
  order(*device, commands);
  host_barrier(*device, commands);
  if (launches.empty()) ++device->pins;
  {
    std::lock_guard lock(device->statistics_mutex);
    device->statistics.launches += launch.plan.facts->config.repeat;
  }
  launches.push_back(std::move(launch));
  return {};
}

}  // namespace ptx2spv::runtime

namespace ptx2spv::vulkan {

Result<Recording> Recording::create(const Device& device) {
  return Recording(std::make_shared<RecordingState>(device.state()));
}

Status Recording::launch(VkCommandBuffer commands, const Kernel& kernel, const LaunchConfig& config,
                         const Args& args) {
  if (!commands) return bad_argument("the command buffer is null");
  if (kernel.state()->module->device != state_->device)
    return bad_argument("the kernel and the recording belong to different devices");
  auto facts = gather_facts(*kernel.state(), config, args);
  if (!facts) return facts.error();
  auto plan = plan_for_device(*facts);
  if (!plan) return plan.error();
  if (Status status = check_recordable(*plan); !status) return status;
  auto residency = hold_arrays(*plan, [&] { return plan_for_device(*facts); });
  if (!residency) return residency.error();
  return state_->record(commands, std::move(*plan));
}

Status Recording::check() {
  DeviceState& device = *state_->device;
  if (device.queue.lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "QueueSubmit");
  std::vector<std::byte> printed;
  state_->printf.collect(printed);
  print_calls(device, printed);
  std::optional<Error> first;
  for (RecordedLaunch& launch : state_->launches) {
    std::uint32_t record[abi::kTrapWords];
    std::memcpy(record, launch.trap, sizeof record);
    if (!record[0]) continue;
    std::memset(launch.trap, 0, sizeof record);
    const LaunchPlan& plan = launch.plan;
    if (!first)
      first = trap_error(
          make_report(*plan.facts->module, plan.kernel(), *plan.variant, record, plan.params));
  }
  return first ? Status(std::move(*first)) : Status();
}

}  // namespace ptx2spv::vulkan
