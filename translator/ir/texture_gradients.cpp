#include "translator/ir/texture_gradients.hpp"

namespace ptx2spv::ir {

TextureGradients texture_gradients(Builder& builder, Module& module, TextureGeometry geometry,
                                   const std::array<Value, 3>& at,
                                   const std::array<std::array<Value, 3>, 2>& moves,
                                   const std::array<Value, 3>& extents) {
  const auto library = [&](const char* name, Type type, std::initializer_list<Value> args) {
    return builder.inst(Op::library, type, args, module.library(name));
  };
  const auto part = [&](Value vector, unsigned index) {
    return builder.inst(Op::extract, Type::i32, {vector}, index);
  };
  const Value zero = builder.i32(0);
  const auto vector = [&](Value x, Value y, Value z, Value w) {
    return builder.inst(Op::compose, Type::v4, {x, y, z, w});
  };
  const bool volume = geometry == TextureGeometry::d3;
  TextureGradients result;
  if (volume || geometry == TextureGeometry::cube || geometry == TextureGeometry::acube) {
    for (unsigned g = 0; g < 2; ++g) {
      const auto& m = moves[g];
      if (volume) {
        std::array<Value, 3> texels;
        for (unsigned k = 0; k < 3; ++k)
          texels[k] = library("tex_gradient_volume", Type::i32, {at[k], m[k], extents[k]});
        result.texels[g] = vector(texels[0], texels[1], texels[2], zero);
      } else {
        result.texels[g] = library(
            "tex_gradient_cube", Type::v4,
            {vector(at[0], at[1], at[2], zero), vector(m[0], m[1], m[2], zero), extents[0]});
      }
    }
  } else {
    const Value both = library(
        "tex_gradients", Type::v4,
        {vector(moves[0][0], moves[0][1], moves[1][0], moves[1][1]), extents[0], extents[1]});
    result.texels = {vector(part(both, 0), part(both, 1), zero, zero),
                     vector(part(both, 2), part(both, 3), zero, zero)};
  }
  result.lod = library(volume ? "tex_lod_volume" : "tex_lod_gradient", Type::i32,
                       {result.texels[0], result.texels[1]});
  return result;
}

}  // namespace ptx2spv::ir
