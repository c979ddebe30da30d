// The texture kernels by hand: a pipeline over combined samplers and one storage image, in the
// runtime's own VkDevice. Ends the process on failure.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptx2spv/vulkan.hpp"

namespace ptx2spv::bench {

/// An image as a shader sees it.
struct ImageUse {
  VkImage image = VK_NULL_HANDLE;  ///< in layout GENERAL
  VkFormat format = VK_FORMAT_R32_SFLOAT;
  VkImageViewType view = VK_IMAGE_VIEW_TYPE_2D;
  std::uint32_t levels = 1, layers = 1;
};

struct SamplerForm {
  bool linear = true, normalized = true, wrap = false;
};

class SamplerVulkan {
 public:
  struct Push {
    std::int32_t width = 0, number = 0;
    float over = 0, step = 0;
    std::uint64_t memory = 0;
  };
  explicit SamplerVulkan(const Device& device);
  SamplerVulkan(const SamplerVulkan&) = delete;
  SamplerVulkan& operator=(const SamplerVulkan&) = delete;
  ~SamplerVulkan();

  /// Makes what one kernel needs; what the last one needed goes.
  void prepare(const std::vector<std::uint32_t>& spirv, const std::vector<ImageUse>& textures,
               const SamplerForm& sampler, const ImageUse& to, const Push& push,
               std::uint32_t groups);
  /// Milliseconds from submission to completion; by the device's timestamps where `device_times`.
  double run(bool device_times);

 private:
  struct Functions;
  VkImageView view(const ImageUse& image, VkImageUsageFlags usage);
  void clear();
  void record(const Push& push, std::uint32_t groups);

  Functions* vk_ = nullptr;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  VkShaderModule shader_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  VkSampler sampler_ = VK_NULL_HANDLE;
  std::vector<VkImageView> views_;
  double tick_ns_ = 0;
};

}  // namespace ptx2spv::bench
