// The driver's pipeline cache, kept on disk from one process to the next.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "ptx2spv/runtime.hpp"
#include "src/vulkan/device.hpp"

namespace ptx2spv::runtime {

struct DeviceState;

/// A VkPipelineCache never forgets what was compiled with it. This one is made anew where it may
/// have grown past a bound, so that a program with ever new kernels does not grow with them.
/// Thread-safe.
class PipelineCache {
 public:
  /// One that is alive while somebody holds it.
  struct Owned {
    explicit Owned(const VulkanDevice& owner) : device(owner) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned();

    const VulkanDevice& device;
    VkPipelineCache handle = VK_NULL_HANDLE;
  };

  /// Begins with what an earlier process with this device and driver left. Errors: what Vulkan
  /// answers.
  Status open(const DeviceState& device);
  /// Keeps on disk what is new, and destroys it.
  void close(const DeviceState& device);

  /// The cache for one call of vkCreateComputePipelines.
  std::shared_ptr<const Owned> current() const;
  /// A pipeline was made with it out of so many bytes of SPIR-V. Past the bound what it holds goes
  /// to the disk, and the pipelines to come begin with an empty one.
  void grown(const DeviceState& device, std::size_t code_bytes);

  /// Bytes of SPIR-V after which a driver is asked how much it holds. One that does not say (CPU
  /// drivers) may hold much, and gets a new cache.
  static constexpr std::size_t kMostCode = std::size_t{8} << 20;
  /// A pipeline counts as so many bytes more, whatever its code.
  static constexpr std::size_t kEach = 4096;
  /// Bytes past which it is made anew where the driver says how much it holds, and past which what
  /// lies on disk is not read.
  static constexpr std::size_t kMostData = std::size_t{64} << 20;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Owned> current_;
  std::size_t code_ = 0;  ///< bytes since the driver was asked
};

}  // namespace ptx2spv::runtime
