// What a device of the Khronos profile format (VP_*.json, which vulkan.gpuinfo.org exports too)
// has, and how Vulkan's structures are brought down to it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2spv::limits {

class Limits {
 public:
  /// Reads a profile's text; nothing and `problem` where it is none.
  static std::optional<Limits> parse(std::string_view text, std::string& problem);

  std::uint32_t version() const { return version_; }
  bool has_extension(std::string_view name) const { return extensions_.contains(name); }
  /// Takes away what the profile lacks from a structure and those chained to it.
  void restrict(void* chain) const;
  /// What the profile states, of those that are known.
  std::optional<std::uint64_t> property(std::string_view name) const;
  /// The families of queues that the profile states; none: the device's.
  const std::vector<VkQueueFamilyProperties>& queue_families() const { return families_; }
  /// The first feature that is on in the chain and that the profile lacks; empty: none.
  std::string exceeded(const void* chain) const;

 private:
  std::uint32_t version_ = VK_API_VERSION_1_0;
  std::set<std::string, std::less<>> extensions_, features_;
  std::vector<VkQueueFamilyProperties> families_;
  std::map<std::string, std::vector<std::uint64_t>, std::less<>> properties_;
};

}  // namespace ptx2spv::limits
