// Copies between host, device memory and arrays, in every shape, and fills. What the stream's queue
// does by itself is only begun when they return, all else is complete.
#include <algorithm>
#include <cstring>
#include <initializer_list>

#include <fmt/format.h>

#include "src/array/buffer.hpp"
#include "src/array/copy.hpp"
#include "src/cuda/core/backlog.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv::cuda {

namespace {

/// One side of a copy, resolved: where its first byte is and how its rows lie.
struct Side {
  unsigned kind = kMemoryHost;
  std::byte* host = nullptr;
  std::shared_ptr<Allocation> memory;
  std::uint64_t offset = 0;  ///< in `memory`
  std::shared_ptr<ArrayObject> array;
  std::size_t x = 0, y = 0, z = 0;  ///< in the array; x in bytes
  std::size_t pitch = 0, slice = 0;
  std::uint32_t texel() const { return array->array.desc().texel_bytes(); }
};

struct Extent {
  std::size_t width = 0, height = 1, depth = 1;  ///< bytes, rows, slices
};

std::size_t span_of(const Extent& extent, std::size_t pitch, std::size_t slice) {
  return (extent.depth - 1) * slice + (extent.height - 1) * pitch + extent.width;
}

bool multiply(std::size_t a, std::size_t b, std::size_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}

/// Bytes from a side's start to a position in it; false: more than there are addresses.
bool offset_of_texel(const Side& side, std::size_t x, std::size_t y, std::size_t z,
                     std::size_t& at) {
  std::size_t slices = 0, rows = 0;
  return multiply(z, side.slice, slices) && multiply(y, side.pitch, rows) &&
         !__builtin_add_overflow(slices, rows, &at) && !__builtin_add_overflow(at, x, &at);
}
/// Bytes from the first one of an extent to behind the last one.
bool bytes_of(const Side& side, const Extent& extent, std::size_t& bytes) {
  return offset_of_texel(side, extent.width, extent.height - 1, extent.depth - 1, bytes);
}

/// Bytes from an address on, as far as `wanted`: mappings may follow each other.
std::uint64_t reach(const Allocation& memory, CUdeviceptr address, std::uint64_t wanted) {
  CUdeviceptr end = memory.address + memory.bytes;
  while (memory.use == MemoryUse::mapped && end - address < wanted) {
    const auto next = find_address(end);
    if (!next || next->use != MemoryUse::mapped) break;
    end += next->bytes;
  }
  return end - address;
}

/// Addresses whose sum would wrap, and ranges that reach over their allocation, are refused.
CUresult resolve_memory(Side& side, CUdeviceptr address, std::size_t x, std::size_t y,
                        std::size_t z, const Extent& extent) {
  std::size_t a = 0, at = 0;
  // What lies behind an allocation is another's, though that may be memory.
  side.memory = find_for_work(address);
  if (!offset_of_texel(side, x, y, z, at) || __builtin_add_overflow(address, at, &address))
    return fail(eInvalidValue, "a copy starts beyond any memory");
  if (!bytes_of(side, extent, a)) return fail(eInvalidValue, "a copy reaches beyond any memory");
  if (!side.memory)
    return fail(eInvalidValue, fmt::format("{:#x} is no address of device memory", address));
  side.offset = address - side.memory->address;
  std::size_t whole = 0;
  if (__builtin_add_overflow(side.offset, a, &whole) ||
      whole > reach(*side.memory, side.memory->address, whole))
    return fail(eInvalidValue,
                fmt::format("a copy of {} bytes at {:#x} reaches beyond its {} bytes", a, address,
                            side.memory->bytes));
  if (!side.memory->buffer || side.memory->host) {
    // Memory that the host has, too, is copied as the host's: registered memory has no buffer.
    side.kind = kMemoryHost;
    side.host = side.memory->buffer ? side.memory->host + side.offset
                                    : reinterpret_cast<std::byte*>(address);  // NOLINT
  } else {
    side.kind = kMemoryDevice;
  }
  return eSuccess;
}

/// What a copy says of one side.
struct Given {
  unsigned type;
  std::byte* host;
  CUdeviceptr device;
  CUarray array;
  std::size_t x, y, z, pitch, height;
};

/// Memory of the host has no bounds that are known here; it ends where addresses do.
CUresult resolve_host(Side& side, std::byte* host, const Given& given, const Extent& extent) {
  std::size_t at = 0, bytes = 0, end = 0;
  if (!offset_of_texel(side, given.x, given.y, given.z, at) || !bytes_of(side, extent, bytes) ||
      __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(host), at, &at) ||
      __builtin_add_overflow(at, bytes, &end))
    return fail(eInvalidValue, "a copy reaches beyond any memory");
  // A place so far from the pointer comes of a wrong pitch more often than of an array: a look at
  // it costs a call of the system, and spares the program a signal.
  constexpr std::size_t kLong = std::size_t{1} << 30;
  const bool far = end - reinterpret_cast<std::uintptr_t>(host) > kLong;
  if (far && !(is_mapped(at, 1) && is_mapped(end - 1, 1)))
    return fail(eInvalidValue, "a copy reaches beyond the program's memory");
  side.host = reinterpret_cast<std::byte*>(at);  // NOLINT
  // Commands reach page-locked memory, too, if all of the copy lies in it.
  const auto locked = find_host(side.host);
  if (!locked || !locked->buffer) return eSuccess;
  const auto offset = static_cast<std::uint64_t>(side.host - locked->host);
  if (bytes > locked->bytes - offset) return eSuccess;
  side.memory = locked;
  side.offset = offset;
  return eSuccess;
}

