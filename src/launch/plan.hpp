// A checked launch, ready to be recorded any number of times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/module/module.hpp"

namespace ptx2spv::runtime {

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

struct LaunchPlan {
  std::shared_ptr<ModuleState> module;
  KernelState* kernel = nullptr;
  Variant* variant = nullptr;
  VkPipeline pipeline = VK_NULL_HANDLE;
  std::vector<std::byte> params;
  std::array<std::uint32_t, abi::kMostPushWords> push{};  ///< without parameters
  std::vector<Dispatch> dispatches;
  std::vector<SlotBinding> slots;
  std::vector<std::shared_ptr<ArrayState>>
      mirrored;  ///< image arrays that the kernel sees as memory
  std::vector<std::shared_ptr<const void>> keep;
  std::uint64_t slab_bytes = 0;  ///< shared memory kept in a buffer, for one dispatch
  std::uint32_t repeat = 1;
  bool timed = false;
  double prepare_ms = 0;
};

/// Checks a launch against the kernel and the device, and translates if need be.
Result<LaunchPlan> plan_launch(KernelState& kernel, const LaunchConfig& config, const Args& args);

}  // namespace ptx2spv::runtime
