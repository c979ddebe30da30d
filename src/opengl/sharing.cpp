#include "src/opengl/sharing.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <shared_mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/array/array.hpp"
#include "src/array/buffer.hpp"
#include "src/array/shared_memory.hpp"
#include "src/options.hpp"

namespace ptx2spv::opengl {

namespace {

/// Why nothing is shared; null: it may be. `image` null: of a buffer.
const char* cannot_share(Calls& calls, const Device& device, const Image* image) {
  // Writes that the runtime does not see are none where it looks for what was written.
  if (device.state()->checks) return "kernels are checked";
  if (image) {
    if (!image->format.sized) return "no image of Vulkan's has its format";
    // The host's own executor takes no images, and reads of OpenGL's are one copy there, too.
    if (device.info().kind == DeviceKind::cpu &&
        runtime::option_text(runtime::Option::backing) != "image")
      return "a CPU device has its arrays in memory";
  }
  return calls.cannot_import(device.info().uuid, runtime::driver_uuid(device));
}

std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t state) {
  std::vector<std::byte> made(bytes);
  for (std::byte& each : made)
    each = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return made;
}

/// Whether both APIs see the other's bytes.
bool proven(Calls& calls, unsigned name, Buffer& buffer) {
  const std::size_t bytes = std::min<std::size_t>(buffer.size(), 4096);
  const auto ours = pattern(bytes, 1), theirs = pattern(bytes, 2);
  std::vector<std::byte> seen(bytes);
  if (!buffer.upload(0, ours) || !calls.read(name, seen.data(), bytes) || seen != ours)
    return false;
  return calls.write(name, theirs.data(), bytes) && calls.finish() && buffer.download(0, seen) &&
         seen == theirs;
}

bool proven(Calls& calls, const Image& image, Array& array) {
  for (unsigned level = 0; level < image.levels; ++level) {
    const std::size_t bytes = image.level_bytes(level);
    const auto ours = pattern(bytes, level + 1), theirs = pattern(bytes, level + 99);
    std::vector<std::byte> seen(bytes);
    if (!array.upload(ours, level) || !calls.read(image, level, seen.data()) || seen != ours ||
        !calls.write(image, level, theirs.data()) || !calls.finish() ||
        !array.download(seen, level) || seen != theirs)
      return false;
  }
  return true;
}

/// The same. A shape is looked at once.
bool shape_proven(Calls& calls, const Device& device, const Image& image, Array& array) {
  static std::mutex mutex;
  static auto& shapes = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  const std::string shape = fmt::format(
      "{} {:02x} {:02x} {:x} {:x} {}x{}x{} {}", calls.driver(), fmt::join(device.info().uuid, ""),
      fmt::join(runtime::driver_uuid(device), ""), image.target, image.format.internal, image.width,
      image.height, image.depth, image.levels);
  if (!shapes.contains(shape) && !proven(calls, image, array)) return false;
  shapes.insert(shape);
  return true;
}

/// Where a level of an array lies in memory that the host has, in rows of whole texels; null: it
/// does not. The array stays there under DeviceState::residency.
std::byte* rows_of(const runtime::ArrayState& array, const runtime::Level& level) {
  std::byte* mapped = array.image_backed ? nullptr : array.linear.mapped();
  return mapped && level.row_pitch % array.desc.texel_bytes() == 0 ? mapped + level.offset
                                                                   : nullptr;
}

template <class T>
bool describe(const T& made, Exported& described) {
  auto exported = vulkan::export_memory(made);
  if (exported) described = {exported->fd, exported->bytes, exported->dedicated};
  return static_cast<bool>(exported);
}

/// A copy in memory that OpenGL has, too; a plain one where that cannot be, and why.
template <class Make, class Import, class Prove, class Plain>
auto share(Calls& calls, Sharing& sharing, const char* why, Make&& make, Import&& import,
           Prove&& prove, Plain&& plain) -> decltype(plain()) {
  if (sharing.imported.name) calls.release(sharing.imported);
  sharing = {};
  if (!why) {
    auto made = make();
    Exported from;
    if (!made || !describe(*made, from)) {
      why = "Vulkan exports no such memory";
    } else if (!import(from)) {
      why = "OpenGL does not import its memory";
    } else if (!prove(*made)) {
      calls.release(sharing.imported);
      why = "OpenGL sees other contents in its memory";
    } else {
      return made;
    }
  }
  sharing.why = why;
  return plain();
}

/// For each level `direct(level, rows, pitch)` where the host has its rows and `may_direct`, else
/// `packed(level, texels)`.
template <class Direct, class Packed>
Status for_levels(const Image& image, const Array& copy, Sharing& sharing, bool may_direct,
                  Direct&& direct, Packed&& packed) {
  const runtime::ArrayState& array = *copy.state();
  for (unsigned level = 0; level < image.levels; ++level) {
    if (may_direct) {
      const std::shared_lock lock(array.device->residency);
      const runtime::Level& rows = array.levels[level];
      if (std::byte* at = rows_of(array, rows)) {
        if (Status status = direct(level, at, rows.row_pitch); !status) return status;
        continue;
      }
    }
    sharing.texels.resize(image.level_bytes(0));
    const auto texels = std::span(sharing.texels).first(image.level_bytes(level));
    if (Status status = packed(level, texels); !status) return status;
  }
  return {};
}

}  // namespace

