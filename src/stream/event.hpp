// The state behind Event.
#pragma once

#include <mutex>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

struct EventState {
  EventState() = default;
  EventState(const EventState&) = delete;
  EventState& operator=(const EventState&) = delete;
  ~EventState();
  std::shared_ptr<DeviceState> device;
  mutable std::mutex mutex;
  VkQueryPool query = VK_NULL_HANDLE;
  std::uint64_t value = 0;  ///< 0: never recorded
};

}  // namespace ptx2spv::runtime
