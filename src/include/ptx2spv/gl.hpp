// The runtime beside an application's own OpenGL: its textures as arrays, its buffers as buffers.
// The context that is current to the calling thread has to have the object in every call, to be of
// OpenGL 3.3 or newer, and is as before after each. Needs nothing of OpenGL's to build or link.
#pragma once

#include <cstdint>
#include <memory>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::runtime {
struct SharedImageState;
struct SharedBufferState;
}  // namespace ptx2spv::runtime

namespace ptx2spv::gl {

/// What is done with a mapped object. Each of the last two saves a copy.
enum class Access : std::uint8_t { both, read_only, write_discard };

/// A texture (2D, rectangle, cube, 3D or 2D array) with its levels, or a renderbuffer. The device
/// has a copy, which OpenGL copies from and to on the device where it imports the device's memory.
class SharedImage {
 public:
  /// `target` is OpenGL's, as GL_TEXTURE_2D. not_found: there is no such object; unsupported: no
  /// array has its format; no_device: no context is current.
  static Result<SharedImage> open(const Device& device, unsigned name, unsigned target,
                                  Access access = Access::both);
  /// The same array each time, with OpenGL's texels now. invalid_argument: it is mapped, or OpenGL
  /// gave the object another size, format or number of levels.
  Result<Array> map();
  /// Waits for every stream of the device. OpenGL has the array's texels then.
  Status unmap();
  explicit SharedImage(std::shared_ptr<runtime::SharedImageState> state)
      : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::SharedImageState> state_;
};

/// The same of a buffer.
class SharedBuffer {
 public:
  static Result<SharedBuffer> open(const Device& device, unsigned name,
                                   Access access = Access::both);
  Result<Buffer> map();
  Status unmap();
  explicit SharedBuffer(std::shared_ptr<runtime::SharedBufferState> state)
      : state_(std::move(state)) {}

 private:
  std::shared_ptr<runtime::SharedBufferState> state_;
};

}  // namespace ptx2spv::gl