Result<Buffer> make_buffer(Calls& calls, const Device& device, std::size_t bytes,
                           Sharing& sharing) {
  return share(
      calls, sharing, cannot_share(calls, device, nullptr),
      [&] { return vulkan::create_exportable(device, bytes); },
      [&](const Exported& from) { return calls.import_buffer(from, bytes, sharing.imported); },
      [&](Buffer& made) { return proven(calls, sharing.imported.name, made); },
      [&] { return Buffer::create(device, bytes, BufferMemory::device); });
}

Result<Array> make_array(Calls& calls, const Device& device, const Image& image,
                         const ArrayDesc& desc, Sharing& sharing) {
  return share(
      calls, sharing, cannot_share(calls, device, &image),
      [&] { return vulkan::create_exportable(device, desc); },
      [&](const Exported& from) { return calls.import_image(from, image, sharing.imported); },
      [&](Array& made) { return shape_proven(calls, device, sharing.imported.image, made); },
      [&] { return Array::create(device, desc); });
}

Status read_in(Calls& calls, unsigned name, Buffer& copy, Sharing& sharing) {
  if (sharing.imported.name) return calls.copy_buffer(name, sharing.imported.name, copy.size());
  std::byte* mapped = copy.mapped();
  if (mapped && !copy.state()->device->checks) return calls.read(name, mapped, copy.size());
  sharing.texels.resize(copy.size());
  if (Status status = calls.read(name, sharing.texels.data(), copy.size()); !status) return status;
  return copy.upload(0, sharing.texels);
}

Status write_back(Calls& calls, unsigned name, const Buffer& copy, Sharing& sharing) {
  if (sharing.imported.name) return calls.copy_buffer(sharing.imported.name, name, copy.size());
  if (const std::byte* mapped = copy.mapped()) return calls.write(name, mapped, copy.size());
  sharing.texels.resize(copy.size());
  if (Status status = copy.download(0, sharing.texels); !status) return status;
  return calls.write(name, sharing.texels.data(), copy.size());
}

// OpenGL copies no texture that its filter makes incomplete, which the host reads all the same.

Status read_in(Calls& calls, const Image& image, Array& copy, Sharing& sharing) {
  if (sharing.imported.name && calls.copy_image(image, sharing.imported.image)) return {};
  return for_levels(
      image, copy, sharing, !copy.state()->device->checks,
      [&](unsigned level, std::byte* to, std::size_t pitch) {
        return calls.read(image, level, to, pitch);
      },
      [&](unsigned level, std::span<std::byte> texels) {
        Status status = calls.read(image, level, texels.data());
        return status ? copy.upload(texels, level) : std::move(status);
      });
}

Status write_back(Calls& calls, const Image& image, const Array& copy, Sharing& sharing) {
  if (sharing.imported.name && calls.copy_image(sharing.imported.image, image)) return {};
  return for_levels(
      image, copy, sharing, true,
      [&](unsigned level, const std::byte* from, std::size_t pitch) {
        return calls.write(image, level, from, pitch);
      },
      [&](unsigned level, std::span<std::byte> texels) {
        Status status = copy.download(texels, level);
        return status ? calls.write(image, level, texels.data()) : std::move(status);
      });
}

}  // namespace ptx2spv::opengl
