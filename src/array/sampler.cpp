#include "src/array/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "src/array/sampler_exactness.hpp"

namespace ptx2spv::runtime {

namespace {

using abi::SurfaceFormat;

bool is_cube(TextureGeometry geometry) {
  return geometry == TextureGeometry::cube || geometry == TextureGeometry::acube;
}

/// Whether an instruction's geometry is that of the texture.
bool fits(TextureGeometry geometry, const TextureState& texture) {
  const ArrayDesc& array = texture.array->desc;
  if (is_cube(geometry) != texture.desc.cube) return false;
  switch (geometry) {
    case TextureGeometry::d1: return array.geometry == Geometry::d1;
    case TextureGeometry::d2: return array.geometry == Geometry::d2;
    case TextureGeometry::d3: return array.geometry == Geometry::d3;
    case TextureGeometry::a1d: return array.geometry == Geometry::a1d;
    case TextureGeometry::a2d:
    case TextureGeometry::acube: return array.geometry == Geometry::a2d;
    case TextureGeometry::cube: return array.geometry == Geometry::a2d && array.layers == 6;
    default: return false;
  }
}

/// The format of the texels as the texture reads them; undefined: there is none.
VkFormat sampled_format(const TextureState& texture) {
  const ArrayDesc& array = texture.array->desc;
  const unsigned of = array.channels == 4 ? 2 : array.channels - 1;
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

/// The border as Vulkan has it; all ones where it has none like it. Channels that the texture has
/// not do not count.
VkBorderColor border_colour(const TextureState& texture) {
  const std::uint32_t channels = texture.array->desc.channels;
  const auto& border = texture.desc.border;
  const auto all = [&](float colour, float alpha) {
    for (std::uint32_t i = 0; i < channels; ++i)
      if (!(border[i] == (i == 3 ? alpha : colour))) return false;
    return true;
  };
  const bool integers =
      texture.record[abi::x_sampler] & abi::sample_element &&
      texture.record[abi::x_format] < static_cast<std::uint32_t>(SurfaceFormat::f16);
  if (all(0, 0))
    return integers ? VK_BORDER_COLOR_INT_TRANSPARENT_BLACK
                    : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
  if (integers) return VK_BORDER_COLOR_MAX_ENUM;
  if (all(0, 1)) return VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK;
  if (all(1, 1)) return VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
  return VK_BORDER_COLOR_MAX_ENUM;
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
  return (properties.optimalTilingFeatures & needs) == needs;
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

VkSamplerCreateInfo sampler_info(const TextureState& texture, const SamplerUse& use) {
  const TextureDesc& desc = texture.desc;
  VkSamplerCreateInfo create{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  create.magFilter = create.minFilter = desc.linear_filter ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
  create.addressModeU = address_mode(texture, 0);
  create.addressModeV = address_mode(texture, 1);
  create.addressModeW = address_mode(texture, 2);
  create.borderColor = uses_border(texture, use.view) ? border_colour(texture)
                                                      : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
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

}  // namespace

SamplerUse sampler_use(const TextureState& texture, std::span<const TextureUse> uses,
                       FilterPolicy filter) {
  SamplerUse use;
  if (!texture.array || uses.empty()) return use;
  const DeviceState& device = *texture.device;
  const ArrayState& array = *texture.array;
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
  if (!fits(use.view, texture) || (lines && !device.profile.features.image1d)) return use;
  if (is_cube(use.view) && !texture.desc.seamless_cube) use.faces = !device.traits.cubes_with_seams;
  if (use.view == TextureGeometry::acube && !use.faces && !device.traits.cube_arrays) {
    if (texture.desc.seamless_cube) return use;
    use.faces = true;
  }
  if (uses_border(texture, use.view) && border_colour(texture) == VK_BORDER_COLOR_MAX_ENUM)
    return use;
  const float bias = std::fabs(texture.desc.mipmap_bias);
  if (!(bias <= device.traits.properties.limits.maxSamplerLodBias)) return use;
  // Integers are not filtered and lines are read fast, so that little is lost in the shader.
  // A compiler of CPU code ends the process over samplers of either (docs/drivers.md).
  const bool integers =
      texture.record[abi::x_sampler] & abi::sample_element &&
      texture.record[abi::x_format] < static_cast<std::uint32_t>(SurfaceFormat::f16);
  if ((integers || lines) && !device.traits.exact_samplers) return use;
  if (array.imported || !format_serves(texture)) return use;
  if (filter == FilterPolicy::exact &&
      (!device.traits.exact_samplers || !sampler_is_exact(texture, uses, use)))
    return use;
  use.possible = true;
  return use;
}

Result<SampledTexture> sampled_texture(TextureState& texture, const SamplerUse& use) {
  DeviceState& device = *texture.device;
  ArrayState& array = *texture.array;
  std::lock_guard lock(texture.sampled_mutex);
  const std::uint64_t level_serial = array.levels[texture.first_level].serial;
  for (const SampledView& each : texture.sampled)
    if (each.level_serial == level_serial && each.view == use.view && each.divides == use.divides)
      return SampledTexture{each.image_view, each.sampler, each.serial};
  SampledView made;
  made.level_serial = level_serial;
  made.view = use.view;
  made.divides = use.divides;
  made.serial = device.next_serial.fetch_add(1);
  VkImageViewUsageCreateInfo usage{VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO};
  usage.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
  VkImageViewCreateInfo create{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  create.pNext = &usage;
  create.image = array.image;
  create.viewType = sampled_view_type(use);
  create.format = sampled_format(texture);
  create.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, texture.first_level,
                             texture.record[abi::x_levels], 0, array.desc.layers};
  VkResult result = device.vk.CreateImageView(device.handle, &create, nullptr, &made.image_view);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateImageView");
  const VkSamplerCreateInfo sampler = sampler_info(texture, use);
  result = device.vk.CreateSampler(device.handle, &sampler, nullptr, &made.sampler);
  if (result != VK_SUCCESS) {
    device.vk.DestroyImageView(device.handle, made.image_view, nullptr);
    return vulkan_error(result, "CreateSampler");
  }
  texture.sampled.push_back(made);
  return SampledTexture{made.image_view, made.sampler, made.serial};
}

void forget_sampled(TextureState& texture) {
  std::lock_guard lock(texture.sampled_mutex);
  for (const SampledView& each : texture.sampled) {
    texture.device->vk.DestroyImageView(texture.device->handle, each.image_view, nullptr);
    texture.device->vk.DestroySampler(texture.device->handle, each.sampler, nullptr);
  }
  texture.sampled.clear();
}

}  // namespace ptx2spv::runtime
