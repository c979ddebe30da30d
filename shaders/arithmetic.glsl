// The arithmetic in the order of its dependences; library.comp and the tests include this.
#include "common.glsl"
#include "int64.glsl"
#include "f32.glsl"
#include "f32_fast.glsl"
#include "f64.glsl"
#include "convert.glsl"
#include "half.glsl"
#include "approx.glsl"
