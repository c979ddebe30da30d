// The level of detail that a texture read's gradients choose.
#pragma once

#include <array>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

struct TextureGradients {
  std::array<Value, 2>
      texels;     ///< v4: each gradient in texels, as shaders/texture_gradient.glsl has it
  Value lod = 0;  ///< i32: in 256ths
};

/// Of a read at `at`, whose gradients `moves` have 0 where the geometry has no axis, of a texture
/// with such `extents`.
TextureGradients texture_gradients(Builder& builder, Module& module, TextureGeometry geometry,
                                   const std::array<Value, 3>& at,
                                   const std::array<std::array<Value, 3>, 2>& moves,
                                   const std::array<Value, 3>& extents);

}  // namespace ptx2spv::ir
