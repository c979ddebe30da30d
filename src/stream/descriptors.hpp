// Descriptor sets by their contents: a launch like an earlier one finds its sets ready.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "src/launch/plan.hpp"
#include "src/stream/ring.hpp"

namespace ptx2spv::runtime {

/// Not thread-safe.
class Descriptors {
 public:
  void open(DeviceState& device) { device_ = &device; }
  ~Descriptors();
  Descriptors() = default;
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  Result<VkDescriptorSet> common(const LaunchPlan& plan, const Ring& ring);
  Result<VkDescriptorSet> slots(const LaunchPlan& plan);
  /// Null where samplers read no texture.
  Result<VkDescriptorSet> textures(const LaunchPlan& plan);
  /// Too many are kept: to be cleared when none is in use.
  bool full() const { return sets_.size() >= 512 || elements_ >= 1u << 20; }
  void clear();

 private:
  /// `elements`: of arrays in it.
  Result<VkDescriptorSet> allocate(VkDescriptorSetLayout layout, std::uint32_t elements = 0);

  DeviceState* device_ = nullptr;
  std::vector<VkDescriptorPool> pools_;
  std::map<std::vector<std::uint64_t>, VkDescriptorSet> sets_;
  std::uint64_t elements_ = 0;      ///< of arrays in all of them
  std::vector<std::uint64_t> key_;  ///< kept to spare an allocation per lookup
};

}  // namespace ptx2spv::runtime
