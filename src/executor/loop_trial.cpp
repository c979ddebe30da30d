#include "src/executor/loop_trial.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ptx2spv::runtime {

namespace {

/// Of the limit, what a trial may take: blocks differ, launches of one size by less than twice in
/// each number, and the device's loops include those of library routines.
constexpr std::uint64_t kMargin = 4;
/// Sizes that are remembered of a kernel.
constexpr std::size_t kSizes = 16;

/// The bits of every number that iterations may depend on: parameters, whatever they are, grid and
/// block.
std::vector<std::uint8_t> size_of(const LaunchFacts& facts) {
  const std::vector<std::byte>& params = facts.params;
  std::vector<std::uint8_t> size;
  const auto add = [&](std::uint32_t word) {
    size.push_back(static_cast<std::uint8_t>(std::bit_width(word)));
  };
  const std::size_t bytes = std::min<std::size_t>(facts.kernel->info->param_bytes, params.size());
  for (std::size_t at = 0; at < bytes; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, params.data() + at, std::min<std::size_t>(bytes - at, 4));
    add(word);
  }
  for (const Dim3& each : {facts.config.grid, facts.config.block})
    add(each.x), add(each.y), add(each.z);
  return size;
}

bool within(const std::vector<std::uint8_t>& size, const std::vector<std::uint8_t>& known) {
  return std::ranges::equal(size, known, std::ranges::less_equal());
}

}  // namespace

bool tries_loops(const LaunchPlan& device) {
  const EntryInfo& info = device.variant->info;
  const LaunchFacts& facts = *device.facts;
  // A wait's iterations depend on other threads, and the device's translation tells where it has no
  // end.
  if (!info.guards_loops || info.waits.spins || info.sync.divergent_warp_operations ||
      facts.config.threads || facts.config.cooperative || facts.config.repeat != 1 ||
      device.sanitized || facts.fp != FpPolicy::exact)
    return false;
  const auto size = size_of(facts);
  TierState& tier = facts.kernel->tier;
  std::lock_guard lock(tier.mutex);
  return std::ranges::none_of(tier.short_loops,
                              [&](const auto& known) { return within(size, known); });
}

std::uint64_t many_iterations(const KernelState& kernel, std::uint32_t threads_per_invocation) {
  return kernel.module->device->profile.max_loop_iterations / kMargin /
         std::max(threads_per_invocation, 1u);
}

void begin_trial(const LaunchPlan& device, LaunchPlan& host) {
  host.host.trial = true;
  host.host.many_iterations = std::max<std::uint64_t>(
      many_iterations(device.kernel(), device.variant->info.threads_per_invocation), 1);
  // One block for each of the processor's threads.
  host.host.patience = 1e-9;
}

void end_trial(const LaunchFacts& facts) {
  const auto size = size_of(facts);
  TierState& tier = facts.kernel->tier;
  std::lock_guard lock(tier.mutex);
  std::erase_if(tier.short_loops, [&](const auto& known) { return within(known, size); });
  if (tier.short_loops.size() == kSizes) tier.short_loops.erase(tier.short_loops.begin());
  tier.short_loops.push_back(size);
}

}  // namespace ptx2spv::runtime
