// The state behind Buffer.
#pragma once

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

struct BufferState {
  BufferState() = default;
  BufferState(const BufferState&) = delete;
  BufferState& operator=(const BufferState&) = delete;
  ~BufferState();
  std::shared_ptr<DeviceState> device;
  Memory memory;  ///< empty for an imported buffer
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0, bytes = 0, address = 0;
  std::byte* mapped = nullptr;  ///< of the VkBuffer's start
  bool listed = false;          ///< in DeviceState::allocations
};

}  // namespace ptx2spv::runtime
