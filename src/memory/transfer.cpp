#include "src/memory/transfer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace ptx2spv::runtime {

namespace {

/// Of memory between the host and the device: images, and each half for the rows of buffers.
constexpr std::uint64_t kChunkBytes = 16ull << 20, kHalfBytes = 2ull << 20;
/// The host need not wait for so many bytes, as with CUDA.
constexpr std::uint64_t kLaterBytes = 64ull << 10;

/// A range of rows (or, where a row is longer than kHalfBytes, a part of one) that one staged copy
/// takes.
struct Piece {
  std::uint64_t slice, row, rows, column, bytes;
};

/// Cuts `rows` into pieces of kHalfBytes at most, in order.
template <class F>
Status for_each_piece(const Rows& rows, F&& each) {
  for (std::uint64_t slice = 0; slice < rows.slices; ++slice) {
    if (rows.row_bytes > kHalfBytes) {
      for (std::uint64_t row = 0; row < rows.rows; ++row)
        for (std::uint64_t column = 0; column < rows.row_bytes; column += kHalfBytes) {
          Piece piece{slice, row, 1, column, std::min(kHalfBytes, rows.row_bytes - column)};
          if (Status status = each(piece); !status) return status;
        }
      continue;
    }
    std::uint64_t at_once =
        std::max<std::uint64_t>(1, kHalfBytes / std::max<std::uint64_t>(rows.row_bytes, 1));
    for (std::uint64_t row = 0; row < rows.rows; row += at_once) {
      Piece piece{slice, row, std::min(at_once, rows.rows - row), 0, rows.row_bytes};
      if (Status status = each(piece); !status) return status;
    }
  }
  return {};
}

/// The rows of a piece, whose other side lies without gaps.
Rows rows_of(const Rows& rows, const Piece& piece) {
  Rows part;
  part.offset =
      rows.offset + piece.slice * rows.slice_pitch + piece.row * rows.row_pitch + piece.column;
  part.row_bytes = part.host_row_pitch = piece.bytes;
  part.row_pitch = rows.row_pitch;
  part.rows = piece.rows;
  return part;
}

Status wait_for_all(MemoryDevice& device) { return device.queue.wait(device.queue.submitted()); }

bool dense(const Rows& rows) {
  return (rows.rows == 1 ||
          (rows.row_pitch == rows.row_bytes && rows.host_row_pitch == rows.row_bytes)) &&
         (rows.slices == 1 || (rows.slice_pitch == rows.row_bytes * rows.rows &&
                               rows.host_slice_pitch == rows.slice_pitch));
}

/// Copies between the host's memory and what it has mapped: an upload where its own is const.
template <class Byte>
void move_bytes(Byte* outside, std::byte* inside, std::uint64_t bytes) {
  if constexpr (std::is_const_v<Byte>)
    std::memcpy(inside, outside, bytes);
  else
    std::memcpy(outside, inside, bytes);
}

/// Copies rows between the host and the device's memory: an upload where the host's is const.
template <class Byte>
Status move_rows(MemoryDevice& device, const BufferBase& buffer, const Rows& rows, Byte* host,
                 bool later = false) {
  constexpr bool kUpload = std::is_const_v<Byte>;
  if (!rows.row_bytes || !rows.rows || !rows.slices) return {};
  const auto host_row = [&](std::uint64_t slice, std::uint64_t row) {
    return host + slice * rows.host_slice_pitch + row * rows.host_row_pitch;
  };
  if (std::byte* mapped = buffer.mapped) {
    if (Status status = wait_for_all(device); !status) return status;
    if (dense(rows)) {
      move_bytes(host, mapped + rows.offset, rows.row_bytes * rows.rows * rows.slices);
      return {};
    }
    for (std::uint64_t slice = 0; slice < rows.slices; ++slice)
      for (std::uint64_t row = 0; row < rows.rows; ++row)
        move_bytes(host_row(slice, row),
                   mapped + rows.offset + slice * rows.slice_pitch + row * rows.row_pitch,
                   rows.row_bytes);
    return {};
  }
  const std::uint64_t all = rows.row_bytes * rows.rows * rows.slices;
  later = later && all <= kLaterBytes && rows.slices == 1 && !device.queue.is_shared();
  const std::uint64_t half = std::min(kHalfBytes, rows.row_bytes * rows.rows);
  auto staging = device.heap.allocate(kUpload ? MemoryKind::visible : MemoryKind::readback,
                                      all > half ? 2 * half : half);
  if (!staging) return staging.error();
  // The host copies into or out of one half while the device copies the other.
  struct Half {
    std::uint64_t at = 0, value = 0;  ///< 0: the device has nothing to do with it
    Piece piece{};
  };
  Half halves[2] = {{}, {half}};
  const auto move_staged = [&](const Half& part) {
    for (std::uint64_t row = 0; row < part.piece.rows; ++row)
      move_bytes(host_row(part.piece.slice, part.piece.row + row) + part.piece.column,
                 staging->mapped() + part.at + row * part.piece.bytes, part.piece.bytes);
  };
  const auto finish = [&](Half& part) -> Status {
    if (!part.value) return {};
    Status status = device.queue.wait(std::exchange(part.value, 0));
    if (status && !kUpload) move_staged(part);
    return status;
  };
  unsigned next = 0;
  Status status = for_each_piece(rows, [&](const Piece& piece) -> Status {
    Half& part = halves[next];
    next ^= 1;
    if (Status before = finish(part); !before) return before;
    part.piece = piece;
    if (kUpload) move_staged(part);
    const Rows inside = rows_of(rows, piece);
    const std::uint64_t at = staging->offset() + part.at;
    const auto value = device.queue.give(
        [&](VkCommandBuffer commands) {
          if (kUpload)
            record_rows(device, commands, staging->base(), at, buffer, inside);
          else
            record_rows(device, commands, buffer, inside.offset, staging->base(),
                        inside.reversed(at));
        },
        later ? When::together : When::awaited);
    if (!value) return value.error();
    // The heap keeps the staging memory until the copy is over.
    if (!later) part.value = *value;
    return {};
  });
  for (Half* part : {&halves[next], &halves[next ^ 1]})
    if (Status last = finish(*part); status && !last) status = std::move(last);
  return status;
}

}  // namespace

