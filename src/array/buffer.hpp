// The state behind Buffer.
#pragma once

#include "ptx2spv/vulkan.hpp"
#include "src/device/device.hpp"
#include "src/memory/transfer.hpp"

namespace ptx2spv::runtime {

struct SharedMemory;

struct BufferState {
  BufferState() = default;
  BufferState(const BufferState&) = delete;
  BufferState& operator=(const BufferState&) = delete;
  ~BufferState();
  /// For the sanitizer: so many bytes are written by the host, or by copies.
  void written(std::uint64_t at, std::uint64_t count) const {
    if (device->checks & check_init) device->allocations.written(address + at, count);
  }
  BufferBase base() const { return {buffer, mapped, address - offset}; }
  std::shared_ptr<DeviceState> device;
  Memory memory;                               ///< empty for an imported buffer
  std::shared_ptr<const SharedMemory> shared;  ///< an allocation of its own, of a descriptor
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0, bytes = 0, address = 0;
  std::byte* mapped = nullptr;  ///< of the VkBuffer's start
  Memory shadow;                ///< of what was written, where the device is asked for that
  bool listed = false;          ///< in DeviceState::allocations
};

/// Checks a copy as Buffer::copy_from does, and notes what it writes. No bytes: `row_bytes` is 0.
Result<Rows> resolve_copy(const BufferState& from, std::uint64_t from_offset, const BufferState& to,
                          const Region& region);
/// Likewise, of a fill.
Result<Rows> resolve_fill(const BufferState& buffer, const Region& region);
/// The word that a fill pattern of so many bytes makes.
Result<std::uint32_t> fill_word(std::uint32_t pattern, int bytes);
/// A buffer that alone fills the multiples of `alignment` that it lies in.
Result<Buffer> create_aligned(const Device& device, std::uint64_t bytes, BufferMemory where,
                              std::uint64_t alignment);
/// The same of memory beyond what the device has, for a driver of the CPU.
Result<Buffer> create_beyond(const Device& device, std::uint64_t bytes, std::uint64_t alignment);
/// The host's memory where running kernels see what the host stores, as far as the device has such:
/// a GPU may keep what it read over a bus. The host reads it slowly.
Result<Buffer> create_mailbox(const Device& device, std::uint64_t bytes);
/// A range of a VkBuffer that somebody else owns, from any byte on.
Result<Buffer> buffer_in(const Device& device, const vulkan::BufferRange& buffer);

}  // namespace ptx2spv::runtime
