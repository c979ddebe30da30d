#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { int width, height, depth, iterations; float scale; } p;
layout(set = 0, binding = 0) readonly buffer From { uvec4 from[]; };
layout(set = 0, binding = 1) writeonly buffer To { uvec4 to[]; };
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  ivec2 c = clamp(at, ivec2(0), ivec2(p.width - 1, p.height - 1));
  uvec4 value = from[c.y * p.width + c.x];
  if (at.x < p.width && at.y < p.height) to[at.y * p.width + at.x] = value;
}
