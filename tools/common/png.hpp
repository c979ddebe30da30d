// PNG pictures of 8 bits a channel.
#pragma once

#include "tools/common/files.hpp"

namespace ptx2spv::tools {

/// Rows from the top without padding; 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA) channels.
struct Picture {
  std::uint32_t width = 0, height = 0, channels = 0;
  Bytes pixels;
};

/// Decodes to `channels` channels (1, 2 or 4); palettes, 16-bit samples and transparency are
/// converted.
IoError read_png(const Bytes& file, std::uint32_t channels, Picture& picture);
IoError write_png(const Picture& picture, Bytes& file);

}  // namespace ptx2spv::tools
