// What a texture is not made for reads as zeros.
#pragma once

#include "ptx2spv/abi.hpp"
#include "ptx2spv/texture_use.hpp"

namespace ptx2spv::ir {

/// The bit of abi::TextureSampler that hides a texture from such reads.
constexpr std::uint32_t hiding_bit(TextureGeometry geometry, bool integer) {
  switch (geometry) {
    case TextureGeometry::d3: return abi::sample_no_volumes;
    case TextureGeometry::cube:
    case TextureGeometry::acube: return abi::sample_no_cubes;
    case TextureGeometry::a1d: return integer ? abi::sample_no_fetches : abi::sample_no_lines;
    case TextureGeometry::d1: return integer ? abi::sample_no_fetches : abi::sample_no_planes;
    default: return abi::sample_no_planes;
  }
}

}  // namespace ptx2spv::ir
