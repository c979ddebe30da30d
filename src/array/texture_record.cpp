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

/// |value| at most 1 as a normalised integer of `bits` bits without a sign, rounded as sust.p does.
std::uint32_t normalised(float value, std::uint32_t bits) {
  const auto x =
      static_cast<std::uint32_t>(std::ldexp(std::fabs(value), static_cast<int>(bits) + 4));
  const std::uint32_t magnitude = (x - (x >> bits) + 7) >> 4;
  return value < 0 ? 0u - magnitude : magnitude;
}

/// A linear colour as the byte of sRGB.
std::uint32_t srgb_byte(float value) {
  const double x = std::isnan(value) ? 0.0 : std::fmin(std::fmax(value, 0.0f), 1.0f);
  const double curve = x <= 0.0031308 ? x * 12.92 : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<std::uint32_t>(curve * 255.0 + 0.5);
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
  const float inside =
      std::isnan(value) ? 0.0f : std::fmin(std::fmax(value, is_signed ? -1.0f : 0.0f), 1.0f);
  return normalised(inside, is_signed ? size - 1 : size) & mask;
}

/// Levels of detail count 256ths. Whatever is beyond 16 levels makes no difference; a NaN counts as
/// infinity.
std::uint32_t fixed_lod(float level, float most = 32.0f) {
  const float inside = std::isnan(level) ? most : std::fmin(std::fmax(level, -most), most);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(inside * 256.0f));
}

}  // namespace

std::uint32_t srgb_entry(std::uint32_t byte) {
  // Upper halves of floats as recorded: eight significant bits, and not always the nearest.
  // clang-format off
  static constexpr std::uint16_t kHalves[256] = {
      0x0000, 0x39a0, 0x3a20, 0x3a70, 0x3aa0, 0x3ac8, 0x3af0, 0x3b0c,
      0x3b20, 0x3b34, 0x3b48, 0x3b5c, 0x3b70, 0x3b84, 0x3b90, 0x3b9c,
      0x3baa, 0x3bb8, 0x3bc6, 0x3bd6, 0x3be6, 0x3bf6, 0x3c03, 0x3c0c,
      0x3c16, 0x3c1f, 0x3c29, 0x3c34, 0x3c3e, 0x3c49, 0x3c55, 0x3c60,
      0x3c6c, 0x3c7a, 0x3c83, 0x3c8a, 0x3c91, 0x3c98, 0x3c9f, 0x3ca6,
      0x3cae, 0x3cb6, 0x3cbe, 0x3cc6, 0x3cce, 0x3cd7, 0x3ce0, 0x3ce9,
      0x3cf2, 0x3cfc, 0x3d03, 0x3d08, 0x3d0d, 0x3d12, 0x3d17, 0x3d1c,
      0x3d22, 0x3d28, 0x3d2d, 0x3d33, 0x3d39, 0x3d3f, 0x3d45, 0x3d4c,
      0x3d52, 0x3d58, 0x3d60, 0x3d66, 0x3d6c, 0x3d74, 0x3d7a, 0x3d81,
      0x3d85, 0x3d88, 0x3d8c, 0x3d90, 0x3d94, 0x3d98, 0x3d9c, 0x3da0,
      0x3da4, 0x3da9, 0x3dad, 0x3db1, 0x3db6, 0x3dba, 0x3dbf, 0x3dc3,
      0x3dc8, 0x3dcd, 0x3dd1, 0x3dd6, 0x3ddb, 0x3de0, 0x3de5, 0x3dea,
      0x3df0, 0x3df4, 0x3dfa, 0x3e00, 0x3e02, 0x3e05, 0x3e08, 0x3e0b,
      0x3e0e, 0x3e11, 0x3e14, 0x3e17, 0x3e1a, 0x3e1d, 0x3e20, 0x3e23,
      0x3e26, 0x3e29, 0x3e2c, 0x3e30, 0x3e33, 0x3e36, 0x3e3a, 0x3e3d,
      0x3e40, 0x3e44, 0x3e47, 0x3e4b, 0x3e4e, 0x3e52, 0x3e56, 0x3e59,
      0x3e5d, 0x3e61, 0x3e65, 0x3e68, 0x3e6c, 0x3e70, 0x3e74, 0x3e78,
      0x3e7c, 0x3e80, 0x3e82, 0x3e84, 0x3e86, 0x3e88, 0x3e8a, 0x3e8d,
      0x3e8f, 0x3e91, 0x3e93, 0x3e95, 0x3e98, 0x3e9a, 0x3e9c, 0x3e9e,
      0x3ea1, 0x3ea3, 0x3ea5, 0x3ea8, 0x3eaa, 0x3ead, 0x3eaf, 0x3eb2,
      0x3eb4, 0x3eb6, 0x3eb9, 0x3ebc, 0x3ebe, 0x3ec1, 0x3ec3, 0x3ec6,
      0x3ec8, 0x3ecb, 0x3ece, 0x3ed1, 0x3ed3, 0x3ed6, 0x3ed9, 0x3edb,
      0x3ede, 0x3ee1, 0x3ee4, 0x3ee7, 0x3eea, 0x3eed, 0x3ef0, 0x3ef2,
      0x3ef6, 0x3ef8, 0x3efc, 0x3efe, 0x3f01, 0x3f02, 0x3f04, 0x3f05,
      0x3f07, 0x3f09, 0x3f0a, 0x3f0c, 0x3f0d, 0x3f0f, 0x3f11, 0x3f12,
      0x3f14, 0x3f16, 0x3f17, 0x3f19, 0x3f1b, 0x3f1c, 0x3f1e, 0x3f20,
      0x3f21, 0x3f23, 0x3f25, 0x3f27, 0x3f29, 0x3f2a, 0x3f2c, 0x3f2e,
      0x3f30, 0x3f32, 0x3f33, 0x3f35, 0x3f37, 0x3f39, 0x3f3b, 0x3f3d,
      0x3f3f, 0x3f41, 0x3f43, 0x3f45, 0x3f47, 0x3f49, 0x3f4b, 0x3f4d,
      0x3f4f, 0x3f51, 0x3f53, 0x3f55, 0x3f57, 0x3f59, 0x3f5b, 0x3f5d,
      0x3f5f, 0x3f61, 0x3f63, 0x3f65, 0x3f68, 0x3f6a, 0x3f6c, 0x3f6e,
      0x3f70, 0x3f72, 0x3f74, 0x3f76, 0x3f7a, 0x3f7c, 0x3f7e, 0x3f80};
  // clang-format on
  // Filters see eight entries share the exponent of the last of them.
  const std::uint32_t half = kHalves[byte & 255], last = kHalves[(byte & 255) | 7] >> 7;
  if (!half) return last << 8;
  return last << 8 | ((half & 127) | 128) >> (last - (half >> 7));
}

