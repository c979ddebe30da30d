// A plan's commands.
#include <algorithm>
#include <cstring>

#include "src/stream/stream.hpp"

namespace ptx2spv::runtime {

namespace {

/// The addresses of the heap and of printf's buffer, for kernels that use them.
Status find_shared_buffers(const LaunchPlan& plan, PrintfBuffer& printf, LaunchPlace& place) {
  if (plan.variant->info.uses_heap) {
    auto address = plan.device().kernel_heap.address(plan.device());
    if (!address) return address.error();
    place.heap_address = *address;
  }
  if (plan.variant->info.uses_printf) {
    auto address = printf.address(plan.device());
    if (!address) return address.error();
    place.printf_address = *address;
  }
  return {};
}

/// Whether the module declares anything that sets hold.
bool binds(const LaunchPlan& plan) {
  const auto is_bound = [](const SlotBinding& slot) { return slot.backing != Backing::address; };
  return plan.variant->info.bindings != 0 || std::ranges::any_of(plan.vulkan.slots, is_bound) ||
         !plan.vulkan.textures.empty() || !plan.vulkan.table.empty();
}

}  // namespace

std::uint64_t slice_bytes(const LaunchPlan& plan) {
  return std::max<std::uint64_t>(plan.params.size(), Ring::kTrapBytes);
}

Result<LaunchPlace> allocate_slice(const LaunchPlan& plan, Ring& ring, PrintfBuffer& printf) {
  auto slice = ring.take(slice_bytes(plan));
  if (!slice) return slice.error();
  LaunchPlace place;
  place.slice = *slice;
  if (!plan.params.empty()) std::memcpy(slice->mapped, plan.params.data(), plan.params.size());
  std::memset(slice->trap, 0, Ring::kTrapBytes);
  if (Status status = find_shared_buffers(plan, printf, place); !status) return status.error();
  return place;
}

void put_addresses(const LaunchPlan& plan, const LaunchPlace& place,
                   std::span<std::uint32_t> push) {
  put_address(push, abi::params_address, place.slice.address);
  put_address(push, abi::printf_buffer, place.printf_address);
  put_address(push, abi::shared_slab, place.slab_address + plan.vulkan.local_slab_bytes);
  if (plan.variant->info.uses_heap) put_address(push, abi::heap, place.heap_address);
}

Result<LaunchPlace> allocate_and_bind(const LaunchPlan& plan, Ring& ring, PrintfBuffer& printf,
                                      Descriptors& descriptors) {
  auto words = allocate_slice(plan, ring, printf);
  if (!words) return words.error();
  LaunchPlace place = *words;
  if (!binds(plan)) return place;
  auto common = descriptors.common(plan, ring);
  if (!common) return common.error();
  place.common = *common;
  auto slots = descriptors.slots(plan);
  if (!slots) return slots.error();
  place.slots = *slots;
  auto textures = descriptors.textures(plan);
  if (!textures) return textures.error();
  place.textures = *textures;
  return place;
}

void record_launch(VkCommandBuffer commands, const LaunchPlan& plan, const LaunchPlace& place,
                   LaunchBound& bound) {
  DeviceState& device = plan.device();
  const DeviceFunctions& vk = device.vk;
  auto push = plan.push;
  // Into words that the launch has no use for, so after the launch's own.
  auto write_pushed_params = [&push, &plan] {
    for (const PushParam& param : plan.variant->info.push_params) {
      std::uint32_t word = 0;  // of a dead handle's record
      if (param.offset + 4 <= plan.params.size())
        std::memcpy(&word, plan.params.data() + param.offset, 4);
      push[param.word] = word >> param.shift;
    }
  };
  put_addresses(plan, place, push);

  if (!plan.mirrored.empty()) {
    std::lock_guard lock(device.statistics_mutex);
    device.statistics.array_copies += 2 * plan.mirrored.size();
  }
  for (const auto& array : plan.mirrored) array->record_copy(commands, true);
  if (!plan.mirrored.empty()) barrier(device, commands, Work::copy, Work::kernel);
  const VkPipeline pipeline = plan.vulkan.pipeline->handle;
  if (bound.pipeline != pipeline)
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  bound.pipeline = pipeline;
  const VkPipelineLayout layout = plan.variant->layout->pipeline;
  if (place.common) {
    const VkDescriptorSet sets[] = {place.common, place.slots, place.textures};
    // Of the bindings that move from launch to launch, in their order.
    std::uint32_t offsets[2], moving = 0;
    for (const abi::Binding each : {abi::params, abi::trap})
      if (plan.variant->info.bindings >> each & 1)
        offsets[moving++] = static_cast<std::uint32_t>(place.slice.offset);
    const bool same =
        bound.layout == layout && bound.slots == place.slots && bound.textures == place.textures;
    const std::uint32_t more = place.textures ? 3 : 2;
    vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, same ? 1 : more,
                             sets, moving, offsets);
    bound = {pipeline, layout, place.slots, place.textures};
  }
  for (std::uint32_t run = 0; run < plan.facts->config.repeat; ++run) {
    if (run) barrier(device, commands, Work::kernel, Work::kernel);
    for (std::size_t i = 0; i < plan.vulkan.dispatches.size(); ++i) {
      const Dispatch& each = plan.vulkan.dispatches[i];
      if (plan.sanitized && plan.sanitized->shadow) {
        const Memory& shadow = plan.sanitized->shadow;
        barrier(device, commands, Work::kernel, Work::copy);
        vk.CmdFillBuffer(commands, shadow.buffer(), shadow.offset(), shadow.size(), 0);
        barrier(device, commands, Work::copy, Work::kernel);
      }
      if (plan.facts->workspace) {
        barrier(device, commands, Work::kernel, Work::copy);
        const Memory& workspace = *plan.facts->workspace;
        vk.CmdFillBuffer(commands, workspace.buffer(), workspace.offset(), abi::kGridWorkspace, 0);
        barrier(device, commands, Work::copy, Work::kernel);
      }
      // Dispatches of one launch are independent, unless they share the slab.
      if (i && plan.vulkan.slab_bytes) barrier(device, commands, Work::kernel, Work::kernel);
      std::copy(each.base.begin(), each.base.end(), push.begin() + abi::base_x);
      push[abi::threads] = each.threads;
      write_pushed_params();
      if (run == 0 || plan.vulkan.dispatches.size() > 1)
        vk.CmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            plan.variant->info.push_words * 4, push.data());
      vk.CmdDispatch(commands, each.groups[0], each.groups[1], each.groups[2]);
    }
  }
  if (plan.mirrored.empty()) return;
  barrier(device, commands, Work::kernel, Work::copy);
  for (const auto& array : plan.mirrored) array->record_copy(commands, false);
}

}  // namespace ptx2spv::runtime