Status upload_rows(MemoryDevice& device, const BufferBase& buffer, const Rows& rows,
                   const std::byte* host, bool later) {
  return move_rows(device, buffer, rows, host, later);
}

Status download_rows(MemoryDevice& device, const BufferBase& buffer, const Rows& rows,
                     std::byte* host) {
  return move_rows(device, buffer, rows, host);
}

namespace {

bool in_words(const Rows& rows) {
  return rows.rows == 1 && rows.slices == 1 && rows.offset % 4 == 0 && rows.row_bytes % 4 == 0;
}

}  // namespace

void fill_mapped(std::byte* to, std::uint64_t bytes, std::uint32_t word) {
  if (word == (word & 0xff) * 0x01010101u) {
    std::memset(to, static_cast<int>(word & 0xff), bytes);
    return;
  }
  for (std::uint64_t at = 0; at < bytes; at += 4)
    std::memcpy(to + at, &word, std::min<std::uint64_t>(bytes - at, 4));
}

Status fill_rows(MemoryDevice& device, const BufferBase& buffer, const Rows& rows,
                 std::uint32_t word) {
  if (!rows.row_bytes || !rows.rows || !rows.slices) return {};
  if (!buffer.mapped && fills_by_commands(device, buffer, rows))
    return device.queue.run(
        [&](VkCommandBuffer commands) { record_fill(device, commands, buffer, rows, word); });
  if (buffer.mapped) {
    if (Status status = wait_for_all(device); !status) return status;
    for (std::uint64_t slice = 0; slice < rows.slices; ++slice)
      for (std::uint64_t row = 0; row < rows.rows; ++row)
        fill_mapped(buffer.mapped + rows.offset + slice * rows.slice_pitch + row * rows.row_pitch,
                    rows.row_bytes, word);
    return {};
  }
  // Every row of the host's side is the same one.
  std::vector<std::byte> row(rows.row_bytes);
  fill_mapped(row.data(), row.size(), word);
  Rows same = rows;
  same.host_row_pitch = same.host_slice_pitch = 0;
  return upload_rows(device, buffer, same, row.data());
}