CUresult resolve_array(Side& side, const Given& given, const Extent& extent) {
  side.array = tables().arrays.find(given.array);
  if (!side.array) return fail(eInvalidResourceHandle, "no such array");
  side.kind = kMemoryArray;
  side.x = given.x;
  side.y = given.y;
  side.z = given.z;
  const std::uint32_t texel = side.texel();
  const ArrayDesc& desc = side.array->array.desc();
  const std::uint32_t level = side.array->level;
  const std::size_t width = std::max(desc.width >> level, 1u) * std::size_t{texel};
  const std::size_t rows = std::max(desc.height >> level, 1u);
  const std::size_t slices = std::size_t{std::max(desc.depth >> level, 1u)} * desc.layers;
  const auto outside = [](std::size_t at, std::size_t count, std::size_t extent_of) {
    return at > extent_of || count > extent_of - at;
  };
  if (outside(given.x, extent.width, width) || outside(given.y, extent.height, rows) ||
      outside(given.z, extent.depth, slices))
    return fail(eInvalidValue, "a copy reaches beyond the array");
  return eSuccess;
}

CUresult resolve(Side& side, const Given& given, const Extent& extent) {
  if (given.type == kMemoryArray) return resolve_array(side, given, extent);
  side.pitch = given.pitch ? given.pitch : extent.width;
  if (side.pitch < extent.width && extent.height * extent.depth > 1)
    return fail(eInvalidValue, "a pitch is less than the width");
  const bool rows = extent.height > 1 || extent.depth > 1;
  const std::size_t beside = std::max(side.pitch, extent.width) - extent.width;
  if (given.pitch && rows && given.x > beside)
    return fail(eInvalidValue, "a row reaches beyond its pitch");
  const std::size_t height = given.height ? given.height : extent.height;
  if (height < extent.height)
    return fail(eInvalidValue, "the height of a slice is less than the height copied");
  if (given.height && given.y > height - extent.height)
    return fail(eInvalidValue, "a slice reaches beyond its height");
  if (!multiply(side.pitch, height, side.slice))
    return fail(eInvalidValue, "a slice is larger than any memory");
  switch (given.type) {
    case kMemoryDevice:
      return resolve_memory(side, given.device, given.x, given.y, given.z, extent);
    case kMemoryUnified:
    case kMemoryHost: {
      std::byte* host = given.type == kMemoryHost
                            ? given.host
                            : reinterpret_cast<std::byte*>(given.device);  // NOLINT
      // Under unified addresses a device's pointer may stand where the host's is expected.
      if (find_for_work(reinterpret_cast<CUdeviceptr>(host)))
        return resolve_memory(side, reinterpret_cast<CUdeviceptr>(host), given.x, given.y, given.z,
                              extent);
      if (!host) return fail(eInvalidValue, "a null pointer to copy from or to");
      side.kind = kMemoryHost;
      return resolve_host(side, host, given, extent);
    }
    default: return fail(eInvalidValue, "a copy names no kind of memory");
  }
}

Given source_of(const CUDA_MEMCPY3D_PEER& c) {
  return {c.srcMemoryType, const_cast<std::byte*>(static_cast<const std::byte*>(c.srcHost)),
          c.srcDevice,     c.srcArray,
          c.srcXInBytes,   c.srcY,
          c.srcZ,          c.srcPitch,
          c.srcHeight};
}

Given target_of(const CUDA_MEMCPY3D_PEER& c) {
  return {c.dstMemoryType, static_cast<std::byte*>(c.dstHost),
          c.dstDevice,     c.dstArray,
          c.dstXInBytes,   c.dstY,
          c.dstZ,          c.dstPitch,
          c.dstHeight};
}

