#include "tests/runtime/application.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "tests/runtime/fixture.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv {

namespace {

void ok(VkResult result) {
  if (result != VK_SUCCESS) {
    ADD_FAILURE() << "VkResult " << result;
    std::abort();  // nothing later would make sense
  }
}

vulkan::DeviceNeeds needs_of(const vulkan::AdoptedDevice& other) {
  return must(vulkan::DeviceNeeds::query(other.get_instance_proc_addr, other.instance,
                                         other.physical_device));
}

}  // namespace

Application::Application(const Device& beside, Features features)
    : instance_(vulkan::handles(beside)), needs_(needs_of(instance_)) {
  create(features);
  const auto get = find<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr");
#define PTX2SPV_LOAD(name) vk.name = reinterpret_cast<PFN_vk##name>(get(device_, "vk" #name));
  PTX2SPV_APPLICATION_FUNCTIONS(PTX2SPV_LOAD)
#undef PTX2SPV_LOAD
  vk.GetDeviceQueue(device_, needs_.queue_family(), 0, &queue_);
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = needs_.queue_family();
  ok(vk.CreateCommandPool(device_, &pool, nullptr, &pool_));
}

void Application::create(Features features) {
  queue_info_.queueFamilyIndex = needs_.queue_family();
  queue_info_.queueCount = 1;
  queue_info_.pQueuePriorities = &priority_;
  created_.queueCreateInfoCount = 1;
  created_.pQueueCreateInfos = &queue_info_;
  created_.enabledExtensionCount = static_cast<std::uint32_t>(needs_.extensions().size());
  created_.ppEnabledExtensionNames = needs_.extensions().data();
  switch (features) {
    case Features::needed: created_.pNext = needs_.features(); break;
    case Features::timeline_alone:
      timeline_.timelineSemaphore = VK_TRUE;
      created_.pNext = &timeline_;
      break;
    case Features::gathered: {
      features_.pNext = &v11_;
      v11_.pNext = &v12_;
      v12_.pNext = &v13_;
      // Of structs that no version gathers, those of the chain stay.
      const auto* each = static_cast<const VkBaseInStructure*>(needs_.features()->pNext);
      std::vector<VkBaseOutStructure*> extra;
      for (; each; each = each->pNext)
        if (each->sType ==
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_IMAGE_ATOMIC_INT64_FEATURES_EXT ||
            each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT ||
            each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR ||
            each->sType ==
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR ||
            each->sType == static_cast<VkStructureType>(1000434000))  // maximal reconvergence
          extra.push_back(
              const_cast<VkBaseOutStructure*>(reinterpret_cast<const VkBaseOutStructure*>(each)));
      void** next = &v13_.pNext;
      for (VkBaseOutStructure* part : extra) {
        *next = part;
        part->pNext = nullptr;
        next = reinterpret_cast<void**>(&part->pNext);
      }
      find<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(
          instance_.physical_device, &features_);
      // Debuggers' features exclude others.
      v12_.bufferDeviceAddressCaptureReplay = VK_FALSE;
      features_.features.robustBufferAccess = VK_FALSE;
      created_.pNext = &features_;
      break;
    }
    case Features::none: break;
  }
  ok(find<PFN_vkCreateDevice>("vkCreateDevice")(instance_.physical_device, &created_, nullptr,
                                                &device_));
}

Application::~Application() {
  (void)vk.DeviceWaitIdle(device_);
  for (VkSemaphore each : semaphores_) vk.DestroySemaphore(device_, each, nullptr);
  for (const auto& [image, memory] : images_) {
    vk.DestroyImage(device_, image, nullptr);
    vk.FreeMemory(device_, memory, nullptr);
  }
  vk.DestroyCommandPool(device_, pool_, nullptr);
  vk.DestroyDevice(device_, nullptr);
}

vulkan::AdoptedDevice Application::handles() const {
  vulkan::AdoptedDevice all = instance_;
  all.device = device_;
  all.queue = queue_;
  all.queue_family = needs_.queue_family();
  all.created = &created_;
  return all;
}

Device Application::adopt() const {
  DeviceOptions options;
  options.cache = false;
  return must(vulkan::adopt(handles(), options));
}

