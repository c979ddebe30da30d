// Who runs launches: the device through Vulkan, or the host's processor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>

#include "src/launch/plan.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv::runtime {

/// How far a submission got.
struct Submitted {
  std::uint64_t value = 0;                  ///< of the queue, when it is over
  std::optional<std::uint64_t> blocks_run;  ///< not all: the first ones, and nothing went wrong
  double host_ms = 0;                       ///< that the host ran it
};

/// From here on no launch waits for what the program does: the process ends.
void stop_waiting_launches();
bool waiting_launches_stopped();
/// Launches of this thread may take as long as the program likes: nothing else has to be done by
/// it.
void let_launches_wait();

/// Whether the host may run a launch of so many blocks for much longer than another thread costs. A
/// kernel's first launch counts as long: nothing is known of it, and translating takes longer, too.
bool may_be_long(const KernelState& kernel, std::uint64_t blocks);
/// Makes what a launch needs; the launch itself would end with the same errors. True: the host runs
/// it.
Result<bool> is_for_host(const Kernel& kernel, const LaunchConfig& config, const Args& args);

class Executor {
 public:
  /// Why it does not take the launch, whatever the kernel's code is; null: it takes it.
  virtual const char* refusal(const LaunchFacts& facts) const = 0;
  /// Translates and binds: all that tells whether it can run the launch. `first_block`: others
  /// have run the blocks before.
  virtual Result<LaunchPlan> prepare(const Facts& facts,
                                     std::optional<std::uint64_t> first_block = {}) const = 0;
  /// Whether complete() need not compile.
  virtual bool is_compiled(const LaunchPlan& plan) const = 0;
  /// Compiles, so that the plan can be submitted.
  virtual Status complete(LaunchPlan& plan) const = 0;
  /// Gives the plan to the device, or runs it. The caller holds the stream's lock and the device's
  /// residency, with arrays where the plan has them.
  virtual Result<Submitted> submit(StreamState& stream, LaunchPlan&& plan,
                                   const std::shared_ptr<Outcome>& outcome) const = 0;

 protected:
  ~Executor() = default;
  /// Begins a plan and its translation's key, for threads as CUDA has them: chooses where arrays
  /// are, places records and fills the push constants. `reads_images`: not memory alone.
  /// `residency` is held from then on.
  Result<Specialization> begin(LaunchPlan& plan, bool reads_images,
                               std::shared_lock<std::shared_mutex>& residency) const;
  /// Finds memory for the checks of a launch whose dispatches have so many workgroups.
  static Status add_checks(LaunchPlan& plan, std::uint64_t groups);
};

const Executor& vulkan_executor();
const Executor& host_executor();

/// A plan of the Vulkan executor, ready to be recorded.
Result<LaunchPlan> plan_for_device(const Facts& facts,
                                   std::optional<std::uint64_t> first_block = {});

/// Holds arrays where the plan has them; if one has moved since, `again` makes the plan anew.
template <typename Again>
Result<std::shared_lock<std::shared_mutex>> hold_arrays(LaunchPlan& plan, Again&& again) {
  DeviceState& device = plan.device();
  for (;;) {
    std::shared_lock residency(device.residency);
    if (plan.moves == device.moves) return residency;
    residency.unlock();
    auto made = again();
    if (!made) return made.error();
    made->prepare_ms += plan.prepare_ms;
    plan = std::move(*made);
  }
}

}  // namespace ptx2spv::runtime
