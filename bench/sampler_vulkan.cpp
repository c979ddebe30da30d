#include "bench/sampler_vulkan.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace ptx2spv::bench {

// clang-format off
#define FUNCTIONS(X) \
  X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(FreeCommandBuffers) \
  X(BeginCommandBuffer) X(EndCommandBuffer) X(CreateQueryPool) X(DestroyQueryPool) \
  X(GetQueryPoolResults) X(CreateFence) X(DestroyFence) X(WaitForFences) X(ResetFences) \
  X(QueueSubmit) X(CreateImageView) X(DestroyImageView) X(CreateSampler) X(DestroySampler) \
  X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout) X(CreatePipelineLayout) \
  X(DestroyPipelineLayout) X(CreateDescriptorPool) X(DestroyDescriptorPool) \
  X(AllocateDescriptorSets) X(UpdateDescriptorSets) X(CreateShaderModule) \
  X(DestroyShaderModule) X(CreateComputePipelines) X(DestroyPipeline) X(CmdBindPipeline) \
  X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdDispatch) X(CmdPipelineBarrier) \
  X(CmdResetQueryPool) X(CmdWriteTimestamp)
// clang-format on

struct SamplerVulkan::Functions {
#define DECLARE(name) PFN_vk##name name = nullptr;
  FUNCTIONS(DECLARE)
#undef DECLARE
};

namespace {

constexpr std::uint32_t kResultBinding = 8;

void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "bench_textures: error: %s by hand gives %d\n", what, result);
  std::exit(2);
}

}  // namespace

