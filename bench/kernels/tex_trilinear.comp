#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
layout(set = 0, binding = 0) uniform sampler2D levels;
layout(set = 0, binding = 8, rgba8) uniform writeonly image2D to;

void main()
{
    vec2 at = (vec2(COLUMN, ROW) + 0.5) * over;
    imageStore(to, ivec2(COLUMN, ROW), textureLod(levels, at * 3, 4 * at.x));
}
