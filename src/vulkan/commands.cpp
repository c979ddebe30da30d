#include "src/vulkan/commands.hpp"

namespace ptx2spv::runtime {

namespace {
bool has(Work work, Work kind) {
  return (static_cast<unsigned>(work) & static_cast<unsigned>(kind)) != 0;
}
}  // namespace

void barrier(const VulkanDevice& device, VkCommandBuffer commands, Work before, Work after) {
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

void host_barrier(const VulkanDevice& device, VkCommandBuffer commands, Work before) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
  VkPipelineStageFlags stages = VK_PIPELINE_STAGE_TRANSFER_BIT;
  if (has(before, Work::kernel)) stages |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  device.vk.CmdPipelineBarrier(commands, stages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                               nullptr, 0, nullptr);
}

}  // namespace ptx2spv::runtime
