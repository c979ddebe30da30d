// Which reads the sampler of an NVIDIA device does with NVIDIA's results.
#pragma once

#include <span>

#include "src/array/sampler.hpp"

namespace ptx2spv::runtime {

bool sampler_is_exact(const TextureState& texture, std::span<const TextureUse> uses,
                      const SamplerUse& use);

}  // namespace ptx2spv::runtime