void set_sampler(std::array<std::uint32_t, abi::kTextureWords>& record, const TextureDesc& desc) {
  std::uint32_t sampler = record[abi::x_sampler];
  const std::uint32_t levels = std::max(record[abi::x_levels], 1u);
  // Levels know normalised coordinates alone; those in texels still know no repetition, but for
  // cube maps, whose coordinates are never texels.
  const bool levelled = levels > 1 && record[abi::x_width];
  for (std::uint32_t i = 0; i < 3; ++i) {
    const bool border = desc.address[i] == AddressMode::border;
    const bool clamps = levelled && !desc.cube && !desc.normalized_coordinates && !border;
    const AddressMode mode = clamps ? AddressMode::clamp : desc.address[i];
    sampler |= static_cast<std::uint32_t>(mode) << (2 * i);
  }
  if (desc.linear_filter) sampler |= abi::sample_linear;
  if (desc.linear_mipmap_filter) sampler |= abi::sample_mip_linear;
  if (desc.normalized_coordinates || levelled) sampler |= abi::sample_normalized;
  // 1, 2, 4, 6, 8, 10, 12 or 16 samples; other numbers count as the next lower one.
  const std::uint32_t samples = std::clamp(desc.max_anisotropy, 1u, 16u);
  const std::uint32_t anisotropy = samples < 2 ? 0 : samples < 16 ? std::min(samples / 2, 6u) : 7;
  if (anisotropy && !(sampler & abi::sample_memory)) sampler |= anisotropy << 14;
  if (desc.full_trilinear) sampler |= abi::sample_trilinear;
  record[abi::x_sampler] = sampler;
  const std::uint32_t most = (levels - 1) << 8;
  const auto clamped = [&](float level) {
    const auto fixed = static_cast<std::int32_t>(fixed_lod(level));
    return fixed < 0 ? 0 : std::min(static_cast<std::uint32_t>(fixed), most);
  };
  record[abi::x_lod_bias] = fixed_lod(desc.mipmap_bias, 15.0f);
  record[abi::x_lod_min] = clamped(desc.min_level);
  record[abi::x_lod_max] = clamped(desc.max_level);
}

namespace {
/// The instructions to which such a texture reads as zeros. A line that is no layer is a plane.
std::uint32_t hidden_from(const TextureSource& source, const TextureDesc& desc) {
  constexpr std::uint32_t kAll = abi::sample_nothing;
  if (source.linear) return kAll & ~abi::sample_no_fetches;
  if (desc.cube) return kAll & ~abi::sample_no_cubes;
  if (source.geometry == Geometry::d3) return kAll & ~abi::sample_no_volumes;
  if (source.geometry == Geometry::a1d)
    return kAll & ~(abi::sample_no_lines | abi::sample_no_fetches);
  return kAll & ~abi::sample_no_planes;
}
}  // namespace

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
  if (source.linear) {
    // Instructions with an array index find the same elements in so many layers.
    record[abi::x_layers] = 2048;
    record[abi::x_slice_pitch] = 0;
  }
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
  if (desc.cube && desc.seamless_cube) sampler |= abi::sample_seamless;
  if (desc.mipmapped && source.offsets.size() == 1) sampler |= abi::sample_mipmapped;
  const Geometry geometry = source.geometry;
  const bool rows =
      geometry == Geometry::d2 || geometry == Geometry::d3 || geometry == Geometry::a2d;
  if (rows) sampler |= abi::sample_rows;
  sampler |= hidden_from(source, desc);
  record[abi::x_sampler] = sampler;
  set_sampler(record, desc);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const bool colour = i != (source.channels == 2 ? 1u : 3u);
    record[abi::x_border + i] = sampler & abi::sample_srgb && colour
                                    ? srgb_entry(srgb_byte(desc.border[i]))
                                    : border_component(desc.border[i], format, element);
  }
  // Queries give an array's layers as the extent behind its last one; a cube map's layers are
  // cubes.
  const bool layered = is_layered(geometry);
  const std::uint32_t layers = !layered ? 0 : desc.cube ? source.layers / 6 : source.layers;
  const std::uint32_t shown = desc.cube && source.layers == 6 ? 0 : layers;
  record[abi::x_query_width] = source.width;
  // Linear memory has no rows, and a line has one.
  record[abi::x_query_height] = source.linear               ? 0
                                : geometry == Geometry::a1d ? layers
                                                            : source.height;
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
