#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
layout(set = 0, binding = 0) uniform sampler2D speed;
layout(set = 0, binding = 1) uniform sampler2D field;
layout(set = 0, binding = 8, rgba32f) uniform writeonly image2D to;

void main()
{
    // The samplers take coordinates in texels.
    vec2 at = vec2(COLUMN, ROW) + 0.5;
    float u = textureLod(speed, at, 0).x, v = textureLod(speed, at.yx, 0).x;
    float a = textureLod(field, at - step * vec2(u, v), 0).x;
    float b = textureLod(field, at + step * vec2(u, v), 0).x;
    imageStore(to, ivec2(COLUMN, ROW), vec4(a, b, a - b, u + v));
}
