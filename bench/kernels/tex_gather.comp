#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
layout(set = 0, binding = 0) uniform sampler2D from;
layout(set = 0, binding = 8, r32f) uniform writeonly image2D to;

void main()
{
    vec4 c = textureGather(from, vec2(COLUMN, ROW) * over, 0);
    imageStore(to, ivec2(COLUMN, ROW), vec4(dot(c, vec4(0.5, 0.25, 0.125, 0.125))));
}
