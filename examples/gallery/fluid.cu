// A fluid on 2D surfaces (Stam's stable fluids): the velocity carries itself and a dye along, and
// a pressure takes its divergence away. Two layers that slide past each other roll up.
#include <cuda_runtime.h>

__device__ int wrap(int i, int size) { return (i % size + size) % size; }

template <class T>
__device__ T at(cudaSurfaceObject_t surface, int x, int y, int size) {
  // The walls above and below repeat their row; left and right are joined.
  return surf2Dread<T>(surface, wrap(x, size) * static_cast<int>(sizeof(T)), y,
                       cudaBoundaryModeClamp);
}

__device__ float4 mix(float4 a, float4 b, float t) {
  return make_float4(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t,
                     a.w + (b.w - a.w) * t);
}
__device__ float2 mix(float2 a, float2 b, float t) {
  return make_float2(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t);
}

// What was a step ago where the flow comes from.
template <class T>
__device__ T carried(cudaSurfaceObject_t surface, cudaSurfaceObject_t flow, int x, int y,
                     int size) {
  const float2 v = at<float2>(flow, x, y, size);
  const float fx = x - v.x, fy = y - v.y;
  const float cx = floorf(fx), cy = floorf(fy);
  const int ix = static_cast<int>(cx), iy = static_cast<int>(cy);
  const T top = mix(at<T>(surface, ix, iy, size), at<T>(surface, ix + 1, iy, size), fx - cx);
  const T bottom =
      mix(at<T>(surface, ix, iy + 1, size), at<T>(surface, ix + 1, iy + 1, size), fx - cx);
  return mix(top, bottom, fy - cy);
}

// A wave of parabolas between -1 and 1, `waves` of them along the size.
__device__ float ripple(int x, int size, int waves) {
  const float t = static_cast<float>(x * waves % size) / size;
  const float u = t < 0.5f ? t * 2 : t * 2 - 1;
  const float arch = 4 * u * (1 - u);
  return t < 0.5f ? arch : -arch;
}

#define CELL                                           \
  const int x = blockIdx.x * blockDim.x + threadIdx.x; \
  const int y = blockIdx.y * blockDim.y + threadIdx.y; \
  if (x >= size || y >= size) return

extern "C" __global__ void start(cudaSurfaceObject_t velocity, cudaSurfaceObject_t dye, int size) {
  CELL;
  const bool inside = y > size * 3 / 10 && y < size * 7 / 10;
  const float push = 0.35f * ripple(x, size, 3) + 0.12f * ripple(x, size, 7);
  surf2Dwrite(make_float2(inside ? 2.2f : -2.2f, push), velocity, x * 8, y);
  const float band = static_cast<float>(y * 10 % size) / size;
  const float4 warm = make_float4(0.95f, 0.35f + 0.5f * band, 0.12f, 1);
  const float4 cold = make_float4(0.05f, 0.25f + 0.3f * band, 0.55f + 0.3f * band, 1);
  surf2Dwrite(inside ? warm : cold, dye, x * 16, y);
}

extern "C" __global__ void advect(cudaSurfaceObject_t velocity, cudaSurfaceObject_t to, int size) {
  CELL;
  surf2Dwrite(carried<float2>(velocity, velocity, x, y, size), to, x * 8, y);
}

extern "C" __global__ void advect_dye(cudaSurfaceObject_t dye, cudaSurfaceObject_t velocity,
                                      cudaSurfaceObject_t to, int size) {
  CELL;
  surf2Dwrite(carried<float4>(dye, velocity, x, y, size), to, x * 16, y);
}

extern "C" __global__ void divergence(cudaSurfaceObject_t velocity, cudaSurfaceObject_t to,
                                      int size) {
  CELL;
  const float across =
      at<float2>(velocity, x + 1, y, size).x - at<float2>(velocity, x - 1, y, size).x;
  const float down =
      at<float2>(velocity, x, y + 1, size).y - at<float2>(velocity, x, y - 1, size).y;
  surf2Dwrite(0.5f * (across + down), to, x * 4, y);
}

extern "C" __global__ void relax(cudaSurfaceObject_t pressure, cudaSurfaceObject_t source,
                                 cudaSurfaceObject_t to, int size) {
  CELL;
  const float around = at<float>(pressure, x - 1, y, size) + at<float>(pressure, x + 1, y, size) +
                       at<float>(pressure, x, y - 1, size) + at<float>(pressure, x, y + 1, size);
  surf2Dwrite(0.25f * (around - at<float>(source, x, y, size)), to, x * 4, y);
}

extern "C" __global__ void project(cudaSurfaceObject_t velocity, cudaSurfaceObject_t pressure,
                                   int size) {
  CELL;
  float2 v = at<float2>(velocity, x, y, size);
  v.x -= 0.5f * (at<float>(pressure, x + 1, y, size) - at<float>(pressure, x - 1, y, size));
  v.y -= 0.5f * (at<float>(pressure, x, y + 1, size) - at<float>(pressure, x, y - 1, size));
  if (y == 0 || y == size - 1) v.y = 0;
  surf2Dwrite(v, velocity, x * 8, y);
}

extern "C" __global__ void paint(cudaSurfaceObject_t dye, cudaSurfaceObject_t picture, int size) {
  CELL;
  const float4 c = at<float4>(dye, x, y, size);
  const auto byte = [](float v) {
    return static_cast<unsigned char>(fminf(fmaxf(v, 0.0f), 1.0f) * 255 + 0.5f);
  };
  surf2Dwrite(make_uchar4(byte(c.x), byte(c.y), byte(c.z), 255), picture, x * 4, y);
}
