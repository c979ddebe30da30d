#version 460
#extension GL_GOOGLE_include_directive : require

// The translator links functions out of this module by their names; the entry point exists only
// because a SPIR-V module for Vulkan must have one. Parameters are declared `const in` wherever a
// routine does not write to them: glslang then passes values, not pointers to variables.

layout(local_size_x = 1) in;

#include "arithmetic.glsl"
#include "surface.glsl"
#include "texture.glsl"
#include "texture_gradient.glsl"
#include "matrix.glsl"

void main() {}
