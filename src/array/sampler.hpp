// Textures that the device's samplers read.
#pragma once

#include <span>

#include "src/array/texture.hpp"

namespace ptx2spv::runtime {

/// How a sampler would read a texture.
struct SamplerUse {
  bool possible = false;
  TextureGeometry view = TextureGeometry::d2;
  bool faces = false, divides = false, biased = false;  ///< as in TextureSpec
  bool indexed = false;                                 ///< by the table's arrays (TableSpec)
  bool border = false;  ///< whose border has a colour that Vulkan has no name for
};

/// The format of the texels as the texture reads them; undefined: there is none.
VkFormat sampled_format(const TextureState& texture);

/// For reads in these forms. Under FilterPolicy::exact it is possible only where the results are
/// NVIDIA's (docs/reference/hardware.md).
SamplerUse sampler_use(const TextureState& texture, std::span<const TextureUse> uses,
                       FilterPolicy filter);

/// The same for reads by handles out of memory.
SamplerUse table_use(const TextureState& texture, std::span<const TextureUse> uses,
                     FilterPolicy filter);
/// Whether instructions of the geometry read such textures.
bool reads(TextureGeometry geometry, const TextureState& texture);
/// What a sampler's view of the texture holds.
TextureTexel texel_of(const TextureState& texture);
/// The bit of abi::x_sampled that stands for reads in these modes.
std::uint8_t table_bit(std::span<const TextureUse> uses, FilterPolicy filter);
/// All of these bits of a texture whose array lives in an image.
std::uint32_t table_bits(const TextureState& texture);

struct SampledTexture {
  VkImageView view = VK_NULL_HANDLE;
  VkSampler sampler = VK_NULL_HANDLE;
  std::uint64_t serial = 0;  ///< of the two, for descriptor caches
};

/// View and sampler of a texture whose array lives in an image; made once.
Result<SampledTexture> sampled_texture(TextureState& texture, const SamplerUse& use);

}  // namespace ptx2spv::runtime