/// A Region of `side` in its buffer, the other side's rows as given.
Region region_of(const Side& side, const Extent& extent, std::size_t other_pitch,
                 std::size_t other_slice) {
  Region region;
  region.offset = side.offset;
  region.row_bytes = extent.width;
  region.rows = static_cast<std::uint32_t>(extent.height);
  region.slices = static_cast<std::uint32_t>(extent.depth);
  region.row_pitch = std::max(side.pitch, extent.width);
  region.slice_pitch = side.slice;
  region.host_row_pitch = std::max(other_pitch, extent.width);
  region.host_slice_pitch = other_slice;
  return region;
}

ArrayRegion box_of(const Side& side, const Extent& extent, std::size_t pitch, std::size_t slice) {
  ArrayRegion box;
  box.level = side.array->level;
  box.x = static_cast<std::uint32_t>(side.x / side.texel());
  box.y = static_cast<std::uint32_t>(side.y);
  box.z = static_cast<std::uint32_t>(side.z);
  box.width = static_cast<std::uint32_t>(extent.width / side.texel());
  box.height = static_cast<std::uint32_t>(extent.height);
  box.depth = static_cast<std::uint32_t>(extent.depth);
  box.row_pitch = extent.height * extent.depth > 1 ? pitch : 0;
  box.slice_pitch = extent.depth > 1 ? slice : 0;
  return box;
}

CUresult done(const Status& status) { return status ? eSuccess : report(status.error()); }

/// Whether a copy takes parts of texels, as CUDA lets it.
bool splits_texels(const Side& side, const Extent& extent) {
  return side.x % side.texel() || extent.width % side.texel();
}

/// The whole texels that a copy touches, in rows without gaps. `before`: bytes of the first one
/// that it leaves out.
struct Covered {
  Side side;
  Extent extent;
  std::size_t before = 0;
  std::vector<std::byte> texels;
  std::size_t slice() const { return extent.width * extent.height; }
};
Covered cover(const Side& side, const Extent& extent) {
  Covered all{side, extent, side.x % side.texel(), {}};
  const std::size_t texel = side.texel();
  all.side.x -= all.before;
  all.extent.width = (all.before + extent.width + texel - 1) / texel * texel;
  all.texels.resize(all.slice() * extent.depth);
  return all;
}

/// Rows of `extent` between the covered texels and memory of the host.
template <class F>
void each_row(Covered& all, const Extent& extent, F&& row) {
  for (std::size_t z = 0; z < extent.depth; ++z)
    for (std::size_t y = 0; y < extent.height; ++y)
      row(all.texels.data() + z * all.slice() + y * all.extent.width + all.before, y, z);
}

/// Everything from and to plain memory of the host: `rows` lie as `side` says.
CUresult read_side(const Side& side, const Extent& extent, std::byte* to, std::size_t pitch,
                   std::size_t slice) {
  const std::span<std::byte> bytes(to, span_of(extent, pitch, slice));
  if (side.kind == kMemoryArray && splits_texels(side, extent)) {
    Covered all = cover(side, extent);
    CUresult code =
        read_side(all.side, all.extent, all.texels.data(), all.extent.width, all.slice());
    if (code == eSuccess)
      each_row(all, extent, [&](const std::byte* row, std::size_t y, std::size_t z) {
        std::memcpy(to + z * slice + y * pitch, row, extent.width);
      });
    return code;
  }
  if (side.kind == kMemoryArray)
    return done(side.array->array.download(box_of(side, extent, pitch, slice), bytes));
  return done(side.memory->buffer->download(region_of(side, extent, pitch, slice), bytes));
}

CUresult write_side(const Side& side, const Extent& extent, const std::byte* from,
                    std::size_t pitch, std::size_t slice) {
  const std::span<const std::byte> bytes(from, span_of(extent, pitch, slice));
  if (side.kind == kMemoryArray && splits_texels(side, extent)) {
    Covered all = cover(side, extent);
    CUresult code =
        read_side(all.side, all.extent, all.texels.data(), all.extent.width, all.slice());
    if (code != eSuccess) return code;
    each_row(all, extent, [&](std::byte* row, std::size_t y, std::size_t z) {
      std::memcpy(row, from + z * slice + y * pitch, extent.width);
    });
    return write_side(all.side, all.extent, all.texels.data(), all.extent.width, all.slice());
  }
  if (side.kind == kMemoryArray)
    return done(side.array->array.upload(box_of(side, extent, pitch, slice), bytes));
  return done(side.memory->buffer->upload(region_of(side, extent, pitch, slice), bytes));
}

