// Sizes of texels.
#pragma once

#include "ptx2spv/abi.hpp"

namespace ptx2spv {

/// Bytes of one component of a texel.
constexpr unsigned component_bytes(abi::SurfaceFormat format) {
  constexpr unsigned char kBytes[] = {1, 2, 4, 1, 2, 4, 2, 4, 1, 2, 1, 2};
  return kBytes[static_cast<unsigned>(format)];
}

constexpr unsigned texel_bytes(abi::SurfaceFormat format, unsigned channels) {
  return component_bytes(format) * channels;
}

}  // namespace ptx2spv
