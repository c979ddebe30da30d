#include "bench/raw_vulkan.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace ptx2spv::bench {
namespace {

void need(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "bench: %s failed with %d\n", what, int(result));
  std::exit(2);
}

}  // namespace

template <class F>
F RawVulkan::get(const char* name) {
  const auto function = reinterpret_cast<F>(get_proc_(instance_, name));
  if (!function) need(VK_ERROR_INITIALIZATION_FAILED, name);
  return function;
}
#define RAW(name) get<PFN_##name>(#name)

bool RawVulkan::open(const std::string& library, const std::string& name) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return false;
  for (const char* symbol : {"vkGetInstanceProcAddr", "vk_icdGetInstanceProcAddr"})
    if (!get_proc_) get_proc_ = reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(handle, symbol));
  if (!get_proc_) return false;
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo form{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  form.pApplicationInfo = &application;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get_proc_(nullptr, "vkCreateInstance"));
  if (!create || create(&form, nullptr, &instance_) != VK_SUCCESS) return false;
  std::uint32_t count = 0;
  RAW(vkEnumeratePhysicalDevices)(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  RAW(vkEnumeratePhysicalDevices)(instance_, &count, all.data());
  for (VkPhysicalDevice one : all) {
    VkPhysicalDeviceProperties properties;
    RAW(vkGetPhysicalDeviceProperties)(one, &properties);
    if (std::string(properties.deviceName) == name) physical_ = one;
  }
  if (!physical_) return false;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo device{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  device.queueCreateInfoCount = 1;
  device.pQueueCreateInfos = &queue;
  need(RAW(vkCreateDevice)(physical_, &device, nullptr, &device_), "vkCreateDevice");
  RAW(vkGetDeviceQueue)(device_, 0, 0, &queue_);
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  need(RAW(vkCreateCommandPool)(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  need(RAW(vkCreateFence)(device_, &fence, nullptr, &fence_), "vkCreateFence");
  return true;
}

RawVulkan::Buffer RawVulkan::buffer(std::uint64_t bytes) {
  Buffer out;
  out.bytes = bytes;
  VkBufferCreateInfo form{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  form.size = bytes;
  form.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  need(RAW(vkCreateBuffer)(device_, &form, nullptr, &out.buffer), "vkCreateBuffer");
  VkMemoryRequirements wanted;
  RAW(vkGetBufferMemoryRequirements)(device_, out.buffer, &wanted);
  VkPhysicalDeviceMemoryProperties memory;
  RAW(vkGetPhysicalDeviceMemoryProperties)(physical_, &memory);
  constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = wanted.size;
  // A discrete GPU's own memory where the host can reach it, else whatever the host can.
  for (const VkMemoryPropertyFlags flags : {kVisible | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, kVisible}) {
    for (std::uint32_t k = 0; k < memory.memoryTypeCount && !out.memory; ++k) {
      if (!(wanted.memoryTypeBits >> k & 1) || (memory.memoryTypes[k].propertyFlags & flags) != flags) continue;
      allocate.memoryTypeIndex = k;
      if (RAW(vkAllocateMemory)(device_, &allocate, nullptr, &out.memory) != VK_SUCCESS) out.memory = VK_NULL_HANDLE;
    }
  }
  if (!out.memory) need(VK_ERROR_OUT_OF_HOST_MEMORY, "vkAllocateMemory");
  need(RAW(vkBindBufferMemory)(device_, out.buffer, out.memory, 0), "vkBindBufferMemory");
  void* mapped = nullptr;
  need(RAW(vkMapMemory)(device_, out.memory, 0, bytes, 0, &mapped), "vkMapMemory");
  out.mapped = static_cast<std::byte*>(mapped);
  return out;
}

void RawVulkan::prepare(std::span<const std::uint32_t> words, const Buffer& from, const Buffer& to, const void* push,
                        std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  VkShaderModuleCreateInfo module_form{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_form.codeSize = words.size_bytes();
  module_form.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  need(RAW(vkCreateShaderModule)(device_, &module_form, nullptr, &module), "vkCreateShaderModule");
  VkDescriptorSetLayoutBinding bindings[2] = {};
  for (std::uint32_t k = 0; k < 2; ++k)
    bindings[k] = {k, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set_form{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set_form.bindingCount = 2;
  set_form.pBindings = bindings;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  need(RAW(vkCreateDescriptorSetLayout)(device_, &set_form, nullptr, &set_layout), "vkCreateDescriptorSetLayout");
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, 20};
  VkPipelineLayoutCreateInfo layout_form{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout_form.setLayoutCount = 1;
  layout_form.pSetLayouts = &set_layout;
  layout_form.pushConstantRangeCount = 1;
  layout_form.pPushConstantRanges = &range;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  need(RAW(vkCreatePipelineLayout)(device_, &layout_form, nullptr, &layout), "vkCreatePipelineLayout");
  VkComputePipelineCreateInfo pipeline_form{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  pipeline_form.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  pipeline_form.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline_form.stage.module = module;
  pipeline_form.stage.pName = "main";
  pipeline_form.layout = layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  need(RAW(vkCreateComputePipelines)(device_, VK_NULL_HANDLE, 1, &pipeline_form, nullptr, &pipeline), "vkCreateComputePipelines");
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
  VkDescriptorPoolCreateInfo pool_form{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool_form.maxSets = 1;
  pool_form.poolSizeCount = 1;
  pool_form.pPoolSizes = &size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  need(RAW(vkCreateDescriptorPool)(device_, &pool_form, nullptr, &pool), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &set_layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  need(RAW(vkAllocateDescriptorSets)(device_, &allocate, &set), "vkAllocateDescriptorSets");
  const VkDescriptorBufferInfo infos[2] = {{from.buffer, 0, VK_WHOLE_SIZE}, {to.buffer, 0, VK_WHOLE_SIZE}};
  VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.dstSet = set;
  write.descriptorCount = 2;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = infos;
  RAW(vkUpdateDescriptorSets)(device_, 1, &write, 0, nullptr);
  VkCommandBufferAllocateInfo command_form{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  command_form.commandPool = pool_;
  command_form.commandBufferCount = 1;
  need(RAW(vkAllocateCommandBuffers)(device_, &command_form, &commands_), "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  need(RAW(vkBeginCommandBuffer)(commands_, &begin), "vkBeginCommandBuffer");
  RAW(vkCmdBindPipeline)(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  RAW(vkCmdBindDescriptorSets)(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
  RAW(vkCmdPushConstants)(commands_, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 20, push);
  RAW(vkCmdDispatch)(commands_, x, y, z);
  need(RAW(vkEndCommandBuffer)(commands_), "vkEndCommandBuffer");
}

double RawVulkan::run() {
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands_;
  const auto queue_submit = RAW(vkQueueSubmit);
  const auto wait = RAW(vkWaitForFences);
  const auto start = std::chrono::steady_clock::now();
  need(queue_submit(queue_, 1, &submit, fence_), "vkQueueSubmit");
  need(wait(device_, 1, &fence_, VK_TRUE, ~std::uint64_t(0)), "vkWaitForFences");
  const auto end = std::chrono::steady_clock::now();
  need(RAW(vkResetFences)(device_, 1, &fence_), "vkResetFences");
  return std::chrono::duration<double, std::milli>(end - start).count();
}

}  // namespace ptx2spv::bench
