#version 450
// For devices with atomics on 64-bit words: one minimum a pixel.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
#include "splat.glsl"
layout(set = 0, binding = 1) buffer To { uint64_t to[]; };
void main() {
  Splat s = splat();
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) {
      ivec2 at = s.at + ivec2(i, j);
      if (!inside(at)) continue;
      uvec2 value = uvec2(s.id, s.depth + 977u * i + 131u * j);
      atomicMin(to[at.y * p.width + at.x], packUint2x32(value));
    }
}
