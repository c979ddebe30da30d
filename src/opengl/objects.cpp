// An application's objects of OpenGL in the runtime: gl.hpp.
#include "ptx2spv/gl.hpp"
#include "src/opengl/sharing.hpp"

namespace ptx2spv::runtime {

/// What both kinds have.
struct SharedState {
  std::optional<Device> device;
  unsigned name = 0;
  gl::Access access = gl::Access::both;
  opengl::Mark mark;
  opengl::Sharing sharing;
  bool mapped = false;

  SharedState() = default;
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;
  /// What OpenGL has of it goes here, or with its context.
  ~SharedState() {
    std::optional<opengl::Calls> calls;
    if (!mark.sampler || !opengl::Calls::begin(calls) || !calls->knows(mark)) return;
    if (sharing.imported.name) calls->release(sharing.imported);
    calls->forget(mark);
  }
  /// A scope of calls to a context that has the object, while it is mapped or not.
  Status enter(std::optional<opengl::Calls>& calls, bool while_mapped) {
    if (mapped != while_mapped)
      return opengl::refuse(ErrorCode::invalid_argument,
                            mapped ? "the object is mapped" : "the object is not mapped");
    if (Status status = opengl::Calls::begin(calls); !status) return status;
    return calls->knows(mark)
               ? Status()
               : opengl::refuse(ErrorCode::no_device,
                                "the current OpenGL context does not have the object");
  }
};

struct SharedImageState : SharedState {
  opengl::Image image;
  std::optional<Array> array;
};
struct SharedBufferState : SharedState {
  std::optional<Buffer> buffer;
};

namespace {

Error changed() {
  return {ErrorCode::invalid_argument,
          "the object has another size or format than when it was opened",
          {},
          nullptr};
}

ArrayDesc desc_of(const opengl::Image& image) {
  ArrayDesc desc;
  desc.geometry = image.layered()                      ? Geometry::a2d
                  : image.target == opengl::kTexture3D ? Geometry::d3
                                                       : Geometry::d2;
  desc.format = image.format.format;
  desc.channels = image.format.channels;
  desc.width = static_cast<std::uint32_t>(image.width);
  desc.height = static_cast<std::uint32_t>(image.height);
  (image.layered() ? desc.layers : desc.depth) = static_cast<std::uint32_t>(image.depth);
  desc.levels = image.levels;
  return desc;
}

}  // namespace

}  // namespace ptx2spv::runtime

namespace ptx2spv::gl {

using namespace runtime;

Result<SharedImage> SharedImage::open(const Device& device, unsigned name, unsigned target,
                                      Access access) {
  if (!name || !opengl::takes_target(target))
    return opengl::refuse(ErrorCode::invalid_argument, "no image has that name or target").error();
  std::optional<opengl::Calls> calls;
  if (Status status = opengl::Calls::begin(calls); !status) return status.error();
  auto made = std::make_shared<SharedImageState>();
  if (Status status = calls->describe(name, target, made->image); !status) return status.error();
  made->device = device;
  made->name = name;
  made->access = access;
  made->mark = calls->mark();
  auto array = opengl::make_array(*calls, device, made->image, desc_of(made->image), made->sharing);
  if (!array) return array.error();
  made->array = std::move(*array);
  return SharedImage(std::move(made));
}

Result<Array> SharedImage::map() {
  std::optional<opengl::Calls> calls;
  if (Status status = state_->enter(calls, false); !status) return status.error();
  opengl::Image now;
  const opengl::Image& then = state_->image;
  if (!calls->describe(state_->name, then.target, now) || now != then) return changed();
  if (state_->access != Access::write_discard)
    if (Status status = opengl::read_in(*calls, then, *state_->array, state_->sharing); !status)
      return status.error();
  state_->mapped = true;
  return *state_->array;
}

Status SharedImage::unmap() {
  std::optional<opengl::Calls> calls;
  if (Status status = state_->enter(calls, true); !status) return status;
  if (Status status = state_->device->synchronize(); !status) return status;
  state_->mapped = false;
  if (state_->access == Access::read_only) return {};
  return opengl::write_back(*calls, state_->image, *state_->array, state_->sharing);
}

Result<SharedBuffer> SharedBuffer::open(const Device& device, unsigned name, Access access) {
  std::optional<opengl::Calls> calls;
  if (Status status = opengl::Calls::begin(calls); !status) return status.error();
  std::size_t bytes = 0;
  if (Status status = calls->buffer_bytes(name, bytes); !status) return status.error();
  auto made = std::make_shared<SharedBufferState>();
  made->device = device;
  made->name = name;
  made->access = access;
  made->mark = calls->mark();
  auto buffer = opengl::make_buffer(*calls, device, bytes, made->sharing);
  if (!buffer) return buffer.error();
  made->buffer = std::move(*buffer);
  return SharedBuffer(std::move(made));
}

Result<Buffer> SharedBuffer::map() {
  std::optional<opengl::Calls> calls;
  if (Status status = state_->enter(calls, false); !status) return status.error();
  std::size_t bytes = 0;
  if (!calls->buffer_bytes(state_->name, bytes) || bytes != state_->buffer->size())
    return changed();
  if (state_->access != Access::write_discard)
    if (Status status = opengl::read_in(*calls, state_->name, *state_->buffer, state_->sharing);
        !status)
      return status.error();
  state_->mapped = true;
  return *state_->buffer;
}

Status SharedBuffer::unmap() {
  std::optional<opengl::Calls> calls;
  if (Status status = state_->enter(calls, true); !status) return status;
  if (Status status = state_->device->synchronize(); !status) return status;
  state_->mapped = false;
  if (state_->access == Access::read_only) return {};
  return opengl::write_back(*calls, state_->name, *state_->buffer, state_->sharing);
}

}  // namespace ptx2spv::gl
