// Launches that the host's processor runs. They are over when the call returns: the process does
// the work itself, between what the device was given before and what it is given later.
#include <atomic>
#include <chrono>
#include <cstring>

#include "src/device/host_limits.hpp"
#include "src/device/host_runs.hpp"
#include "src/executor/executor.hpp"
#include "src/launch/backing.hpp"
#include "src/launch/shape.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

std::atomic<bool> g_stopped{false};
/// Seconds that a kernel may wait for what the program does.
constexpr double kStallOfOthers = 60;

InterpretedKernel::Memory whole(const Memory& memory) { return {memory.mapped(), memory.size()}; }

/// What the kernel reaches by descriptors on a device.
std::array<InterpretedKernel::Memory, abi::kBindings> bound(const LaunchPlan& plan,
                                                            const LaunchPlace& place) {
  const DeviceState& device = plan.device();
  std::array<InterpretedKernel::Memory, abi::kBindings> out{};
  out[abi::params] = {place.slice.mapped, plan.params.size()};
  out[abi::trap] = {place.slice.trap, Ring::kTrapBytes};
  out[abi::surfaces] = whole(device.surfaces.memory());
  out[abi::constants] =
      whole(plan.facts->module->constants ? plan.facts->module->constants : device.discard);
  out[abi::locks] = whole(device.locks);
  out[abi::textures] = whole(device.textures.memory());
  return out;
}

InterpretedKernel::Ending run(const LaunchPlan& plan, const InterpretedKernel::Launch& launch) {
  InterpretedKernel::Ending ending;
  for (std::uint32_t turn = 0; turn < plan.facts->config.repeat && ending.problem.empty(); ++turn) {
    if (plan.sanitized && plan.sanitized->shadow)
      std::memset(plan.sanitized->shadow.mapped(), 0, plan.sanitized->shadow.size());
    if (plan.facts->workspace) std::memset(plan.facts->workspace->mapped(), 0, abi::kGridWorkspace);
    ending = plan.variant->interpreted->run(launch);
  }
  return ending;
}

Error error_of(const InterpretedKernel::Ending& ending, const std::string& kernel) {
  if (ending.timed_out)
    return make_error(ErrorCode::timed_out, "kernel '" + kernel + "' " + ending.problem);
  return make_error(ErrorCode::unsupported,
                    "kernel '" + kernel + "', which the interpreter ran: " + ending.problem);
}

class HostExecutor final : public Executor {
 public:
  const char* refusal(const LaunchFacts& facts) const override {
    DeviceState& device = facts.device();
    if (device.executor == ExecutorPolicy::device) return "launches are the device's alone";
    if (device.queue.waits_for_others())
      return "the queue waits for a semaphore of others, which may be for this thread to signal";
    return nullptr;
  }

  Result<LaunchPlan> prepare(const Facts& facts,
                             std::optional<std::uint64_t> first_block) const override {
    LaunchPlan plan{.facts = facts, .first_block = first_block};
    std::shared_lock<std::shared_mutex> residency;
    auto key = begin(plan, false, residency);
    if (!key) return key.error();
    auto sanitized = prepare_checks(*facts, *plan.slots, plan.params, false, *key);
    if (!sanitized) return sanitized.error();
    plan.sanitized = std::move(*sanitized);
    auto variant = facts->kernel->interpretation(*key, plan.prepare_ms);
    if (!variant) return variant.error();
    plan.variant = std::move(*variant);
    if (Status status = add_checks(plan, volume(facts->config.grid)); !status)
      return status.error();
    for (const auto& surface : plan.slots->surfaces)
      if (surface) plan.keep.push_back(surface);
    plan.slots.reset();
    return plan;
  }

  bool is_compiled(const LaunchPlan&) const override { return true; }
  Status complete(LaunchPlan&) const override { return {}; }

