// A launch that an executor has prepared. It may be recorded any number of times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/launch/facts.hpp"
#include "src/launch/sanitized.hpp"

namespace ptx2spv::runtime {

class Executor;
struct Slots;

struct SlotBinding {
  Backing backing = Backing::address;
  std::uint64_t serial = 0;  ///< of what is bound, for descriptor caches
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0, range = 0;
  VkImageView view = VK_NULL_HANDLE;
};

/// One vkCmdDispatch: its groups, and what replaces the base words of the push constants.
struct Dispatch {
  std::array<std::uint32_t, 3> groups{}, base{};
  std::uint32_t threads = 0;  ///< flat model only
};

/// A texture that the device's sampler reads, at binding `slot` of set 2.
struct TextureBinding {
  std::uint32_t slot = 0;
  VkImageView view = VK_NULL_HANDLE;
  VkSampler sampler = VK_NULL_HANDLE;
  std::uint64_t serial = 0;
};

/// The samplers that handles out of memory index, for one geometry.
struct TableBinding {
  std::uint32_t binding = 0;  ///< of set 2
  std::vector<VkDescriptorImageInfo> elements;
};

/// What only the Vulkan executor adds.
struct VulkanPlan {
  PipelineKey shape;
  std::shared_ptr<const Pipeline> pipeline;
  std::vector<Dispatch> dispatches;
  std::vector<SlotBinding> slots;
  std::vector<TextureBinding> textures;
  std::vector<TableBinding> table;
  std::uint32_t table_textures = 0;    ///< that these hold
  std::uint64_t slab_bytes = 0;        ///< memory kept in a buffer for one dispatch: local memory,
  std::uint64_t local_slab_bytes = 0;  ///< of so many bytes, then shared memory
};

/// What only the host executor adds.
struct HostPlan {
  double patience = 0;  ///< seconds until it leaves the other blocks to the device; 0: it runs all
};

struct LaunchPlan {
  Facts facts;
  const Executor* executor = nullptr;
  std::shared_ptr<const Variant> variant;
  std::vector<std::byte> params;                          ///< the facts', and records
  std::array<std::uint32_t, abi::kMostPushWords> push{};  ///< without parameters
  std::shared_ptr<Slots> slots;                           ///< until they are bound
  std::vector<std::shared_ptr<ArrayState>> mirrored;      ///< images that the kernel sees as memory
  std::vector<std::shared_ptr<const void>> keep;          ///< beside what the facts keep
  std::shared_ptr<SanitizedLaunch> sanitized;             ///< null: without checks
  std::uint64_t moves = 0;          ///< of arrays, that it knows of (DeviceState::moves)
  std::uint64_t table_changes = 0;  ///< of the texture table, that it knows of
  /// Blocks before this one have run, along x before y before z. Not given: nobody began.
  std::optional<std::uint64_t> first_block;
  double prepare_ms = 0;
  VulkanPlan vulkan;
  HostPlan host;

  DeviceState& device() const { return facts->device(); }
  KernelState& kernel() const { return *facts->kernel; }
};

}  // namespace ptx2spv::runtime
