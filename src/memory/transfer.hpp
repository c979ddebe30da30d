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
  /// The same with the sides exchanged: `at` is the offset on the host's.
  Rows reversed(std::uint64_t at) const {
    return {at, row_bytes, host_row_pitch, host_slice_pitch, rows, slices, row_pitch, slice_pitch};
  }
};

/// Both are complete when they return, and come after all work submitted before. `later`: an upload
/// of few bytes to memory of the heap's is complete before all work that is submitted later.
Status upload_rows(MemoryDevice& device, const BufferBase& buffer, const Rows& rows,
                   const std::byte* host, bool later = false);
Status download_rows(MemoryDevice& device, const BufferBase& buffer, const Rows& rows,
                     std::byte* host);
/// Fills memory of the process with a word, from its first byte on.
void fill_mapped(std::byte* to, std::uint64_t bytes, std::uint32_t word);
/// Fills rows with `word`; offsets and bytes any, the pattern's phase starts at each row.
Status fill_rows(MemoryDevice& device, const BufferBase& buffer, const Rows& rows,
                 std::uint32_t word);
/// Whether record_fill() does it: `word` has the same phase in all rows.
bool fills_by_commands(MemoryDevice& device, const BufferBase& buffer, const Rows& rows);
/// The kind of the commands that record_fill() records.
Work work_of_fill(MemoryDevice& device, const BufferBase& buffer, const Rows& rows);
void record_fill(MemoryDevice& device, VkCommandBuffer commands, const BufferBase& buffer,
                 const Rows& rows, std::uint32_t word);
/// Rows and slices of `from`, as the host's side of `rows`, to those of `to`. Mapped: as above, and
/// either buffer may be null.
Status copy_rows(MemoryDevice& device, const BufferBase& from, std::uint64_t from_offset,
                 const BufferBase& to, const Rows& rows);
/// The kind of the commands that record_rows() records.
Work work_of_rows(MemoryDevice& device, const BufferBase& from, const BufferBase& to,
                  const Rows& rows);
/// The same between buffers that do not overlap.
void record_rows(MemoryDevice& device, VkCommandBuffer commands, const BufferBase& from,
                 std::uint64_t from_offset, const BufferBase& to, const Rows& rows);
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
