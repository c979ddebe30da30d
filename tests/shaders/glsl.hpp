// The library of shaders/ as C++, for tests: one copy per file, of which each uses a part.
#pragma once

#include "shaders/host/glsl.hpp"

namespace glsl {

#pragma GCC diagnostic ignored "-Wunused-function"
#define in
#define precise
namespace {
#include "shaders/arithmetic.glsl"
#include "shaders/texture.glsl"
#include "shaders/texture_gradient.glsl"
}  // namespace
#undef in
#undef precise

}  // namespace glsl
