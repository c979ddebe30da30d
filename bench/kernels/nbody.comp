#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { int width, height, depth, iterations; float scale; } p;
layout(set = 0, binding = 0) readonly buffer From { vec4 from[]; };
layout(set = 0, binding = 1) writeonly buffer To { vec4 to[]; };
shared vec4 tile[256];
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  int thread = int(gl_LocalInvocationIndex), place = at.y * p.width + at.x;
  vec3 mine = from[place].xyz, sum = vec3(0);
  for (int first = 0; first < p.width * p.height; first += 256) {
    tile[thread] = from[first + thread];
    barrier();
    for (int k = 0; k < 256; ++k) {
      vec4 other = tile[k];
      vec3 way = other.xyz - mine;
      float inverse = inversesqrt(dot(way, way) + 1e-4);
      sum += way * (other.w * inverse * inverse * inverse);
    }
    barrier();
  }
  if (all(lessThan(at, ivec2(p.width, p.height)))) to[place] = vec4(sum, 0);
}
