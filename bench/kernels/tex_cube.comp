#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
layout(set = 0, binding = 0) uniform samplerCube faces;
layout(set = 0, binding = 8, r32f) uniform writeonly image2D to;

void main()
{
    vec2 at = (vec2(COLUMN, ROW) + 0.5) * over * 2 - 1;
    float a = textureLod(faces, vec3(at, 0.7), 0).x;
    float b = textureLod(faces, vec3(0.7, at.x, -at.y), 0).x;
    imageStore(to, ivec2(COLUMN, ROW), vec4(a + b));
}
