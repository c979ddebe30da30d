#include "bench/raw_vulkan.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace ptx2spv::bench {

// Every function of a device that is called more than once.
// clang-format off
#define RAW_DEVICE_FUNCTIONS(F) \
  F(CreateBuffer) F(DestroyBuffer) F(GetBufferMemoryRequirements) F(AllocateMemory) \
  F(FreeMemory) F(BindBufferMemory) F(MapMemory) F(CreateShaderModule) \
  F(DestroyShaderModule) F(CreateDescriptorSetLayout) F(DestroyDescriptorSetLayout) \
  F(CreatePipelineLayout) F(DestroyPipelineLayout) F(CreateComputePipelines) \
  F(DestroyPipeline) F(CreateDescriptorPool) F(DestroyDescriptorPool) \
  F(AllocateDescriptorSets) F(UpdateDescriptorSets) F(AllocateCommandBuffers) \
  F(FreeCommandBuffers) F(BeginCommandBuffer) F(EndCommandBuffer) F(CmdBindPipeline) \
  F(CmdBindDescriptorSets) F(CmdPushConstants) F(CmdDispatch) F(CmdPipelineBarrier) \
  F(CmdCopyBuffer) F(CmdFillBuffer) F(CmdResetQueryPool) F(CmdWriteTimestamp) \
  F(GetQueryPoolResults) F(QueueSubmit) F(WaitForFences) F(ResetFences) \
  F(CreateCommandPool) F(DestroyCommandPool) F(CreateFence) F(DestroyFence) \
  F(CreateQueryPool) F(DestroyQueryPool) F(GetDeviceQueue) F(DestroyDevice) \
  F(DeviceWaitIdle)
// clang-format on

struct RawVulkan::Table {
#define RAW_MEMBER(name) PFN_vk##name name = nullptr;
  RAW_DEVICE_FUNCTIONS(RAW_MEMBER)
#undef RAW_MEMBER
};

