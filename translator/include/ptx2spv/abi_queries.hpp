// Bits of a texture's record that queries alone read.
#pragma once

#include "ptx2spv/abi.hpp"

namespace ptx2spv::abi {

/// Of x_sampler, for x; the next bits are for y and z. The address mode is the manual's clamp_ogl,
/// which clamps as clamp_to_edge does.
inline constexpr std::uint32_t sample_clamp_ogl = 1u << 24;

}  // namespace ptx2spv::abi
