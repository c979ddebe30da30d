// The state behind Stream: command buffers in flight, and the launches whose ends are still to be
// looked at.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "src/launch/plan.hpp"
#include "src/launch/printf.hpp"
#include "src/stream/descriptors.hpp"
#include "src/stream/ring.hpp"

namespace ptx2spv::runtime {

/// How a launch ended; shared with whoever waits for it.
struct Outcome {
  bool done = false;
  std::optional<Error> error;
  double device_ms = -1;
};

/// What commands do. Drivers drain and flush what a barrier names, so it names no more than it
/// must.
enum class Work : std::uint8_t { kernel = 1, copy = 2, any = 3 };

struct StreamState;

/// A launch that was submitted and not yet looked at.
struct Pending {
  std::uint64_t value = 0;
  std::shared_ptr<ModuleState> module;
  KernelState* kernel = nullptr;
  const Variant* variant = nullptr;
  std::vector<std::shared_ptr<const void>> keep;
  std::byte* trap = nullptr;
  std::span<const std::byte> params;  ///< in the ring, until this is retired
  int query = -1;                     ///< first of two timestamps
  std::shared_ptr<Outcome> outcome;   ///< null: errors are the stream's
  std::function<void()> finish;       ///< host work once it is over: downloads
  std::function<std::optional<Error>(StreamState&)>
      check;  ///< more to look at: a graph's trap records
};

struct StreamState {
  explicit StreamState(DeviceState& owner) : device(owner) {}
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState();
  /// `keep_device`: hold the device alive (not for its own internal stream).
  static Result<std::shared_ptr<StreamState>> create(DeviceState& device, bool keep_device);

  DeviceState& device;
  std::shared_ptr<DeviceState> keep;
  std::mutex mutex;  ///< everything below and every function

  /// A command buffer whose first commands, of the kind given, see all earlier work of the queue.
  Result<VkCommandBuffer> begin(Work first = Work::any);
  /// Submits it; the host sees what it wrote once the value is reached. `signal`: as of the queue.
  Result<std::uint64_t> submit(VkCommandBuffer commands, bool signal = true);
  /// Gives a command buffer back unsubmitted.
  void abandon(VkCommandBuffer commands);
  Status launch(LaunchPlan&& plan, const std::shared_ptr<Outcome>& outcome, std::uint64_t* value);
  /// Copies, with `keep` held until they are over and `finish` called then.
  Status transfer(const std::function<void(VkCommandBuffer)>& record,
                  std::vector<std::shared_ptr<const void>> keep, std::function<void()> finish);
  /// Looks at every launch that is over.
  void retire();
  Status wait_all();

  VkCommandPool pool = VK_NULL_HANDLE;
  VkQueryPool queries = VK_NULL_HANDLE;
  std::deque<std::pair<VkCommandBuffer, std::uint64_t>> in_flight;
  std::vector<VkCommandBuffer> free;
  Ring ring;
  Descriptors descriptors;
  PrintfBuffer printf;
  std::vector<std::byte> printed;  ///< calls to print once the lock is given up
  Memory slab;
  std::deque<Pending> pending;
  std::optional<Error> error;  ///< the first one since the last synchronize
  std::uint64_t last_value = 0;
  std::uint32_t next_query = 0;
};

/// What commands wrote is visible to the host once they are over.
void host_barrier(const DeviceState& device, VkCommandBuffer commands);
/// What is done before is over and visible before what follows. `before`: kinds of all commands
/// that the last barrier did not wait for, other submissions among them.
void barrier(const DeviceState& device, VkCommandBuffer commands, Work before, Work after);
/// Where a launch's own words lie, and the sets that name them.
struct LaunchPlace {
  Slice slice;
  std::uint64_t trap_offset = 0;  ///< from the ring's start
  VkDescriptorSet common = VK_NULL_HANDLE, slots = VK_NULL_HANDLE;
  std::uint64_t printf_address = 0, slab_address = 0;
};
/// Bytes of a launch's slice.
std::uint64_t slice_bytes(const LaunchPlan& plan);
/// Takes a slice of `ring`, fills it and finds the sets.
Result<LaunchPlace> place_launch(const LaunchPlan& plan, Ring& ring, Descriptors& descriptors);
/// What the last launch of a command buffer left bound.
struct LaunchBound {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSet slots = VK_NULL_HANDLE;
};
void record_launch(VkCommandBuffer commands, const LaunchPlan& plan, const LaunchPlace& place,
                   LaunchBound& bound);
/// Kinds of the commands of a launch.
inline Work work_of(const LaunchPlan& plan) {
  return plan.mirrored.empty() ? Work::kernel : Work::any;
}

/// Runs commands on the internal stream and waits for them.
Status run_commands(DeviceState& device, const std::function<void(VkCommandBuffer)>& record);

}  // namespace ptx2spv::runtime
