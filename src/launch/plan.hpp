// A checked launch, ready to be recorded any number of times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "src/launch/sanitized.hpp"
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

struct LaunchPlan {
  std::shared_ptr<ModuleState> module;
  KernelState* kernel = nullptr;
  std::shared_ptr<const Variant> variant;
  std::shared_ptr<const Pipeline> pipeline;
  std::vector<std::byte> params;
  std::array<std::uint32_t, abi::kMostPushWords> push{};  ///< without parameters
  std::vector<Dispatch> dispatches;
  std::vector<SlotBinding> slots;
  std::vector<TextureBinding> textures;
  std::vector<TableBinding> table;
  std::uint32_t table_textures = 0;  ///< that these hold
  std::uint64_t moves = 0;           ///< of arrays, that it knows of (DeviceState::moves)
  std::uint64_t table_changes = 0;   ///< of the texture table, that it knows of
  std::vector<std::shared_ptr<ArrayState>>
      mirrored;  ///< image arrays that the kernel sees as memory
  std::vector<std::shared_ptr<const void>> keep;
  std::shared_ptr<SanitizedLaunch> sanitized;  ///< null: without checks
  std::uint64_t slab_bytes = 0;                ///< shared memory kept in a buffer, for one dispatch
  const Memory* workspace = nullptr;           ///< of a cooperative grid, to be cleared; null: none
  std::uint32_t repeat = 1;
  bool timed = false;
  bool interpreted = false;       ///< by the interpreter, not the device
  bool rest = false;              ///< of a launch that the interpreter began
  std::uint64_t first_block = 0;  ///< blocks before this one have run, along x before y before z
  /// `patience`: how long to interpret, in seconds. `blocks_run`: blocks finished by then, if not
  /// all; the device runs the rest. Null: the interpreter runs all.
  double patience = 0;
  std::shared_ptr<std::optional<std::uint64_t>> blocks_run;
  /// It runs on nevertheless where a warp's loops make so many iterations; 0: no matter how many.
  std::uint64_t many_iterations = 0;
  std::vector<std::uint8_t> trial;  ///< the launch's size, where that is what it is tried for
  double prepare_ms = 0;
};

/// Who may run a launch. What is recorded or replayed is the device's alone.
enum class Runner : std::uint8_t { device, any };

/// Checks a launch against the kernel and the device, and translates if need be.
Result<LaunchPlan> plan_launch(KernelState& kernel, const LaunchConfig& config, const Args& args,
                               Runner runner);
/// The rest of a launch, for the device.
Result<LaunchPlan> plan_rest(KernelState& kernel, const LaunchConfig& config, const Args& args,
                             std::uint64_t first_block);

/// Hands a plan to `submit`, with arrays where the plan has them: if one has moved since, the
/// launch is planned again. The same for what the interpreter leaves to the device. `submit` takes
/// the plan and gives a Status.
template <typename Submit>
Status submit_plan(LaunchPlan&& plan, KernelState& kernel, const LaunchConfig& config,
                   const Args& args, Runner runner, Submit&& submit) {
  DeviceState& device = *kernel.module->device;
  std::optional<std::uint64_t> first;
  const auto plan_again = [&] {
    return first ? plan_rest(kernel, config, args, *first)
                 : plan_launch(kernel, config, args, runner);
  };
  for (;;) {
    {
      std::shared_lock lock(device.residency);
      if (plan.moves == device.moves) {
        const auto run = plan.blocks_run;
        if (Status status = submit(std::move(plan)); !status || !run || !*run) return status;
        first = *run;
      }
    }
    auto again = plan_again();
    if (!again) return again.error();
    again->prepare_ms += plan.prepare_ms;
    plan = std::move(*again);
  }
}

}  // namespace ptx2spv::runtime
