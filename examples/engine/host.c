/* A Vulkan program in C that runs a translated kernel without ptx2spv's runtime. All that it knows
 * of the kernel stands in spotlight.h, which `ptx2spv --emit c-header` wrote; abi.md explains
 * it.
 *
 *   ptx2spv --emit c-header spotlight.ptx -o spotlight.h
 *   cc -I. host.c -o host -lvulkan && ./host [PART OF A DEVICE'S NAME] [ROWS OF THE LAUNCH] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include "spotlight.h"

enum { WIDTH = 64, HEIGHT = 48, ROW_PITCH = WIDTH * 4, HANDLE_GENERATION = 1 };

static void ok(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s: VkResult %d\n", what, (int)result);
  exit(1);
}

/* One mapped buffer holds everything; `take` hands out ranges of it. */
static VkDevice device;
static VkBuffer memory;
static unsigned char* mapped;
static uint64_t base_address, taken = 256;

typedef struct Range {
  uint64_t offset, bytes;
} Range;

static Range take(uint64_t bytes) {
  Range range = {taken, (bytes + 3) / 4 * 4};
  taken += (range.bytes + 255) / 256 * 256;
  memset(mapped + range.offset, 0, range.bytes);
  return range;
}
static uint32_t* words(Range range) { return (uint32_t*)(mapped + range.offset); }
static void put_address(uint32_t* at, Range range) {
  const uint64_t address = base_address + range.offset;
  at[0] = (uint32_t)address;
  at[1] = (uint32_t)(address >> 32);
}

static VkPhysicalDevice choose(VkInstance instance, const char* wanted) {
  VkPhysicalDevice all[16];
  uint32_t count = 16, i;
  vkEnumeratePhysicalDevices(instance, &count, all);
  for (i = 0; i < count; ++i) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(all[i], &properties);
    if (strstr(properties.deviceName, wanted)) {
      printf("device: %s\n", properties.deviceName);
      return all[i];
    }
  }
  fprintf(stderr, "no device is called so: %s\n", wanted);
  exit(1);
}

static uint32_t open_device(VkPhysicalDevice physical) {
  VkQueueFamilyProperties families[16];
  uint32_t count = 16, family = 0;
  const float priority = 1;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) ++family;
  VkPhysicalDeviceBufferDeviceAddressFeatures addresses = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  addresses.bufferDeviceAddress = VK_TRUE;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo create = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  create.pNext = &addresses;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  ok(vkCreateDevice(physical, &create, NULL, &device), "vkCreateDevice");
  return family;
}

static VkDeviceMemory allocate(VkPhysicalDevice physical, uint64_t bytes) {
  const VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkPhysicalDeviceMemoryProperties types;
  VkMemoryRequirements needs;
  VkBufferCreateInfo create = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  ok(vkCreateBuffer(device, &create, NULL, &memory), "vkCreateBuffer");
  vkGetBufferMemoryRequirements(device, memory, &needs);
  vkGetPhysicalDeviceMemoryProperties(physical, &types);
  VkMemoryAllocateFlagsInfo flags = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.pNext = &flags;
  info.allocationSize = needs.size;
  while (!(needs.memoryTypeBits >> info.memoryTypeIndex & 1) ||
         (types.memoryTypes[info.memoryTypeIndex].propertyFlags & wanted) != wanted)
    ++info.memoryTypeIndex;
  VkDeviceMemory made;
  ok(vkAllocateMemory(device, &info, NULL, &made), "vkAllocateMemory");
  ok(vkBindBufferMemory(device, memory, made, 0), "vkBindBufferMemory");
  ok(vkMapMemory(device, made, 0, VK_WHOLE_SIZE, 0, (void**)&mapped), "vkMapMemory");
  VkBufferDeviceAddressInfo address = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  address.buffer = memory;
  base_address = vkGetBufferDeviceAddress(device, &address);
  return made;
}

/* The record of a surface of 8-bit RGBA texels in linear memory. */
static void describe(uint32_t* record, Range texels) {
  put_address(record + PTX2SPV_S_BASE_LO, texels);
  record[PTX2SPV_S_ROW_BYTES] = record[PTX2SPV_S_ROW_PITCH] = ROW_PITCH;
  record[PTX2SPV_S_ROWS] = record[PTX2SPV_S_HEIGHT] = HEIGHT;
  record[PTX2SPV_S_SLICES] = 1;
  record[PTX2SPV_S_SLICE_PITCH_LO] = ROW_PITCH * HEIGHT;
  record[PTX2SPV_S_TEXEL_BYTES] = 4;
  record[PTX2SPV_S_GENERATION] = HANDLE_GENERATION;
  record[PTX2SPV_S_WIDTH] = WIDTH;
  record[PTX2SPV_S_CHANNELS] = 4;
  record[PTX2SPV_S_ROW_BYTES_2D] = ROW_PITCH; /* other geometries find nothing */
}