  Result<Submitted> submit(StreamState& stream, LaunchPlan&& plan,
                           const std::shared_ptr<Outcome>& outcome) const override;
};

/// Copies between mirrored arrays and their images, and waits for it.
Status copy_arrays(StreamState& stream, const LaunchPlan& plan, bool to_linear) {
  if (plan.mirrored.empty()) return {};
  Status status = stream.transfer(
      0,
      [&](VkCommandBuffer recorded) {
        for (const auto& array : plan.mirrored) array->record_copy(recorded, to_linear);
      },
      {}, nullptr);
  return status ? stream.device.queue.wait(stream.last_value) : std::move(status);
}

InterpretedKernel::Ending run_placed(const LaunchPlan& plan, const LaunchPlace& place) {
  auto push = plan.push;
  put_addresses(plan, place, push);
  InterpretedKernel::Launch launch;
  std::copy_n(&push[abi::grid_x], 3, launch.grid);
  std::copy_n(&push[abi::block_x], 3, launch.block);
  launch.dynamic_shared = push[abi::dynamic_shared];
  launch.bindings = bound(plan, place);
  launch.push = push;
  launch.threads = host_processors();
  launch.timeout = plan.device().queue.timeout();
  launch.patience = plan.host.patience;
  launch.stop = &g_stopped;
  if (plan.kernel().tier.waits_for_others) launch.stall = kStallOfOthers;
  const std::string_view tier = option_text(Option::tier);
  if (tier == "interpreted") launch.tier = InterpretedKernel::Tier::interpreted;
  if (tier == "compiled") launch.tier = InterpretedKernel::Tier::compiled;
  return run(plan, launch);
}

Result<Submitted> HostExecutor::submit(StreamState& stream, LaunchPlan&& plan,
                                       const std::shared_ptr<Outcome>& outcome) const {
  DeviceState& device = stream.device;
  // All that was submitted comes before, for it is over when the call returns.
  const std::uint64_t before = device.queue.submitted();
  if (Status status = device.queue.wait(before); !status) return status.error();
  stream.retire();
  if (Status status = stream.make_room(plan); !status) return status.error();
  auto place = stream.place(plan, false);
  if (!place) return place.error();
  const HostRun running(device);
  InterpretedKernel::Ending ending;
  std::chrono::duration<double, std::milli> took{};
  Status status = copy_arrays(stream, plan, true);
  if (status) {
    const auto start = std::chrono::steady_clock::now();
    ending = run_placed(plan, *place);
    took = std::chrono::steady_clock::now() - start;
    status = copy_arrays(stream, plan, false);
  }
  if (!status) {
    stream.ring.cancel();
    return status.error();
  }
  std::uint32_t trapped = 0;
  std::memcpy(&trapped, place->slice.trap, sizeof trapped);
  Submitted out{.value = before, .host_ms = took.count()};
  if (ending.problem.empty() && !trapped && ending.blocks < volume(plan.facts->config.grid))
    out.blocks_run = ending.blocks;
  if (outcome && plan.facts->config.time) outcome->timing.device_ms = took.count();
  {
    std::lock_guard lock(device.statistics_mutex);
    device.statistics.interpreted_launches += plan.facts->config.repeat;
  }
  const std::string name = plan.kernel().info->name;
  Pending& done = stream.pend(std::move(plan), *place, out.value, outcome);
  if (!ending.problem.empty())
    done.check = [failure = error_of(ending, name)](StreamState&) -> std::optional<Error> {
      return failure;
    };
  // It is looked at now, while its slice of the ring is there: no value of the queue stands for it.
  stream.retire();
  stream.ring.cancel();
  stream.last_value = std::max(stream.last_value, out.value);
  return out;
}

}  // namespace

void stop_waiting_launches() { g_stopped = true; }
bool waiting_launches_stopped() { return g_stopped; }

const Executor& host_executor() {
  static const HostExecutor executor;
  return executor;
}

}  // namespace ptx2spv::runtime
