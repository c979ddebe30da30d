#version 450
// For devices without atomics on 64-bit words, the first of two passes: the nearest depth of each
// pixel.
#extension GL_GOOGLE_include_directive : require
#include "splat.glsl"
layout(set = 0, binding = 1) buffer To { uint to[]; };
void main() {
  Splat s = splat();
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) {
      ivec2 at = s.at + ivec2(i, j);
      if (inside(at)) atomicMin(to[2 * (at.y * p.width + at.x) + 1], s.depth + 977u * i + 131u * j);
    }
}
