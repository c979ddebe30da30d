// Semaphores of the application around a stream's work.
#include "ptx2spv/vulkan.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv::vulkan {

namespace {

Status submit(const Stream& stream, std::span<const SemaphoreValue> all, bool waits) {
  for (const SemaphoreValue& each : all)
    if (!each.semaphore) return bad_argument("a semaphore is null");
  if (all.empty()) return {};
  Queue::Semaphores semaphores;
  for (const SemaphoreValue& each : all) {
    (waits ? semaphores.waits : semaphores.signals).push_back(each.semaphore);
    (waits ? semaphores.wait_values : semaphores.signal_values).push_back(each.value);
  }
  StreamState& state = *stream.state();
  std::lock_guard lock(state.mutex);
  state.retire();
  auto value = state.device.queue.push(std::move(semaphores));
  if (!value) return value.error();
  if (waits) state.device.queue.name(*value, "a wait for a semaphore of the application");
  state.last_value = *value;
  Pending pending;
  pending.value = *value;
  state.pending.push_back(std::move(pending));
  return {};
}

}  // namespace

Status wait(const Stream& stream, std::span<const SemaphoreValue> semaphores) {
  return submit(stream, semaphores, true);
}

Status signal(const Stream& stream, std::span<const SemaphoreValue> semaphores) {
  return submit(stream, semaphores, false);
}

}  // namespace ptx2spv::vulkan
