// Records of the texture table.
#include <algorithm>
#include <bit>
#include <cmath>

#include "src/array/texture.hpp"

namespace ptx2spv::runtime {

namespace {

using abi::SurfaceFormat;

/// The memory format: normalised formats are integers, read as floats.
SurfaceFormat memory_format(SurfaceFormat format) {
  switch (format) {
    case SurfaceFormat::unorm8: return SurfaceFormat::u8;
    case SurfaceFormat::unorm16: return SurfaceFormat::u16;
    case SurfaceFormat::snorm8: return SurfaceFormat::s8;
    case SurfaceFormat::snorm16: return SurfaceFormat::s16;
    default: return format;
  }
}

bool is_normalised(SurfaceFormat format) { return format >= SurfaceFormat::unorm8; }

/// f32 to f16, toward zero; a NaN stays one.
std::uint32_t half_toward_zero(std::uint32_t bits) {
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) return sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u : 0u);
  if (magnitude >= 0x47800000u) return sign | 0x7bffu;
  if (magnitude >= 0x38800000u) return sign | (magnitude - 0x38000000u) >> 13;
  const std::uint32_t shift = 126 - (magnitude >> 23);
  return shift > 24 ? sign : sign | ((magnitude & 0x7fffffu) | 0x800000u) >> shift;
}

/// A border component as the texture's memory would hold it. What is read as an integer takes the
/// float's low bits.
std::uint32_t border_component(float value, SurfaceFormat format, bool element) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = format_bytes(format) * 8;
  if (format == SurfaceFormat::f16) return half_toward_zero(bits);
  if (size == 32) return bits;
  const std::uint32_t mask = (1u << size) - 1;
  if (element) return bits & mask;
  const bool is_signed = format == SurfaceFormat::s8 || format == SurfaceFormat::s16;
  const auto most = static_cast<float>(is_signed ? mask >> 1 : mask);
  const float inside =
      std::isnan(value) ? 0.0f : std::fmin(std::fmax(value, is_signed ? -1.0f : 0.0f), 1.0f);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::floor(inside * most + 0.5f))) &
         mask;
}

/// Levels of detail count 256ths. Whatever is beyond 16 levels makes no difference.
std::uint32_t fixed_lod(float level) {
  if (std::isnan(level)) return 0;
  const float inside = std::fmin(std::fmax(level, -32.0f), 32.0f);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(inside * 256.0f));
}

}  // namespace

std::uint32_t srgb_half(std::uint32_t byte) {
  const double x = static_cast<double>(byte) / 255.0;
  const double linear = x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(linear));
  return (bits + 0x8000u) >> 16;
}

void set_sampler(std::array<std::uint32_t, abi::kTextureWords>& record, const TextureDesc& desc) {
  std::uint32_t sampler = record[abi::x_sampler];
  for (std::uint32_t i = 0; i < 3; ++i)
    sampler |= static_cast<std::uint32_t>(desc.address[i]) << (2 * i);
  if (desc.linear_filter) sampler |= abi::sample_linear;
  if (desc.linear_mipmap_filter) sampler |= abi::sample_mip_linear;
  if (desc.normalized_coordinates) sampler |= abi::sample_normalized;
  record[abi::x_sampler] = sampler;
  const std::uint32_t most = (std::max(record[abi::x_levels], 1u) - 1) << 8;
  const auto clamped = [&](float level) {
    const auto fixed = static_cast<std::int32_t>(fixed_lod(level));
    return fixed < 0 ? 0 : std::min(static_cast<std::uint32_t>(fixed), most);
  };
  record[abi::x_lod_bias] = fixed_lod(desc.mipmap_bias);
  record[abi::x_lod_min] = clamped(desc.min_level);
  record[abi::x_lod_max] = clamped(desc.max_level);
}

std::array<std::uint32_t, abi::kTextureWords> texture_record(const TextureSource& source,
                                                             const TextureDesc& desc) {
  std::array<std::uint32_t, abi::kTextureWords> record{};
  const auto address = [&](std::uint64_t value) {
    record[abi::x_base_lo] = static_cast<std::uint32_t>(value);
    record[abi::x_base_hi] = static_cast<std::uint32_t>(value >> 32);
  };
  address(source.address);
  record[abi::x_row_pitch] = static_cast<std::uint32_t>(source.row_pitch);
  record[abi::x_slice_pitch] = static_cast<std::uint32_t>(source.slice_pitch);
  record[abi::x_width] = source.width;
  record[abi::x_height] = source.height;
  record[abi::x_depth] = source.depth;
  record[abi::x_layers] = source.layers;
  const SurfaceFormat format = memory_format(source.format);
  const std::uint32_t component = format_bytes(format);
  record[abi::x_texel_bytes] = component * source.channels;
  record[abi::x_component_bytes] = component;
  record[abi::x_channels] = source.channels;
  record[abi::x_format] = static_cast<std::uint32_t>(format);
  record[abi::x_levels] =
      static_cast<std::uint32_t>(std::max<std::size_t>(source.offsets.size(), 1));
  for (std::size_t i = 0; i < source.offsets.size() && i < abi::kTextureLevels; ++i)
    record[abi::x_level_offset + i] = static_cast<std::uint32_t>(source.offsets[i]);
  // 32-bit integers have no normalised form, and floats are floats either way.
  const bool element = component == 4 || (desc.read_as_integer && !is_normalised(source.format));
  std::uint32_t sampler = 0;
  if (element) sampler |= abi::sample_element;
  if (source.linear) sampler |= abi::sample_memory;
  if (desc.srgb && format == SurfaceFormat::u8 && !element) sampler |= abi::sample_srgb;
  const Geometry geometry = source.geometry;
  const bool rows =
      geometry == Geometry::d2 || geometry == Geometry::d3 || geometry == Geometry::a2d;
  if (rows) sampler |= abi::sample_rows;
  record[abi::x_sampler] = sampler;
  set_sampler(record, desc);
  for (std::uint32_t i = 0; i < 4; ++i)
    record[abi::x_border + i] = border_component(desc.border[i], format, element);
  // Queries give an array's layers as the extent behind its last one; a cube map's layers are
  // cubes.
  const bool layered = geometry == Geometry::a1d || geometry == Geometry::a2d;
  const std::uint32_t layers = !layered ? 0 : desc.cube ? source.layers / 6 : source.layers;
  const std::uint32_t shown = desc.cube && source.layers == 6 ? 0 : layers;
  record[abi::x_query_width] = source.width;
  record[abi::x_query_height] = geometry == Geometry::a1d ? layers : source.height;
  record[abi::x_query_depth] = geometry == Geometry::d3    ? source.depth
                               : geometry == Geometry::a2d ? shown
                                                           : 0;
  // The manual's numbers, in the order of abi::SurfaceFormat and by channels.
  constexpr std::uint32_t kDataTypes[] = {0x10DA, 0x10DB, 0x10DC, 0x10D7, 0x10D8, 0x10D9,
                                          0x10DD, 0x10DE, 0x10D2, 0x10D3, 0x10D0, 0x10D1};
  record[abi::x_channel_data_type] = kDataTypes[static_cast<std::size_t>(source.format)];
  record[abi::x_channel_order] = source.channels == 1   ? 0x10B0
                                 : source.channels == 2 ? 0x10B2
                                                        : 0x10B5;
  record[abi::x_array_size] = shown;
  return record;
}

}  // namespace ptx2spv::runtime
