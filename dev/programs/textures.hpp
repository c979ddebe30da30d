// Which surfaces and textures a program has. The text, the recorder and the replay make theirs from
// the same choice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dev/programs/random.hpp"
#include "dev/recorder/texture_setup.hpp"

namespace ptx2spv::programs {

/// A surface: formats in the order of abi::SurfaceFormat.
struct SurfaceChoice {
  std::string geometry = "2d";  ///< 1d 2d 3d a1d a2d
  recorder::TexelFormat format = recorder::TexelFormat::u32;
  unsigned channels = 1;
  unsigned width = 1, height = 1, depth = 1;  ///< 1 where the geometry has none; depth: or layers
  unsigned texel_bytes() const {
    return recorder::kTexelFormatBytes[static_cast<unsigned>(format)] * channels;
  }
  bool layered() const { return geometry[0] == 'a'; }
  unsigned rows() const { return height * depth; }
  std::size_t bytes() const { return std::size_t{width} * texel_bytes() * rows(); }
};

/// A small surface to load from, and one that holds 16 bytes of `threads` threads in every row.
SurfaceChoice loaded_surface(Random& random);
SurfaceChoice stored_surface(Random& random, unsigned threads);
recorder::TextureSetup chosen_texture(Random& random);
/// What a surface holds before the launch.
std::vector<std::uint8_t> surface_bytes(const SurfaceChoice& choice, std::uint64_t seed);

}  // namespace ptx2spv::programs
