#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
layout(set = 0, binding = 0) uniform sampler2DArray from;
layout(set = 0, binding = 8, r32f) uniform writeonly image2DArray to;

void main()
{
    vec2 at = vec2(COLUMN, ROW) + 0.5;
    float sum = textureLod(from, vec3(at * over, number), 0).x * 0.16;
    for (int k = 0; k < 12; ++k) {
        vec2 beside = vec2((k % 4) * 1.3 - 1.95, (k / 4) * 1.4 - 1.4);
        sum += textureLod(from, vec3((at + beside) * over, number), 0).x * 0.07;
    }
    imageStore(to, ivec3(COLUMN, ROW, number), vec4(sum));
}