CUresult copy_on_host(const Side& from, const Side& to, const Extent& extent) {
  for (std::size_t z = 0; z < extent.depth; ++z)
    for (std::size_t y = 0; y < extent.height; ++y)
      std::memmove(to.host + z * to.slice + y * to.pitch,
                   from.host + z * from.slice + y * from.pitch, extent.width);
  return eSuccess;
}

DeviceObject& device_of(const Side& side) {
  return side.kind == kMemoryArray ? *side.array->context->device : *side.memory->context->device;
}
bool same_device(const Side& a, const Side& b) { return &device_of(a) == &device_of(b); }

bool ranges_overlap(const Side& from, const Side& to, const Extent& extent) {
  if (from.memory != to.memory) return false;
  return from.offset < to.offset + span_of(extent, to.pitch, to.slice) &&
         to.offset < from.offset + span_of(extent, from.pitch, from.slice);
}

/// Makes rows and slices that follow one another without gaps on both sides one row.
void join_rows(Side& from, Side& to, Extent& extent) {
  if (from.kind == kMemoryArray || to.kind == kMemoryArray) return;
  const auto follow = [&](std::size_t Side::*pitch, std::size_t bytes) {
    return from.*pitch == bytes && to.*pitch == bytes;
  };
  if (extent.height > 1 && !follow(&Side::pitch, extent.width)) return;
  extent.width *= extent.height;
  extent.height = 1;
  if (extent.depth > 1 && !follow(&Side::slice, extent.width)) return;
  extent.width *= extent.depth;
  extent.depth = 1;
}

/// Memory that commands alone reach.
bool is_hidden(const Side& side) {
  return side.kind == kMemoryDevice && !side.memory->buffer->state()->mapped;
}

/// Whether commands copy between the sides, and the host does not.
bool goes_by_commands(const Side& from, const Side& to, const Extent& extent) {
  const auto reached = [](const Side& side) {
    return side.memory && side.memory->buffer && side.memory->buffer->state()->buffer;
  };
  return reached(from) && reached(to) && same_device(from, to) &&
         (is_hidden(from) || is_hidden(to)) && !ranges_overlap(from, to, extent);
}

/// A part of an extent, and where it is in that.
struct Piece {
  std::size_t x = 0, y = 0, z = 0;
  Extent extent;
};
/// Whole slices, rows or parts of a row, as many as go between devices at once.
std::vector<Piece> pieces_of(const Extent& extent) {
  const std::size_t width = std::min<std::size_t>(extent.width, runtime::kPeerPiece);
  const std::size_t height = std::min(extent.height, runtime::kPeerPiece / width);
  const std::size_t slices = std::max<std::size_t>(runtime::kPeerPiece / (width * height), 1);
  const std::size_t depth = height == extent.height ? std::min(extent.depth, slices) : 1;
  std::vector<Piece> pieces;
  for (std::size_t z = 0; z < extent.depth; z += depth)
    for (std::size_t y = 0; y < extent.height; y += height)
      for (std::size_t x = 0; x < extent.width; x += width)
        pieces.push_back({x,
                          y,
                          z,
                          {std::min(width, extent.width - x), std::min(height, extent.height - y),
                           std::min(depth, extent.depth - z)}});
  return pieces;
}

Side side_of(Side side, const Piece& piece) {
  side.offset += piece.z * side.slice + piece.y * side.pitch + piece.x;
  side.x += piece.x;
  side.y += piece.y;
  side.z += piece.z;
  return side;
}

/// By commands alone, which reach all but an array of the host's memory.
bool goes_by_pages(const Side& side, const Extent& extent) {
  return side.kind == kMemoryDevice ||
         (!splits_texels(side, extent) && runtime::reached_by_commands(*side.array->array.state()));
}

/// A piece of `from` to where it lies without gaps at an offset of `pages`.
Status fill_pages(const Side& from, const Piece& piece, Buffer& pages, std::uint64_t at) {
  const auto& [width, height, depth] = piece.extent;
  const Side part = side_of(from, piece);
  if (part.kind == kMemoryArray)
    return part.array->array.copy_to(pages, at, box_of(part, piece.extent, width, width * height));
  Side dense;
  dense.offset = at;
  dense.pitch = width;
  dense.slice = width * height;
  return pages.copy_from(*part.memory->buffer, part.offset,
                         region_of(dense, piece.extent, part.pitch, part.slice));
}

Status empty_pages(const Side& to, const Piece& piece, const Buffer& pages, std::uint64_t at) {
  const auto& [width, height, depth] = piece.extent;
  const Side part = side_of(to, piece);
  if (part.kind == kMemoryArray)
    return part.array->array.copy_from(pages, at,
                                       box_of(part, piece.extent, width, width * height));
  return part.memory->buffer->copy_from(pages, at,
                                        region_of(part, piece.extent, width, width * height));
}

