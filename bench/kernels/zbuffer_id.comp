#version 450
// The second pass: of the splats at the nearest depth, the lowest number.
#extension GL_GOOGLE_include_directive : require
#include "splat.glsl"
layout(set = 0, binding = 1) buffer To { uint to[]; };
void main() {
  Splat s = splat();
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) {
      ivec2 at = s.at + ivec2(i, j);
      if (!inside(at)) continue;
      int cell = 2 * (at.y * p.width + at.x);
      if (to[cell + 1] == s.depth + 977u * i + 131u * j) atomicMin(to[cell], s.id);
    }
}
