// How kernels read textures: what a host goes by that lets the device's samplers read them.
#pragma once

#include <cstdint>

namespace ptx2spv {

enum class Geometry : std::uint8_t { d1, d2, d3, a1d, a2d };
constexpr bool is_layered(Geometry geometry) {
  return geometry == Geometry::a1d || geometry == Geometry::a2d;
}
/// What an instruction takes the texture for; the first ones are those of Geometry.
enum class TextureGeometry : std::uint8_t { d1, d2, d3, a1d, a2d, cube, acube, d2ms, a2dms };
/// Which level it reads: the base, one by number, one by gradients, or four texels of the base.
enum class TextureMode : std::uint8_t { base, level, gradient, gather };

/// What a sampler's view holds.
enum class TextureTexel : std::uint8_t { real, uint, sint };

/// A form of reads.
struct TextureUse {
  TextureGeometry geometry = TextureGeometry::d2;
  TextureMode mode = TextureMode::base;
  bool integer = false;        ///< the coordinates are integers
  bool offset = false;         ///< texels beside the coordinates
  bool sampler_apart = false;  ///< with a .samplerref's sampler
  bool operator==(const TextureUse&) const = default;
};

/// Who reads the texels: the kernel's own code, or the device's sampler.
enum class TextureUnit : std::uint8_t { shader, sampler };

}  // namespace ptx2spv
