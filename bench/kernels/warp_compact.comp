#version 450
// `compact` in warps.cu without subgroups: a mask for each 32 threads in shared memory.
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { int count; } p;
layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
layout(set = 0, binding = 1) writeonly buffer To { uint to[]; };
shared uint masks[8];
void main() {
  const uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationID.x, lane = t % 32;
  const uint word = i < uint(p.count) ? from[i] : 0;
  const bool is_over = i < uint(p.count) && word > 0x80000000u;
  if (t < 8) masks[t] = 0;
  barrier();
  if (is_over) atomicOr(masks[t / 32], 1u << lane);
  barrier();
  if (i >= uint(p.count)) return;
  const uint over = masks[t / 32], before = (1u << lane) - 1;
  const uint place = is_over ? bitCount(over & before) : bitCount(over) + bitCount(~over & before);
  to[i - lane + place] = word;
}
