#include "tests/binding/host.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace binding {
namespace {

void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  std::abort();  // the rest of the test would make no sense
}

bool has_validation_layer() {
  std::uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
    return std::string(layer.layerName) == "VK_LAYER_KHRONOS_validation";
  });
}

VKAPI_ATTR VkBool32 VKAPI_CALL complain(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                        VkDebugUtilsMessageTypeFlagsEXT,
                                        const VkDebugUtilsMessengerCallbackDataEXT* data,
                                        void* counter) {
  ++*static_cast<std::uint32_t*>(counter);
  std::fprintf(stderr, "%s\n", data->pMessage);
  return VK_FALSE;
}

bool has_device_extension(VkPhysicalDevice device, const char* name) {
  std::uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
  return std::any_of(all.begin(), all.end(), [&](const VkExtensionProperties& each) {
    return !std::strcmp(each.extensionName, name);
  });
}

}  // namespace

std::unique_ptr<Host> Host::open(const std::string& name, std::string& problem) {
  std::unique_ptr<Host> host(new Host);
  problem = host->start(name);
  if (!problem.empty()) return nullptr;
  return host;
}

std::string Host::start(const std::string& name) {
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  create.pApplicationInfo = &application;
  const char* layer = "VK_LAYER_KHRONOS_validation";
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const bool validation = has_validation_layer();
  if (validation) {
    create.enabledLayerCount = create.enabledExtensionCount = 1;
    create.ppEnabledLayerNames = &layer;
    create.ppEnabledExtensionNames = &extension;
  }
  if (vkCreateInstance(&create, nullptr, &instance_) != VK_SUCCESS) {
    instance_ = VK_NULL_HANDLE;
    return "the loader finds no driver";
  }
  if (validation) {
    VkDebugUtilsMessengerCreateInfoEXT messages{
        VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    messages.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                               VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messages.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messages.pfnUserCallback = complain;
    messages.pUserData = &complaints_;
    const auto make = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
    check(make(instance_, &messages, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
  }

  std::uint32_t count = 0;
  vkEnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  vkEnumeratePhysicalDevices(instance_, &count, all.data());
  std::string seen;
  for (VkPhysicalDevice each : all) {
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(each, &properties);
    std::string have = properties.deviceName;
    std::transform(have.begin(), have.end(), have.begin(), ::tolower);
    seen += " '" + have + "'";
    if (!physical_ && have.find(name) != have.npos) physical_ = each;
  }
  if (!physical_) return "no device is called '" + name + "'; there are" + seen;

  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  while (family_ < count && !(families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT)) ++family_;
  if (family_ == count) return "it has no compute queue";

  // The features that docs/reference/abi.md asks for under the profile portable, and no other.
  VkPhysicalDeviceBufferDeviceAddressFeatures addresses{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  addresses.bufferDeviceAddress = VK_TRUE;
  const char* extensions[] = {VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME};
  VkPhysicalDeviceFeatures core{};
  core.shaderStorageImageExtendedFormats = VK_TRUE;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo device{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  device.pNext = &addresses;
  // Not every driver names the extensions that its version took over.
  by_extension_ = has_device_extension(physical_, extensions[0]);
  device.enabledExtensionCount = by_extension_ ? 1 : 0;
  device.ppEnabledExtensionNames = extensions;
  device.queueCreateInfoCount = 1;
  device.pQueueCreateInfos = &queue;
  device.pEnabledFeatures = &core;
  if (vkCreateDevice(physical_, &device, nullptr, &device_) != VK_SUCCESS) {
    device_ = VK_NULL_HANDLE;
    return "the device cannot be opened";
  }
  vkGetDeviceQueue(device_, family_, 0, &queue_);
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = family_;
  check(vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
  everything_ = make_buffer(std::uint64_t{64} << 20);
  return {};
}

Host::~Host() {
  if (device_) {
    vkDeviceWaitIdle(device_);
    vkDestroyCommandPool(device_, pool_, nullptr);
    for (VkImageView view : views_) vkDestroyImageView(device_, view, nullptr);
    for (VkImage image : images_) vkDestroyImage(device_, image, nullptr);
    vkDestroyBuffer(device_, everything_.buffer, nullptr);
    for (VkDeviceMemory memory : memory_) vkFreeMemory(device_, memory, nullptr);
    vkDestroyDevice(device_, nullptr);
  }
  if (messenger_) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance_, messenger_, nullptr);
  }
  if (instance_) vkDestroyInstance(instance_, nullptr);
}

std::uint32_t Host::memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted) const {
  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if (allowed >> i & 1 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  std::fputs("no memory type fits\n", stderr);
  std::abort();
}

Buffer Host::buffer(std::uint64_t bytes) {
  Buffer out = everything_;
  out.offset = taken_;
  out.size = bytes;
  taken_ += (bytes + 255) / 256 * 256;
  if (taken_ > everything_.size) {
    std::fputs("the host's buffer is full\n", stderr);
    std::abort();
  }
  out.address += out.offset;
  out.bytes += out.offset;
  std::memset(out.bytes, 0, bytes);
  return out;
}

void Host::leave() {
  if (--users_ == 0) taken_ = 256;
}

Buffer Host::make_buffer(std::uint64_t bytes) {
  Buffer out;
  out.size = bytes;
  VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  check(vkCreateBuffer(device_, &create, nullptr, &out.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(device_, out.buffer, &needs);
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.pNext = &flags;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex =
      memory_type(needs.memoryTypeBits,
                  VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  VkDeviceMemory memory = VK_NULL_HANDLE;
  check(vkAllocateMemory(device_, &allocate, nullptr, &memory), "vkAllocateMemory");
  memory_.push_back(memory);
  check(vkBindBufferMemory(device_, out.buffer, memory, 0), "vkBindBufferMemory");
  void* mapped = nullptr;
  check(vkMapMemory(device_, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  out.bytes = static_cast<std::uint8_t*>(mapped);
  VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  address.buffer = out.buffer;
  const auto get = reinterpret_cast<PFN_vkGetBufferDeviceAddressKHR>(vkGetDeviceProcAddr(
      device_, by_extension_ ? "vkGetBufferDeviceAddressKHR" : "vkGetBufferDeviceAddress"));
  out.address = get(device_, &address);
  return out;
}

Image Host::image(VkImageViewType view, VkFormat format, VkExtent3D extent, std::uint32_t layers) {
  Image out;
  out.extent = extent;
  out.layers = layers;
  VkImageCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  create.imageType = view == VK_IMAGE_VIEW_TYPE_3D ? VK_IMAGE_TYPE_3D
                     : view == VK_IMAGE_VIEW_TYPE_1D || view == VK_IMAGE_VIEW_TYPE_1D_ARRAY
                         ? VK_IMAGE_TYPE_1D
                         : VK_IMAGE_TYPE_2D;
  create.format = format;
  create.extent = extent;
  create.mipLevels = 1;
  create.arrayLayers = layers;
  create.samples = VK_SAMPLE_COUNT_1_BIT;
  create.tiling = VK_IMAGE_TILING_OPTIMAL;
  create.usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                 VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  check(vkCreateImage(device_, &create, nullptr, &out.image), "vkCreateImage");
  images_.push_back(out.image);
  VkMemoryRequirements needs{};
  vkGetImageMemoryRequirements(device_, out.image, &needs);
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = memory_type(needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  VkDeviceMemory memory = VK_NULL_HANDLE;
  check(vkAllocateMemory(device_, &allocate, nullptr, &memory), "vkAllocateMemory");
  memory_.push_back(memory);
  check(vkBindImageMemory(device_, out.image, memory, 0), "vkBindImageMemory");
  VkImageViewCreateInfo see{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  see.image = out.image;
  see.viewType = view;
  see.format = format;
  see.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, layers};
  check(vkCreateImageView(device_, &see, nullptr, &out.view), "vkCreateImageView");
  views_.push_back(out.view);
  submit([&](VkCommandBuffer commands) {
    VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = out.image;
    barrier.subresourceRange = see.subresourceRange;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1,
                         &barrier);
  });
  return out;
}

/// Whole texels, rows and layers without gaps in the buffer.
void Host::copy(const Image& image, const Buffer& buffer, bool to_image) {
  VkBufferImageCopy region{};
  region.bufferOffset = buffer.offset;
  region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, image.layers};
  region.imageExtent = image.extent;
  submit([&](VkCommandBuffer commands) {
    if (to_image)
      vkCmdCopyBufferToImage(commands, buffer.buffer, image.image, VK_IMAGE_LAYOUT_GENERAL, 1,
                             &region);
    else
      vkCmdCopyImageToBuffer(commands, image.image, VK_IMAGE_LAYOUT_GENERAL, buffer.buffer, 1,
                             &region);
  });
}

template <class Record>
void Host::submit(Record&& record) {
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool_;
  allocate.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(device_, &allocate, &commands), "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  VkMemoryBarrier before{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  before.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT;
  before.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &before, 0, nullptr, 0, nullptr);
  record(commands);
  VkMemoryBarrier after{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  after.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  after.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                       1, &after, 0, nullptr, 0, nullptr);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(vkQueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue_), "vkQueueWaitIdle");
  vkFreeCommandBuffers(device_, pool_, 1, &commands);
}

VkDescriptorSetLayout Host::layout(const std::vector<Binding>& set) const {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const Binding& each : set)
    bindings.push_back(
        {each.number,
         each.view ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
         VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  VkDescriptorSetLayoutCreateInfo create{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  create.bindingCount = static_cast<std::uint32_t>(bindings.size());
  create.pBindings = bindings.data();
  VkDescriptorSetLayout out = VK_NULL_HANDLE;
  check(vkCreateDescriptorSetLayout(device_, &create, nullptr, &out),
        "vkCreateDescriptorSetLayout");
  return out;
}

void Host::run(const Dispatch& dispatch) {
  std::vector<VkDescriptorSetLayout> layouts;
  for (const auto& set : dispatch.sets) layouts.push_back(layout(set));
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 64},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 64}};
  VkDescriptorPoolCreateInfo pool_create{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool_create.maxSets = static_cast<std::uint32_t>(layouts.size());
  pool_create.poolSizeCount = 2;
  pool_create.pPoolSizes = sizes;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(device_, &pool_create, nullptr, &pool), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool;
  allocate.descriptorSetCount = static_cast<std::uint32_t>(layouts.size());
  allocate.pSetLayouts = layouts.data();
  std::vector<VkDescriptorSet> sets(layouts.size());
  check(vkAllocateDescriptorSets(device_, &allocate, sets.data()), "vkAllocateDescriptorSets");
  for (std::size_t s = 0; s < sets.size(); ++s)
    for (const Binding& each : dispatch.sets[s]) {
      const VkDescriptorBufferInfo buffer{each.buffer.buffer, each.buffer.offset, each.buffer.size};
      const VkDescriptorImageInfo image{VK_NULL_HANDLE, each.view, VK_IMAGE_LAYOUT_GENERAL};
      VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
      write.dstSet = sets[s];
      write.dstBinding = each.number;
      write.descriptorCount = 1;
      write.descriptorType =
          each.view ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      write.pBufferInfo = &buffer;
      write.pImageInfo = &image;
      vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
    }

  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                  static_cast<std::uint32_t>(dispatch.push.size() * 4)};
  VkPipelineLayoutCreateInfo layout_create{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout_create.setLayoutCount = static_cast<std::uint32_t>(layouts.size());
  layout_create.pSetLayouts = layouts.data();
  layout_create.pushConstantRangeCount = 1;
  layout_create.pPushConstantRanges = &range;
  VkPipelineLayout pipeline_layout = VK_NULL_HANDLE;
  check(vkCreatePipelineLayout(device_, &layout_create, nullptr, &pipeline_layout),
        "vkCreatePipelineLayout");
  VkShaderModuleCreateInfo module_create{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_create.codeSize = dispatch.spirv.size() * 4;
  module_create.pCode = dispatch.spirv.data();
  VkShaderModule module = VK_NULL_HANDLE;
  check(vkCreateShaderModule(device_, &module_create, nullptr, &module), "vkCreateShaderModule");
  std::vector<VkSpecializationMapEntry> constants;
  for (std::uint32_t i = 0; i < dispatch.specialisation.size(); ++i)
    constants.push_back({i, i * 4, 4});
  VkSpecializationInfo specialisation{};
  specialisation.mapEntryCount = static_cast<std::uint32_t>(constants.size());
  specialisation.pMapEntries = constants.data();
  specialisation.dataSize = dispatch.specialisation.size() * 4;
  specialisation.pData = dispatch.specialisation.data();
  VkComputePipelineCreateInfo create{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = module;
  create.stage.pName = dispatch.entry.c_str();
  create.stage.pSpecializationInfo = &specialisation;
  create.layout = pipeline_layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &create, nullptr, &pipeline),
        "vkCreateComputePipelines");

  submit([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_layout, 0,
                            static_cast<std::uint32_t>(sets.size()), sets.data(), 0, nullptr);
    vkCmdPushConstants(commands, pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, range.size,
                       dispatch.push.data());
    vkCmdDispatch(commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  });
  vkDestroyPipeline(device_, pipeline, nullptr);
  vkDestroyShaderModule(device_, module, nullptr);
  vkDestroyPipelineLayout(device_, pipeline_layout, nullptr);
  vkDestroyDescriptorPool(device_, pool, nullptr);
  for (VkDescriptorSetLayout each : layouts) vkDestroyDescriptorSetLayout(device_, each, nullptr);
}

}  // namespace binding
