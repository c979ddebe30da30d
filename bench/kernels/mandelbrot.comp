#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { int width, height, depth, iterations; float scale; } p;
layout(set = 0, binding = 1) writeonly buffer To { uint to[]; };
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  precise float cx = at.x * p.scale - 2.0, cy = at.y * p.scale - 1.5, x = 0, y = 0;
  int n = 0;
  for (; n < p.iterations; ++n) {
    precise float xx = x * x, yy = y * y;
    if (xx + yy > 4.0) break;
    y = 2.0 * x * y + cy;
    x = xx - yy + cx;
  }
  if (at.x < p.width && at.y < p.height) to[at.y * p.width + at.x] = uint(n);
}