bool fills_by_commands(MemoryDevice& device, const BufferBase& buffer, const Rows& rows) {
  return in_words(rows) || device.copy_kernel.takes(buffer);
}

Work work_of_fill(MemoryDevice& device, const BufferBase& buffer, const Rows& rows) {
  return in_words(rows) || !device.copy_kernel.takes(buffer) ? Work::copy : Work::kernel;
}

void record_fill(MemoryDevice& device, VkCommandBuffer commands, const BufferBase& buffer,
                 const Rows& rows, std::uint32_t word) {
  if (work_of_fill(device, buffer, rows) == Work::copy)
    return device.vk.CmdFillBuffer(commands, buffer.buffer, rows.offset, rows.row_bytes, word);
  const auto phase = static_cast<int>((buffer.address + rows.offset) % 4 * 8);
  device.copy_kernel.fill(commands, buffer, rows, std::rotl(word, phase));
}

Status copy_rows(MemoryDevice& device, const BufferBase& from, std::uint64_t from_offset,
                 const BufferBase& to, const Rows& rows) {
  if (!rows.row_bytes || !rows.rows || !rows.slices) return {};
  const bool one_row = rows.rows == 1 && rows.slices == 1;
  if (from.mapped && to.mapped && !(one_row && from.buffer && to.buffer))
    return upload_rows(device, to, rows, from.mapped + from_offset);
  return device.queue.run([&](VkCommandBuffer commands) {
    record_rows(device, commands, from, from_offset, to, rows);
  });
}

Work work_of_rows(MemoryDevice& device, const BufferBase& from, const BufferBase& to,
                  const Rows& rows) {
  return device.copy_kernel.takes(from, to, rows) ? Work::kernel : Work::copy;
}

void record_rows(MemoryDevice& device, VkCommandBuffer commands, const BufferBase& from,
                 std::uint64_t from_offset, const BufferBase& to, const Rows& rows) {
  if (device.copy_kernel.takes(from, to, rows))
    return device.copy_kernel.copy(commands, from, from_offset, to, rows);
  constexpr std::size_t kMostCopies = 1u << 14;
  std::vector<VkBufferCopy> copies;
  const auto flush = [&] {
    if (!copies.empty())
      device.vk.CmdCopyBuffer(commands, from.buffer, to.buffer,
                              static_cast<std::uint32_t>(copies.size()), copies.data());
    copies.clear();
  };
  const bool whole = rows.row_pitch == rows.row_bytes && rows.host_row_pitch == rows.row_bytes;
  const std::uint64_t count = whole ? 1 : rows.rows;
  for (std::uint64_t slice = 0; slice < rows.slices; ++slice)
    for (std::uint64_t row = 0; row < count; ++row) {
      copies.push_back({from_offset + slice * rows.host_slice_pitch + row * rows.host_row_pitch,
                        rows.offset + slice * rows.slice_pitch + row * rows.row_pitch,
                        whole ? rows.row_bytes * rows.rows : rows.row_bytes});
      if (copies.size() == kMostCopies) flush();
    }
  flush();
}

bool read_address(MemoryDevice& device, std::uint64_t address, std::byte* host,
                  std::uint64_t bytes) {
  std::uint64_t offset = 0;
  const Block* block = device.heap.find(address, offset);
  if (!block || bytes > block->size - offset) return false;
  Rows rows;
  rows.offset = offset;
  rows.row_bytes = rows.row_pitch = rows.host_row_pitch = bytes;
  return download_rows(device, {block->buffer, block->mapped, block->address}, rows, host).ok();
}

