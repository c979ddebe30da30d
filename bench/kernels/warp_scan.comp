#version 450
// The sums of `scan` in warps.cu without subgroups: shared memory and a barrier for every step.
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { int count; } p;
layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
layout(set = 0, binding = 1) writeonly buffer To { uint to[]; };
shared uint sums[2][256], odds[2][256];
void main() {
  const uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationID.x, lane = t % 32;
  const uint word = i < uint(p.count) ? from[i] : 0;
  sums[0][t] = word;
  odds[0][t] = word & 1;
  uint side = 0;
  for (uint by = 1; by < 32; by *= 2) {
    barrier();
    uint sum = sums[side][t], odd = odds[side][t];
    if (lane >= by) {
      sum += sums[side][t - by];
      odd += odds[side][t - by];
    }
    side = 1 - side;
    sums[side][t] = sum;
    odds[side][t] = odd;
  }
  if (i < uint(p.count)) to[i] = sums[side][t] + odds[side][t] - (word & 1);
}
