// A path tracer that gathers light in a surface of float4: each launch adds some paths to every
// texel and counts them in its fourth component.
#include <cuda_runtime.h>

struct Vec {
  float x, y, z;
};
__device__ Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ Vec operator*(Vec a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ Vec operator*(Vec a, Vec b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
__device__ float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ Vec unit(Vec a) { return a * (1.0f / sqrtf(dot(a, a))); }

struct Sphere {
  Vec centre;
  float radius;
  Vec colour;
  float glow, mirror;
};
__constant__ Sphere spheres[] = {
    {{0, -1000, 0}, 1000, {0.75f, 0.75f, 0.72f}, 0, 0},  // the floor
    {{-1.15f, 0.8f, 0.1f}, 0.8f, {0.85f, 0.25f, 0.2f}, 0, 0},
    {{0.65f, 1.0f, -0.5f}, 1.0f, {0.95f, 0.95f, 0.95f}, 0, 1},
    {{0.05f, 0.35f, 1.15f}, 0.35f, {0.2f, 0.45f, 0.85f}, 0, 0},
    {{1.35f, 0.4f, 0.95f}, 0.4f, {0.95f, 0.75f, 0.25f}, 0, 0.35f},
    {{-0.5f, 0.2f, 1.55f}, 0.2f, {1.0f, 0.85f, 0.6f}, 6, 0},  // a lamp
};

struct Random {
  unsigned state;
  __device__ float next() {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (state >> 8) * (1.0f / 16777216);
  }
  // A point of the unit ball.
  __device__ Vec ball() {
    for (int i = 0; i < 16; ++i) {
      const Vec p = {next() * 2 - 1, next() * 2 - 1, next() * 2 - 1};
      if (dot(p, p) < 1) return p;
    }
    return {0, 0, 0};
  }
};

// The distance to a sphere, or 0.
__device__ float meet(const Sphere& sphere, Vec from, Vec way) {
  const Vec to = sphere.centre - from;
  const float along = dot(to, way);
  const float rest = sphere.radius * sphere.radius - (dot(to, to) - along * along);
  if (rest < 0) return 0;
  const float half = sqrtf(rest);
  if (along - half > 0.002f) return along - half;
  return along + half > 0.002f ? along + half : 0;
}

__device__ Vec follow(Vec from, Vec way, Random& random) {
  Vec light = {0, 0, 0}, weight = {1, 1, 1};
  for (int bounce = 0; bounce < 6; ++bounce) {
    float nearest = 1e9f;
    int hit = -1;
    for (int i = 0; i < 6; ++i) {
      const float distance = meet(spheres[i], from, way);
      if (distance > 0 && distance < nearest) {
        nearest = distance;
        hit = i;
      }
    }
    if (hit < 0) {
      const float up = 0.5f * (way.y + 1);
      const Vec sky = Vec{0.9f, 0.75f, 0.65f} * (1 - up) + Vec{0.3f, 0.5f, 0.9f} * up;
      return light + weight * sky * 0.8f;
    }
    const Sphere& sphere = spheres[hit];
    from = from + way * nearest;
    const Vec normal = unit(from - sphere.centre);
    light = light + weight * sphere.colour * sphere.glow;
    weight = weight * sphere.colour;
    if (random.next() < sphere.mirror)
      way = way - normal * (2 * dot(way, normal));
    else
      way = unit(normal + unit(random.ball() + Vec{0, 0, 0.0001f}) * 0.999f);
  }
  return light;
}

extern "C" __global__ void trace(cudaSurfaceObject_t light, int width, int height, int paths) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float4 sum = surf2Dread<float4>(light, x * 16, y);
  Random random = {(static_cast<unsigned>(y * width + x) + 1) * 0x9e3779b9u ^
                   (static_cast<unsigned>(sum.w) + 1) * 0x85ebca6bu};
  if (!random.state) random.state = 1;
  for (int i = 0; i < 4; ++i) random.next();
  const Vec eye = {0.1f, 1.5f, 5.2f};
  for (int i = 0; i < paths; ++i) {
    const float u = (x + random.next() - width * 0.5f) / height;
    const float v = (height * 0.5f - y - random.next()) / height;
    const Vec c = follow(eye, unit({u, v - 0.14f, -1.35f}), random);
    sum = make_float4(sum.x + c.x, sum.y + c.y, sum.z + c.z, sum.w + 1);
  }
  surf2Dwrite(sum, light, x * 16, y);
}

extern "C" __global__ void develop(cudaSurfaceObject_t light, cudaSurfaceObject_t picture,
                                   int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float4 sum = surf2Dread<float4>(light, x * 16, y);
  const auto tone = [&](float v) {
    const float mean = v / sum.w;
    return static_cast<unsigned char>(fminf(sqrtf(mean / (1 + 0.3f * mean)), 1.0f) * 255 + 0.5f);
  };
  surf2Dwrite(make_uchar4(tone(sum.x), tone(sum.y), tone(sum.z), 255), picture, x * 4, y);
}
