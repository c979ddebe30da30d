// Boxes of arrays: checked against the array, and recorded as copies from and to buffers.
#pragma once

#include <cstddef>

#include "src/array/array.hpp"

namespace ptx2spv::runtime {

/// A region that lies in its array, every pitch set.
struct ArrayBox {
  ImageBox image;
  Rows rows;               ///< its `host_` pitches are the other side's
  std::uint64_t span = 0;  ///< bytes from the first to behind the last on the other side
};

/// invalid_argument where the region does not lie in the level, or a pitch is less than what it
/// steps over.
Result<ArrayBox> resolve(const ArrayState& array, const ArrayRegion& region);
/// Also refuses what a buffer cannot exchange with an image (Vulkan, VkBufferImageCopy).
Result<ArrayBox> resolve_for_buffer(const ArrayState& array, const ArrayRegion& region,
                                    std::uint64_t buffer_offset, std::uint64_t buffer_bytes);
/// The copies between the box and a buffer, whose first byte of the box is at `offset`.
void record_box(VkCommandBuffer commands, const ArrayState& array, const ArrayBox& box,
                const BufferBase& buffer, std::uint64_t offset, bool to_array);
/// invalid_argument where the box spans more than `bytes` on the host.
Status host_span(const ArrayBox& box, std::size_t bytes);
/// Whether it has a VkBuffer or an image; else it is mapped.
bool reached_by_commands(const ArrayState& array);
/// Complete when they return. A buffer without a VkBuffer is mapped.
Status write_box(const ArrayState& array, const ArrayBox& box, const std::byte* bytes);
Status read_box(const ArrayState& array, const ArrayBox& box, std::byte* bytes);
Status copy_box(const ArrayState& array, const ArrayBox& box, const BufferState& buffer,
                std::uint64_t offset, bool to_array);
/// invalid_argument where `array` is not of this device.
Status same_device(const ArrayState& array, const DeviceState* other);

}  // namespace ptx2spv::runtime
