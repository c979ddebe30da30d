#include "src/device/layouts.hpp"

#include <algorithm>
#include <utility>

namespace ptx2spv::runtime {

namespace {

Status make(const LayoutContents& contents, Layout& layout) {
  const VulkanDevice& device = layout.device;
  const std::uint32_t count = contents.sets[LayoutContents::kSets - 1].empty() ? 2 : 3;
  for (std::uint32_t set = 0; set < count; ++set) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const LayoutBinding& each : contents.sets[set])
      bindings.push_back(
          {each.binding, each.type, each.count, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    VkDescriptorSetLayoutCreateInfo create{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    create.bindingCount = static_cast<std::uint32_t>(bindings.size());
    create.pBindings = bindings.data();
    const VkResult result =
        device.vk.CreateDescriptorSetLayout(device.handle, &create, nullptr, &layout.sets[set]);
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateDescriptorSetLayout");
  }
  VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, contents.push_bytes};
  VkPipelineLayoutCreateInfo create{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  create.setLayoutCount = count;
  create.pSetLayouts = layout.sets;
  create.pushConstantRangeCount = contents.push_bytes ? 1 : 0;
  create.pPushConstantRanges = &push;
  const VkResult result =
      device.vk.CreatePipelineLayout(device.handle, &create, nullptr, &layout.pipeline);
  return result == VK_SUCCESS ? Status() : vulkan_error(result, "CreatePipelineLayout");
}

}  // namespace

Layout::~Layout() {
  if (pipeline) device.vk.DestroyPipelineLayout(device.handle, pipeline, nullptr);
  for (const VkDescriptorSetLayout set : sets)
    if (set) device.vk.DestroyDescriptorSetLayout(device.handle, set, nullptr);
}

Result<std::shared_ptr<const Layout>> Layouts::get(const VulkanDevice& device,
                                                   const LayoutContents& contents) {
  std::lock_guard lock(mutex_);
  if (const auto known = layouts_.find(contents); known != layouts_.end()) return known->second;
  if (layouts_.size() >= limit_) {
    std::erase_if(layouts_, [](const auto& each) { return each.second.use_count() == 1; });
    // Twice what is used, so that a search among many happens once in as many.
    limit_ = std::max(kKept, 2 * layouts_.size());
  }
  auto layout = std::make_shared<Layout>(device);
  if (Status status = make(contents, *layout); !status) return status.error();
  return layouts_.emplace(contents, std::move(layout)).first->second;
}

void Layouts::clear() {
  std::lock_guard lock(mutex_);
  layouts_.clear();
}

std::size_t Layouts::size() const {
  std::lock_guard lock(mutex_);
  return layouts_.size();
}

}  // namespace ptx2spv::runtime