/// Between two devices. Memory that the host reaches is copied as the host's, once its device has
/// done what it was given; the sanitizer follows copies by the host's memory alone.
CUresult copy_to_peer(const Side& from, const Side& to, const Extent& extent, bool& copied) {
  const auto mapped = [](const Side& side) -> std::byte* {
    if (side.kind != kMemoryDevice || kernels_are_checked(*side.memory->context)) return nullptr;
    return side.memory->buffer->mapped();
  };
  copied = true;
  if (std::byte* memory = mapped(from)) {
    if (CUresult code = settle(*from.memory->context); code != eSuccess) return code;
    return write_side(to, extent, memory + from.offset, from.pitch, from.slice);
  }
  if (std::byte* memory = mapped(to)) {
    if (CUresult code = settle(*to.memory->context); code != eSuccess) return code;
    return read_side(from, extent, memory + to.offset, to.pitch, to.slice);
  }
  const auto dense = [&](const Side& side) {
    return side.kind == kMemoryDevice && (extent.height == 1 || side.pitch == extent.width) &&
           (extent.depth == 1 || side.slice == extent.width * extent.height);
  };
  std::optional<Status> status;
  if (goes_by_pages(from, extent) && goes_by_pages(to, extent)) {
    const bool one_row = dense(from) && dense(to);
    const std::vector<Piece> pieces =
        pieces_of(one_row ? Extent{extent.width * extent.height * extent.depth} : extent);
    status = copy_to_peer(
        device_of(from), device_of(to), pieces.size(),
        [&](Buffer& pages, std::uint64_t at, std::size_t piece) {
          return fill_pages(from, pieces[piece], pages, at);
        },
        [&](Buffer& pages, std::uint64_t at, std::size_t piece) {
          return empty_pages(to, pieces[piece], pages, at);
        });
  }
  copied = status.has_value();
  return status ? done(*status) : eSuccess;
}

/// Whether an array and memory of its device exchange texels by commands.
bool fits_array(const Side& memory, const Side& array, const Extent& extent) {
  if (memory.kind != kMemoryDevice || array.kind != kMemoryArray || !same_device(memory, array))
    return false;
  const std::size_t texel = array.texel();
  return goes_by_pages(array, extent) && memory.offset % texel == 0 &&
         (extent.height * extent.depth == 1 || memory.pitch % texel == 0) &&
         (extent.depth == 1 || memory.slice % texel == 0);
}

/// From device to device, through the host where the devices or the layouts differ too much.
CUresult copy_on_device(const Side& from, const Side& to, const Extent& extent) {
  if (same_device(from, to)) {
    if (from.kind == kMemoryDevice && to.kind == kMemoryDevice && !ranges_overlap(from, to, extent))
      return done(to.memory->buffer->copy_from(*from.memory->buffer, from.offset,
                                               region_of(to, extent, from.pitch, from.slice)));
    if (from.kind == kMemoryArray && to.kind == kMemoryArray && from.texel() == to.texel() &&
        !splits_texels(from, extent) && !splits_texels(to, extent))
      return done(to.array->array.copy_from(from.array->array, box_of(from, extent, 0, 0),
                                            box_of(to, extent, 0, 0)));
    // An array and memory that the host can reach: as with the host's.
    if (from.kind == kMemoryDevice && to.kind == kMemoryArray)
      if (std::byte* mapped = from.memory->buffer->mapped())
        return write_side(to, extent, mapped + from.offset, from.pitch, from.slice);
    if (from.kind == kMemoryArray && to.kind == kMemoryDevice)
      if (std::byte* mapped = to.memory->buffer->mapped())
        return read_side(from, extent, mapped + to.offset, to.pitch, to.slice);
    if (fits_array(from, to, extent))
      return done(to.array->array.copy_from(*from.memory->buffer, from.offset,
                                            box_of(to, extent, from.pitch, from.slice)));
    if (fits_array(to, from, extent))
      return done(from.array->array.copy_to(*to.memory->buffer, to.offset,
                                            box_of(from, extent, to.pitch, to.slice)));
  } else {
    bool copied = false;
    const CUresult code = copy_to_peer(from, to, extent, copied);
    if (copied || code != eSuccess) return code;
  }
  const std::size_t pitch = extent.width, slice = extent.width * extent.height;
  std::vector<std::byte> between(slice * extent.depth);
  if (CUresult code = read_side(from, extent, between.data(), pitch, slice); code != eSuccess)
    return code;
  return write_side(to, extent, between.data(), pitch, slice);
}

