// Host to device and back: plain copies where memory is mapped, staged ones where it is not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/memory/device.hpp"

namespace ptx2spv::runtime {

/// Rows and slices in device memory and on the host; every pitch is in bytes and set.
struct Rows {
  std::uint64_t offset = 0;  ///< in the buffer
  std::uint64_t row_bytes = 0, row_pitch = 0, slice_pitch = 0;
  std::uint64_t rows = 1, slices = 1;
  std::uint64_t host_row_pitch = 0, host_slice_pitch = 0;
};

/// Both are complete when they return, and come after all work submitted before.
Status upload_rows(MemoryDevice& device, VkBuffer buffer, std::byte* mapped, const Rows& rows,
                   const std::byte* host);
Status download_rows(MemoryDevice& device, VkBuffer buffer, const std::byte* mapped,
                     const Rows& rows, std::byte* host);
/// Fills with `word`; offset and bytes any, the pattern's phase starts at `offset`.
Status fill_bytes(MemoryDevice& device, VkBuffer buffer, std::byte* mapped, std::uint64_t offset,
                  std::uint64_t bytes, std::uint32_t word);
/// Rows and slices of `from`, as the host's side of `rows`, to those of `to`. Mapped: as above, and
/// either buffer may be null.
Status copy_rows(MemoryDevice& device, VkBuffer from, std::uint64_t from_offset,
                 const std::byte* from_mapped, VkBuffer to, std::byte* to_mapped, const Rows& rows);
/// Reads device memory by its address. False: it lies in no block, or not whole.
bool read_address(MemoryDevice& device, std::uint64_t address, std::byte* host,
                  std::uint64_t bytes);

/// A box of one level of an image, and its pitches on the other side.
struct ImageBox {
  VkImage image = VK_NULL_HANDLE;
  bool layered = false;  ///< z counts layers, else slices
  std::uint32_t level = 0, x = 0, y = 0, z = 0, width = 1, height = 1, depth = 1, texel_bytes = 4;
  std::uint64_t row_pitch = 0, slice_pitch = 0;
  std::uint64_t row_bytes() const { return std::uint64_t{width} * texel_bytes; }
};
/// `depth` slices or layers of the box from `z`, their rows from `y`, that lie densely in a buffer.
VkBufferImageCopy dense_copy(const ImageBox& box, std::uint64_t buffer_offset, std::uint32_t z,
                             std::uint32_t depth, std::uint32_t y, std::uint32_t rows);
Status upload_image(MemoryDevice& device, const ImageBox& box, const std::byte* host);
Status download_image(MemoryDevice& device, const ImageBox& box, std::byte* host);

}  // namespace ptx2spv::runtime