namespace {

constexpr std::uint64_t kStagingBytes = 64u << 20;
constexpr VkMemoryPropertyFlags kVisible =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;

void need(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "bench: %s failed with %d\n", what, int(result));
  std::exit(2);
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

template <class F>
F RawVulkan::get(const char* name) {
  const auto function = reinterpret_cast<F>(get_proc_(instance_, name));
  if (!function) need(VK_ERROR_INITIALIZATION_FAILED, name);
  return function;
}
#define RAW(name) get<PFN_vk##name>("vk" #name)

bool RawVulkan::open(PFN_vkGetInstanceProcAddr get_proc, const std::string& name) {
  get_proc_ = get_proc;
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo form{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  form.pApplicationInfo = &application;
  const auto create =
      reinterpret_cast<PFN_vkCreateInstance>(get_proc_(nullptr, "vkCreateInstance"));
  if (!create || create(&form, nullptr, &instance_) != VK_SUCCESS) return false;
  std::uint32_t count = 0;
  RAW(EnumeratePhysicalDevices)(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  RAW(EnumeratePhysicalDevices)(instance_, &count, all.data());
  VkPhysicalDeviceProperties properties;
  for (VkPhysicalDevice one : all) {
    RAW(GetPhysicalDeviceProperties)(one, &properties);
    if (std::string(properties.deviceName) != name) continue;
    physical_ = one;
    break;
  }
  if (!physical_) return false;
  host_memory_ = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;

  VkPhysicalDeviceVulkan12Features has12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES},
      want12 = has12;
  VkPhysicalDeviceFeatures2 has{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &has12}, want = has;
  RAW(GetPhysicalDeviceFeatures2)(physical_, &has);
  int64_atomics_ = has.features.shaderInt64 && has12.shaderBufferInt64Atomics;
  want.pNext = &want12;
  want.features.shaderInt64 = want12.shaderBufferInt64Atomics = int64_atomics_;
  std::uint32_t families = 0, family = 0;
  RAW(GetPhysicalDeviceQueueFamilyProperties)(physical_, &families, nullptr);
  std::vector<VkQueueFamilyProperties> family_properties(families);
  RAW(GetPhysicalDeviceQueueFamilyProperties)(physical_, &families, family_properties.data());
  while (family < families && !(family_properties[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    ++family;
  if (family == families) return false;

  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo device{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &want};
  device.queueCreateInfoCount = 1;
  device.pQueueCreateInfos = &queue;
  need(RAW(CreateDevice)(physical_, &device, nullptr, &device_), "vkCreateDevice");
  vk_ = new Table;
  const auto of_device = RAW(GetDeviceProcAddr);
#define RAW_LOAD(name)                                                        \
  vk_->name = reinterpret_cast<PFN_vk##name>(of_device(device_, "vk" #name)); \
  if (!vk_->name) need(VK_ERROR_INITIALIZATION_FAILED, "vk" #name);
  RAW_DEVICE_FUNCTIONS(RAW_LOAD)
#undef RAW_LOAD
  vk_->GetDeviceQueue(device_, family, 0, &queue_);
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family;
  need(vk_->CreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  need(vk_->CreateFence(device_, &fence, nullptr, &fence_), "vkCreateFence");
  if (family_properties[family].timestampValidBits) {
    tick_ns_ = properties.limits.timestampPeriod;
    VkQueryPoolCreateInfo query{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    query.queryType = VK_QUERY_TYPE_TIMESTAMP;
    query.queryCount = 2;
    need(vk_->CreateQueryPool(device_, &query, nullptr, &queries_), "vkCreateQueryPool");
  }
  transfer_ = allocate_commands();
  if (!host_memory_) {
    staging_.bytes = kStagingBytes;
    if (!allocate(staging_, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                  kVisible | VK_MEMORY_PROPERTY_HOST_CACHED_BIT))
      need(VK_ERROR_OUT_OF_HOST_MEMORY, "staging");
  }
  return true;
}

RawVulkan::~RawVulkan() {
  if (vk_) {
    vk_->DeviceWaitIdle(device_);
    destroy(staging_);
    vk_->DestroyQueryPool(device_, queries_, nullptr);
    vk_->DestroyFence(device_, fence_, nullptr);
    vk_->DestroyCommandPool(device_, pool_, nullptr);
    vk_->DestroyDevice(device_, nullptr);
    delete vk_;
  }
  if (instance_) RAW(DestroyInstance)(instance_, nullptr);
}

bool RawVulkan::allocate(Buffer& out, VkBufferUsageFlags usage, VkMemoryPropertyFlags flags) {
  VkBufferCreateInfo form{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  form.size = out.bytes;
  form.usage = usage;
  need(vk_->CreateBuffer(device_, &form, nullptr, &out.buffer), "vkCreateBuffer");
  VkMemoryRequirements wanted;
  vk_->GetBufferMemoryRequirements(device_, out.buffer, &wanted);
  VkPhysicalDeviceMemoryProperties memory;
  RAW(GetPhysicalDeviceMemoryProperties)(physical_, &memory);
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = wanted.size;
  for (std::uint32_t k = 0; k < memory.memoryTypeCount && !out.memory; ++k) {
    if (!(wanted.memoryTypeBits >> k & 1) || (memory.memoryTypes[k].propertyFlags & flags) != flags)
      continue;
    allocate.memoryTypeIndex = k;
    if (vk_->AllocateMemory(device_, &allocate, nullptr, &out.memory) != VK_SUCCESS)
      out.memory = VK_NULL_HANDLE;
  }
  if (!out.memory) return false;
  need(vk_->BindBufferMemory(device_, out.buffer, out.memory, 0), "vkBindBufferMemory");
  if (!(flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)) return true;
  void* mapped = nullptr;
  need(vk_->MapMemory(device_, out.memory, 0, out.bytes, 0, &mapped), "vkMapMemory");
  out.mapped = static_cast<std::byte*>(mapped);
  return true;
}

RawVulkan::Buffer RawVulkan::buffer(std::uint64_t bytes) {
  Buffer out;
  out.bytes = (bytes + 3) / 4 * 4;
  if (!allocate(out,
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                    VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                host_memory_ ? kVisible : kLocal))
    need(VK_ERROR_OUT_OF_DEVICE_MEMORY, "vkAllocateMemory");
  return out;
}

void RawVulkan::destroy(Buffer& buffer) {
  vk_->DestroyBuffer(device_, buffer.buffer, nullptr);
  vk_->FreeMemory(device_, buffer.memory, nullptr);
  buffer = {};
}

void RawVulkan::submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo form{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  form.commandBufferCount = 1;
  form.pCommandBuffers = &commands;
  need(vk_->QueueSubmit(queue_, 1, &form, fence), "vkQueueSubmit");
}

void RawVulkan::wait() {
  need(vk_->WaitForFences(device_, 1, &fence_, VK_TRUE, ~std::uint64_t(0)), "vkWaitForFences");
  need(vk_->ResetFences(device_, 1, &fence_), "vkResetFences");
}

void RawVulkan::copy(VkBuffer from, std::uint64_t from_offset, VkBuffer to, std::uint64_t to_offset,
                     std::uint64_t bytes) {
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  need(vk_->BeginCommandBuffer(transfer_, &begin), "vkBeginCommandBuffer");
  const VkBufferCopy region{from_offset, to_offset, bytes};
  vk_->CmdCopyBuffer(transfer_, from, to, 1, &region);
  need(vk_->EndCommandBuffer(transfer_), "vkEndCommandBuffer");
  submit(transfer_, fence_);
  wait();
}

void RawVulkan::upload(const Buffer& buffer, std::span<const std::byte> bytes) {
  if (buffer.mapped) {
    std::memcpy(buffer.mapped, bytes.data(), bytes.size());
    return;
  }
  for (std::uint64_t at = 0; at < bytes.size(); at += kStagingBytes) {
    const std::uint64_t count = std::min(kStagingBytes, bytes.size() - at);
    std::memcpy(staging_.mapped, bytes.data() + at, count);
    copy(staging_.buffer, 0, buffer.buffer, at, count);
  }
}

void RawVulkan::download(const Buffer& buffer, std::span<std::byte> bytes) {
  if (buffer.mapped) {
    std::memcpy(bytes.data(), buffer.mapped, bytes.size());
    return;
  }
  for (std::uint64_t at = 0; at < bytes.size(); at += kStagingBytes) {
    const std::uint64_t count = std::min(kStagingBytes, bytes.size() - at);
    copy(buffer.buffer, at, staging_.buffer, 0, count);
    std::memcpy(bytes.data() + at, staging_.mapped, count);
  }
}

void RawVulkan::fill(const Buffer& buffer, std::uint32_t word) {
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  need(vk_->BeginCommandBuffer(transfer_, &begin), "vkBeginCommandBuffer");
  vk_->CmdFillBuffer(transfer_, buffer.buffer, 0, VK_WHOLE_SIZE, word);
  need(vk_->EndCommandBuffer(transfer_), "vkEndCommandBuffer");
  submit(transfer_, fence_);
  wait();
}

VkCommandBuffer RawVulkan::allocate_commands() {
  VkCommandBufferAllocateInfo form{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  form.commandPool = pool_;
  form.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  need(vk_->AllocateCommandBuffers(device_, &form, &commands), "vkAllocateCommandBuffers");
  return commands;
}

RawVulkan::Work RawVulkan::prepare(std::span<const Words> passes, const Buffer& from,
                                   const Buffer& to, const void* push,
                                   const std::uint32_t (&groups)[3], int repeat) {
  Work work;
  std::copy(std::begin(groups), std::end(groups), work.groups);
  std::memcpy(work.push, push, sizeof work.push);
  VkDescriptorSetLayoutBinding bindings[2] = {};
  for (std::uint32_t k = 0; k < 2; ++k)
    bindings[k] = {k, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set_form{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set_form.bindingCount = 2;
  set_form.pBindings = bindings;
  need(vk_->CreateDescriptorSetLayout(device_, &set_form, nullptr, &work.set_layout),
       "vkCreateDescriptorSetLayout");
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof work.push};
  VkPipelineLayoutCreateInfo layout_form{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout_form.setLayoutCount = 1;
  layout_form.pSetLayouts = &work.set_layout;
  layout_form.pushConstantRangeCount = 1;
  layout_form.pPushConstantRanges = &range;
  need(vk_->CreatePipelineLayout(device_, &layout_form, nullptr, &work.layout),
       "vkCreatePipelineLayout");
  for (const Words& words : passes) {
    VkShaderModuleCreateInfo module_form{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    module_form.codeSize = words.size() * 4;
    module_form.pCode = words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    need(vk_->CreateShaderModule(device_, &module_form, nullptr, &module), "vkCreateShaderModule");
    VkComputePipelineCreateInfo form{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    form.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    form.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    form.stage.module = module;
    form.stage.pName = "main";
    form.layout = work.layout;
    VkPipeline& pipeline = work.passes.emplace_back();
    need(vk_->CreateComputePipelines(device_, VK_NULL_HANDLE, 1, &form, nullptr, &pipeline),
         "vkCreateComputePipelines");
    vk_->DestroyShaderModule(device_, module, nullptr);
  }
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
  VkDescriptorPoolCreateInfo pool_form{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool_form.maxSets = 1;
  pool_form.poolSizeCount = 1;
  pool_form.pPoolSizes = &size;
  need(vk_->CreateDescriptorPool(device_, &pool_form, nullptr, &work.descriptors),
       "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocate_form{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate_form.descriptorPool = work.descriptors;
  allocate_form.descriptorSetCount = 1;
  allocate_form.pSetLayouts = &work.set_layout;
  need(vk_->AllocateDescriptorSets(device_, &allocate_form, &work.set), "vkAllocateDescriptorSets");
  const VkDescriptorBufferInfo infos[2] = {{from.buffer, 0, VK_WHOLE_SIZE},
                                           {to.buffer, 0, VK_WHOLE_SIZE}};
  VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.dstSet = work.set;
  write.descriptorCount = 2;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = infos;
  vk_->UpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  work.commands = allocate_commands();
  record(work.commands, work, repeat, queries_ != VK_NULL_HANDLE);
  return work;
}

void RawVulkan::destroy(Work& work) {
  vk_->FreeCommandBuffers(device_, pool_, 1, &work.commands);
  vk_->DestroyDescriptorPool(device_, work.descriptors, nullptr);
  for (VkPipeline pipeline : work.passes) vk_->DestroyPipeline(device_, pipeline, nullptr);
  vk_->DestroyPipelineLayout(device_, work.layout, nullptr);
  vk_->DestroyDescriptorSetLayout(device_, work.set_layout, nullptr);
  work = {};
}

void RawVulkan::record(VkCommandBuffer commands, const Work& work, int repeat, bool timestamps) {
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  need(vk_->BeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  vk_->CmdPipelineBarrier(commands, kCompute | VK_PIPELINE_STAGE_TRANSFER_BIT, kCompute, 0, 1,
                          &barrier, 0, nullptr, 0, nullptr);
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  if (timestamps) {
    vk_->CmdResetQueryPool(commands, queries_, 0, 2);
    vk_->CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 0);
  }
  vk_->CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, work.layout, 0, 1, &work.set,
                             0, nullptr);
  vk_->CmdPushConstants(commands, work.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof work.push,
                        work.push);
  bool first = true;
  for (int round = 0; round < repeat; ++round)
    for (VkPipeline pipeline : work.passes) {
      if (!first)
        vk_->CmdPipelineBarrier(commands, kCompute, kCompute, 0, 1, &barrier, 0, nullptr, 0,
                                nullptr);
      if (first || work.passes.size() > 1)
        vk_->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vk_->CmdDispatch(commands, work.groups[0], work.groups[1], work.groups[2]);
      first = false;
    }
  if (timestamps)
    vk_->CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 1);
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk_->CmdPipelineBarrier(commands, kCompute, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                          nullptr, 0, nullptr);
  need(vk_->EndCommandBuffer(commands), "vkEndCommandBuffer");
}

double RawVulkan::run(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  submit(work.commands, fence_);
  wait();
  return milliseconds_since(start);
}

double RawVulkan::device_ms() {
  std::uint64_t ticks[2] = {};
  if (!queries_ || vk_->GetQueryPoolResults(device_, queries_, 0, 2, sizeof ticks, ticks, 8,
                                            VK_QUERY_RESULT_64_BIT))
    return -1;
  return double(ticks[1] - ticks[0]) * tick_ns_ * 1e-6;
}

double RawVulkan::record_and_run(Work& work) {
  const auto start = std::chrono::steady_clock::now();
  record(work.commands, work, 1, false);
  submit(work.commands, fence_);
  wait();
  return milliseconds_since(start);
}

double RawVulkan::record_and_run_many(Work& work, int count) {
  while (many_.size() < std::size_t(count)) many_.push_back(allocate_commands());
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < count; ++k) {
    record(many_[std::size_t(k)], work, 1, false);
    submit(many_[std::size_t(k)], k + 1 == count ? fence_ : VK_NULL_HANDLE);
  }
  wait();
  return milliseconds_since(start);
}

PFN_vkGetInstanceProcAddr loader_of(const DeviceOptions& options) {
  auto device = Device::open(options);
  return device ? vulkan::handles(*device).get_instance_proc_addr : nullptr;
}

RawVulkan::Words read_shader(const std::string& folder, const std::string& name,
                             std::string& error) {
  const std::string path = folder + "/" + name + ".spv";
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  if (bytes.empty()) error = path + " cannot be read";
  std::vector<std::uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

}  // namespace ptx2spv::bench