/// Memory that is mapped without the right to write.
CUresult check_writable(const Side& side) {
  constexpr unsigned kReadWrite = 3;
  const bool mapped = side.memory && side.memory->use == MemoryUse::mapped;
  return mapped && side.memory->flags != kReadWrite ? fail(eInvalidValue, "the memory is read only")
                                                    : eSuccess;
}

CUresult resolve_both(const CUDA_MEMCPY3D_PEER& c, Extent& extent, Side& from, Side& to) {
  extent = {c.WidthInBytes, c.Height, c.Depth};
  if (extent.height >> 32 || extent.depth >> 32)
    return fail(eInvalidValue, "a copy has too many rows or slices");
  if (CUresult code = resolve(from, source_of(c), extent); code != eSuccess) return code;
  if (CUresult code = resolve(to, target_of(c), extent); code != eSuccess) return code;
  return check_writable(to);
}

}  // namespace

CUresult check_copy(const CUDA_MEMCPY3D_PEER& c) {
  if (!c.WidthInBytes || !c.Height || !c.Depth) return eSuccess;
  Extent extent;
  Side from, to;
  return resolve_both(c, extent, from, to);
}

CUresult host_sides(const CUDA_MEMCPY3D_PEER& c, HostSides& sides) {
  if (!c.WidthInBytes || !c.Height || !c.Depth) return eSuccess;
  Extent extent;
  Side from, to;
  if (CUresult code = resolve_both(c, extent, from, to); code != eSuccess) return code;
  sides.any = from.kind == kMemoryHost || to.kind == kMemoryHost;
  sides.both = from.kind == kMemoryHost && to.kind == kMemoryHost;
  sides.pageable_source = from.kind == kMemoryHost && !from.memory;
  sides.pageable_target = to.kind == kMemoryHost && !to.memory;
  return eSuccess;
}

CUDA_MEMCPY3D_PEER hold_source(const CUDA_MEMCPY3D_PEER& c, std::vector<std::byte>& bytes) {
  Extent extent;
  Side from, to;
  CUDA_MEMCPY3D_PEER held = c;
  if (resolve_both(c, extent, from, to) != eSuccess) return held;
  bytes.resize(extent.width * extent.height * extent.depth);
  to.host = bytes.data();
  to.pitch = extent.width;
  to.slice = extent.width * extent.height;
  (void)copy_on_host(from, to, extent);
  held.srcMemoryType = kMemoryHost;
  held.srcHost = bytes.data();
  held.srcXInBytes = held.srcY = held.srcZ = 0;
  held.srcPitch = held.WidthInBytes;
  held.srcHeight = held.Height;
  return held;
}

namespace {

bool has_work(ContextObject& context) {
  const std::lock_guard lock(context.mutex);
  return !context.dirty.empty();
}

/// To memory of the program's that is to stay as it is where a kernel before the copy fails. A wait
/// for the device costs as much as copying so many bytes twice.
CUresult read_behind_work(ContextObject& context, const Side& from, const Side& to,
                          const Extent& extent) {
  constexpr std::size_t kShort = std::size_t{1} << 16;
  Side between;
  between.pitch = extent.width;
  between.slice = extent.width * extent.height;
  const std::size_t bytes = between.slice * extent.depth;
  if (bytes > kShort || (from.kind == kMemoryDevice && !is_hidden(from))) {
    if (CUresult code = collect(context); code != eSuccess) return code;
    return read_side(from, extent, to.host, to.pitch, to.slice);
  }
  std::vector<std::byte> held(bytes);
  between.host = held.data();
  CUresult code = read_side(from, extent, between.host, between.pitch, between.slice);
  if (code == eSuccess) code = collect(context);
  return code == eSuccess ? copy_on_host(between, to, extent) : code;
}

}  // namespace

CUresult copy(ContextObject& context, const CUDA_MEMCPY3D_PEER& c) {
  if (!c.WidthInBytes || !c.Height || !c.Depth) return eSuccess;
  Extent extent;
  Side from, to;
  if (CUresult code = resolve_both(c, extent, from, to); code != eSuccess) return code;
  CUresult code = eSuccess;
  if (from.kind == kMemoryHost && to.kind == kMemoryHost) {
    // Kernels may be writing the one or reading the other.
    code = settle(context);
    if (code == eSuccess) code = copy_on_host(from, to, extent);
    return code;
  }
  join_rows(from, to, extent);
  if (to.kind == kMemoryHost && has_work(context))
    code = read_behind_work(context, from, to, extent);
  else if (goes_by_commands(from, to, extent))
    code = done(to.memory->buffer->copy_from(*from.memory->buffer, from.offset,
                                             region_of(to, extent, from.pitch, from.slice)));
  else if (from.kind == kMemoryHost)
    code = write_side(to, extent, from.host, from.pitch, from.slice);
  else if (to.kind == kMemoryHost)
    code = read_side(from, extent, to.host, to.pitch, to.slice);
  else
    code = copy_on_device(from, to, extent);
  if (code != eSuccess) return code;
  return collect(context);
}

