// What the replay of the texture record through samplers gave (hardware.md): all that is not
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

/// Whether the device has answered that reads of such texels are exact.
bool texels_are_exact(const Exactness& known, const TextureState& texture) {
  const std::uint32_t sampler = texture.record[abi::x_sampler];
  const bool mixes = sampler & abi::sample_mip_linear && texture.record[abi::x_levels] > 1;
  if (!(sampler & abi::sample_linear) && !mixes) return known.sampler_points;
  if (sampler & abi::sample_srgb) return known.sampler_srgb;
  switch (static_cast<abi::SurfaceFormat>(texture.record[abi::x_format])) {
    case abi::SurfaceFormat::u8: return known.sampler_unorm8;
    case abi::SurfaceFormat::u16: return known.sampler_unorm16;
    case abi::SurfaceFormat::s8: return known.sampler_snorm8;
    case abi::SurfaceFormat::s16: return known.sampler_snorm16;
    case abi::SurfaceFormat::f16: return known.sampler_f16;
    case abi::SurfaceFormat::f32: return known.sampler_f32;
    default: return known.sampler_points;  // integers are not filtered
  }
}

}  // namespace

// What weights it takes shows under a filter. Of a unit that takes others, single texels were asked
// for in too few places.
bool samplers_are_exact(const Profile& profile) {
  return profile.exactness.sampler_f32 && profile.exactness.sampler_unorm8;
}

bool sampler_is_exact(const TextureState& texture, std::span<const TextureUse> uses,
                      const SamplerUse& use) {
  const auto& record = texture.record;
  const std::uint32_t sampler = texture.record[abi::x_sampler];
  const Profile& profile = texture.device->profile;
  if (!samplers_are_exact(profile) || !texels_are_exact(profile.exactness, texture)) return false;
  if (use.border && !profile.exactness.sampler_borders) return false;
  if (use.divides &&
      !(divides_exactly(record[abi::x_width]) && divides_exactly(record[abi::x_height]) &&
        divides_exactly(record[abi::x_depth])))
    return false;
  if (use.view == TextureGeometry::d1) {
    // CUDA's line is a row of a plane, between rows of the border's colour.
    if (sampler & abi::sample_linear && texture.desc.address[1] == AddressMode::border)
      return false;
    if (record[abi::x_width] > kMostLine) return false;
  }
  const bool gathers = std::all_of(uses.begin(), uses.end(), [](const TextureUse& each) {
    return each.mode == TextureMode::gather;
  });
  // Levels are mixed otherwise, and samples lie elsewhere.
  return !(sampler & abi::sample_anisotropy) || gathers;
}

}  // namespace ptx2spv::runtime
