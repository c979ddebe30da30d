// shaders/library.comp as C++, for the one file that calls its functions.
#pragma once

#include "shaders/host/glsl.hpp"

#pragma GCC diagnostic ignored "-Wunused-function"
#define in
#define precise
namespace glsl {
namespace {
#include "shaders/arithmetic.glsl"
#include "shaders/matrix.glsl"
#include "shaders/surface.glsl"
#include "shaders/texture.glsl"
#include "shaders/texture_gradient.glsl"
}  // namespace
}  // namespace glsl
#undef in
#undef precise
