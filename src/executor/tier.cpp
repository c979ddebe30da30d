#include "src/executor/tier.hpp"

#include "ptx2spv/interpreter.hpp"
#include "src/device/compile_time.hpp"
#include "src/device/local_memory.hpp"
#include "src/launch/shape.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

/// Compilations that take less are not worth a thought.
constexpr std::uint64_t kShort = 500'000;  // microseconds
/// Another thread costs some 30 microseconds.
constexpr float kMuchLonger = 1000;
/// What checks of synchronisation may take: they make several times as much of a kernel.
constexpr std::uint64_t kMostForSync = 20'000'000;

bool looks_at_sync(const LaunchFacts& facts) {
  return (facts.checks & check_sync) != 0 && has_sync_to_check(facts);
}

/// Whether threads may wait for what the program does meanwhile. A CPU's driver has an end to
/// loops, or works off one launch after another.
bool waits_for_others(const LaunchFacts& facts) {
  return facts.kernel->tier.waits_for_others && !facts.config.threads && !looks_at_sync(facts) &&
         !facts.device().profile.exactness.independent_threads;
}

/// Whether the host's results are the device's.
bool exact(const LaunchFacts& facts) { return facts.fp == FpPolicy::exact; }

bool has_clock(const DeviceState& device) {
  return device.profile.features.shader_clock || device.profile.features.device_clock;
}

/// Whether the host runs it without a device translation: the setting says always, the driver
/// rejects the kernel, or it is still compiling it. With checks of synchronisation the host runs
/// only what the driver rejects, and leaves these checks out (prepare_checks).
bool host_at_once(const LaunchFacts& facts) {
  const TierState& tier = facts.kernel->tier;
  // Only translations for devices report of synchronisation.
  if (looks_at_sync(facts)) return tier.device_refuses;
  return tier.device_refuses || facts.device().executor == ExecutorPolicy::host ||
         waits_for_others(facts) || (tier.interpreted_us < tier.patience_us && exact(facts));
}

bool driver_first() { return option_text(Option::tier) == "driver"; }

/// Whether the host's machine code is preferred to that of a CPU's driver.
bool host_first(const LaunchFacts& facts) {
  return exact(facts) && !facts.config.threads && !looks_at_sync(facts) &&
         !facts.kernel->tier.not_compiled && !driver_first() &&
         InterpretedKernel::no_compiler().empty();
}

/// Whether the host runs it for now, because the driver would compile the translation for long. We
/// compile once interpreting has cost as much as compiling would, unless the compiler might fail or
/// its code would be slower than the host. A caller who asks for a thread model gets it from the
/// device.
bool host_for_now(const LaunchFacts& facts, const Variant& variant) {
  if (facts.config.threads) return false;
  TierState& tier = facts.kernel->tier;
  const PhysicalTraits& traits = facts.device().traits;
  const EntryInfo& info = variant.info;
  const bool gives_up = compiler_may_give_up(traits, variant.code_bytes, info.local_bytes);
  // Kernels whose threads wait for one another in loops are the device's, whose translation tells
  // where a wait has no end.
  const bool wait = info.waits.spins || info.sync.divergent_warp_operations;
  const std::uint64_t needed =
      compile_microseconds(traits, variant.code_bytes, info.local_accesses,
                           (info.sync.barriers || info.sync.warp_operations || wait) &&
                               info.threads == ThreadModel::regions);
  if (looks_at_sync(facts)) return gives_up || needed > kMostForSync;
  // The host has clocks, and its threads wait for them side by side.
  if (info.waits.for_clock || (info.waits.reads_clock && !has_clock(facts.device()))) {
    tier.patience_us = UINT64_MAX;
    return true;
  }
  if (!exact(facts)) return false;
  const bool warps = info.sync.warp_operations && !driver_first();
  if ((!wait && meets_slowly(traits, info.sync.barriers, warps)) || gives_up) {
    tier.patience_us = UINT64_MAX;
    return true;
  }
  if (needed < kShort) return false;
  const std::uint64_t patience = tier.compiled_us + needed;
  if (tier.interpreted_us >= patience) {
    tier.compiled_us += needed;
    return false;
  }
  tier.patience_us = patience;
  return true;
}

