// Copies of OpenGL's objects on the device: in memory that OpenGL imports, or else through the
// host.
#pragma once

#include <vector>

#include "src/opengl/calls.hpp"

namespace ptx2spv::opengl {

/// What OpenGL has of a copy.
struct Sharing {
  Imported imported;              ///< zeros: nothing
  std::string why;                ///< it has nothing
  std::vector<std::byte> texels;  ///< on their way through the host
};

/// For a buffer of OpenGL's with so many bytes. What was shared of an earlier copy is not any more.
Result<Buffer> make_buffer(Calls& calls, const Device& device, std::size_t bytes, Sharing& sharing);
Result<Array> make_array(Calls& calls, const Device& device, const Image& image,
                         const ArrayDesc& desc, Sharing& sharing);
// Of the whole: what OpenGL has goes to the device, or comes back.
Status read_in(Calls& calls, unsigned name, Buffer& copy, Sharing& sharing);
Status write_back(Calls& calls, unsigned name, const Buffer& copy, Sharing& sharing);
Status read_in(Calls& calls, const Image& image, Array& copy, Sharing& sharing);
Status write_back(Calls& calls, const Image& image, const Array& copy, Sharing& sharing);

}  // namespace ptx2spv::opengl
