// The state behind Stream: command buffers in flight, and the launches whose ends are still to be
// looked at.
#pragma once

#include <chrono>
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
#include "src/vulkan/queue.hpp"

namespace ptx2spv::runtime {

/// How a launch ended; shared with whoever waits for it.
struct Outcome {
  bool done = false;
  std::optional<Error> error;
  LaunchTiming timing;
};

struct StreamState;

/// Where a launch's own words lie, and the sets that name them.
struct LaunchPlace {
  Slice slice;
  VkDescriptorSet common = VK_NULL_HANDLE, slots = VK_NULL_HANDLE, textures = VK_NULL_HANDLE;
  std::uint64_t printf_address = 0, slab_address = 0, heap_address = 0;
};

/// A launch that was submitted and not yet looked at.
struct Pending {
  std::uint64_t value = 0;
  Facts facts;                                  ///< null: no launch
  std::chrono::steady_clock::time_point began;  ///< that the device was given it
  std::shared_ptr<const Variant> variant;
  std::shared_ptr<const Pipeline> pipeline;
  std::vector<std::shared_ptr<const void>> keep;
  std::byte* trap = nullptr;
  std::span<const std::byte> params;  ///< in the ring, until this is retired
  int query = -1;                     ///< first of two timestamps
  std::shared_ptr<Outcome> outcome;   ///< null: errors are the stream's
  std::shared_ptr<SanitizedLaunch> sanitized;
  std::function<void()> finish;  ///< host work once it is over: downloads
  std::function<std::optional<Error>(StreamState&)>
      check;  ///< more to look at: a graph's trap records
};

struct StreamState {
  explicit StreamState(DeviceState& owner) : device(owner) {}
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState();
  /// `keep_device`: hold the device alive (not for its own synchronous stream). `alone`: its work
  /// comes after that of all streams, and before later work.
  static Result<std::shared_ptr<StreamState>> create(DeviceState& device, bool keep_device,
                                                     bool alone);

  DeviceState& device;
  std::shared_ptr<DeviceState> keep;
  std::mutex mutex;  ///< everything below and every function

  /// As of the queue: after all that the stream was given before.
  Result<Queue::Recording> begin(Work kind, unsigned in_lane, Takes takes = Takes::little,
                                 bool fenced = false) {
    return device.queue.begin(kind, in_lane, before(), takes, fenced);
  }
  /// What the stream's next work comes after.
  const std::vector<std::uint64_t>& before();
  /// The lane for work that is over soon.
  unsigned brief_lane() { return device.queue.brief_lane(lane, before()); }
  /// How many bytes take as long over a bus as `bytes` do, which stay `inside` the device's memory
  /// or do not.
  std::uint64_t over_bus(std::uint64_t bytes, bool inside) const;
  unsigned lane_of(std::uint64_t bytes);  ///< of a copy of so many over a bus
  Result<std::uint64_t> end(Queue::Recording&& recording, When when);
  /// Work from now on comes after that of a value of the queue, or after another stream's.
  void wait_for(std::uint64_t value) { after.push_back(value); }
  void wait_for(StreamState& other);
  bool is_over();  ///< all of it
  /// Whether times of launches are measured though nobody asks: lanes are chosen by them.
  bool measures() const { return device.queue.is_split() && device.traits.timestamp_bits; }
  /// Copies what takes as long as `bytes` do over a bus, with `keep` held until it is over and
  /// `finish` called then.
  Status transfer(std::uint64_t bytes, const std::function<void(VkCommandBuffer)>& record,
                  std::vector<std::shared_ptr<const void>> keeps, std::function<void()> finish);
  Status transfer(std::uint64_t bytes, unsigned in_lane, Work kind,
                  const std::function<void(VkCommandBuffer)>& record,
                  std::vector<std::shared_ptr<const void>> keep, std::function<void()> finish);
  /// Looks at every launch that is over.
  void retire();
  Status wait_all();

  // Parts of a launch.
  /// Makes room in what launches share. Old launches are looked at before theirs is taken.
  Status make_room(const LaunchPlan& plan);
  /// Finds the memory that the launch needs, and with `with_sets` the sets that name it.
  Result<LaunchPlace> place(const LaunchPlan& plan, bool with_sets);
  /// Counts a launch that was submitted, and keeps what it uses.
  Pending& pend(LaunchPlan&& plan, const LaunchPlace& place, std::uint64_t value,
                const std::shared_ptr<Outcome>& outcome);

  VkQueryPool queries = VK_NULL_HANDLE;
  Ring ring;
  Descriptors descriptors;
  PrintfBuffer printf;
  std::vector<std::byte> printed;  ///< calls to print once the lock is given up
  Memory slab;
  std::deque<Pending> pending;
  std::optional<Error> error;  ///< the first one since the last synchronize
  std::uint64_t last_value = 0;
  std::vector<std::uint64_t> after;  ///< work of others, until some of the stream's comes after it
  std::vector<std::uint64_t> before_;  ///< see before()
  unsigned lane = Queue::kAlone;  ///< of the queue, for what other streams' work may run beside
  std::uint32_t next_query = 0, timed = 0;  ///< the last: launches with queries
};

/// A launch's slice of the ring, with its parameters and its empty trap record, and the addresses
/// of what it uses of the heap and of printf's buffer.
Result<LaunchPlace> allocate_slice(const LaunchPlan& plan, Ring& ring, PrintfBuffer& printf);
/// Writes an address into the push constants.
inline void put_address(std::span<std::uint32_t> push, abi::Push word, std::uint64_t address) {
  push[word] = static_cast<std::uint32_t>(address);
  push[word + 1] = static_cast<std::uint32_t>(address >> 32);
}
/// The addresses of a launch's own memory, into its push constants.
void put_addresses(const LaunchPlan& plan, const LaunchPlace& place, std::span<std::uint32_t> push);
/// Bytes of a launch's slice.
std::uint64_t slice_bytes(const LaunchPlan& plan);
/// The same, and the sets that name it all.
Result<LaunchPlace> allocate_and_bind(const LaunchPlan& plan, Ring& ring, PrintfBuffer& printf,
                                      Descriptors& descriptors);
void record_launch(VkCommandBuffer commands, const LaunchPlan& plan, const LaunchPlace& place,
                   LaunchBound& bound);
/// The lane of a launch that would be in `lane`: what the device has one of, and pages that are
/// kept from the host, are for a launch that runs alone.
inline unsigned lane_of(const LaunchPlan& plan, unsigned lane) {
  return plan.facts->config.cooperative || plan.sanitized || !plan.mirrored.empty() ||
                 plan.facts->kernel->info->system_atomics
             ? Queue::kAlone
             : lane;
}
/// Kinds of the commands of a launch.
inline Work work_of(const LaunchPlan& plan) {
  return plan.mirrored.empty() ? Work::kernel : Work::any;
}

/// An event; without `timed` it has no timestamp, so recordings in several streams need no order.
Result<Event> create_event(const Device& device, bool timed);

/// Rows of a buffer to those of another one, in the stream's order: as Buffer::copy_from.
Status copy_rows(StreamState& stream, const Buffer& from, std::uint64_t from_offset,
                 const Buffer& to, const Region& region);
/// Fills rows in the stream's order; of a pattern, `word` has the same phase in all.
Status fill_rows(StreamState& stream, const Buffer& buffer, const Region& region,
                 std::uint32_t word);

/// The stream that synchronous launches use, made when first needed.
Result<std::shared_ptr<StreamState>> synchronous_stream(DeviceState& device);

}  // namespace ptx2spv::runtime