namespace {

/// Whether the queue takes all that the sides have to do with: nothing lies where no buffer does.
/// Memory that the host reaches is faster there, while nothing runs.
bool is_for_queue(const StreamObject& stream, std::initializer_list<const Side*> sides) {
  if (synchronous()) return false;
  bool hidden = false;
  for (const Side* side : sides) {
    if (side->kind == kMemoryArray) continue;
    const Allocation* memory = side->memory.get();
    if (!memory || !memory->buffer || memory->context->device != stream.context->device)
      return false;
    hidden = hidden || !memory->buffer->mapped();
  }
  return hidden || is_running(*stream.context);
}

template <class Give>
CUresult give_queue(StreamObject& stream, Give&& give) {
  Stream* opened = nullptr;
  if (CUresult code = open_stream(stream, opened); code != eSuccess) return code;
  if (Status status = give(*opened); !status) return report(status.error());
  mark_dirty(stream.shared_from_this());
  return eSuccess;
}

}  // namespace

CUresult copy(StreamObject& stream, const CUDA_MEMCPY3D_PEER& c, bool& given) {
  Extent extent;
  Side from, to;
  given = false;
  if (!c.WidthInBytes || !c.Height || !c.Depth) return eSuccess;
  if (CUresult code = resolve_both(c, extent, from, to); code != eSuccess) return code;
  const bool to_array = fits_array(from, to, extent), from_array = fits_array(to, from, extent);
  join_rows(from, to, extent);
  const bool one_row = extent.height == 1 && extent.depth == 1 && from.kind != kMemoryArray &&
                       to.kind != kMemoryArray && !ranges_overlap(from, to, extent);
  // So few bytes of pageable memory are read before the call returns, as with CUDA.
  constexpr std::size_t kStaged = std::size_t{1} << 16;
  const bool staged = from.kind == kMemoryHost && !from.memory && one_row && is_hidden(to) &&
                      extent.width <= kStaged && is_for_queue(stream, {&to});
  given = staged || ((to_array || from_array || one_row || goes_by_commands(from, to, extent)) &&
                     is_for_queue(stream, {&from, &to}));
  if (!given) return eSuccess;
  return give_queue(stream, [&](Stream& opened) {
    if (staged) return opened.upload(*to.memory->buffer, to.offset, {from.host, extent.width});
    if (to_array)
      return opened.copy(*from.memory->buffer, from.offset, to.array->array,
                         box_of(to, extent, from.pitch, from.slice));
    if (from_array)
      return opened.copy(from.array->array, *to.memory->buffer, to.offset,
                         box_of(from, extent, to.pitch, to.slice));
    return runtime::copy_rows(*opened.state(), *from.memory->buffer, from.offset,
                              *to.memory->buffer, region_of(to, extent, from.pitch, from.slice));
  });
}

namespace {

/// What copies of two and of three dimensions have.
template <class From>
CUDA_MEMCPY3D_PEER flat_copy(const From& c) {
  CUDA_MEMCPY3D_PEER p{};
  p.srcXInBytes = c.srcXInBytes;
  p.srcY = c.srcY;
  p.srcMemoryType = c.srcMemoryType;
  p.srcHost = c.srcHost;
  p.srcDevice = c.srcDevice;
  p.srcArray = c.srcArray;
  p.srcPitch = c.srcPitch;
  p.dstXInBytes = c.dstXInBytes;
  p.dstY = c.dstY;
  p.dstMemoryType = c.dstMemoryType;
  p.dstHost = c.dstHost;
  p.dstDevice = c.dstDevice;
  p.dstArray = c.dstArray;
  p.dstPitch = c.dstPitch;
  p.WidthInBytes = c.WidthInBytes;
  p.Height = c.Height;
  p.Depth = 1;
  return p;
}

}  // namespace

CUDA_MEMCPY3D_PEER peer_copy(const CUDA_MEMCPY3D& c) {
  CUDA_MEMCPY3D_PEER p = flat_copy(c);
  p.srcZ = c.srcZ;
  p.srcLOD = c.srcLOD;
  p.srcHeight = c.srcHeight;
  p.dstZ = c.dstZ;
  p.dstLOD = c.dstLOD;
  p.dstHeight = c.dstHeight;
  p.Depth = c.Depth;
  return p;
}

