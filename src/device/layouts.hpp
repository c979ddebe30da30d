// Pipeline layouts by their contents. Drivers keep what they compile for a layout object as long as
// the pipeline cache lives, so a layout that is made anew for each module makes that cache grow.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "src/vulkan/device.hpp"

namespace ptx2spv::runtime {

/// One binding of a descriptor set, for compute shaders.
struct LayoutBinding {
  std::uint32_t binding = 0;
  VkDescriptorType type{};
  std::uint32_t count = 1;  ///< of descriptors
  auto operator<=>(const LayoutBinding&) const = default;
};

/// What a pipeline layout is made of: the common buffers, the slots, the textures that samplers
/// read. Without such textures the pipeline has two sets.
struct LayoutContents {
  static constexpr std::size_t kSets = 3;
  std::vector<LayoutBinding> sets[kSets];
  std::uint32_t push_bytes = 0;  ///< of push constants

  auto operator<=>(const LayoutContents&) const = default;
};

/// A pipeline layout with the layouts of its sets.
struct Layout {
  explicit Layout(const VulkanDevice& owner) : device(owner) {}
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout();

  const VulkanDevice& device;
  VkDescriptorSetLayout sets[LayoutContents::kSets] = {};  ///< the third may be null
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
};

/// Thread-safe. Its device outlives it.
class Layouts {
 public:
  /// The layout with these contents, made where there is none. Errors: what Vulkan answers.
  Result<std::shared_ptr<const Layout>> get(const VulkanDevice& device,
                                            const LayoutContents& contents);
  /// Destroys all that no kernel uses.
  void clear();
  std::size_t size() const;

  /// So many are kept for kernels to come. Beyond that, those that no kernel uses go.
  static constexpr std::size_t kKept = 256;

 private:
  mutable std::mutex mutex_;
  std::map<LayoutContents, std::shared_ptr<const Layout>> layouts_;
  std::size_t limit_ = kKept;
};

}  // namespace ptx2spv::runtime
