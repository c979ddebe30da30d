// Pitched memory as a sampler sees it: an image over the same bytes.
#pragma once

#include "src/array/texture.hpp"

namespace ptx2spv::runtime {

/// Gives a texture over pitched memory its image (TextureState::memory_image), where the device
/// lays out the rows of such images as the memory's are and a sampler reads them. Tried once.
void make_memory_image(TextureState& texture);

}  // namespace ptx2spv::runtime
