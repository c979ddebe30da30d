#version 460
#extension GL_GOOGLE_include_directive : require
#include "textures.glsl"
// By hand the texels would lie in an image.
layout(set = 0, binding = 0) uniform sampler2D from;
layout(set = 0, binding = 8, r32f) uniform writeonly image2D to;

void main()
{
    imageStore(to, ivec2(COLUMN, ROW),
        vec4(textureLod(from, (vec2(COLUMN, ROW) + 0.3) * over, 0).x));
}