/// Whether the driver ends loops silently, and may end this kernel's: the host runs it then. What a
/// loop that waits for others does depends on them, and the device's translation tells where it has
/// no end.
bool may_be_cut_off(const LaunchFacts& facts, const EntryInfo& info) {
  if (!info.guards_loops || info.waits.spins || info.sync.divergent_warp_operations ||
      facts.config.threads || looks_at_sync(facts) || !exact(facts) || driver_first())
    return false;
  facts.kernel->tier.patience_us = UINT64_MAX;
  return true;
}

/// Whether an executor's translation or compiler failed: the other one may still run the kernel.
bool others_may(const Error& error) {
  return error.code == ErrorCode::unsupported || error.code == ErrorCode::translation ||
         error.code == ErrorCode::internal;
}

/// The host's plan, with an end to its patience where the device may run the blocks that follow: no
/// two of those meet.
Result<LaunchPlan> plan_for_host(const Facts& facts) {
  auto plan = host_executor().prepare(facts);
  TierState& tier = facts->kernel->tier;
  if (!plan) {
    if (others_may(plan.error())) tier.host_refuses = true;
    return plan;
  }
  const LaunchConfig& config = facts->config;
  const std::uint64_t patience = tier.patience_us, interpreted = tier.interpreted_us;
  if (tier.device_refuses || waits_for_others(*facts) || interpreted >= patience ||
      patience == UINT64_MAX || config.cooperative || config.repeat != 1 ||
      facts->checks != no_checks)
    return plan;
  plan->host.patience = static_cast<double>(patience - interpreted) * 1e-6;
  return plan;
}

}  // namespace

bool serves_parts(const KernelState& kernel) { return kernel.tier.patience_us != 0; }

Result<LaunchPlan> choose_plan(const Facts& facts) {
  TierState& tier = facts->kernel->tier;
  if (tier.host_refuses || host_executor().refusal(*facts)) return plan_for_device(facts);
  if (host_at_once(*facts)) {
    auto plan = plan_for_host(facts);
    return plan || !tier.host_refuses ? std::move(plan) : plan_for_device(facts);
  }
  if (host_first(*facts)) {
    const std::uint32_t block[] = {facts->config.block.x, facts->config.block.y,
                                   facts->config.block.z};
    auto plan = plan_for_host(facts);
    const InterpretedKernel* kernel = plan ? &*plan->variant->interpreted : nullptr;
    if (kernel && kernel->not_compiled(block).empty()) return plan;
    tier.not_compiled = true;
  }
  const Executor& device = vulkan_executor();
  auto plan = device.prepare(facts);
  const bool waits = plan && (may_be_cut_off(*facts, plan->variant->info) ||
                              (!device.is_compiled(*plan) && host_for_now(*facts, *plan->variant)));
  Status status = !plan ? plan.error() : waits ? Status() : device.complete(*plan);
  if (status && !waits) return plan;
  if (!status && !others_may(status.error())) return status.error();
  auto other = plan_for_host(facts);
  if (other) {
    if (!status) tier.device_refuses = true;
    return other;
  }
  // The device's own reason says more.
  if (status) status = device.complete(*plan);
  if (!status) return status.error();
  return plan;
}

bool may_be_long(const KernelState& kernel, std::uint64_t blocks) {
  const float each = kernel.tier.host_block_us.known();
  return each < 0 || each * static_cast<float>(blocks) > kMuchLonger;
}

Result<std::uint64_t> submit_plan(StreamState& stream, LaunchPlan&& plan,
                                  const std::shared_ptr<Outcome>& outcome) {
  const Facts facts = plan.facts;
  TierState& tier = facts->kernel->tier;
  for (std::optional<std::uint64_t> first;;) {
    const auto again = [&] { return first ? plan_for_device(facts, first) : choose_plan(facts); };
    {
      auto residency = hold_arrays(plan, again);
      if (!residency) return residency.error();
      auto done = plan.executor->submit(stream, std::move(plan), outcome);
      if (!done) return done.error();
      tier.interpreted_us += static_cast<std::uint64_t>(done->host_ms * 1000);
      const std::uint64_t blocks = done->blocks_run.value_or(volume(facts->config.grid));
      if (done->host_ms > 0 || tier.host_block_us.known() != 0)
        tier.host_block_us.note(static_cast<float>(done->host_ms * 1000 / std::max(blocks, 1ul)));
      if (!done->blocks_run) return done->value;
      first = done->blocks_run;
    }
    auto rest = again();
    if (!rest) return rest.error();
    rest->prepare_ms += plan.prepare_ms;
    plan = std::move(*rest);
  }
}

}  // namespace ptx2spv::runtime
