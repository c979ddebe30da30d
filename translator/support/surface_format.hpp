// Sizes of texels.
#pragma once

#include "ptx2spv/abi.hpp"

namespace ptx2spv {

/// Bytes of one component of a texel.
constexpr unsigned component_bytes(abi::SurfaceFormat format) {
  switch (format) {
#define PTX2SPV_FORMAT(name, bytes) \
  case abi::SurfaceFormat::name:    \
    return bytes;
#include "ptx2spv/formats.def"
#undef PTX2SPV_FORMAT
  }
  return 0;
}

constexpr unsigned texel_bytes(abi::SurfaceFormat format, unsigned channels) {
  return component_bytes(format) * channels;
}

}  // namespace ptx2spv
