#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { int width, height, depth, iterations; float scale; } p;
layout(set = 0, binding = 0) readonly buffer From { float from[]; };
layout(set = 0, binding = 1) writeonly buffer To { float to[]; };
shared float tile[24 * 24], rows[24 * 16];
void main() {
  ivec3 at = ivec3(gl_GlobalInvocationID);
  ivec2 first = ivec2(gl_WorkGroupID.xy) * 16 - 4;
  int layer = min(at.z, p.depth - 1) * p.height, thread = int(gl_LocalInvocationIndex);
  for (int k = thread; k < 24 * 24; k += 256) {
    ivec2 c = clamp(first + ivec2(k % 24, k / 24), ivec2(0), ivec2(p.width - 1, p.height - 1));
    tile[k] = from[(layer + c.y) * p.width + c.x];
  }
  barrier();
  for (int k = thread; k < 24 * 16; k += 256) {
    int t = k / 16 * 24 + k % 16 + 4;
    rows[k] = 0.2734375 * tile[t] + 0.21875 * (tile[t - 1] + tile[t + 1]) +
              0.109375 * (tile[t - 2] + tile[t + 2]) + 0.03125 * (tile[t - 3] + tile[t + 3]) +
              0.00390625 * (tile[t - 4] + tile[t + 4]);
  }
  barrier();
  int r = int(gl_LocalInvocationID.y + 4) * 16 + int(gl_LocalInvocationID.x);
  float value = 0.2734375 * rows[r] + 0.21875 * (rows[r - 16] + rows[r + 16]) +
                0.109375 * (rows[r - 32] + rows[r + 32]) + 0.03125 * (rows[r - 48] + rows[r + 48]) +
                0.00390625 * (rows[r - 64] + rows[r + 64]);
  if (all(lessThan(at, ivec3(p.width, p.height, p.depth))))
    to[(at.z * p.height + at.y) * p.width + at.x] = value;
}
