#include "src/array/buffer.hpp"

#include <fmt/format.h>

#include <cstring>

#include "ptx2spv/abi_sanitizer.hpp"
#include "ptx2spv/vulkan.hpp"
#include "src/memory/transfer.hpp"

namespace ptx2spv {

namespace {

Status check_range(const BufferState& buffer, std::uint64_t offset, std::uint64_t bytes) {
  if (offset <= buffer.bytes && bytes <= buffer.bytes - offset) return {};
  return bad_argument("{} bytes at {} do not lie in a buffer of {} bytes", bytes, offset,
                      buffer.bytes);
}

/// The last byte of `rows` rows and `slices` slices plus one, or nothing on overflow.
std::optional<std::uint64_t> span_of(std::uint64_t row_bytes, std::uint64_t rows,
                                     std::uint64_t row_pitch, std::uint64_t slices,
                                     std::uint64_t slice_pitch) {
  std::uint64_t a = 0, b = 0, end = 0;
  if (__builtin_mul_overflow(rows - 1, row_pitch, &a) ||
      __builtin_mul_overflow(slices - 1, slice_pitch, &b) || __builtin_add_overflow(a, b, &end) ||
      __builtin_add_overflow(end, row_bytes, &end))
    return std::nullopt;
  return end;
}

/// Checks a region against both sides and completes its pitches.
Status resolve(const BufferState& buffer, const Region& region, std::uint64_t host_bytes,
               Rows& rows) {
  rows.row_bytes = region.row_bytes;
  rows.rows = region.rows;
  rows.slices = region.slices;
  if (!region.row_bytes || !region.rows || !region.slices) {
    rows.row_bytes = 0;
    return {};
  }
  rows.row_pitch = region.row_pitch ? region.row_pitch : region.row_bytes;
  rows.host_row_pitch = region.host_row_pitch ? region.host_row_pitch : region.row_bytes;
  if (__builtin_mul_overflow(rows.row_pitch, rows.rows, &rows.slice_pitch) ||
      __builtin_mul_overflow(rows.host_row_pitch, rows.rows, &rows.host_slice_pitch))
    return bad_argument("the region is larger than any buffer");
  if (region.slice_pitch) rows.slice_pitch = region.slice_pitch;
  if (region.host_slice_pitch) rows.host_slice_pitch = region.host_slice_pitch;
  auto span = span_of(rows.row_bytes, rows.rows, rows.row_pitch, rows.slices, rows.slice_pitch);
  auto host =
      span_of(rows.row_bytes, rows.rows, rows.host_row_pitch, rows.slices, rows.host_slice_pitch);
  if (!span || !host) return bad_argument("the region is larger than any buffer");
  if (rows.row_pitch < rows.row_bytes || rows.host_row_pitch < rows.row_bytes)
    return bad_argument("a pitch of the region is less than its row");
  if (Status status = check_range(buffer, region.offset, *span); !status) return status;
  if (*host > host_bytes)
    return bad_argument("the region spans {} bytes on the host, and {} were given", *host,
                        host_bytes);
  rows.offset = buffer.offset + region.offset;
  return {};
}

/// Notes that rows are written.
void mark_rows(const BufferState& buffer, const Rows& rows) {
  if (!(buffer.device->checks & check_init) || !rows.row_bytes) return;
  for (std::uint64_t z = 0; z < rows.slices; ++z)
    for (std::uint64_t y = 0; y < rows.rows; ++y)
      buffer.written(rows.offset - buffer.offset + z * rows.slice_pitch + y * rows.row_pitch,
                     rows.row_bytes);
}

Region whole(std::uint64_t offset, std::uint64_t bytes) {
  Region region;
  region.offset = offset;
  region.row_bytes = bytes;
  return region;
}

/// With `watched`, what is written there is noted.
Status list_allocation(BufferState& buffer, bool watched) {
  DeviceState& device = *buffer.device;
  device.allocations.add(buffer.address, buffer.bytes, true, {});
  buffer.listed = true;
  if (!watched || !(device.checks & check_init) || !buffer.bytes) return {};
  const std::uint64_t bytes = abi::shadow_init_bytes(buffer.bytes);
  auto shadow = device.heap.allocate(MemoryKind::visible, bytes);
  if (!shadow) return shadow.error();
  buffer.shadow = std::move(*shadow);
  std::memset(buffer.shadow.mapped(), 0, bytes);
  device.allocations.set_shadow(buffer.address, buffer.shadow.address(), buffer.shadow.mapped());
  return {};
}

}  // namespace

namespace runtime {

BufferState::~BufferState() {
  if (listed) device->allocations.remove(address);
  if (device) device->quarantine.keep(std::move(memory));
}

}  // namespace runtime

Result<Buffer> Buffer::create(const Device& device, std::uint64_t bytes, BufferMemory where) {
  return create_aligned(device, bytes, where, Heap::kAlignment);
}

namespace {

Result<Buffer> create_over(const Device& device, std::uint64_t bytes, BufferMemory where,
                           Result<Memory> memory) {
  const auto& state = device.state();
  if (!memory) return memory.error();
  auto buffer = std::make_shared<BufferState>();
  buffer->device = state;
  buffer->memory = std::move(*memory);
  buffer->buffer = buffer->memory.buffer();
  buffer->offset = buffer->memory.offset();
  buffer->bytes = bytes;
  buffer->address = buffer->memory.address();
  if (std::byte* mapped = buffer->memory.mapped()) buffer->mapped = mapped - buffer->offset;
  if (Status status = list_allocation(*buffer, where != BufferMemory::host); !status)
    return status.error();
  return Buffer(std::move(buffer));
}

}  // namespace

Result<Buffer> runtime::create_aligned(const Device& device, std::uint64_t bytes,
                                       BufferMemory where, std::uint64_t alignment) {
  Heap& heap = device.state()->heap;
  // Kernels read and write whole words: the last one may not reach into a neighbour.
  MemoryKind kind = MemoryKind::device;
  if (where == BufferMemory::rows) kind = MemoryKind::rows;
  if (where == BufferMemory::host && !heap.unified()) kind = MemoryKind::readback;
  return create_over(device, bytes, where, heap.allocate(kind, bytes, alignment));
}

Result<Buffer> runtime::create_beyond(const Device& device, std::uint64_t bytes,
                                      std::uint64_t alignment) {
  return create_over(device, bytes, BufferMemory::device,
                     device.state()->heap.allocate_beyond(bytes, alignment));
}

Result<Buffer> runtime::create_mailbox(const Device& device, std::uint64_t bytes) {
  Heap& heap = device.state()->heap;
  if (!heap.unified()) {
    auto memory = heap.allocate(MemoryKind::mailbox, bytes);
    // Programs may rely on one address for both.
    if (memory && reinterpret_cast<std::uint64_t>(memory->mapped()) == memory->address())
      return create_over(device, bytes, BufferMemory::host, std::move(memory));
  }
  return create_aligned(device, bytes, BufferMemory::host, Heap::kAlignment);
}

Result<Buffer> Buffer::view(const Device& device, std::uint64_t address, std::uint64_t bytes) {
  const auto& state = device.state();
  std::uint64_t offset = 0;
  const Block* block = state->heap.find(address, offset);
  if (!block || bytes > block->size - offset)
    return bad_argument("{} bytes at address {:#x} do not lie in memory of the device", bytes,
                        address);
  auto view = std::make_shared<BufferState>();
  view->device = state;
  view->buffer = block->buffer;
  view->offset = offset;
  view->bytes = bytes;
  view->address = address;
  view->mapped = block->mapped;
  return Buffer(std::move(view));
}

void Buffer::set_name(std::string name) {
  if (state_->listed) state_->device->allocations.rename(state_->address, std::move(name));
}
std::uint64_t Buffer::size() const { return state_->bytes; }
std::uint64_t Buffer::address() const { return state_->address; }
std::byte* Buffer::mapped() const {
  // Nobody sees what the host writes there.
  state_->written(0, state_->bytes);
  return state_->mapped ? state_->mapped + state_->offset : nullptr;
}

Status Buffer::upload(std::uint64_t offset, std::span<const std::byte> bytes) {
  return upload(whole(offset, bytes.size()), bytes);
}

Status Buffer::download(std::uint64_t offset, std::span<std::byte> bytes) const {
  return download(whole(offset, bytes.size()), bytes);
}

Status Buffer::upload(const Region& region, std::span<const std::byte> bytes) {
  Rows rows;
  if (Status status = resolve(*state_, region, bytes.size(), rows); !status) return status;
  mark_rows(*state_, rows);
  const bool later = state_->memory && !state_->shared;
  return upload_rows(*state_->device, state_->base(), rows, bytes.data(), later);
}

Status Buffer::download(const Region& region, std::span<std::byte> bytes) const {
  Rows rows;
  if (Status status = resolve(*state_, region, bytes.size(), rows); !status) return status;
  return download_rows(*state_->device, state_->base(), rows, bytes.data());
}

Status Buffer::fill(std::uint64_t offset, std::uint64_t bytes, std::uint32_t pattern,
                    int pattern_bytes) {
  const auto word = fill_word(pattern, pattern_bytes);
  if (!word) return word.error();
  const auto rows = resolve_fill(*state_, whole(offset, bytes));
  return rows ? fill_rows(*state_->device, state_->base(), *rows, *word) : Status(rows.error());
}

Result<std::uint32_t> runtime::fill_word(std::uint32_t pattern, int bytes) {
  if (bytes == 1) return (pattern & 0xff) * 0x01010101u;
  if (bytes == 2) return (pattern & 0xffff) * 0x00010001u;
  if (bytes == 4) return pattern;
  return bad_argument("a fill pattern has 1, 2 or 4 bytes");
}

Result<Rows> runtime::resolve_fill(const BufferState& buffer, const Region& region) {
  if (Status status = check_range(buffer, region.offset, 0); !status) return status.error();
  Rows rows;
  if (Status status = ptx2spv::resolve(buffer, region, UINT64_MAX, rows); !status)
    return status.error();
  mark_rows(buffer, rows);
  return rows;
}

Result<Rows> runtime::resolve_copy(const BufferState& from, std::uint64_t from_offset,
                                   const BufferState& to, const Region& region) {
  if (from.device != to.device) return bad_argument("the buffers belong to different devices");
  if (from_offset > from.bytes)
    return bad_argument("a copy reads from {} of a buffer of {} bytes", from_offset, from.bytes);
  Rows rows;
  if (Status status = ptx2spv::resolve(to, region, from.bytes - from_offset, rows); !status)
    return status.error();
  if (!rows.row_bytes) return rows;
  const std::uint64_t first = from.offset + from_offset;
  const auto span =
      *span_of(rows.row_bytes, rows.rows, rows.row_pitch, rows.slices, rows.slice_pitch);
  const auto read =
      *span_of(rows.row_bytes, rows.rows, rows.host_row_pitch, rows.slices, rows.host_slice_pitch);
  const bool same = from.buffer ? from.buffer == to.buffer : from.mapped == to.mapped;
  if (same && first < rows.offset + span && rows.offset < first + read)
    return bad_argument("the ranges of a copy overlap");
  mark_rows(to, rows);
  return rows;
}

Status Buffer::copy_from(const Buffer& from, std::uint64_t from_offset, std::uint64_t offset,
                         std::uint64_t bytes) {
  return copy_from(from, from_offset, whole(offset, bytes));
}

Status Buffer::copy_from(const Buffer& from, std::uint64_t from_offset, const Region& region) {
  const BufferState& source = *from.state();
  const auto rows = resolve_copy(source, from_offset, *state_, region);
  if (!rows) return rows.error();
  return copy_rows(*state_->device, source.base(), source.offset + from_offset, state_->base(),
                   *rows);
}

vulkan::BufferRange vulkan::buffer_of(const Buffer& buffer) {
  const BufferState& state = *buffer.state();
  return {state.buffer, state.offset, state.bytes};
}

Result<Buffer> vulkan::import(const Device& device, const BufferRange& buffer) {
  if (!buffer.buffer || !buffer.bytes) return bad_argument("the imported buffer is null or empty");
  if (buffer.offset % 4) return bad_argument("an imported buffer starts at a multiple of 4");
  return runtime::buffer_in(device, buffer);
}

Result<Buffer> runtime::buffer_in(const Device& device, const vulkan::BufferRange& buffer) {
  const auto& state = device.state();
  auto imported = std::make_shared<BufferState>();
  imported->device = state;
  imported->buffer = buffer.buffer;
  imported->offset = buffer.offset;
  imported->bytes = buffer.bytes;
  if (state->profile.features.device_addresses) {
    VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    info.buffer = imported->buffer;
    imported->address = state->vk.GetBufferDeviceAddress(state->handle, &info) + buffer.offset;
  } else if (imported->buffer == state->heap.bound_buffer()) {
    imported->address = state->heap.bound_address() + buffer.offset;
  } else {
    return make_error(ErrorCode::unsupported,
                      "{} has no buffer addresses: kernels cannot reach a buffer that "
                      "the runtime has not made",
                      state->info.name);
  }
  if (Status status = list_allocation(*imported, false); !status) return status.error();
  return Buffer(std::move(imported));
}

}  // namespace ptx2spv
