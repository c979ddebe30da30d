#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { int width, height, depth, iterations; float scale; } p;
layout(set = 0, binding = 0) readonly buffer From { float from[]; };
layout(set = 0, binding = 1) writeonly buffer To { float to[]; };
float load(ivec2 at) {
  at = clamp(at, ivec2(0), ivec2(p.width - 1, p.height - 1));
  return from[at.y * p.width + at.x];
}
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  float sum = load(at + ivec2(-1, 0)) + load(at + ivec2(1, 0)) +
              load(at + ivec2(0, -1)) + load(at + ivec2(0, 1));
  float value = 0.5 * load(at) + 0.125 * sum;
  if (at.x < p.width && at.y < p.height) to[at.y * p.width + at.x] = value;
}
