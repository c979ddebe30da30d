// An application with a VkDevice of its own, on the instance and physical device of another one.
#pragma once

#include <vulkan/vulkan_core.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "ptx2spv/vulkan.hpp"

namespace ptx2spv {

class Application {
 public:
  enum class Features {
    needed,          ///< what vulkan::DeviceNeeds names
    gathered,        ///< the same and more, in the structs of Vulkan 1.1 to 1.3
    timeline_alone,  ///< timelineSemaphore and the extensions
    none,
  };
  explicit Application(const Device& beside, Features features = Features::needed);
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application();

  vulkan::AdoptedDevice handles() const;
  Device adopt() const;

  VkSemaphore semaphore(bool timeline);
  std::uint64_t reached(VkSemaphore timeline) const;
  void signal(VkSemaphore timeline, std::uint64_t value) const;
  void wait(VkSemaphore timeline, std::uint64_t value) const;

  VkCommandBuffer begin();
  void end(VkCommandBuffer commands) const;
  /// Ends and submits; a null semaphore is none.
  void submit(VkCommandBuffer commands, VkSemaphore wait, VkSemaphore signal) const;
  /// Submits ended commands and waits for them.
  void run(VkCommandBuffer commands) const;
  void finish() const;
  /// Of 32-bit words for storage and transfers, in VK_IMAGE_LAYOUT_GENERAL.
  VkImage image(std::uint32_t width, std::uint32_t height);

  /// What the tests call.
  struct {
#define PTX2SPV_APPLICATION_FUNCTIONS(X) \
  X(CmdFillBuffer)                       \
  X(CmdCopyImageToBuffer)                \
  X(CmdPipelineBarrier)                  \
  X(QueueSubmit)                         \
  X(DeviceWaitIdle)                      \
  X(CreateSemaphore)                     \
  X(DestroySemaphore)                    \
  X(GetSemaphoreCounterValue)            \
  X(SignalSemaphore)                     \
  X(WaitSemaphores)                      \
  X(CreateCommandPool)                   \
  X(DestroyCommandPool)                  \
  X(AllocateCommandBuffers)              \
  X(BeginCommandBuffer)                  \
  X(EndCommandBuffer)                    \
  X(GetDeviceQueue)                      \
  X(DestroyDevice)                       \
  X(CreateImage)                         \
  X(DestroyImage)                        \
  X(GetImageMemoryRequirements)          \
  X(AllocateMemory)                      \
  X(FreeMemory)                          \
  X(BindImageMemory)
#define PTX2SPV_MEMBER(name) PFN_vk##name name = nullptr;
    PTX2SPV_APPLICATION_FUNCTIONS(PTX2SPV_MEMBER)
#undef PTX2SPV_MEMBER
  } vk;

 private:
  template <typename F>
  F find(const char* name) const {
    return reinterpret_cast<F>(instance_.get_instance_proc_addr(instance_.instance, name));
  }
  void create(Features features);

  vulkan::AdoptedDevice instance_;  ///< the other's
  vulkan::DeviceNeeds needs_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkSemaphore> semaphores_;
  std::vector<std::pair<VkImage, VkDeviceMemory>> images_;
  // What the device was created with.
  VkDeviceCreateInfo created_{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  VkDeviceQueueCreateInfo queue_info_{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  float priority_ = 1;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDeviceFeatures2 features_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features v11_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
};

/// Runs this program's test of that name in another process, which inherits the descriptors and
/// finds `given` in PTX2SPV_TEST_DESCRIPTOR. The descriptors are closed here.
void run_child(const std::string& test, const std::string& given,
               std::initializer_list<int> descriptors);

}  // namespace ptx2spv