SamplerVulkan::SamplerVulkan(const Device& device) : vk_(new Functions) {
  const vulkan::AdoptedDevice handles = vulkan::handles(device);
  const PFN_vkGetInstanceProcAddr get = handles.get_instance_proc_addr;
  const VkInstance instance = handles.instance;
  device_ = handles.device;
  queue_ = handles.queue;
#define LOAD(name)                                                       \
  vk_->name = reinterpret_cast<PFN_vk##name>(get(instance, "vk" #name)); \
  if (!vk_->name) check(VK_ERROR_INITIALIZATION_FAILED, #name);
  FUNCTIONS(LOAD)
#undef LOAD
  VkPhysicalDeviceProperties properties{};
  reinterpret_cast<PFN_vkGetPhysicalDeviceProperties>(
      get(instance, "vkGetPhysicalDeviceProperties"))(handles.physical_device, &properties);
  tick_ns_ = properties.limits.timestampPeriod;
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = handles.queue_family;
  check(vk_->CreateCommandPool(device_, &pool, nullptr, &pool_), "a command pool");
  VkQueryPoolCreateInfo queries{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
  queries.queryCount = 2;
  check(vk_->CreateQueryPool(device_, &queries, nullptr, &queries_), "a query pool");
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(vk_->CreateFence(device_, &fence, nullptr, &fence_), "a fence");
}

SamplerVulkan::~SamplerVulkan() {
  clear();
  vk_->DestroyFence(device_, fence_, nullptr);
  vk_->DestroyQueryPool(device_, queries_, nullptr);
  vk_->DestroyCommandPool(device_, pool_, nullptr);
  delete vk_;
}

void SamplerVulkan::clear() {
  if (commands_) vk_->FreeCommandBuffers(device_, pool_, 1, &commands_);
  vk_->DestroyPipeline(device_, pipeline_, nullptr);
  vk_->DestroyShaderModule(device_, shader_, nullptr);
  vk_->DestroyDescriptorPool(device_, descriptors_, nullptr);
  vk_->DestroyPipelineLayout(device_, layout_, nullptr);
  vk_->DestroyDescriptorSetLayout(device_, set_layout_, nullptr);
  vk_->DestroySampler(device_, sampler_, nullptr);
  for (VkImageView each : views_) vk_->DestroyImageView(device_, each, nullptr);
  views_.clear();
  commands_ = VK_NULL_HANDLE;
}

VkImageView SamplerVulkan::view(const ImageUse& image, VkImageUsageFlags usage) {
  VkImageViewUsageCreateInfo use{VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO};
  use.usage = usage;
  VkImageViewCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  create.pNext = &use;
  create.image = image.image;
  create.viewType = image.view;
  create.format = image.format;
  create.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, image.levels, 0, image.layers};
  views_.push_back(VK_NULL_HANDLE);
  check(vk_->CreateImageView(device_, &create, nullptr, &views_.back()), "a view");
  return views_.back();
}

void SamplerVulkan::prepare(const std::vector<std::uint32_t>& spirv,
                            const std::vector<ImageUse>& textures, const SamplerForm& form,
                            const ImageUse& to, const Push& push, std::uint32_t groups) {
  clear();
  VkSamplerCreateInfo sampler{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  sampler.magFilter = sampler.minFilter = form.linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
  sampler.addressModeU = sampler.addressModeV = sampler.addressModeW =
      form.wrap ? VK_SAMPLER_ADDRESS_MODE_REPEAT : VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  sampler.unnormalizedCoordinates = !form.normalized;
  const bool levels = !textures.empty() && textures[0].levels > 1;
  if (levels) sampler.mipmapMode = VK_SAMPLER_MIPMAP_MODE_LINEAR;
  sampler.maxLod = levels ? static_cast<float>(textures[0].levels) : 0;
  check(vk_->CreateSampler(device_, &sampler, nullptr, &sampler_), "a sampler");
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  std::vector<VkDescriptorImageInfo> images;
  for (std::uint32_t i = 0; i < textures.size(); ++i) {
    bindings.push_back(
        {i, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    images.push_back(
        {sampler_, view(textures[i], VK_IMAGE_USAGE_SAMPLED_BIT), VK_IMAGE_LAYOUT_GENERAL});
  }
  bindings.push_back(
      {kResultBinding, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  images.push_back({VK_NULL_HANDLE, view(to, VK_IMAGE_USAGE_STORAGE_BIT), VK_IMAGE_LAYOUT_GENERAL});
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = static_cast<std::uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  check(vk_->CreateDescriptorSetLayout(device_, &set, nullptr, &set_layout_), "a set's layout");
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Push)};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  check(vk_->CreatePipelineLayout(device_, &layout, nullptr, &layout_), "a pipeline's layout");
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 8},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1}};
  VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = 1;
  pool.poolSizeCount = 2;
  pool.pPoolSizes = sizes;
  check(vk_->CreateDescriptorPool(device_, &pool, nullptr, &descriptors_), "a descriptor pool");
  VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = descriptors_;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &set_layout_;
  check(vk_->AllocateDescriptorSets(device_, &allocate, &set_), "a set");
  for (std::size_t i = 0; i < images.size(); ++i) {
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set_;
    write.dstBinding = bindings[i].binding;
    write.descriptorCount = 1;
    write.descriptorType = bindings[i].descriptorType;
    write.pImageInfo = &images[i];
    vk_->UpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  }
  VkShaderModuleCreateInfo shader{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader.codeSize = spirv.size() * 4;
  shader.pCode = spirv.data();
  check(vk_->CreateShaderModule(device_, &shader, nullptr, &shader_), "a shader");
  VkComputePipelineCreateInfo pipeline{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  pipeline.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline.stage.module = shader_;
  pipeline.stage.pName = "main";
  pipeline.layout = layout_;
  check(vk_->CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &pipeline, nullptr, &pipeline_),
        "a pipeline");
  record(push, groups);
}

void SamplerVulkan::record(const Push& push, std::uint32_t groups) {
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool_;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  check(vk_->AllocateCommandBuffers(device_, &allocate, &commands_), "a command buffer");
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vk_->BeginCommandBuffer(commands_, &begin), "a command buffer");
  VkMemoryBarrier all{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  all.srcAccessMask = all.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  const auto barrier = [&] {
    vk_->CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, nullptr, 0, nullptr);
  };
  barrier();
  vk_->CmdResetQueryPool(commands_, queries_, 0, 2);
  vk_->CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 0);
  vk_->CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  vk_->CmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0,
                             nullptr);
  vk_->CmdPushConstants(commands_, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
  vk_->CmdDispatch(commands_, groups, groups, 1);
  vk_->CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 1);
  barrier();
  check(vk_->EndCommandBuffer(commands_), "a command buffer");
}

double SamplerVulkan::run(bool device_times) {
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands_;
  check(vk_->ResetFences(device_, 1, &fence_), "a fence");
  const auto start = std::chrono::steady_clock::now();
  check(vk_->QueueSubmit(queue_, 1, &submit, fence_), "a submission");
  check(vk_->WaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX), "a fence");
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  if (!device_times) return wall.count();
  std::uint64_t ticks[2] = {};
  check(vk_->GetQueryPoolResults(device_, queries_, 0, 2, sizeof ticks, ticks, 8,
                                 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "a timestamp");
  return static_cast<double>(ticks[1] - ticks[0]) * tick_ns_ * 1e-6;
}

}  // namespace ptx2spv::bench
