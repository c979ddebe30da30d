#include "src/stream/event.hpp"

namespace ptx2spv::runtime {

EventState::~EventState() {
  if (!query) return;
  if (value) (void)device->queue.wait(value);
  device->vk.DestroyQueryPool(device->handle, query, nullptr);
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

Result<Event> Event::create(const Device& device) {
  auto event = std::make_shared<EventState>();
  event->device = device.state();
  VkQueryPoolCreateInfo create{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  create.queryType = VK_QUERY_TYPE_TIMESTAMP;
  create.queryCount = 1;
  if (event->device->traits.timestamp_bits) {
    VkResult result =
        event->device->vk.CreateQueryPool(event->device->handle, &create, nullptr, &event->query);
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateQueryPool");
  }
  return Event(std::move(event));
}

bool Event::recorded() const {
  std::lock_guard lock(state_->mutex);
  return state_->value != 0;
}

bool Event::done() const {
  std::lock_guard lock(state_->mutex);
  if (!state_->value) return false;
  Queue& queue = state_->device->queue;
  (void)queue.flush(state_->value);
  return queue.reached(state_->value);
}

Status Event::wait() const {
  std::uint64_t value = 0;
  {
    std::lock_guard lock(state_->mutex);
    value = state_->value;
  }
  return value ? state_->device->queue.wait(value) : Status();
}

Result<double> Event::since(const Event& start) const {
  DeviceState& device = *state_->device;
  if (start.state_->device != state_->device)
    return bad_argument("the events belong to different devices");
  if (!done() || !start.done()) return bad_argument("an event is not done, or was never recorded");
  if (device.queue.lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "GetQueryPoolResults");
  std::uint64_t ticks[2] = {};
  const Event* events[2] = {&start, this};
  for (int i = 0; i < 2; ++i) {
    EventState& each = *events[i]->state_;
    std::lock_guard lock(each.mutex);
    if (!each.query)
      return make_error(ErrorCode::unsupported, device.info.name + " has no timestamps");
    VkResult result =
        device.vk.GetQueryPoolResults(device.handle, each.query, 0, 1, 8, &ticks[i], 8,
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (result != VK_SUCCESS) return vulkan_error(result, "GetQueryPoolResults");
  }
  return static_cast<double>(static_cast<std::int64_t>(ticks[1] - ticks[0])) *
         device.traits.properties.limits.timestampPeriod * 1e-6;
}

}  // namespace ptx2spv
