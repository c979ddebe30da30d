// Which reads a device's sampler does with NVIDIA's results.
#pragma once

#include <span>

#include "src/array/sampler.hpp"

namespace ptx2spv::runtime {

/// Whether the device's samplers are NVIDIA's texture unit, for the reads below.
bool samplers_are_exact(const Profile& profile);

bool sampler_is_exact(const TextureState& texture, std::span<const TextureUse> uses,
                      const SamplerUse& use);

}  // namespace ptx2spv::runtime
