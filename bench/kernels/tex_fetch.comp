#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#include "textures.glsl"
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { float at[]; };
layout(set = 0, binding = 8, r32f) uniform writeonly image2D to;

void main()
{
    Words words = Words(memory);
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += words.at[ROW * width + (COLUMN ^ k)];
    imageStore(to, ivec2(COLUMN, ROW), vec4(sum));
}
