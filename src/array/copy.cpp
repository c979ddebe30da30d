#include "src/array/copy.hpp"

#include <fmt/format.h>

#include <shared_mutex>

#include "src/array/buffer.hpp"
#include "src/array/texel_shadow.hpp"

namespace ptx2spv::runtime {

namespace {

// Completes one axis of a region and checks it.
Status place(const char* axis, std::uint32_t first, std::uint32_t& count, std::uint32_t extent) {
  if (first >= extent)
    return bad_argument("the region starts at {} = {}, and the level has {}", axis, first, extent);
  if (!count) count = extent - first;
  if (count > extent - first)
    return bad_argument("the region takes {} from {} = {}, and the level has {}", count, axis,
                        first, extent);
  return {};
}

}  // namespace

Result<ArrayBox> resolve(const ArrayState& array, const ArrayRegion& region) {
  if (region.level >= array.levels.size())
    return bad_argument("the array has no level {}", region.level);
  const Level& level = array.levels[region.level];
  ArrayBox box;
  ImageBox& image = box.image;
  image.image = array.image;
  image.layered = is_layered(array.desc.geometry);
  image.level = region.level;
  image.x = region.x;
  image.y = region.y;
  image.z = region.z;
  image.width = region.width;
  image.height = region.height;
  image.depth = region.depth;
  image.texel_bytes = array.desc.texel_bytes();
  if (Status status = place("x", region.x, image.width, level.width); !status)
    return status.error();
  if (Status status = place("y", region.y, image.height, level.height); !status)
    return status.error();
  if (Status status = place("z", region.z, image.depth, array.slices(level)); !status)
    return status.error();
  Rows& rows = box.rows;
  rows.row_bytes = image.row_bytes();
  rows.rows = image.height;
  rows.slices = image.depth;
  rows.row_pitch = level.row_pitch;
  rows.slice_pitch = level.slice_pitch;
  rows.offset = array.linear.offset() + level.offset + image.z * level.slice_pitch +
                image.y * level.row_pitch + std::uint64_t{image.x} * image.texel_bytes;
  image.row_pitch = region.row_pitch ? region.row_pitch : rows.row_bytes;
  const auto too_far = [] { return bad_argument("the region's pitches reach beyond any memory"); };
  std::uint64_t rows_span = 0, slices_span = 0;
  if (__builtin_mul_overflow(image.row_pitch, std::uint64_t{image.height}, &rows_span))
    return too_far();
  image.slice_pitch = region.slice_pitch ? region.slice_pitch : rows_span;
  if (image.row_pitch < rows.row_bytes || (image.depth > 1 && image.slice_pitch < rows_span))
    return bad_argument("a pitch of the region is less than what it steps over");
  rows_span -= image.row_pitch - rows.row_bytes;
  if (__builtin_mul_overflow(image.slice_pitch, std::uint64_t{image.depth - 1}, &slices_span) ||
      __builtin_add_overflow(slices_span, rows_span, &box.span))
    return too_far();
  rows.host_row_pitch = image.row_pitch;
  rows.host_slice_pitch = image.slice_pitch;
  return box;
}

Result<ArrayBox> resolve_for_buffer(const ArrayState& array, const ArrayRegion& region,
                                    std::uint64_t buffer_offset, std::uint64_t buffer_bytes) {
  auto box = resolve(array, region);
  if (!box) return box;
  if (buffer_offset > buffer_bytes || box->span > buffer_bytes - buffer_offset)
    return bad_argument("the region spans {} bytes, which from {} do not lie in a buffer of {}",
                        box->span, buffer_offset, buffer_bytes);
  if (array.image_backed) {
    const std::uint64_t unit = array.desc.texel_bytes();
    const bool fits = buffer_offset % unit == 0 && box->image.row_pitch % unit == 0 &&
                      box->image.slice_pitch % unit == 0;
    const bool one_row = box->image.height == 1 && box->image.depth == 1;
    if (!fits && !(one_row && buffer_offset % unit == 0))
      return bad_argument(
          "offset {} and pitches {} and {} have to be multiples of {} for an array in an image",
          buffer_offset, box->image.row_pitch, box->image.slice_pitch, unit);
  }
  return box;
}

void record_box(VkCommandBuffer commands, const ArrayState& array, const ArrayBox& box,
                const BufferBase& buffer, std::uint64_t offset, bool to_array) {
  const DeviceFunctions& vk = array.device->vk;
  const ImageBox& image = box.image;
  if (to_array) mark_box(array, box);
  if (array.image_backed) {
    std::vector<VkBufferImageCopy> copies;
    for (std::uint32_t z = 0; z < image.depth; ++z) {
      const std::uint64_t slice = offset + z * image.slice_pitch;
      // Vulkan's largest distance of rows.
      const std::uint32_t rows = image.row_pitch >> 31 ? 1 : image.height;
      for (std::uint32_t y = 0; y < image.height; y += rows) {
        copies.push_back(dense_copy(image, slice + y * image.row_pitch, z, 1, y, rows));
        if (rows > 1)
          copies.back().bufferRowLength =
              static_cast<std::uint32_t>(image.row_pitch / image.texel_bytes);
      }
    }
    const auto count = static_cast<std::uint32_t>(copies.size());
    if (to_array)
      vk.CmdCopyBufferToImage(commands, buffer.buffer, array.image, VK_IMAGE_LAYOUT_GENERAL, count,
                              copies.data());
    else
      vk.CmdCopyImageToBuffer(commands, array.image, VK_IMAGE_LAYOUT_GENERAL, buffer.buffer, count,
                              copies.data());
    return;
  }
  const BufferBase texels = array.linear.base();
  if (to_array)
    record_rows(*array.device, commands, buffer, offset, texels, box.rows);
  else
    record_rows(*array.device, commands, texels, box.rows.offset, buffer,
                box.rows.reversed(offset));
}

Status host_span(const ArrayBox& box, std::size_t bytes) {
  if (box.span <= bytes) return {};
  return bad_argument("the region spans {} bytes on the host, and {} were given", box.span, bytes);
}

bool reached_by_commands(const ArrayState& array) {
  return array.image_backed || array.linear.buffer();
}

Status write_box(const ArrayState& array, const ArrayBox& box, const std::byte* bytes) {
  mark_box(array, box);
  if (array.image_backed) return upload_image(*array.device, box.image, bytes);
  return upload_rows(*array.device, array.linear.base(), box.rows, bytes);
}

Status read_box(const ArrayState& array, const ArrayBox& box, std::byte* bytes) {
  if (array.image_backed) return download_image(*array.device, box.image, bytes);
  return download_rows(*array.device, array.linear.base(), box.rows, bytes);
}

Status copy_box(const ArrayState& array, const ArrayBox& box, const BufferState& buffer,
                std::uint64_t offset, bool to_array) {
  if (buffer.buffer && reached_by_commands(array))
    return array.device->queue.run([&](VkCommandBuffer commands) {
      record_box(commands, array, box, buffer.base(), buffer.offset + offset, to_array);
    });
  std::byte* bytes = buffer.mapped + buffer.offset + offset;
  return to_array ? write_box(array, box, bytes) : read_box(array, box, bytes);
}

Status same_device(const ArrayState& array, const DeviceState* other) {
  if (array.device.get() == other) return {};
  return bad_argument("the array and what it is copied with belong to different devices");
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

Status Array::upload(const ArrayRegion& region, std::span<const std::byte> bytes) {
  std::shared_lock lock(state_->device->residency);
  auto box = resolve(*state_, region);
  if (!box) return box.error();
  if (Status status = host_span(*box, bytes.size()); !status) return status;
  return write_box(*state_, *box, bytes.data());
}

Status Array::download(const ArrayRegion& region, std::span<std::byte> bytes) const {
  std::shared_lock lock(state_->device->residency);
  auto box = resolve(*state_, region);
  if (!box) return box.error();
  if (Status status = host_span(*box, bytes.size()); !status) return status;
  return read_box(*state_, *box, bytes.data());
}

Status Array::copy_from(const Buffer& from, std::uint64_t offset, const ArrayRegion& region) {
  std::shared_lock lock(state_->device->residency);
  const BufferState& buffer = *from.state();
  if (Status status = same_device(*state_, buffer.device.get()); !status) return status;
  auto box = resolve_for_buffer(*state_, region, offset, buffer.bytes);
  if (!box) return box.error();
  return copy_box(*state_, *box, buffer, offset, true);
}

Status Array::copy_to(const Buffer& to, std::uint64_t offset, const ArrayRegion& region) const {
  std::shared_lock lock(state_->device->residency);
  const BufferState& buffer = *to.state();
  if (Status status = same_device(*state_, buffer.device.get()); !status) return status;
  auto box = resolve_for_buffer(*state_, region, offset, buffer.bytes);
  if (!box) return box.error();
  buffer.written(offset, buffer.bytes - offset);
  return copy_box(*state_, *box, buffer, offset, false);
}

Status Array::copy_from(const Array& from, const ArrayRegion& source, const ArrayRegion& region) {
  const ArrayState& other = *from.state();
  if (Status status = same_device(*state_, other.device.get()); !status) return status;
  if (other.desc.texel_bytes() != state_->desc.texel_bytes())
    return bad_argument("texels of {} bytes are no texels of {}", other.desc.texel_bytes(),
                        state_->desc.texel_bytes());
  ArrayRegion read = source, written = region;
  read.row_pitch = read.slice_pitch = written.row_pitch = written.slice_pitch = 0;
  auto first = resolve(other, read);
  if (!first) return first.error();
  auto second = resolve(*state_, written);
  if (!second) return second.error();
  const ImageBox &a = first->image, &b = second->image;
  if (a.width != b.width || a.height != b.height || a.depth != b.depth)
    return bad_argument("a box of {} x {} x {} is not copied to one of {} x {} x {}", a.width,
                        a.height, a.depth, b.width, b.height, b.depth);
  // Through memory of the device, so that either may be an image and the boxes may overlap.
  auto between = state_->device->heap.allocate(MemoryKind::device, first->span);
  if (!between) return between.error();
  if (!between->buffer() || !reached_by_commands(*state_) || !reached_by_commands(other)) {
    if (Status status = read_box(other, *first, between->mapped()); !status) return status;
    return write_box(*state_, *second, between->mapped());
  }
  return state_->device->queue.run([&](VkCommandBuffer commands) {
    record_box(commands, other, *first, between->base(), between->offset(), false);
    barrier(*state_->device, commands, Work::any, Work::any);
    record_box(commands, *state_, *second, between->base(), between->offset(), true);
  });
}

}  // namespace ptx2spv
