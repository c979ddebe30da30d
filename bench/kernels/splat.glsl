// The splat of an invocation: where it lies, how deep, and its number.
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { int width, height, depth, iterations; float scale; } p;

struct Splat { ivec2 at; uint depth, id; };

Splat splat() {
  uvec3 g = gl_GlobalInvocationID, n = gl_NumWorkGroups * gl_WorkGroupSize;
  Splat s;
  s.id = (g.z * n.y + g.y) * n.x + g.x;
  uint hash = s.id * 0x9e3779b1u;
  hash ^= hash >> 15;
  hash *= 0x85ebca77u;
  hash ^= hash >> 13;
  s.at = ivec2(2 * g.xy + uvec2(hash & 31u, hash >> 5 & 31u)) - 16;
  s.depth = hash >> 1;
  return s;
}

bool inside(ivec2 at) { return all(lessThan(uvec2(at), uvec2(p.width, p.height))); }
