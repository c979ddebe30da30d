// What the replay of the texture record through samplers gave (docs/hardware.md): all that is not
// named here is equal.
#include "src/array/sampler_exactness.hpp"

#include <algorithm>

namespace ptx2spv::runtime {

namespace {

/// Whether the quotient of a coordinate and the extent falls on the 256th of a texel that the
/// coordinate was cut to: normalised coordinates keep 21 bits, so that their steps are at most
/// 0.6 of a 256th, or exactly so many of them.
bool divides_exactly(std::uint32_t extent) { return extent <= 4800 || (extent == 8192); }

/// Extents from which on a line's coordinates keep fewer bits in CUDA.
constexpr std::uint32_t kMostLine = 16384;

}  // namespace

bool sampler_is_exact(const TextureState& texture, std::span<const TextureUse> uses,
                      const SamplerUse& use) {
  const ArrayDesc& array = texture.array->desc;
  const std::uint32_t sampler = texture.record[abi::x_sampler];
  if (use.divides && !(divides_exactly(array.width) && divides_exactly(array.height) &&
                       divides_exactly(array.depth)))
    return false;
  if (use.view == TextureGeometry::d1) {
    // CUDA's line is a row of a plane, between rows of the border's colour.
    if (sampler & abi::sample_linear && texture.desc.address[1] == AddressMode::border)
      return false;
    if (array.width > kMostLine) return false;
  }
  const bool gathers = std::all_of(uses.begin(), uses.end(), [](const TextureUse& each) {
    return each.mode == TextureMode::gather;
  });
  // Levels are mixed otherwise, and samples lie elsewhere.
  if (sampler & abi::sample_anisotropy && !gathers) return false;
  // CUDA's gradients count in ten bits; where there is one level they do not matter.
  return texture.record[abi::x_levels] == 1 ||
         std::none_of(uses.begin(), uses.end(),
                      [](const TextureUse& each) { return each.mode == TextureMode::gradient; });
}

}  // namespace ptx2spv::runtime
