// The state behind Device: everything that its objects share.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "src/device/clocks.hpp"
#include "src/device/findings.hpp"
#include "src/device/layouts.hpp"
#include "src/device/pipeline_cache.hpp"
#include "src/device/table.hpp"
#include "src/memory/allocations.hpp"
#include "src/memory/device.hpp"
#include "src/memory/grid_workspace.hpp"
#include "src/memory/kernel_heap.hpp"
#include "src/vulkan/side_queues.hpp"

namespace ptx2spv::runtime {

class DiskCache;

/// What a physical device has, as far as the runtime asks.
struct PhysicalTraits {
  VkPhysicalDeviceProperties properties{};
  VkDriverId driver{};
  std::string driver_name, driver_info;
  bool storage_image_formats = false;  ///< shaderStorageImageExtendedFormats
  bool anisotropy = false, cube_arrays = false, cubes_with_seams = false;
  std::uint32_t border_colours = 0;   ///< samplers with border colours of their own
  bool seamless_cubes = true;         ///< filters reach across the edges of cubes as they should
  bool choose_subgroups = false;      ///< pipelines with warps ask for subgroups of 32
  std::uint32_t storage_buffers = 0;  ///< of a stage, and of a pipeline's sets
  std::uint64_t max_allocation = 0;   ///< bytes; 0: not reported
  std::uint32_t queue_family = 0;
  std::uint32_t drawing_family = 0;  ///< that computes, and draws if one does, for applications
  /// Queues that compute beside the first one; in its own family they are for streams, too.
  std::uint32_t side_family = 0, side_queues = 0;
  std::uint32_t copy_family = 0, copy_queues = 0;  ///< queues that only copy
  std::optional<std::uint32_t> binding_family;     ///< whose queues bind memory to parts of buffers
  std::uint32_t timestamp_bits = 0;
  /// Whether streams have queues of their own, until a kernel waits for the program.
  bool splits() const { return side_queues && side_family == queue_family; }
};

struct DeviceState : MemoryDevice, std::enable_shared_from_this<DeviceState> {
  DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState();

  PhysicalTraits traits;
  DeviceInfo info;
  Profile profile;
  std::uint32_t push_words = abi::kPushWords;  ///< of push constants that launches may use
  DeviceOptions options;
  FilterPolicy filter = FilterPolicy::exact;  ///< of launches that ask for none
  VkQueue external_queue = VK_NULL_HANDLE;
  SideQueues sides{*this};
  Queue binding_queue{*this};  ///< open where the first one binds no memory to parts of buffers

  Table surfaces{abi::kSurfaceWords, abi::s_generation, 0};
  Table textures{abi::kTextureWords, abi::x_generation, abi::kTextureHandleBit, abi::kSrgbWords};
  std::atomic<std::uint32_t> texture_features{0};  ///< abi::TextureFeature: what textures have had
  std::atomic<bool> has_samplers{false}, has_level_textures{false};
  Memory locks;    ///< abi::Binding::locks
  Memory discard;  ///< where suppressed stores go
  KernelHeap kernel_heap;
  GridWorkspace grid_workspace;
  Clocks clocks;
  Layouts layouts;
  PipelineCache pipeline_cache;
  std::shared_ptr<DiskCache> disk;
  std::atomic<std::uint64_t> next_serial{1};  ///< names for descriptor caches: never used twice

  /// Shared: arrays stay where they are. Alone: they move. `moves` counts that, so that a launch
  /// knows whether what it was planned for still holds.
  std::shared_mutex residency;
  std::atomic<std::uint64_t> moves{0};
  /// Recordings with launches: while there are any, no array moves. It grows under a shared lock.
  std::atomic<std::uint32_t> pins{0};

  std::mutex arrays_mutex;
  std::vector<ArrayState*> image_arrays;  ///< alive and image-backed

  std::mutex samplers_mutex;
  std::map<std::array<std::uint32_t, 15>, VkSampler> samplers;  ///< by what they are made of
  std::uint32_t border_samplers = 0;  ///< of them: those with colours of their own

  std::mutex statistics_mutex;
  DeviceStatistics statistics;

  ExecutorPolicy executor = ExecutorPolicy::device;
  std::uint32_t checks = no_checks;  ///< of launches that do not say
  Allocations allocations;
  Findings findings;
  std::mutex table_mutex;
  std::shared_ptr<const void> table;  ///< AllocationTable: the last one
  Quarantine quarantine;

  std::mutex synchronous_mutex;
  std::shared_ptr<StreamState> synchronous;  ///< see synchronous_stream()

  void print(std::string_view text) const;
  void print_finding(std::string_view text) const;
};

/// Fills a profile and the traits from what `physical` has; the text is why it cannot be used, or
/// empty.
std::string inspect_device(const Instance& instance, VkPhysicalDevice physical,
                           PhysicalTraits& traits, DeviceInfo& info);
/// Makes the VkDevice with every feature that the profile names, and what else all launches share.
Status open_device(DeviceState& device);
/// Turns off what `options` (and the environment) disables.
Status restrict_profile(Profile& profile, const DeviceOptions& options, const std::string& device);

struct Candidate {
  std::shared_ptr<Instance> instance;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  PhysicalTraits traits;
  DeviceInfo info;
};
/// All devices, best first within the policy, with the reasons that `notes` collects for absent
/// drivers.
std::vector<Candidate> enumerate_candidates(const DeviceOptions& options, std::string& notes,
                                            bool everything);
/// The index of the candidate that `options` selects, the others' rejections filled in; -1: none.
int select_candidate(std::vector<Candidate>& candidates, std::string_view selection);

}  // namespace ptx2spv::runtime

namespace ptx2spv {
using namespace runtime;
}
