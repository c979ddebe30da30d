// Names of formats and geometries, by their numbers, and sizes of texels.
#pragma once

#include <cstddef>
#include <string_view>

#include "ptx2spv/abi.hpp"

namespace ptx2spv {

/// By abi::SurfaceFormat.
inline constexpr std::string_view kFormatNames[] = {
#define PTX2SPV_FORMAT(name, bytes) #name,
#include "ptx2spv/formats.def"
};

/// By TextureGeometry, whose first ones are those of surfaces and arrays.
inline constexpr std::string_view kGeometryNames[] = {"1d",   "2d",    "3d",   "a1d",  "a2d",
                                                      "cube", "acube", "2dms", "a2dms"};
inline constexpr std::size_t kSurfaceGeometries = 5;

/// Bytes of one component of a texel.
constexpr unsigned component_bytes(abi::SurfaceFormat format) {
  switch (format) {
#define PTX2SPV_FORMAT(name, bytes) \
  case abi::SurfaceFormat::name:    \
    return bytes;
#include "ptx2spv/formats.def"
#undef PTX2SPV_FORMAT  // for clang-format
  }
  return 0;
}

constexpr unsigned texel_bytes(abi::SurfaceFormat format, unsigned channels) {
  return component_bytes(format) * channels;
}

}  // namespace ptx2spv