VkSemaphore Application::semaphore(bool timeline) {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  if (timeline) create.pNext = &type;
  VkSemaphore made = VK_NULL_HANDLE;
  ok(vk.CreateSemaphore(device_, &create, nullptr, &made));
  semaphores_.push_back(made);
  return made;
}

std::uint64_t Application::reached(VkSemaphore timeline) const {
  std::uint64_t value = 0;
  ok(vk.GetSemaphoreCounterValue(device_, timeline, &value));
  return value;
}

void Application::signal(VkSemaphore timeline, std::uint64_t value) const {
  VkSemaphoreSignalInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO};
  info.semaphore = timeline;
  info.value = value;
  ok(vk.SignalSemaphore(device_, &info));
}

void Application::wait(VkSemaphore timeline, std::uint64_t value) const {
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline;
  info.pValues = &value;
  ok(vk.WaitSemaphores(device_, &info, UINT64_MAX));
}

VkCommandBuffer Application::begin() {
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool_;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  ok(vk.AllocateCommandBuffers(device_, &allocate, &commands));
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  ok(vk.BeginCommandBuffer(commands, &begin));
  return commands;
}

void Application::end(VkCommandBuffer commands) const { ok(vk.EndCommandBuffer(commands)); }

void Application::submit(VkCommandBuffer commands, VkSemaphore wait, VkSemaphore signal) const {
  end(commands);
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.waitSemaphoreCount = wait ? 1 : 0;
  submit.pWaitSemaphores = &wait;
  submit.pWaitDstStageMask = &stage;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  submit.signalSemaphoreCount = signal ? 1 : 0;
  submit.pSignalSemaphores = &signal;
  ok(vk.QueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE));
}

void Application::run(VkCommandBuffer commands) const {
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  ok(vk.QueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE));
  finish();
}

void Application::finish() const { ok(vk.DeviceWaitIdle(device_)); }

VkImage Application::image(std::uint32_t width, std::uint32_t height) {
  VkImageCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  create.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT;
  create.imageType = VK_IMAGE_TYPE_2D;
  create.format = VK_FORMAT_R32_UINT;
  create.extent = {width, height, 1};
  create.mipLevels = create.arrayLayers = 1;
  create.samples = VK_SAMPLE_COUNT_1_BIT;
  create.tiling = VK_IMAGE_TILING_OPTIMAL;
  create.usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                 VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  VkImage made = VK_NULL_HANDLE;
  ok(vk.CreateImage(device_, &create, nullptr, &made));
  VkMemoryRequirements needs{};
  vk.GetImageMemoryRequirements(device_, made, &needs);
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = needs.size;
  while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1)) ++allocate.memoryTypeIndex;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  ok(vk.AllocateMemory(device_, &allocate, nullptr, &memory));
  ok(vk.BindImageMemory(device_, made, memory, 0));
  images_.emplace_back(made, memory);
  VkCommandBuffer commands = begin();
  VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = made;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1, &barrier);
  end(commands);
  run(commands);
  return made;
}

namespace {

/// How this program was started, through whatever loader, without its options.
std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> command;
  for (std::string word; std::getline(file, word, '\0') && word.rfind("--gtest", 0) != 0;)
    command.push_back(word);
  return command;
}

}  // namespace

void run_child(const std::string& test, const std::string& given,
               std::initializer_list<int> descriptors) {
  for (const int fd : descriptors) ASSERT_EQ(::fcntl(fd, F_SETFD, 0), 0);
  std::vector<std::string> command = own_command();
  command.insert(command.end(), {"--gtest_brief=1", "--gtest_filter=" + test});
  const auto child = test::run_process(command, "",
                                       {"PTX2SPV_TEST_DESCRIPTOR=" + given, "GTEST_TOTAL_SHARDS=1",
                                        "GTEST_SHARD_INDEX=0", "GTEST_OUTPUT="});
  EXPECT_EQ(child.exit_code, 0) << child.out << child.error;
  EXPECT_EQ(child.out.find("SKIPPED"), child.out.npos) << child.out;
  for (const int fd : descriptors) ::close(fd);
}

}  // namespace ptx2spv
