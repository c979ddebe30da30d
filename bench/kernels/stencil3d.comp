#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { int width, height, depth, iterations; float scale; } p;
layout(set = 0, binding = 0) readonly buffer From { float from[]; };
layout(set = 0, binding = 1) writeonly buffer To { float to[]; };
float load(ivec3 at) {
  at = clamp(at, ivec3(0), ivec3(p.width - 1, p.height - 1, p.depth - 1));
  return from[(at.z * p.height + at.y) * p.width + at.x];
}
void main() {
  ivec3 at = ivec3(gl_GlobalInvocationID);
  float sum = load(at + ivec3(-1, 0, 0)) + load(at + ivec3(1, 0, 0)) + load(at + ivec3(0, -1, 0)) +
              load(at + ivec3(0, 1, 0)) + load(at + ivec3(0, 0, -1)) + load(at + ivec3(0, 0, 1));
  float value = 0.25 * load(at) + 0.125 * sum;
  if (at.x < p.width && at.y < p.height && at.z < p.depth)
    to[(at.z * p.height + at.y) * p.width + at.x] = value;
}
