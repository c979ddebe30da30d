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
};

/// For reads in these forms. Under FilterPolicy::exact it is possible only where the results are
/// NVIDIA's (docs/hardware.md).
SamplerUse sampler_use(const TextureState& texture, std::span<const TextureUse> uses,
                       FilterPolicy filter);

struct SampledTexture {
  VkImageView view = VK_NULL_HANDLE;
  VkSampler sampler = VK_NULL_HANDLE;
  std::uint64_t serial = 0;  ///< of the two, for descriptor caches
};

/// View and sampler of a texture whose array lives in an image; made once.
Result<SampledTexture> sampled_texture(TextureState& texture, const SamplerUse& use);

}  // namespace ptx2spv::runtime
