// What can a storage image do for a slot? Translations and hosts follow the same rules.
#pragma once

#include "ptx2spv/translator.hpp"

namespace ptx2spv {

enum class ImageService : std::uint8_t {
  none,    ///< some access is not possible in an image: bind a buffer or an address
  texels,  ///< seen as unsigned integers of the texel's size: r8ui, r16ui, r32ui, rg32ui, rgba32ui
  texels64,  ///< 8-byte texels that take 64-bit reductions, seen as r64ui
};

/// An image serves all loads, stores of whole texels or into 4-byte texels, and reductions of the
/// texel's size: 4 bytes, or 8 where the profile has 64-bit atomics on images.
ImageService image_service(const SlotInfo& slot, std::uint32_t texel_bytes, const Profile& profile);

}  // namespace ptx2spv
