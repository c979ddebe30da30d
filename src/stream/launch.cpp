// Launches that are waited for.
#include <chrono>

#include "src/stream/stream.hpp"

namespace ptx2spv {

using namespace runtime;

Result<LaunchTiming> Kernel::launch(const LaunchConfig& config, const Args& args) const {
  auto plan = plan_launch(*state_, config, args, Runner::any);
  if (!plan) return plan.error();
  DeviceState& device = *state_->module->device;
  auto stream = synchronous_stream(device);
  if (!stream) return stream.error();
  LaunchTiming timing;
  auto outcome = std::make_shared<Outcome>();
  std::uint64_t value = 0;
  auto start = std::chrono::steady_clock::now();
  {
    std::lock_guard lock((*stream)->mutex);
    const Status status = submit_plan(
        std::move(*plan), *state_, config, args, Runner::any, [&](LaunchPlan&& settled) {
          timing.prepare_ms = settled.prepare_ms;
          timing.threads = settled.variant->key.threads;
          timing.sampled_textures =
              static_cast<std::uint32_t>(settled.textures.size()) + settled.table_textures;
          return (*stream)->launch(std::move(settled), outcome, &value);
        });
    if (!status) return status.error();
  }
  if (Status status = device.queue.wait(value); !status) {
    // What the launch keeps holds the device, which holds this stream.
    std::lock_guard lock((*stream)->mutex);
    (*stream)->retire();
    return status.error();
  }
  timing.wall_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::vector<std::byte> printed;
  {
    std::lock_guard lock((*stream)->mutex);
    (*stream)->retire();
    printed.swap((*stream)->printed);
  }
  print_calls(device, printed);
  timing.device_ms = outcome->device_ms;
  if (outcome->error) return std::move(*outcome->error);
  return timing;
}

Status Kernel::prepare(const LaunchConfig& config, const Args& args) const {
  auto plan = plan_launch(*state_, config, args, Runner::any);
  return plan ? Status() : Status(plan.error());
}

}  // namespace ptx2spv
