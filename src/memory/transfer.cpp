#include "src/memory/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace ptx2spv::runtime {

namespace {

constexpr std::uint64_t kChunkBytes = 16ull << 20;

/// A range of rows (or, where a row is longer than a chunk, a part of one) that one staged copy
/// takes.
struct Piece {
  std::uint64_t slice, row, rows, column, bytes;
};

/// Cuts `rows` into pieces of at most a chunk each, in order.
template <class F>
Status for_each_piece(const Rows& rows, F&& each) {
  for (std::uint64_t slice = 0; slice < rows.slices; ++slice) {
    if (rows.row_bytes > kChunkBytes) {
      for (std::uint64_t row = 0; row < rows.rows; ++row)
        for (std::uint64_t column = 0; column < rows.row_bytes; column += kChunkBytes) {
          Piece piece{slice, row, 1, column, std::min(kChunkBytes, rows.row_bytes - column)};
          if (Status status = each(piece); !status) return status;
        }
      continue;
    }
    std::uint64_t at_once =
        std::max<std::uint64_t>(1, kChunkBytes / std::max<std::uint64_t>(rows.row_bytes, 1));
    for (std::uint64_t row = 0; row < rows.rows; row += at_once) {
      Piece piece{slice, row, std::min(at_once, rows.rows - row), 0, rows.row_bytes};
      if (Status status = each(piece); !status) return status;
    }
  }
  return {};
}

std::vector<VkBufferCopy> copies_of(const Rows& rows, const Piece& piece, std::uint64_t staging,
                                    bool upload) {
  std::vector<VkBufferCopy> copies;
  std::uint64_t start =
      rows.offset + piece.slice * rows.slice_pitch + piece.row * rows.row_pitch + piece.column;
  auto add = [&](std::uint64_t device_at, std::uint64_t staging_at, std::uint64_t bytes) {
    copies.push_back(upload ? VkBufferCopy{staging_at, device_at, bytes}
                            : VkBufferCopy{device_at, staging_at, bytes});
  };
  if (piece.bytes == rows.row_pitch || piece.rows == 1) {
    add(start, staging, piece.bytes * piece.rows);
  } else {
    for (std::uint64_t row = 0; row < piece.rows; ++row)
      add(start + row * rows.row_pitch, staging + row * piece.bytes, piece.bytes);
  }
  return copies;
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
Status move_rows(MemoryDevice& device, VkBuffer buffer, std::byte* mapped, const Rows& rows,
                 Byte* host) {
  constexpr bool kUpload = std::is_const_v<Byte>;
  if (!rows.row_bytes || !rows.rows || !rows.slices) return {};
  const auto host_row = [&](std::uint64_t slice, std::uint64_t row) {
    return host + slice * rows.host_slice_pitch + row * rows.host_row_pitch;
  };
  if (mapped) {
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
  std::uint64_t need = std::min(kChunkBytes, rows.row_bytes * rows.rows);
  auto staging = device.heap.allocate(kUpload ? MemoryKind::visible : MemoryKind::readback, need);
  if (!staging) return staging.error();
  return for_each_piece(rows, [&](const Piece& piece) -> Status {
    const auto move_staged = [&] {
      for (std::uint64_t row = 0; row < piece.rows; ++row)
        move_bytes(host_row(piece.slice, piece.row + row) + piece.column,
                   staging->mapped() + row * piece.bytes, piece.bytes);
    };
    if (kUpload) move_staged();
    auto copies = copies_of(rows, piece, staging->offset(), kUpload);
    Status status = device.queue.run([&](VkCommandBuffer commands) {
      device.vk.CmdCopyBuffer(commands, kUpload ? staging->buffer() : buffer,
                              kUpload ? buffer : staging->buffer(),
                              static_cast<std::uint32_t>(copies.size()), copies.data());
    });
    if (status && !kUpload) move_staged();
    return status;
  });
}

}  // namespace

Status upload_rows(MemoryDevice& device, VkBuffer buffer, std::byte* mapped, const Rows& rows,
                   const std::byte* host) {
  return move_rows(device, buffer, mapped, rows, host);
}

Status download_rows(MemoryDevice& device, VkBuffer buffer, const std::byte* mapped,
                     const Rows& rows, std::byte* host) {
  return move_rows(device, buffer, const_cast<std::byte*>(mapped), rows, host);
}

Status fill_bytes(MemoryDevice& device, VkBuffer buffer, std::byte* mapped, std::uint64_t offset,
                  std::uint64_t bytes, std::uint32_t word) {
  if (!bytes) return {};
  auto pattern = [word](std::uint64_t at) {
    return static_cast<std::byte>(word >> (at % 4 * 8) & 0xff);
  };
  if (mapped) {
    if (Status status = wait_for_all(device); !status) return status;
    std::byte* to = mapped + offset;
    if (word == (word & 0xff) * 0x01010101u) {
      std::memset(to, static_cast<int>(word & 0xff), bytes);
      return {};
    }
    std::uint64_t whole = bytes / 4 * 4;
    for (std::uint64_t at = 0; at < whole; at += 4) std::memcpy(to + at, &word, 4);
    for (std::uint64_t at = whole; at < bytes; ++at) to[at] = pattern(at);
    return {};
  }
  // The device fills whole words; the ragged ends are written by the host.
  std::uint64_t head = std::min(bytes, (4 - offset % 4) % 4);
  std::uint64_t middle = (bytes - head) / 4 * 4, tail = bytes - head - middle;
  auto edge = [&](std::uint64_t start, std::uint64_t count) -> Status {
    if (!count) return {};
    std::byte data[4];
    for (std::uint64_t i = 0; i < count; ++i) data[i] = pattern(start + i);
    Rows rows;
    rows.offset = offset + start;
    rows.row_bytes = rows.row_pitch = rows.host_row_pitch = count;
    return upload_rows(device, buffer, nullptr, rows, data);
  };
  if (Status status = edge(0, head); !status) return status;
  if (Status status = edge(head + middle, tail); !status) return status;
  if (!middle) return {};
  std::uint32_t rotated = 0;
  for (std::uint64_t i = 0; i < 4; ++i)
    rotated |= static_cast<std::uint32_t>(pattern(head + i)) << (8 * i);
  return device.queue.run([&](VkCommandBuffer commands) {
    device.vk.CmdFillBuffer(commands, buffer, offset + head, middle, rotated);
  });
}

Status copy_rows(MemoryDevice& device, VkBuffer from, std::uint64_t from_offset,
                 const std::byte* from_mapped, VkBuffer to, std::byte* to_mapped,
                 const Rows& rows) {
  if (!rows.row_bytes || !rows.rows || !rows.slices) return {};
  const bool one_row = rows.rows == 1 && rows.slices == 1;
  if (from_mapped && to_mapped && !(one_row && from && to))
    return upload_rows(device, to, to_mapped, rows, from_mapped + from_offset);
  constexpr std::size_t kMostCopies = 1u << 14;
  std::vector<VkBufferCopy> copies;
  const auto flush = [&]() -> Status {
    Status status = device.queue.run([&](VkCommandBuffer commands) {
      device.vk.CmdCopyBuffer(commands, from, to, static_cast<std::uint32_t>(copies.size()),
                              copies.data());
    });
    copies.clear();
    return status;
  };
  const bool whole = rows.row_pitch == rows.row_bytes && rows.host_row_pitch == rows.row_bytes;
  for (std::uint64_t slice = 0; slice < rows.slices; ++slice) {
    const std::uint64_t source = from_offset + slice * rows.host_slice_pitch;
    const std::uint64_t target = rows.offset + slice * rows.slice_pitch;
    const std::uint64_t count = whole ? 1 : rows.rows;
    for (std::uint64_t row = 0; row < count; ++row) {
      copies.push_back({source + row * rows.host_row_pitch, target + row * rows.row_pitch,
                        whole ? rows.row_bytes * rows.rows : rows.row_bytes});
      if (copies.size() < kMostCopies) continue;
      if (Status status = flush(); !status) return status;
    }
  }
  return copies.empty() ? Status() : flush();
}

bool read_address(MemoryDevice& device, std::uint64_t address, std::byte* host,
                  std::uint64_t bytes) {
  std::uint64_t offset = 0;
  const Block* block = device.heap.find(address, offset);
  if (!block || bytes > block->size - offset) return false;
  Rows rows;
  rows.offset = offset;
  rows.row_bytes = rows.row_pitch = rows.host_row_pitch = bytes;
  return download_rows(device, block->buffer, block->mapped, rows, host).ok();
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
