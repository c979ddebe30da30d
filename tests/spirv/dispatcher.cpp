#include "tests/spirv/dispatcher.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "ptx2spv/abi.hpp"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace ptx2spv::test {

namespace {

// clang-format off
#define INSTANCE_FUNCTIONS(F)                                                                     \
  F(EnumeratePhysicalDevices) F(GetPhysicalDeviceProperties) F(GetPhysicalDeviceFeatures2)        \
  F(GetPhysicalDeviceMemoryProperties) F(CreateDevice) F(GetDeviceProcAddr)                     \
  F(EnumerateDeviceExtensionProperties)
#define DEVICE_FUNCTIONS(F)                                                                       \
  F(GetDeviceQueue) F(CreateBuffer) F(DestroyBuffer) F(GetBufferMemoryRequirements)               \
  F(AllocateMemory) F(FreeMemory) F(BindBufferMemory) F(MapMemory) F(GetBufferDeviceAddress)      \
  F(CreateShaderModule) F(DestroyShaderModule) F(CreateDescriptorSetLayout)                       \
  F(DestroyDescriptorSetLayout) F(CreatePipelineLayout) F(DestroyPipelineLayout)                  \
  F(CreateComputePipelines) F(DestroyPipeline) F(CreateDescriptorPool) F(DestroyDescriptorPool)   \
  F(AllocateDescriptorSets) F(UpdateDescriptorSets) F(CreateCommandPool)                          \
  F(AllocateCommandBuffers) F(BeginCommandBuffer) F(EndCommandBuffer) F(CmdBindPipeline)          \
  F(CmdBindDescriptorSets) F(CmdPushConstants) F(CmdDispatch) F(QueueSubmit) F(QueueWaitIdle)     \
  F(ResetCommandPool)
// clang-format on

constexpr std::uint32_t kSets = 2;

}  // namespace

struct Dispatcher::State {
  VkPhysicalDevice physical{};
  VkDevice device{};
  VkQueue queue{};
  VkCommandPool pool{};
  VkCommandBuffer commands{};
  std::uint32_t memory_type = 0;
#define F(name) PFN_vk##name name = nullptr;
  INSTANCE_FUNCTIONS(F)
  DEVICE_FUNCTIONS(F)
#undef F

  struct Buffer {
    VkBuffer handle{};
    VkDeviceMemory memory{};
    void* mapped = nullptr;
    VkDeviceAddress address = 0;
  };

  std::string open(const char* library);
  Buffer make(const std::vector<std::uint8_t>& contents);
  void drop(const Buffer& buffer) {
    DestroyBuffer(device, buffer.handle, nullptr);
    FreeMemory(device, buffer.memory, nullptr);
  }
};

std::string Dispatcher::State::open(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return std::string("cannot open ") + library;
  using Negotiate = VkResult (*)(std::uint32_t*);
  if (auto negotiate =
          reinterpret_cast<Negotiate>(dlsym(handle, "vk_icdNegotiateLoaderICDInterfaceVersion"))) {
    std::uint32_t version = 5;
    negotiate(&version);
  }
  auto get =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(handle, "vk_icdGetInstanceProcAddr"));
  const bool through_loader = !get;
  if (!get)
    get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(handle, "vkGetInstanceProcAddr"));
  if (!get) return std::string(library) + " is no Vulkan driver";
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo instance_info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  instance_info.pApplicationInfo = &application;
  VkInstance instance{};
  if (create(&instance_info, nullptr, &instance) != VK_SUCCESS) return "no instance";
#define F(name) name = reinterpret_cast<PFN_vk##name>(get(instance, "vk" #name));
  INSTANCE_FUNCTIONS(F)
#undef F
  VkPhysicalDevice devices[16];
  std::uint32_t count = 16;
  if (EnumeratePhysicalDevices(instance, &count, devices) < 0) count = 0;
  constexpr std::uint32_t kNvidia = 0x10de;
  for (std::uint32_t i = 0; i < count && !physical; ++i) {
    VkPhysicalDeviceProperties properties;
    GetPhysicalDeviceProperties(devices[i], &properties);
    if (!through_loader || properties.vendorID == kNvidia) physical = devices[i];
  }
  if (!physical) return through_loader ? "no device of NVIDIA's" : "no physical device";

  constexpr const char* kLayout = VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME;
  VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR layout{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR};
  std::vector<VkExtensionProperties> extensions(1000);
  count = static_cast<std::uint32_t>(extensions.size());
  EnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data());
  extensions.resize(count);
  const bool layouts = std::ranges::any_of(extensions, [&](const VkExtensionProperties& each) {
    return std::string_view(each.extensionName) == kLayout;
  });
  VkPhysicalDeviceVulkan12Features features12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                              layouts ? &layout : nullptr};
  VkPhysicalDeviceVulkan11Features features11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                              &features12};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features11};
  GetPhysicalDeviceFeatures2(physical, &features);
  features.features.robustBufferAccess = VK_FALSE;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue_info{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkDeviceCreateInfo device_info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features};
  device_info.enabledExtensionCount = layouts ? 1 : 0;
  device_info.ppEnabledExtensionNames = &kLayout;
  device_info.queueCreateInfoCount = 1;
  device_info.pQueueCreateInfos = &queue_info;
  if (CreateDevice(physical, &device_info, nullptr, &device) != VK_SUCCESS) return "no device";
