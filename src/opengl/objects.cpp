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

template <class State>
std::shared_ptr<State> start(opengl::Calls& calls, const Device& device, unsigned name,
                             gl::Access access) {
  auto made = std::make_shared<State>();
  made->device = device;
  made->name = name;
  made->access = access;
  made->mark = calls.mark();
  return made;
}

/// Unmaps `what` OpenGL has, which the copy was for.
template <class What, class Copy>
Status finish(SharedState& state, const What& what, const Copy& copy) {
  std::optional<opengl::Calls> calls;
  if (Status status = state.enter(calls, true); !status) return status;
  if (Status status = state.device->synchronize(); !status) return status;
  state.mapped = false;
  if (state.access == gl::Access::read_only) return {};
  return opengl::write_back(*calls, what, copy, state.sharing);
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
  opengl::Image image;
  if (Status status = calls->describe(name, target, image); !status) return status.error();
  auto made = start<SharedImageState>(*calls, device, name, access);
  made->image = image;
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
  if (Status status = calls->describe(state_->name, then.target, now); !status)
    return status.error();
  if (now != then) return changed();
  if (state_->access != Access::write_discard)
    if (Status status = opengl::read_in(*calls, then, *state_->array, state_->sharing); !status)
      return status.error();
  state_->mapped = true;
  return *state_->array;
}

Status SharedImage::unmap() { return finish(*state_, state_->image, *state_->array); }

Result<SharedBuffer> SharedBuffer::open(const Device& device, unsigned name, Access access) {
  std::optional<opengl::Calls> calls;
  if (Status status = opengl::Calls::begin(calls); !status) return status.error();
  std::size_t bytes = 0;
  if (Status status = calls->buffer_bytes(name, bytes); !status) return status.error();
  auto made = start<SharedBufferState>(*calls, device, name, access);
  auto buffer = opengl::make_buffer(*calls, device, bytes, made->sharing);
  if (!buffer) return buffer.error();
  made->buffer = std::move(*buffer);
  return SharedBuffer(std::move(made));
}

Result<Buffer> SharedBuffer::map() {
  std::optional<opengl::Calls> calls;
  if (Status status = state_->enter(calls, false); !status) return status.error();
  std::size_t bytes = 0;
  if (Status status = calls->buffer_bytes(state_->name, bytes); !status) return status.error();
  if (bytes != state_->buffer->size()) return changed();
  if (state_->access != Access::write_discard)
    if (Status status = opengl::read_in(*calls, state_->name, *state_->buffer, state_->sharing);
        !status)
      return status.error();
  state_->mapped = true;
  return *state_->buffer;
}

Status SharedBuffer::unmap() { return finish(*state_, state_->name, *state_->buffer); }

}  // namespace ptx2spv::gl
