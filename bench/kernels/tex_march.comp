#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
layout(set = 0, binding = 0) uniform sampler3D volume;
layout(set = 0, binding = 8, r32f) uniform writeonly image2D to;

void main()
{
    vec2 at = (vec2(COLUMN, ROW) + 0.5) * over;
    float each = 1.0 / number, sum = 0, w = 0.5 * each;
    for (int k = 0; k < number; ++k, w += each)
        sum += textureLod(volume, vec3(at.x + 0.1 * w, at.y - 0.1 * w, w), 0).x;
    imageStore(to, ivec2(COLUMN, ROW), vec4(sum * each));
}
