// The doors to the executors: launches of streams, and those that are waited for.
#include <chrono>

#include "src/executor/graph.hpp"
#include "src/executor/tier.hpp"

namespace ptx2spv {

Status Stream::launch(const Kernel& kernel, const LaunchConfig& config, const Args& args) {
  if (kernel.state()->module->device.get() != &state_->device)
    return bad_argument("the kernel and the stream belong to different devices");
  auto facts = gather_facts(*kernel.state(), config, args);
  if (!facts) return facts.error();
  auto plan = choose_plan(*facts);
  if (!plan) return plan.error();
  std::lock_guard lock(state_->mutex);
  auto value = submit_plan(*state_, std::move(*plan), nullptr);
  return value ? Status() : Status(value.error());
}

Status Stream::replay(const Graph& graph) {
  const auto& state = graph.state();
  if (state->device.get() != &state_->device)
    return bad_argument("the graph and the stream belong to different devices");
  std::lock_guard lock(state_->mutex);
  state_->retire();
  std::uint64_t value = 0;
  {
    std::lock_guard graph_lock(state->mutex);
    if (state->nodes.empty()) return {};
    auto submitted = state->replay(*state_);
    if (!submitted) return submitted.error();
    value = *submitted;
  }
  state_->last_value = value;
  state_->after.clear();
  Pending replay;
  replay.value = value;
  replay.keep.push_back(state);
  replay.check = [raw = state.get()](StreamState& stream) { return raw->check(stream); };
  state_->pending.push_back(std::move(replay));
  return {};
}

Result<LaunchTiming> Kernel::launch(const LaunchConfig& config, const Args& args) const {
  auto facts = gather_facts(*state_, config, args);
  if (!facts) return facts.error();
  auto plan = choose_plan(*facts);
  if (!plan) return plan.error();
  DeviceState& device = *state_->module->device;
  auto stream = synchronous_stream(device);
  if (!stream) return stream.error();
  auto outcome = std::make_shared<Outcome>();
  const auto start = std::chrono::steady_clock::now();
  const auto submit = [&] {
    std::lock_guard lock((*stream)->mutex);
    return submit_plan(**stream, std::move(*plan), outcome);
  };
  const auto value = submit();
  if (!value) return value.error();
  const Status status = device.queue.wait(*value);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::vector<std::byte> printed;
  {
    // Even where the wait failed: what the launch keeps holds the device, which holds this stream.
    std::lock_guard lock((*stream)->mutex);
    (*stream)->retire();
    if (!status) return status.error();
    printed.swap((*stream)->printed);
  }
  print_calls(device, printed);
  if (outcome->error) return std::move(*outcome->error);
  outcome->timing.wall_ms = took.count();
  return outcome->timing;
}

namespace runtime {

Result<bool> is_for_host(const Kernel& kernel, const LaunchConfig& config, const Args& args) {
  auto facts = gather_facts(*kernel.state(), config, args);
  if (!facts) return facts.error();
  auto plan = choose_plan(*facts);
  if (!plan) return plan.error();
  return plan->executor == &host_executor();
}

}  // namespace runtime

Status Kernel::prepare(const LaunchConfig& config, const Args& args) const {
  auto for_host = is_for_host(*this, config, args);
  return for_host ? Status() : Status(for_host.error());
}

}  // namespace ptx2spv