#define F(name) name = reinterpret_cast<PFN_vk##name>(GetDeviceProcAddr(device, "vk" #name));
  DEVICE_FUNCTIONS(F)
#undef F
  GetDeviceQueue(device, 0, 0, &queue);
  VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  CreateCommandPool(device, &pool_info, nullptr, &pool);
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool;
  allocate.commandBufferCount = 1;
  AllocateCommandBuffers(device, &allocate, &commands);

  VkPhysicalDeviceMemoryProperties memory;
  GetPhysicalDeviceMemoryProperties(physical, &memory);
  constexpr auto kWanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  while (memory_type < memory.memoryTypeCount &&
         (memory.memoryTypes[memory_type].propertyFlags & kWanted) != kWanted)
    ++memory_type;
  return {};
}

Dispatcher::State::Buffer Dispatcher::State::make(const std::vector<std::uint8_t>& contents) {
  Buffer buffer;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = std::max<std::size_t>(contents.size(), 16);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  CreateBuffer(device, &info, nullptr, &buffer.handle);
  VkMemoryRequirements needs;
  GetBufferMemoryRequirements(device, buffer.handle, &needs);
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags};
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = memory_type;
  AllocateMemory(device, &allocate, nullptr, &buffer.memory);
  BindBufferMemory(device, buffer.handle, buffer.memory, 0);
  MapMemory(device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &buffer.mapped);
  std::memcpy(buffer.mapped, contents.data(), contents.size());
  VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  address.buffer = buffer.handle;
  buffer.address = GetBufferDeviceAddress(device, &address);
  return buffer;
}

Dispatcher::Dispatcher() : state_(std::make_unique<State>()) {}
Dispatcher::~Dispatcher() = default;

Dispatcher* Dispatcher::get(const std::string& device, std::string& why) {
  static std::map<std::string, std::pair<std::unique_ptr<Dispatcher>, std::string>> known;
  if (const auto it = known.find(device); it != known.end()) {
    why = it->second.second;
    return it->second.first.get();
  }
  std::string library = "libvulkan_lvp.so";
  if (device == "swiftshader") {
    const char* place = std::getenv("PTX2SPV_SWIFTSHADER");
    library = place ? place : "/usr/lib/chromium";
    if (library.find(".so") == std::string::npos) library += "/libvk_swiftshader.so";
  }
  if (device == "nvidia") library = "libvulkan.so.1";  // its driver wants the loader
  auto made = std::unique_ptr<Dispatcher>(new Dispatcher);
  why = made->state_->open(library.c_str());
  if (!why.empty()) made.reset();
  auto& entry = known[device] = {std::move(made), why};
  return entry.first.get();
}

namespace {

using Functions = Dispatcher::State;
using Buffers = std::map<std::pair<std::uint32_t, std::uint32_t>, Functions::Buffer>;

/// A pipeline of one module, and what it is made of.
struct Pipeline {
  VkShaderModule module{};
  VkDescriptorSetLayout sets[kSets]{};
  VkPipelineLayout layout{};
  VkPipeline handle{};  ///< null where the driver refused it
};

Pipeline make_pipeline(Functions& s, std::span<const std::uint32_t> words,
                       const Dispatch& dispatch) {
  Pipeline made;
  VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = words.size() * 4;
  module_info.pCode = words.data();
  s.CreateShaderModule(s.device, &module_info, nullptr, &made.module);
  std::vector<VkDescriptorSetLayoutBinding> bindings[kSets];
  for (const auto& [key, contents] : dispatch.buffers)
    bindings[key.first].push_back(
        {key.second, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  for (std::uint32_t set = 0; set < kSets; ++set) {
    VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    info.bindingCount = static_cast<std::uint32_t>(bindings[set].size());
    info.pBindings = bindings[set].data();
    s.CreateDescriptorSetLayout(s.device, &info, nullptr, &made.sets[set]);
  }
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, abi::kPushWords * 4};
  VkPipelineLayoutCreateInfo layout_info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout_info.setLayoutCount = kSets;
  layout_info.pSetLayouts = made.sets;
  layout_info.pushConstantRangeCount = 1;
  layout_info.pPushConstantRanges = &range;
  s.CreatePipelineLayout(s.device, &layout_info, nullptr, &made.layout);
  const std::uint32_t spec[] = {dispatch.local[0], dispatch.local[1], dispatch.local[2],
                                dispatch.dynamic_shared_words};
  const VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}, {2, 8, 4}, {3, 12, 4}};
  const VkSpecializationInfo specialization{4, entries, sizeof spec, spec};
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = made.module;
  info.stage.pName = dispatch.entry.c_str();
  info.stage.pSpecializationInfo = &specialization;
  info.layout = made.layout;
  if (s.CreateComputePipelines(s.device, VK_NULL_HANDLE, 1, &info, nullptr, &made.handle) !=
      VK_SUCCESS)
    made.handle = VK_NULL_HANDLE;
  return made;
}