CUDA_MEMCPY3D_PEER peer_copy(const CUDA_MEMCPY2D& c) { return flat_copy(c); }

CUDA_MEMCPY3D_PEER linear_copy(void* to, unsigned to_kind, const void* from, unsigned from_kind,
                               std::size_t bytes) {
  CUDA_MEMCPY3D_PEER p{};
  p.srcMemoryType = from_kind;
  p.srcHost = from;
  p.srcDevice = reinterpret_cast<CUdeviceptr>(from);
  p.dstMemoryType = to_kind;
  p.dstHost = to;
  p.dstDevice = reinterpret_cast<CUdeviceptr>(to);
  p.WidthInBytes = bytes;
  p.Height = p.Depth = 1;
  return p;
}

namespace {

CUresult resolve_fill(const CUDA_MEMSET_NODE_PARAMS& set, Side& side, Extent& extent) {
  if (set.elementSize != 1 && set.elementSize != 2 && set.elementSize != 4)
    return fail(eInvalidValue, "an element of a fill has 1, 2 or 4 bytes");
  std::size_t row = 0;
  if (!multiply(set.width, set.elementSize, row))
    return fail(eInvalidValue, "the fill is too wide");
  if (set.dst % set.elementSize || (set.height > 1 && set.pitch % set.elementSize))
    return fail(eInvalidValue, "a fill starts, and its rows follow, at multiples of its element");
  side.pitch = set.pitch ? set.pitch : row;
  if (set.height > 1 && side.pitch < row)
    return fail(eInvalidValue, "a pitch is less than the width");
  if (set.height >> 32) return fail(eInvalidValue, "a fill has too many rows");
  extent = {row, set.height, 1};
  if (CUresult code = resolve_memory(side, set.dst, 0, 0, 0, extent); code != eSuccess) return code;
  return check_writable(side);
}

/// Of the buffer: one row where rows follow one another without gaps.
Region region_of_fill(const Side& side, const Extent& extent) {
  const bool dense = extent.height == 1 || side.pitch == extent.width;
  Region region;
  region.offset = side.offset;
  region.row_bytes = dense ? extent.width * extent.height : extent.width;
  region.rows = dense ? 1 : static_cast<std::uint32_t>(extent.height);
  region.row_pitch = dense ? 0 : side.pitch;
  return region;
}

std::uint32_t word_of(const CUDA_MEMSET_NODE_PARAMS& set) {
  return runtime::fill_word(set.value, static_cast<int>(set.elementSize)).value();
}

}  // namespace

CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& set) {
  Side side;
  Extent extent;
  return set.width && set.height ? resolve_fill(set, side, extent) : eSuccess;
}

CUresult set_memory(StreamObject& stream, const CUDA_MEMSET_NODE_PARAMS& set, bool& given) {
  Side side;
  Extent extent;
  given = false;
  if (!set.width || !set.height) return eSuccess;
  if (CUresult code = resolve_fill(set, side, extent); code != eSuccess) return code;
  given = side.kind == kMemoryDevice && is_for_queue(stream, {&side});
  if (!given) return eSuccess;
  return give_queue(stream, [&](Stream& opened) {
    return runtime::fill_rows(*opened.state(), *side.memory->buffer, region_of_fill(side, extent),
                              word_of(set));
  });
}

CUresult set_in_turn(StreamObject& stream, const CUDA_MEMSET_NODE_PARAMS& set) {
  bool given = false;
  const CUresult code = set_memory(stream, set, given);
  return given || code != eSuccess ? code : set_memory(*stream.context, set);
}

CUresult set_memory(ContextObject& context, const CUDA_MEMSET_NODE_PARAMS& set) {
  if (!set.width || !set.height) return eSuccess;
  Side side;
  Extent extent;
  if (CUresult code = resolve_fill(set, side, extent); code != eSuccess) return code;
  const std::uint32_t word = word_of(set);
  if (side.kind == kMemoryHost) {
    if (CUresult code = settle(context); code != eSuccess) return code;
    for (std::size_t y = 0; y < extent.height; ++y)
      runtime::fill_mapped(side.host + y * side.pitch, extent.width, word);
    return eSuccess;
  }
  const runtime::BufferState& buffer = *side.memory->buffer->state();
  const auto rows = runtime::resolve_fill(buffer, region_of_fill(side, extent));
  if (!rows) return report(rows.error());
  const CUresult code = done(runtime::fill_rows(*buffer.device, buffer.base(), *rows, word));
  return code == eSuccess ? collect(context) : code;
}

}  // namespace ptx2spv::cuda
