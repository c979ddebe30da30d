// Stream's copies to and from arrays.
#include <cstring>

#include "src/array/buffer.hpp"
#include "src/array/copy.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv {

namespace {

// The rows of a box: where each lies when they are dense, and where on the other side.
template <class F>
void each_row(const ArrayBox& box, F&& each) {
  std::uint64_t dense = 0;
  for (std::uint64_t z = 0; z < box.rows.slices; ++z)
    for (std::uint64_t y = 0; y < box.rows.rows; ++y, dense += box.rows.row_bytes)
      each(dense, z * box.image.slice_pitch + y * box.image.row_pitch);
}

struct Staged {
  std::shared_ptr<Memory> memory;
  ArrayBox box;  // with dense pitches
};

Result<Staged> stage(const ArrayState& array, ArrayBox box, MemoryKind kind) {
  const std::uint64_t row = box.rows.row_bytes, slice = row * box.rows.rows;
  auto memory = array.device->heap.allocate(kind, slice * box.rows.slices);
  if (!memory) return memory.error();
  box.image.row_pitch = box.rows.host_row_pitch = row;
  box.image.slice_pitch = box.rows.host_slice_pitch = slice;
  return Staged{std::make_shared<Memory>(std::move(*memory)), box};
}

Status copy_region(StreamState& stream, const Buffer& buffer, std::uint64_t offset,
                   const Array& array, const ArrayRegion& region, bool to_array) {
  const ArrayState& state = *array.state();
  const BufferState& memory = *buffer.state();
  if (Status status = same_device(state, &stream.device); !status) return status;
  if (Status status = same_device(state, memory.device.get()); !status) return status;
  std::shared_lock residency(stream.device.residency);
  auto box = resolve_for_buffer(state, region, offset, memory.bytes);
  if (!box) return box.error();
  if (!to_array) memory.written(offset, memory.bytes - offset);
  if (!memory.buffer || !reached_by_commands(state))
    return copy_box(state, *box, memory, offset, to_array);
  std::lock_guard lock(stream.mutex);
  const std::uint64_t bytes = box->rows.row_bytes * box->rows.rows * box->rows.slices;
  return stream.transfer(stream.over_bus(bytes, !memory.mapped),
                         [&](VkCommandBuffer commands) {
                           record_box(commands, state, *box, memory.base(), memory.offset + offset,
                                      to_array);
                         },
                         {array.state(), buffer.state()}, {});
}

/// A region and memory of the host's: an upload where that is const.
template <class Byte>
Status move_region(StreamState& stream, const Array& array, const ArrayRegion& region,
                   std::span<Byte> bytes) {
  constexpr bool kUpload = std::is_const_v<Byte>;
  const ArrayState& state = *array.state();
  if (Status status = same_device(state, &stream.device); !status) return status;
  std::shared_lock residency(stream.device.residency);
  auto box = resolve(state, region);
  if (!box) return box.error();
  if (Status status = host_span(*box, bytes.size()); !status) return status;
  if (!reached_by_commands(state)) {
    if constexpr (kUpload)
      return write_box(state, *box, bytes.data());
    else
      return read_box(state, *box, bytes.data());
  }
  auto dense = stage(state, *box, kUpload ? MemoryKind::visible : MemoryKind::readback);
  if (!dense) return dense.error();
  const auto move = [bytes, box = *box, raw = dense->memory.get()] {
    each_row(box, [&](std::uint64_t staged, std::uint64_t host) {
      if constexpr (kUpload)
        std::memcpy(raw->mapped() + staged, bytes.data() + host, box.rows.row_bytes);
      else
        std::memcpy(bytes.data() + host, raw->mapped() + staged, box.rows.row_bytes);
    });
  };
  if (kUpload) move();
  std::lock_guard lock(stream.mutex);
  return stream.transfer(
      bytes.size(),
      [&](VkCommandBuffer commands) {
        record_box(commands, state, dense->box, dense->memory->base(), dense->memory->offset(),
                   kUpload);
      },
      {dense->memory, array.state()}, kUpload ? std::function<void()>() : move);
}

}  // namespace

Status Stream::upload(const Array& array, const ArrayRegion& region,
                      std::span<const std::byte> bytes) {
  return move_region(*state_, array, region, bytes);
}

Status Stream::download(const Array& array, const ArrayRegion& region, std::span<std::byte> bytes) {
  return move_region(*state_, array, region, bytes);
}

Status Stream::copy(const Buffer& from, std::uint64_t offset, const Array& to,
                    const ArrayRegion& region) {
  return copy_region(*state_, from, offset, to, region, true);
}

Status Stream::copy(const Array& from, const Buffer& to, std::uint64_t offset,
                    const ArrayRegion& region) {
  return copy_region(*state_, to, offset, from, region, false);
}

}  // namespace ptx2spv
