#include "src/vulkan/commands.hpp"

namespace ptx2spv::runtime {

void barrier(const VulkanDevice& device, VkCommandBuffer commands, Work before, Work after) {
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

void host_barrier(const VulkanDevice& device, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
  device.vk.CmdPipelineBarrier(
      commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
      VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

CommandPool::~CommandPool() {
  if (pool_) device_.vk.DestroyCommandPool(device_.handle, pool_, nullptr);
}

Status CommandPool::open(std::uint32_t queue_family) {
  VkCommandPoolCreateInfo create{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  create.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  create.queueFamilyIndex = queue_family;
  VkResult result = device_.vk.CreateCommandPool(device_.handle, &create, nullptr, &pool_);
  return result == VK_SUCCESS ? Status() : vulkan_error(result, "CreateCommandPool");
}

Result<VkCommandBuffer> CommandPool::begin(Work first) {
  if (free_.empty() && in_flight_.size() % kUnasked == kUnasked - 1)
    while (!in_flight_.empty() && queue_.reached(in_flight_.front().second)) {
      free_.push_back(in_flight_.front().first);
      in_flight_.pop_front();
    }
  VkCommandBuffer commands = VK_NULL_HANDLE;
  if (!free_.empty()) {
    commands = free_.back();
    free_.pop_back();
  } else {
    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool_;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    VkResult result = device_.vk.AllocateCommandBuffers(device_.handle, &allocate, &commands);
    if (result != VK_SUCCESS) return vulkan_error(result, "AllocateCommandBuffers");
  }
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  VkResult result = device_.vk.BeginCommandBuffer(commands, &begin);
  if (result != VK_SUCCESS) {
    free_.push_back(commands);
    return vulkan_error(result, "BeginCommandBuffer");
  }
  // A barrier's first scope reaches back over everything submitted to the queue before.
  barrier(device_, commands, Work::any, first);
  return commands;
}

Result<std::uint64_t> CommandPool::end(VkCommandBuffer commands, bool signal) {
  host_barrier(device_, commands);
  VkResult result = device_.vk.EndCommandBuffer(commands);
  if (result != VK_SUCCESS) {
    free_.push_back(commands);
    return vulkan_error(result, "EndCommandBuffer");
  }
  auto value = queue_.push(commands, signal);
  if (!value) {
    free_.push_back(commands);
    return value.error();
  }
  in_flight_.emplace_back(commands, *value);
  return *value;
}

Status CommandRunner::run(const std::function<void(VkCommandBuffer)>& record) {
  std::uint64_t value = 0;
  {
    std::lock_guard lock(mutex_);
    auto commands = pool_.begin();
    if (!commands) return commands.error();
    record(*commands);
    auto submitted = pool_.end(*commands);
    if (!submitted) return submitted.error();
    value = *submitted;
  }
  return queue_.wait(value);
}

}  // namespace ptx2spv::runtime