/* Descriptors: those of set 0 that the kernel declares, and its slots. */
static VkDescriptorSetLayout layout_of(uint32_t bits) {
  VkDescriptorSetLayoutBinding bindings[32];
  uint32_t count = 0, i;
  for (i = 0; i < 32; ++i)
    if (bits >> i & 1)
      bindings[count++] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                         VK_SHADER_STAGE_COMPUTE_BIT, NULL};
  VkDescriptorSetLayoutCreateInfo create = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  create.bindingCount = count;
  create.pBindings = bindings;
  VkDescriptorSetLayout layout;
  ok(vkCreateDescriptorSetLayout(device, &create, NULL, &layout), "vkCreateDescriptorSetLayout");
  return layout;
}

static void bind(VkDescriptorSet set, uint32_t binding, Range range) {
  const VkDescriptorBufferInfo buffer = {memory, range.offset, range.bytes};
  VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.dstSet = set;
  write.dstBinding = binding;
  write.descriptorCount = 1;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = &buffer;
  vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

static VkPipeline pipeline_of(const ptx2spv_h_kernel* kernel, VkPipelineLayout layout,
                              VkShaderModule shader, const uint32_t block[3]) {
  const uint32_t values[4] = {block[0], block[1], block[2], 0};
  const VkSpecializationMapEntry entries[4] = {{PTX2SPV_SPEC_SIZE_X, 0, 4},
                                               {PTX2SPV_SPEC_SIZE_Y, 4, 4},
                                               {PTX2SPV_SPEC_SIZE_Z, 8, 4},
                                               {PTX2SPV_SPEC_DYNAMIC_SHARED_WORDS, 12, 4}};
  const VkSpecializationInfo constants = {4, entries, sizeof values, values};
  VkComputePipelineCreateInfo create = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = shader;
  create.stage.pName = kernel->name;
  create.stage.pSpecializationInfo = &constants;
  create.layout = layout;
  VkPipeline pipeline;
  ok(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &create, NULL, &pipeline),
     "vkCreateComputePipelines");
  return pipeline;
}

/* What trapped, and where: the site's number is an index into the header's table. */
static int report(const ptx2spv_h_kernel* kernel, const uint32_t* trap) {
  if (!trap[PTX2SPV_T_COUNT]) return 0;
  const ptx2spv_h_trap_site* site = &kernel->trap_sites[trap[PTX2SPV_T_SITE]];
  uint32_t i;
  printf("%u threads trapped, the first at line %u: %s\n", trap[PTX2SPV_T_COUNT], site->line,
         site->text);
  for (i = 0; i < 3 && site->coordinates[i]; ++i)
    printf("  %s = %d\n", site->coordinates[i], (int)trap[PTX2SPV_T_COORD + i]);
  return 4;
}

/* Works out on the host what the kernel has to leave. */
static int check(const unsigned char* texels, const spotlight_params* arguments) {
  int x, y, channel, wrong = 0;
  for (y = 0; y < HEIGHT; ++y)
    for (x = 0; x < WIDTH; ++x) {
      const int dx = x - (int)arguments->spotlight_param_3;
      const int dy = y - (int)arguments->spotlight_param_4;
      const int radius = (int)arguments->spotlight_param_5;
      const int dark = dx * dx + dy * dy > radius * radius;
      for (channel = 0; channel < 4; ++channel)
        wrong += texels[y * ROW_PITCH + x * 4 + channel] != (dark && channel < 3 ? 50 : 200);
    }
  printf(wrong ? "%d bytes are wrong\n" : "all texels are right\n", wrong);
  return wrong != 0;
}