VkBufferImageCopy dense_copy(const ImageBox& box, std::uint64_t buffer_offset, std::uint32_t z,
                             std::uint32_t depth, std::uint32_t y, std::uint32_t rows) {
  VkBufferImageCopy copy{};
  copy.bufferOffset = buffer_offset;
  copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, box.level, 0, 1};
  const std::uint32_t first = box.z + z;
  if (box.layered) {
    copy.imageSubresource.baseArrayLayer = first;
    copy.imageSubresource.layerCount = depth;
  }
  copy.imageOffset = {static_cast<std::int32_t>(box.x), static_cast<std::int32_t>(box.y + y),
                      box.layered ? 0 : static_cast<std::int32_t>(first)};
  copy.imageExtent = {box.width, rows, box.layered ? 1 : depth};
  return copy;
}

namespace {

/// Runs `each(first slice or layer, how many, first row, rows)` over parts of a box of a chunk at
/// most.
template <class F>
Status for_each_part(const ImageBox& box, F&& each) {
  const std::uint64_t row = box.row_bytes(), slice = row * box.height;
  if (slice <= kChunkBytes) {
    auto count =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kChunkBytes / slice, 1, box.depth));
    for (std::uint32_t z = 0; z < box.depth; z += count)
      if (Status status = each(z, std::min(count, box.depth - z), 0u, box.height); !status)
        return status;
    return {};
  }
  auto at_once =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kChunkBytes / row, 1, box.height));
  for (std::uint32_t z = 0; z < box.depth; ++z)
    for (std::uint32_t y = 0; y < box.height; y += at_once)
      if (Status status = each(z, 1u, y, std::min(at_once, box.height - y)); !status) return status;
  return {};
}

/// Runs `each(bytes of the dense side, bytes of the host's side, count)` over the runs of a part
/// that are contiguous on both.
template <class F>
void for_each_run(const ImageBox& box, std::uint32_t z, std::uint32_t count, std::uint32_t y,
                  std::uint32_t rows, F&& each) {
  const std::uint64_t row = box.row_bytes();
  const bool dense_rows = box.row_pitch == row;
  std::uint64_t at = 0;
  for (std::uint32_t slice = 0; slice < count; ++slice) {
    const std::uint64_t host = (z + slice) * box.slice_pitch + y * box.row_pitch;
    if (dense_rows) {
      each(at, host, row * rows);
    } else {
      for (std::uint32_t k = 0; k < rows; ++k) each(at + k * row, host + k * box.row_pitch, row);
    }
    at += row * rows;
  }
}

std::uint64_t staging_bytes(const ImageBox& box) {
  return std::min(box.row_bytes() * box.height * box.depth, std::max(kChunkBytes, box.row_bytes()));
}

/// An upload where the host's memory is const.
template <class Byte>
Status move_image(MemoryDevice& device, const ImageBox& box, Byte* host) {
  constexpr bool kUpload = std::is_const_v<Byte>;
  auto staging = device.heap.allocate(kUpload ? MemoryKind::visible : MemoryKind::readback,
                                      staging_bytes(box));
  if (!staging) return staging.error();
  return for_each_part(
      box,
      [&](std::uint32_t z, std::uint32_t count, std::uint32_t y, std::uint32_t rows) -> Status {
        const auto move_staged = [&] {
          for_each_run(box, z, count, y, rows,
                       [&](std::uint64_t dense, std::uint64_t at, std::uint64_t bytes) {
                         move_bytes(host + at, staging->mapped() + dense, bytes);
                       });
        };
        if (kUpload) move_staged();
        VkBufferImageCopy copy = dense_copy(box, staging->offset(), z, count, y, rows);
        Status status = device.queue.run([&](VkCommandBuffer commands) {
          if (kUpload)
            device.vk.CmdCopyBufferToImage(commands, staging->buffer(), box.image,
                                           VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
          else
            device.vk.CmdCopyImageToBuffer(commands, box.image, VK_IMAGE_LAYOUT_GENERAL,
                                           staging->buffer(), 1, &copy);
        });
        if (status && !kUpload) move_staged();
        return status;
      });
}

}  // namespace

Status upload_image(MemoryDevice& device, const ImageBox& box, const std::byte* host) {
  return move_image(device, box, host);
}

Status download_image(MemoryDevice& device, const ImageBox& box, std::byte* host) {
  return move_image(device, box, host);
}

}  // namespace ptx2spv::runtime
