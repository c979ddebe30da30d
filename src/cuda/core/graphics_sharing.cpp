// Memory of the device's that OpenGL imports, so that its objects are copied there and nowhere
// else.
#include <set>

#include <fmt/format.h>

#include "src/array/shared_memory.hpp"
#include "src/cuda/core/graphics.hpp"
#include "src/options.hpp"

namespace ptx2spv::cuda {

namespace {

/// Why nothing of the object's is shared; null: it may be.
const char* cannot_share(const ContextObject& context, gl::Calls& calls,
                         const GraphicsObject& object) {
  if (kernels_are_checked(context)) return "kernels are checked";
  const DeviceInfo& info = context.device->info;
  if (!object.bytes) {
    if (!object.image.format.sized) return "no image of Vulkan's has its format";
    // The host's own executor takes no images, and reads of OpenGL's are one copy there, too.
    if (info.kind == DeviceKind::cpu && runtime::option_text(runtime::Option::backing) != "image")
      return "a CPU device has its arrays in memory";
  }
  return calls.cannot_import(info.uuid, runtime::driver_uuid(context.gpu()));
}

void tell(const GraphicsObject& object, const char* why_not) {
  note(name_of(object) +
       (why_not ? fmt::format(" is copied through the host: {}", why_not)
                : std::string(" is copied on the device, by memory that OpenGL imports")));
}

std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t state) {
  std::vector<std::byte> made(bytes);
  for (std::byte& each : made)
    each = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return made;
}

/// Whether both APIs see the other's bytes.
bool proven(gl::Calls& calls, unsigned name, Buffer& buffer) {
  const std::size_t bytes = std::min<std::size_t>(buffer.size(), 4096);
  const auto ours = pattern(bytes, 1), theirs = pattern(bytes, 2);
  std::vector<std::byte> seen(bytes);
  if (!buffer.upload(0, ours) || calls.read(name, seen.data(), bytes) != eSuccess || seen != ours)
    return false;
  if (calls.write(name, theirs.data(), bytes) != eSuccess || calls.finish() != eSuccess)
    return false;
  return buffer.download(0, seen) && seen == theirs;
}

/// The same of every level. A shape is looked at once.
bool proven(gl::Calls& calls, const gl::Image& image, Array& array) {
  static std::set<std::string> shapes;
  const std::string shape =
      fmt::format("{} {:x} {:x} {}x{}x{} {}", calls.renderer(), image.target, image.format.internal,
                  image.width, image.height, image.depth, image.levels);
  if (shapes.contains(shape)) return true;
  for (unsigned level = 0; level < image.levels; ++level) {
    const std::size_t bytes = image.level_bytes(level);
    const auto ours = pattern(bytes, level + 1), theirs = pattern(bytes, level + 99);
    std::vector<std::byte> seen(bytes);
    if (!array.upload(ours, level) || calls.read(image, level, seen.data()) != eSuccess ||
        seen != ours || calls.write(image, level, theirs.data()) != eSuccess ||
        calls.finish() != eSuccess || !array.download(seen, level) || seen != theirs)
      return false;
  }
  shapes.insert(shape);
  return true;
}

template <class T>
bool describe(const T& made, gl::Exported& described) {
  auto exported = vulkan::export_memory(made);
  if (exported) described = {exported->fd, exported->bytes, exported->dedicated};
  return static_cast<bool>(exported);
}

}  // namespace

void share_memory(ContextObject& context, gl::Calls& calls, GraphicsObject& object,
                  std::optional<Buffer>& made) {
  const char* why = cannot_share(context, calls, object);
  if (!why) {
    auto buffer = vulkan::create_exportable(context.gpu(), object.bytes);
    gl::Exported from;
    if (!buffer || !describe(*buffer, from)) {
      why = "Vulkan exports no such memory";
    } else if (calls.import_buffer(from, object.bytes, object.imported) != eSuccess) {
      why = "OpenGL does not import its memory";
    } else if (!proven(calls, object.imported.name, *buffer)) {
      calls.release(object.imported);
      why = "OpenGL sees other bytes in its memory";
    } else {
      made = std::move(*buffer);
    }
  }
  tell(object, why);
}

Result<Array> share_array(ContextObject& context, gl::Calls& calls, GraphicsObject& object,
                          const ArrayDesc& desc) {
  const char* why = cannot_share(context, calls, object);
  if (!why) {
    auto array = vulkan::create_exportable(context.gpu(), desc);
    gl::Exported from;
    if (!array || !describe(*array, from)) {
      why = "Vulkan exports no such image";
    } else if (calls.import_image(from, object.image, object.imported) != eSuccess) {
      why = "OpenGL does not import its image";
    } else if (!proven(calls, object.imported.image, *array)) {
      calls.release(object.imported);
      why = "OpenGL sees other texels in its image";
    } else {
      tell(object, nullptr);
      return array;
    }
  }
  tell(object, why);
  return Array::create(context.gpu(), desc);
}

}  // namespace ptx2spv::cuda