/* Dispatches once and waits. */
static void run(uint32_t family, VkPipeline pipeline, VkPipelineLayout layout,
                const VkDescriptorSet sets[2], const uint32_t* push, uint32_t push_bytes,
                const uint32_t groups[3]) {
  VkCommandPoolCreateInfo commands_create = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  commands_create.queueFamilyIndex = family;
  VkCommandPool command_pool;
  ok(vkCreateCommandPool(device, &commands_create, NULL, &command_pool), "vkCreateCommandPool");
  VkCommandBufferAllocateInfo buffer_create = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  buffer_create.commandPool = command_pool;
  buffer_create.commandBufferCount = 1;
  VkCommandBuffer commands;
  ok(vkAllocateCommandBuffers(device, &buffer_create, &commands), "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  ok(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 2, sets, 0, NULL);
  vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes, push);
  vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
  VkMemoryBarrier after = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  after.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  after.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       0, 1, &after, 0, NULL, 0, NULL);
  ok(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  VkQueue queue;
  vkGetDeviceQueue(device, family, 0, &queue);
  VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  ok(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  ok(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
  vkDestroyCommandPool(device, command_pool, NULL);
}

int main(int argc, char** argv) {
  const ptx2spv_h_kernel* kernel = &spotlight_module.kernels[0];
  const uint32_t block[3] = {16, 16, 1};
  const int rows = argc > 2 ? atoi(argv[2]) : HEIGHT;
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo create = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  create.pApplicationInfo = &application;
  VkInstance instance;
  ok(vkCreateInstance(&create, NULL, &instance), "vkCreateInstance");
  VkPhysicalDevice physical = choose(instance, argc > 1 ? argv[1] : "");
  const uint32_t family = open_device(physical);
  VkDeviceMemory allocation = allocate(physical, 16 << 20);

  /* The surface, its record in the table, and the parameters with a copy of the record. */
  Range texels = take(ROW_PITCH * HEIGHT + 64), table = take(4 * PTX2SPV_SURFACE_WORDS * 2),
        params = take(kernel->param_buffer_bytes), trap = take(4 * PTX2SPV_TRAP_WORDS),
        locks = take(4 * PTX2SPV_LOCK_WORDS), discard = take(64), nothing = take(256);
  memset(mapped + texels.offset, 200, ROW_PITCH * HEIGHT);
  describe(words(table) + PTX2SPV_SURFACE_WORDS, texels);
  spotlight_params arguments;
  memset(&arguments, 0, sizeof arguments);
  arguments.spotlight_param_0 = (uint64_t)HANDLE_GENERATION << 32 | 1;
  arguments.spotlight_param_1 = WIDTH;
  arguments.spotlight_param_2 = (uint32_t)rows;
  arguments.spotlight_param_3 = 30;
  arguments.spotlight_param_4 = 20;
  arguments.spotlight_param_5 = 15;
  memcpy(mapped + params.offset, &arguments, sizeof arguments);
  uint32_t i;
  for (i = 0; i < kernel->slot_count; ++i)
    memcpy(mapped + params.offset + kernel->slot_records + 4 * PTX2SPV_SURFACE_WORDS * i,
           words(table) + PTX2SPV_SURFACE_WORDS, 4 * PTX2SPV_SURFACE_WORDS);

  uint32_t push[64] = {0};
  const uint32_t groups[3] = {WIDTH / 16, ((uint32_t)rows + 15) / 16, 1};
  for (i = 0; i < 3; ++i) {
    push[PTX2SPV_PUSH_GRID_X + i] = groups[i];
    push[PTX2SPV_PUSH_BLOCK_X + i] = block[i];
  }
  put_address(push + PTX2SPV_PUSH_PARAMS_ADDRESS, params);
  put_address(push + PTX2SPV_PUSH_DISCARD, discard);
  push[PTX2SPV_PUSH_SURFACE_COUNT] = 2;

  VkDescriptorSetLayout layouts[2];
  layouts[0] = layout_of(kernel->bindings);
  layouts[1] = layout_of((1u << kernel->slot_count) - 1);
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 64}};
  VkDescriptorPoolCreateInfo pool_create = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool_create.maxSets = 2;
  pool_create.poolSizeCount = 1;
  pool_create.pPoolSizes = sizes;
  VkDescriptorPool pool;
  ok(vkCreateDescriptorPool(device, &pool_create, NULL, &pool), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo set_create = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  set_create.descriptorPool = pool;
  set_create.descriptorSetCount = 2;
  set_create.pSetLayouts = layouts;
  VkDescriptorSet sets[2];
  ok(vkAllocateDescriptorSets(device, &set_create, sets), "vkAllocateDescriptorSets");
  const Range held[] = {params, table, trap, nothing, locks, nothing, nothing};
  for (i = 0; i < PTX2SPV_BINDINGS; ++i)
    if (kernel->bindings >> i & 1) bind(sets[0], i, held[i]);
  for (i = 0; i < kernel->slot_count; ++i) bind(sets[1], i, texels);

  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, kernel->push_words * 4};
  VkPipelineLayoutCreateInfo layout_create = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout_create.setLayoutCount = 2;
  layout_create.pSetLayouts = layouts;
  layout_create.pushConstantRangeCount = 1;
  layout_create.pPushConstantRanges = &range;
  VkPipelineLayout layout;
  ok(vkCreatePipelineLayout(device, &layout_create, NULL, &layout), "vkCreatePipelineLayout");
  VkShaderModuleCreateInfo shader_create = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader_create.codeSize = spotlight_module.spirv_words * 4;
  shader_create.pCode = spotlight_module.spirv;
  VkShaderModule shader;
  ok(vkCreateShaderModule(device, &shader_create, NULL, &shader), "vkCreateShaderModule");
  VkPipeline pipeline = pipeline_of(kernel, layout, shader, block);

  run(family, pipeline, layout, sets, push, range.size, groups);
  int status = report(kernel, words(trap));
  if (!status) status = check(mapped + texels.offset, &arguments);
  vkDestroyPipeline(device, pipeline, NULL);
  vkDestroyShaderModule(device, shader, NULL);
  vkDestroyPipelineLayout(device, layout, NULL);
  vkDestroyDescriptorPool(device, pool, NULL);
  for (i = 0; i < 2; ++i) vkDestroyDescriptorSetLayout(device, layouts[i], NULL);
  vkDestroyBuffer(device, memory, NULL);
  vkFreeMemory(device, allocation, NULL);
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(instance, NULL);
  return status;
}
