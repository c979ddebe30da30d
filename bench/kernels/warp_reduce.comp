#version 450
// The sums of `reduce` in warps.cu without subgroups: a tree in shared memory.
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { int count; } p;
layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
layout(set = 0, binding = 1) writeonly buffer To { uint to[]; };
shared uint sums[256];
void main() {
  const uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationID.x, lane = t % 32;
  const uint word = i < uint(p.count) ? from[i] : 0;
  sums[t] = word * word;
  for (uint by = 16; by > 0; by /= 2) {
    barrier();
    if (lane < by) sums[t] += sums[t + by];
  }
  if (lane == 0 && i < uint(p.count)) to[i / 32] = sums[t];
}
