#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
layout(set = 0, binding = 0) uniform sampler2D from;
layout(set = 0, binding = 8, rgba8) uniform writeonly image2D to;

void main()
{
    imageStore(to, ivec2(COLUMN, ROW),
        textureLod(from, (vec2(COLUMN, ROW) + 0.25) * over, 0));
}
