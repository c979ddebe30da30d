#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { int width, height, depth, iterations; float scale; } p;
layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
layout(set = 0, binding = 1) buffer To { uint to[]; };
void main() {
  ivec2 at = min(ivec2(gl_GlobalInvocationID.xy), ivec2(p.width - 1, p.height - 1));
  atomicAdd(to[from[at.y * p.width + at.x] >> 20], 1u);
}
