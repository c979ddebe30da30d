#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
layout(set = 0, binding = 0) uniform sampler2D textures0;
layout(set = 0, binding = 1) uniform sampler2D textures1;
layout(set = 0, binding = 2) uniform sampler2D textures2;
layout(set = 0, binding = 3) uniform sampler2D textures3;
layout(set = 0, binding = 8, r32f) uniform writeonly image2D to;

void main()
{
    vec2 at = (vec2(COLUMN, ROW) + 0.3) * over;
    float sum = textureLod(textures0, at, 0).x + textureLod(textures1, at, 0).x +
        textureLod(textures2, at, 0).x + textureLod(textures3, at, 0).x;
    imageStore(to, ivec2(COLUMN, ROW), vec4(sum));
}
