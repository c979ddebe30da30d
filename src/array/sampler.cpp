#include "src/array/sampler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "src/array/sampler_exactness.hpp"

namespace ptx2spv::runtime {

namespace {

using abi::SurfaceFormat;

bool is_cube(TextureGeometry geometry) {
  return geometry == TextureGeometry::cube || geometry == TextureGeometry::acube;
}

/// The instructions' geometry that a texture is made for.
TextureGeometry geometry_of(const TextureState& texture) {
  if (!texture.array) {
    const bool rows = texture.record[abi::x_sampler] & abi::sample_rows;
    return rows ? TextureGeometry::d2 : TextureGeometry::d1;
  }
  const ArrayDesc& array = texture.array->desc;
  if (!texture.desc.cube) return static_cast<TextureGeometry>(array.geometry);
  return array.layers == 6 ? TextureGeometry::cube : TextureGeometry::acube;
}

/// Whether texels are integers to the kernel.
bool integers(const TextureState& texture) {
  return texture.record[abi::x_sampler] & abi::sample_element &&
         texture.record[abi::x_format] < static_cast<std::uint32_t>(SurfaceFormat::f16);
}

/// The matching Vulkan border colour; a custom one if there is none, as for -0, whose bits are an
/// integer's number. Absent channels are ignored.
VkBorderColor border_colour(const TextureState& texture) {
  const std::uint32_t channels = texture.record[abi::x_channels];
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto all = [&](float colour, float alpha) {
    for (std::uint32_t i = 0; i < channels; ++i)
      if (bits(texture.desc.border[i]) != bits(i == 3 ? alpha : colour)) return false;
    return true;
  };
  if (all(0, 0))
    return integers(texture) ? VK_BORDER_COLOR_INT_TRANSPARENT_BLACK
                             : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
  if (integers(texture)) return VK_BORDER_COLOR_INT_CUSTOM_EXT;
  if (all(0, 1)) return VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK;
  if (all(1, 1)) return VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
  return VK_BORDER_COLOR_FLOAT_CUSTOM_EXT;
}

bool custom(VkBorderColor colour) {
  return colour == VK_BORDER_COLOR_FLOAT_CUSTOM_EXT || colour == VK_BORDER_COLOR_INT_CUSTOM_EXT;
}

float float_of_half(std::uint32_t half) {
  const auto mantissa = static_cast<float>(half & 0x3ffu), sign = half & 0x8000u ? -1.0f : 1.0f;
  const int exponent = static_cast<int>(half >> 10 & 31u);
  if (exponent == 31) return mantissa > 0 ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(mantissa + 1024, exponent - 25) : std::ldexp(mantissa, -24));
}

/// The border's colour in numbers: what a texel of it would be, so that no device cuts it further.
VkClearColorValue border_numbers(const TextureState& texture) {
  VkClearColorValue colour{};
  const std::uint32_t sampler = texture.record[abi::x_sampler];
  const std::uint32_t channels = texture.record[abi::x_channels];
  const auto format = static_cast<SurfaceFormat>(texture.record[abi::x_format]);
  const bool is_signed = format >= SurfaceFormat::s8 && format < SurfaceFormat::f16;
  const unsigned bits = format_bytes(format) * 8;
  for (std::uint32_t i = 0; i < channels; ++i) {
    const std::uint32_t word = texture.record[abi::x_border + i];
    const auto number = is_signed ? static_cast<std::int32_t>(word << (32 - bits)) >> (32 - bits)
                                  : static_cast<std::int32_t>(word);
    if (integers(texture))
      colour.int32[i] = number;
    else if (format == SurfaceFormat::f32)
      colour.uint32[i] = word;
    else if (format == SurfaceFormat::f16)
      colour.float32[i] = float_of_half(word);
    else if (sampler & abi::sample_srgb && i != (channels == 2 ? 1u : 3u))
      colour.float32[i] =
          std::ldexp(static_cast<float>(word & 255), static_cast<int>(word >> 8) - 134);
    else
      colour.float32[i] =
          std::max(-1.0f, static_cast<float>(number) /
                              static_cast<float>((1u << (is_signed ? bits - 1 : bits)) - 1));
  }
  return colour;
}

bool normalized(const TextureState& texture) {
  return texture.record[abi::x_sampler] & abi::sample_normalized || texture.desc.cube;
}

bool uses_border(const TextureState& texture, TextureGeometry view) {
  if (is_cube(view) && texture.desc.seamless_cube) return false;
  const unsigned axes = view == TextureGeometry::d3 ? 3 : 2;
  for (unsigned i = 0; i < axes; ++i)
    if (texture.desc.address[i] == AddressMode::border) return true;
  return false;
}

bool format_serves(const TextureState& texture) {
  const DeviceState& device = *texture.device;
  VkFormatProperties properties{};
  device.instance->vk.GetPhysicalDeviceFormatProperties(device.physical, sampled_format(texture),
                                                        &properties);
  VkFormatFeatureFlags needs = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT;
  const bool mixes = texture.desc.linear_mipmap_filter && texture.record[abi::x_levels] > 1;
  if (texture.desc.linear_filter || mixes)
    needs |= VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT;
  const VkFormatFeatureFlags has =
      texture.array ? properties.optimalTilingFeatures : properties.linearTilingFeatures;
  return (has & needs) == needs;
}

VkImageViewType sampled_view_type(const SamplerUse& use) {
  switch (use.view) {
    case TextureGeometry::d1: return VK_IMAGE_VIEW_TYPE_1D;
    case TextureGeometry::a1d: return VK_IMAGE_VIEW_TYPE_1D_ARRAY;
    case TextureGeometry::d3: return VK_IMAGE_VIEW_TYPE_3D;
    case TextureGeometry::a2d: return VK_IMAGE_VIEW_TYPE_2D_ARRAY;
    case TextureGeometry::cube:
      return use.faces ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_CUBE;
    case TextureGeometry::acube:
      return use.faces ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_CUBE_ARRAY;
    default: return VK_IMAGE_VIEW_TYPE_2D;
  }
}

VkSamplerAddressMode address_mode(const TextureState& texture, unsigned axis) {
  switch (texture.record[abi::x_sampler] >> (2 * axis) & 3) {
    // Coordinates in texels know no repetition.
    case abi::address_wrap:
      return normalized(texture) ? VK_SAMPLER_ADDRESS_MODE_REPEAT
                                 : VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    case abi::address_mirror:
      return normalized(texture) ? VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT
                                 : VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    case abi::address_border: return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    default: return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  }
}

/// With `own` as the colour of a border that Vulkan has no name for.
VkSamplerCreateInfo sampler_info(const TextureState& texture, const SamplerUse& use,
                                 VkSamplerCustomBorderColorCreateInfoEXT& own) {
  const TextureDesc& desc = texture.desc;
  VkSamplerCreateInfo create{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  create.magFilter = create.minFilter = desc.linear_filter ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
  create.addressModeU = address_mode(texture, 0);
  create.addressModeV = address_mode(texture, 1);
  create.addressModeW = address_mode(texture, 2);
  create.borderColor = uses_border(texture, use.view) ? border_colour(texture)
                                                      : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
  if (custom(create.borderColor)) {
    own.customBorderColor = border_numbers(texture);
    own.format = sampled_format(texture);
    create.pNext = &own;
  }
  create.unnormalizedCoordinates = !normalized(texture) && !use.divides;
  if (create.unnormalizedCoordinates) {
    create.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    return create;
  }
  if (is_cube(use.view) && !use.faces && !desc.seamless_cube)
    create.flags = VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT;
  const bool levels = texture.record[abi::x_levels] > 1;
  // An array of one level that is no mipmapped one goes through no mipmap filter, which would send
  // texels through sums.
  const bool mipmapped = levels || texture.record[abi::x_sampler] & abi::sample_mipmapped;
  create.mipmapMode = desc.linear_mipmap_filter && mipmapped ? VK_SAMPLER_MIPMAP_MODE_LINEAR
                                                             : VK_SAMPLER_MIPMAP_MODE_NEAREST;
  const auto fixed = [&](abi::TextureWord word) {
    return static_cast<float>(static_cast<std::int32_t>(texture.record[word])) / 256.0f;
  };
  create.mipLodBias = fixed(abi::x_lod_bias);
  create.minLod = levels ? fixed(abi::x_lod_min) : 0;
  create.maxLod = std::max(create.minLod, levels ? fixed(abi::x_lod_max) : 0);
  constexpr float kSamples[] = {1, 2, 4, 6, 8, 10, 12, 16};
  const float samples = kSamples[texture.record[abi::x_sampler] >> 14 & 7];
  create.anisotropyEnable = samples > 1 && texture.device->traits.anisotropy;
  create.maxAnisotropy =
      std::min(samples, texture.device->traits.properties.limits.maxSamplerAnisotropy);
  return create;
}

/// A device has few samplers (4,000 on NVIDIA's), and textures are often read alike: those made
/// alike are one, which lives as long as the device.
VkResult find_sampler(const TextureState& texture, const SamplerUse& use, VkSampler& sampler) {
  DeviceState& device = *texture.device;
  VkSamplerCustomBorderColorCreateInfoEXT own{
      VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT};
  const VkSamplerCreateInfo create = sampler_info(texture, use, own);
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto word = [](auto value) { return static_cast<std::uint32_t>(value); };
  const auto& border = own.customBorderColor.uint32;
  const std::array<std::uint32_t, 15> key = {create.flags,
                                             word(create.magFilter) | word(create.mipmapMode) << 8 |
                                                 create.anisotropyEnable << 16 |
                                                 create.unnormalizedCoordinates << 17,
                                             word(create.addressModeU),
                                             word(create.addressModeV),
                                             word(create.addressModeW),
                                             word(create.borderColor),
                                             bits(create.mipLodBias),
                                             bits(create.maxAnisotropy),
                                             bits(create.minLod),
                                             bits(create.maxLod),
                                             word(own.format),
                                             border[0],
                                             border[1],
                                             border[2],
                                             border[3]};
  std::lock_guard lock(device.samplers_mutex);
  const auto known = device.samplers.find(key);
  if (known != device.samplers.end()) {
    sampler = known->second;
    return VK_SUCCESS;
  }
  // Borders leave half of what the device has to textures that are read otherwise.
  const std::uint32_t most = device.traits.properties.limits.maxSamplerAllocationCount;
  if (device.samplers.size() >= most ||
      (create.pNext && device.border_samplers >= std::min(device.traits.border_colours, most / 2)))
    return VK_ERROR_TOO_MANY_OBJECTS;
  const VkResult result = device.vk.CreateSampler(device.handle, &create, nullptr, &sampler);
  if (result != VK_SUCCESS) return result;
  device.samplers.emplace(key, sampler);
  if (create.pNext) ++device.border_samplers;
  return result;
}

}  // namespace

VkFormat sampled_format(const TextureState& texture) {
  const std::uint32_t channels = texture.record[abi::x_channels];
  const unsigned of = channels == 4 ? 2 : channels - 1;
  constexpr VkFormat kIntegers[6][3] = {
      {VK_FORMAT_R8_UINT, VK_FORMAT_R8G8_UINT, VK_FORMAT_R8G8B8A8_UINT},
      {VK_FORMAT_R16_UINT, VK_FORMAT_R16G16_UINT, VK_FORMAT_R16G16B16A16_UINT},
      {VK_FORMAT_R32_UINT, VK_FORMAT_R32G32_UINT, VK_FORMAT_R32G32B32A32_UINT},
      {VK_FORMAT_R8_SINT, VK_FORMAT_R8G8_SINT, VK_FORMAT_R8G8B8A8_SINT},
      {VK_FORMAT_R16_SINT, VK_FORMAT_R16G16_SINT, VK_FORMAT_R16G16B16A16_SINT},
      {VK_FORMAT_R32_SINT, VK_FORMAT_R32G32_SINT, VK_FORMAT_R32G32B32A32_SINT}};
  constexpr VkFormat kReal[2][3] = {
      {VK_FORMAT_R16_SFLOAT, VK_FORMAT_R16G16_SFLOAT, VK_FORMAT_R16G16B16A16_SFLOAT},
      {VK_FORMAT_R32_SFLOAT, VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT}};
  constexpr VkFormat kNormalised[4][3] = {
      {VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM, VK_FORMAT_R8G8B8A8_UNORM},
      {VK_FORMAT_R16_UNORM, VK_FORMAT_R16G16_UNORM, VK_FORMAT_R16G16B16A16_UNORM},
      {VK_FORMAT_R8_SNORM, VK_FORMAT_R8G8_SNORM, VK_FORMAT_R8G8B8A8_SNORM},
      {VK_FORMAT_R16_SNORM, VK_FORMAT_R16G16_SNORM, VK_FORMAT_R16G16B16A16_SNORM}};
  constexpr VkFormat kSrgb[3] = {VK_FORMAT_R8_SRGB, VK_FORMAT_R8G8_SRGB, VK_FORMAT_R8G8B8A8_SRGB};
  const std::uint32_t sampler = texture.record[abi::x_sampler];
  if (sampler & abi::sample_srgb) return kSrgb[of];
  const auto format = static_cast<std::size_t>(texture.record[abi::x_format]);
  if (format >= static_cast<std::size_t>(SurfaceFormat::f16)) return kReal[format - 6][of];
  if (sampler & abi::sample_element) return kIntegers[format][of];
  // u8, u16, s8, s16
  return kNormalised[format < 3 ? format : format - 1][of];
}

SamplerUse sampler_use(const TextureState& texture, std::span<const TextureUse> uses,
                       FilterPolicy filter) {
  SamplerUse use;
  if ((!texture.array && !texture.memory_image) || texture.view || uses.empty()) return use;
  const DeviceState& device = *texture.device;
  use.view = uses[0].geometry;
  use.biased = texture.record[abi::x_lod_bias] != 0;
  const bool planes = use.view == TextureGeometry::d1 || use.view == TextureGeometry::d2;
  bool gathers = false;
  for (const TextureUse& each : uses) {
    if (each.integer || each.offset || each.sampler_apart || each.geometry != use.view) return use;
    gathers = gathers || each.mode == TextureMode::gather;
  }
  use.divides = !normalized(texture) && (gathers || !planes);
  const bool lines = use.view == TextureGeometry::d1 || use.view == TextureGeometry::a1d;
  const bool reaches = texture.desc.linear_filter || gathers;
  if (is_cube(use.view) && texture.desc.seamless_cube && reaches && !device.traits.seamless_cubes)
    return use;
  if (!reads(use.view, texture) || (lines && !device.profile.features.image1d)) return use;
  if (is_cube(use.view) && !texture.desc.seamless_cube) use.faces = !device.traits.cubes_with_seams;
  if (use.view == TextureGeometry::acube && !use.faces && !device.traits.cube_arrays) {
    if (texture.desc.seamless_cube) return use;
    use.faces = true;
  }
  use.border = uses_border(texture, use.view) && custom(border_colour(texture));
  const float bias = std::fabs(texture.desc.mipmap_bias);
  if (!(bias <= device.traits.properties.limits.maxSamplerLodBias)) return use;
  // Integers are not filtered and lines are read fast, so that little is lost in the shader.
  // A compiler of CPU code ends the process over samplers of either (docs/reference/drivers.md).
  if ((integers(texture) || lines) && device.info.kind == DeviceKind::cpu) return use;
  if ((texture.array && texture.array->imported) || !format_serves(texture)) return use;
  if (filter == FilterPolicy::exact && !sampler_is_exact(texture, uses, use)) return use;
  VkSampler sampler;
  use.possible = find_sampler(texture, use, sampler) == VK_SUCCESS;
  return use;
}

bool reads(TextureGeometry geometry, const TextureState& texture) {
  const TextureGeometry own = geometry_of(texture);
  return geometry == own || (geometry == TextureGeometry::acube && own == TextureGeometry::cube);
}

TextureTexel texel_of(const TextureState& texture) {
  if (!integers(texture)) return TextureTexel::real;
  const bool with_sign =
      texture.record[abi::x_format] >= static_cast<std::uint32_t>(SurfaceFormat::s8);
  return with_sign ? TextureTexel::sint : TextureTexel::uint;
}

SamplerUse table_use(const TextureState& texture, std::span<const TextureUse> uses,
                     FilterPolicy filter) {
  SamplerUse use = sampler_use(texture, uses, filter);
  use.indexed = true;
  // The arrays' views are of whole cubes, and hide channels, of whose borders Vulkan says nothing.
  if (use.faces || (use.border && texture.record[abi::x_channels] < 4)) use.possible = false;
  return use;
}

std::uint8_t table_bit(std::span<const TextureUse> uses, FilterPolicy filter) {
  unsigned modes = 0;
  for (const TextureUse& use : uses)
    modes |= use.mode == TextureMode::gather ? 4u : use.mode == TextureMode::gradient ? 2u : 1u;
  return static_cast<std::uint8_t>((filter == FilterPolicy::device ? 8u : 0u) + modes);
}

std::uint32_t table_bits(const TextureState& texture) {
  constexpr TextureMode kModes[] = {TextureMode::level, TextureMode::gradient, TextureMode::gather};
  std::uint32_t bits = 0;
  for (const FilterPolicy filter : {FilterPolicy::exact, FilterPolicy::device})
    for (unsigned modes = 1; modes < 8; ++modes) {
      std::vector<TextureUse> uses;
      for (unsigned k = 0; k < 3; ++k)
        if (modes >> k & 1) uses.push_back({.geometry = geometry_of(texture), .mode = kModes[k]});
      if (table_use(texture, uses, filter).possible) bits |= 1u << table_bit(uses, filter);
    }
  const TextureTexel texel = texel_of(texture);
  if (texel == TextureTexel::uint) bits |= abi::sampled_uint;
  if (texel == TextureTexel::sint) bits |= abi::sampled_sint;
  return bits;
}

Result<SampledTexture> sampled_texture(TextureState& texture, const SamplerUse& use) {
  DeviceState& device = *texture.device;
  const ArrayState* array = texture.array.get();
  std::lock_guard lock(texture.sampled_mutex);
  const std::uint64_t level_serial = array ? array->levels[texture.first_level].serial : 0;
  for (const SampledView& each : texture.sampled)
    if (each.level_serial == level_serial && each.view == use.view && each.divides == use.divides &&
        each.indexed == use.indexed)
      return SampledTexture{each.image_view, each.sampler, each.serial};
  SampledView made;
  made.level_serial = level_serial;
  made.view = use.view;
  made.divides = use.divides;
  made.indexed = use.indexed;
  made.serial = device.next_serial.fetch_add(1);
  VkImageViewUsageCreateInfo usage{VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO};
  usage.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
  VkImageViewCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  create.pNext = &usage;
  create.image = array ? array->image : texture.memory_image;
  create.viewType = sampled_view_type(use);
  create.format = sampled_format(texture);
  if (use.indexed && texture.record[abi::x_channels] < 4) {
    create.components.a = VK_COMPONENT_SWIZZLE_ZERO;
    create.components.b = VK_COMPONENT_SWIZZLE_ZERO;
    if (texture.record[abi::x_channels] < 2) create.components.g = VK_COMPONENT_SWIZZLE_ZERO;
  }
  create.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, texture.first_level,
                             texture.record[abi::x_levels], 0, array ? array->desc.layers : 1};
  VkResult result = device.vk.CreateImageView(device.handle, &create, nullptr, &made.image_view);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateImageView");
  result = find_sampler(texture, use, made.sampler);
  if (result != VK_SUCCESS) {
    device.vk.DestroyImageView(device.handle, made.image_view, nullptr);
    return vulkan_error(result, "CreateSampler");
  }
  texture.sampled.push_back(made);
  return SampledTexture{made.image_view, made.sampler, made.serial};
}

void forget_sampled(TextureState& texture) {
  std::lock_guard lock(texture.sampled_mutex);
  for (const SampledView& each : texture.sampled)
    texture.device->vk.DestroyImageView(texture.device->handle, each.image_view, nullptr);
  texture.sampled.clear();
}

}  // namespace ptx2spv::runtime