void drop_pipeline(Functions& s, const Pipeline& pipeline) {
  s.DestroyPipeline(s.device, pipeline.handle, nullptr);
  s.DestroyPipelineLayout(s.device, pipeline.layout, nullptr);
  for (const VkDescriptorSetLayout set : pipeline.sets)
    s.DestroyDescriptorSetLayout(s.device, set, nullptr);
  s.DestroyShaderModule(s.device, pipeline.module, nullptr);
}

/// Descriptor sets that hold the buffers, out of a new pool.
VkDescriptorPool make_sets(Functions& s, const Pipeline& pipeline, const Buffers& buffers,
                           VkDescriptorSet* sets) {
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  static_cast<std::uint32_t>(buffers.size() + 1)};
  VkDescriptorPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool_info.maxSets = kSets;
  pool_info.poolSizeCount = 1;
  pool_info.pPoolSizes = &size;
  VkDescriptorPool pool{};
  s.CreateDescriptorPool(s.device, &pool_info, nullptr, &pool);
  VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool;
  allocate.descriptorSetCount = kSets;
  allocate.pSetLayouts = pipeline.sets;
  s.AllocateDescriptorSets(s.device, &allocate, sets);
  for (const auto& [key, buffer] : buffers) {
    const VkDescriptorBufferInfo whole{buffer.handle, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = sets[key.first];
    write.dstBinding = key.second;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &whole;
    s.UpdateDescriptorSets(s.device, 1, &write, 0, nullptr);
  }
  return pool;
}

/// Records the dispatch, submits it and waits. A message where that failed.
std::string submit(Functions& s, const Pipeline& pipeline, const VkDescriptorSet* sets,
                   const Dispatch& dispatch) {
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  s.BeginCommandBuffer(s.commands, &begin);
  s.CmdBindPipeline(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  s.CmdBindDescriptorSets(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, kSets,
                          sets, 0, nullptr);
  std::vector<std::uint32_t> push = dispatch.push;
  push.resize(abi::kPushWords);
  s.CmdPushConstants(s.commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                     abi::kPushWords * 4, push.data());
  s.CmdDispatch(s.commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  s.EndCommandBuffer(s.commands);
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &s.commands;
  const bool good = s.QueueSubmit(s.queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS &&
                    s.QueueWaitIdle(s.queue) == VK_SUCCESS;
  s.ResetCommandPool(s.device, s.pool, 0);
  return good ? "" : "the dispatch failed";
}

}  // namespace

std::string Dispatcher::run(std::span<const std::uint32_t> words, Dispatch& dispatch) {
  State& s = *state_;
  State::Buffer global;
  if (!dispatch.global.empty()) {
    global = s.make(dispatch.global);
    std::memcpy(dispatch.buffers[dispatch.global_pointer_in].data() + dispatch.global_pointer_at,
                &global.address, 8);
  }
  Buffers buffers;
  for (const auto& [key, contents] : dispatch.buffers) buffers[key] = s.make(contents);
  const Pipeline pipeline = make_pipeline(s, words, dispatch);
  VkDescriptorSet sets[kSets];
  const VkDescriptorPool pool = make_sets(s, pipeline, buffers, sets);
  const std::string error = pipeline.handle ? submit(s, pipeline, sets, dispatch) : "no pipeline";
  for (auto& [key, contents] : dispatch.buffers) {
    std::memcpy(contents.data(), buffers[key].mapped, contents.size());
    s.drop(buffers[key]);
  }
  if (!dispatch.global.empty()) {
    std::memcpy(dispatch.global.data(), global.mapped, dispatch.global.size());
    s.drop(global);
  }
  s.DestroyDescriptorPool(s.device, pool, nullptr);
  drop_pipeline(s, pipeline);
  return error;
}

}  // namespace ptx2spv::test
