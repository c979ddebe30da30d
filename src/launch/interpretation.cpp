#include "src/launch/interpretation.hpp"

#include "src/device/compile_time.hpp"
#include "src/device/local_memory.hpp"

namespace ptx2spv::runtime {

namespace {

/// Compilations that take less are not worth a thought.
constexpr std::uint64_t kShort = 500'000;  // microseconds
/// What checks of synchronisation may take: they make several times as much of a kernel.
constexpr std::uint64_t kMostForSync = 20'000'000;

/// Whether the interpreter's results are the device's.
bool exact(const KernelState& kernel, const LaunchConfig& config) {
  return config.fp.value_or(kernel.module->options.fp) == FpPolicy::exact;
}

bool has_clock(const DeviceState& device) {
  return device.profile.features.shader_clock || device.profile.features.device_clock;
}

bool looks_at_sync(const KernelState& kernel, const LaunchConfig& config) {
  return (checks_of(kernel, config) & check_sync) != 0;
}

}  // namespace

bool may_interpret(const KernelState& kernel) {
  DeviceState& device = *kernel.module->device;
  return device.interpreted != Interpreted::none && !kernel.not_interpreted &&
         !device.queue.waits_for_others();
}

bool interprets_at_once(const KernelState& kernel, const LaunchConfig& config) {
  // Only translations for devices report of synchronisation.
  if (looks_at_sync(kernel, config)) return kernel.device_refuses;
  return kernel.device_refuses || kernel.module->device->interpreted == Interpreted::all ||
         (kernel.interpreted_us < kernel.patience_us && exact(kernel, config));
}

bool interprets_first(KernelState& kernel, const LaunchConfig& config, const Variant& variant) {
  if (config.threads) return false;
  const PhysicalTraits& traits = kernel.module->device->traits;
  const EntryInfo& info = variant.info;
  const bool gives_up = compiler_may_give_up(traits, variant.code_bytes, info.local_bytes);
  // Kernels whose threads wait for one another in loops are the device's, whose translation tells
  // where a wait has no end.
  const bool wait = info.waits || info.divergent_warp_operations;
  const std::uint64_t needed = compile_microseconds(
      traits, variant.code_bytes, info.local_accesses,
      (info.barriers || info.warp_operations || wait) && info.threads == ThreadModel::regions);
  if (looks_at_sync(kernel, config)) return gives_up || needed > kMostForSync;
  // The interpreter has clocks, and its threads wait for them side by side.
  if (info.waits_for_clock || (info.reads_clock && !has_clock(*kernel.module->device))) {
    kernel.patience_us = UINT64_MAX;
    return true;
  }
  if (!exact(kernel, config)) return false;
  if ((info.barriers && !wait && has_slow_barriers(traits)) || gives_up) {
    kernel.patience_us = UINT64_MAX;
    return true;
  }
  if (needed < kShort) return false;
  const std::uint64_t patience = kernel.compiled_us + needed;
  if (kernel.interpreted_us >= patience) {
    kernel.compiled_us += needed;
    return false;
  }
  kernel.patience_us = patience;
  return true;
}

bool of_device(const Error& error) {
  return error.code == ErrorCode::unsupported || error.code == ErrorCode::translation ||
         error.code == ErrorCode::internal;
}

}  // namespace ptx2spv::runtime
