#include "tests/null_hardware/null_hardware.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>

#include "src/device/features.hpp"

namespace ptx2spv::test {

using namespace runtime;

namespace {

/// What a module binds: descriptor type by set and binding.
using Layout = std::map<std::pair<std::uint32_t, std::uint32_t>, VkDescriptorType>;

/// Set 2 has the textures that the device's samplers read (docs/reference/abi.md).
constexpr std::uint32_t kSets = 3, kSamplers = 2;

Layout layout_of(const std::vector<std::uint32_t>& spirv) {
  enum : std::uint32_t { kPointer = 32, kVariable = 59, kDecorate = 71 };
  enum : std::uint32_t { kBinding = 33, kSet = 34 };
  std::map<std::uint32_t, std::uint32_t> sets, bindings;
  Layout layout;
  for (std::size_t at = 5; at < spirv.size(); at += std::max(spirv[at] >> 16, 1u)) {
    const std::uint32_t* word = &spirv[at];
    const std::uint32_t op = word[0] & 0xffff;
    if (op == kDecorate && word[2] == kBinding) bindings[word[1]] = word[3];
    if (op == kDecorate && word[2] == kSet) sets[word[1]] = word[3];
    if (op != kVariable || !bindings.contains(word[2])) continue;
    constexpr std::uint32_t kUniformConstant = 0, kUniform = 2;
    const std::uint32_t set = sets[word[2]];
    layout[{set, bindings[word[2]]}] =
        word[3] == kUniformConstant && set == kSamplers ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
        : word[3] == kUniformConstant                   ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
        : word[3] == kUniform                           ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                        : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  }
  return layout;
}

/// Of this thread alone, which the driver compiles in: a busy machine does not count.
double processor_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

std::uint64_t number(const VkPipelineExecutableStatisticKHR& statistic) {
  return statistic.format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR
             ? statistic.value.u64
             : static_cast<std::uint64_t>(std::max<std::int64_t>(statistic.value.i64, 0));
}

}  // namespace

std::unique_ptr<NullHardware> NullHardware::open(const std::string& family, std::string& problem) {
  const char* manifest = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
  problem = std::string("there is no ") + manifest;
  if (!std::filesystem::exists(manifest)) return nullptr;
  ::setenv("VK_DRIVER_FILES", manifest, 1);
  ::setenv("VK_ICD_FILENAMES", manifest, 1);
  ::setenv("RADV_FORCE_FAMILY", family.c_str(), 1);
  ::setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  auto instance = open_loader(false);
  if (!instance) {
    problem = instance.error().text;
    return nullptr;
  }
  std::unique_ptr<NullHardware> made(new NullHardware);
  made->instance_ = *instance;
  const InstanceFunctions& vk = made->instance_->vk;
  std::uint32_t count = 1;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  vk.EnumeratePhysicalDevices(made->instance_->handle, &count, &physical);
  problem = "the driver has no null device of " + family;
  if (count == 0 || !physical) return nullptr;
  // It lacks what running takes; compiling does without.
  (void)inspect_device(*made->instance_, physical, made->traits_, made->info_);
  FeatureChain chain;
  auto extensions = device_extensions(*made->instance_, physical);
  chain.link(extensions, made->info_.api_version);
  vk.GetPhysicalDeviceFeatures2(physical, &chain.features);
  chain.names.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
  executables.pipelineExecutableInfo = VK_TRUE;
  executables.pNext = &chain.features;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = made->traits_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo create{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  create.pNext = &executables;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.enabledExtensionCount = static_cast<std::uint32_t>(chain.names.size());
  create.ppEnabledExtensionNames = chain.names.data();
  made->device_.instance = made->instance_;
  made->device_.physical = physical;
  if (const VkResult result = vk.CreateDevice(physical, &create, nullptr, &made->device_.handle);
      result != VK_SUCCESS) {
    made->device_.handle = VK_NULL_HANDLE;
    problem = "the null device cannot be opened: " + to_text(result);
    return nullptr;
  }
  const auto get = vk.GetDeviceProcAddr;
  if (const char* missing = made->device_.vk.load(get, made->device_.handle)) {
    problem = std::string("the null device has no ") + missing;
    return nullptr;
  }
  made->executables_ = reinterpret_cast<PFN_vkGetPipelineExecutablePropertiesKHR>(
      get(made->device_.handle, "vkGetPipelineExecutablePropertiesKHR"));
  made->statistics_ = reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
      get(made->device_.handle, "vkGetPipelineExecutableStatisticsKHR"));
  problem.clear();
  return made;
}

NullHardware::~NullHardware() = default;

std::optional<PipelineStatistics> NullHardware::compile(const std::vector<std::uint32_t>& spirv,
                                                        const std::string& entry,
                                                        const std::uint32_t (&block)[3]) {
  const DeviceFunctions& vk = device_.vk;
  VkDevice device = device_.handle;
  std::vector<VkDescriptorSetLayoutBinding> bindings[kSets];
  for (const auto& [place, type] : layout_of(spirv))
    if (place.first < kSets)
      bindings[place.first].push_back(
          {place.second, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  VkDescriptorSetLayout sets[kSets] = {};
  for (unsigned i = 0; i < kSets; ++i) {
    VkDescriptorSetLayoutCreateInfo create{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    create.bindingCount = static_cast<std::uint32_t>(bindings[i].size());
    create.pBindings = bindings[i].data();
    if (vk.CreateDescriptorSetLayout(device, &create, nullptr, &sets[i]) != VK_SUCCESS)
      return std::nullopt;
  }
  VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, 256};
  VkPipelineLayoutCreateInfo layout_create{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout_create.setLayoutCount = kSets;
  layout_create.pSetLayouts = sets;
  layout_create.pushConstantRangeCount = 1;
  layout_create.pPushConstantRanges = &push;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkShaderModuleCreateInfo shader_create{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader_create.codeSize = spirv.size() * 4;
  shader_create.pCode = spirv.data();
  VkShaderModule shader = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkSpecializationMapEntry entries[] = {{abi::size_x, 0, 4},
                                              {abi::size_y, 4, 4},
                                              {abi::size_z, 8, 4},
                                              {abi::dynamic_shared_words, 12, 4}};
  const std::uint32_t values[] = {block[0], block[1], block[2], 1024};
  VkSpecializationInfo specialization{4, entries, sizeof values, values};
  VkComputePipelineCreateInfo create{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  std::optional<PipelineStatistics> result;
  if (vk.CreatePipelineLayout(device, &layout_create, nullptr, &layout) == VK_SUCCESS &&
      vk.CreateShaderModule(device, &shader_create, nullptr, &shader) == VK_SUCCESS) {
    create.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    create.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    create.stage.module = shader;
    create.stage.pName = entry.c_str();
    create.stage.pSpecializationInfo = &specialization;
    create.layout = layout;
    const double start = processor_ms();
    const VkResult made =
        vk.CreateComputePipelines(device, VK_NULL_HANDLE, 1, &create, nullptr, &pipeline);
    const double took = processor_ms() - start;
    if (made == VK_SUCCESS) {
      result.emplace();
      result->milliseconds = took;
      VkPipelineExecutableInfoKHR info{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR};
      info.pipeline = pipeline;
      std::uint32_t count = 0;
      statistics_(device, &info, &count, nullptr);
      std::vector<VkPipelineExecutableStatisticKHR> all(
          count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
      statistics_(device, &info, &count, all.data());
      for (const auto& each : all) {
        const std::string name = each.name;
        if (name == "Instructions") result->instructions = number(each);
        if (name.starts_with("Spilled")) result->spills += number(each);
        if (name.starts_with("Scratch")) result->scratch = number(each);
      }
      vk.DestroyPipeline(device, pipeline, nullptr);
    }
  }
  if (shader) vk.DestroyShaderModule(device, shader, nullptr);
  if (layout) vk.DestroyPipelineLayout(device, layout, nullptr);
  for (VkDescriptorSetLayout set : sets) vk.DestroyDescriptorSetLayout(device, set, nullptr);
  return result;
}

}  // namespace ptx2spv::test
