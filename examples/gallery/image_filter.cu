// A drawing out of a photograph, in three passes over surfaces: a brightness, its blurred forms and
// their difference for the lines, and fewer colours for the areas.
#include <cuda_runtime.h>

#define TEXEL                                          \
  const int x = blockIdx.x * blockDim.x + threadIdx.x; \
  const int y = blockIdx.y * blockDim.y + threadIdx.y; \
  if (x >= width || y >= height) return

extern "C" __global__ void brightness(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width,
                                      int height) {
  TEXEL;
  const uchar4 c = surf2Dread<uchar4>(from, x * 4, y);
  surf2Dwrite((0.299f * c.x + 0.587f * c.y + 0.114f * c.z) / 255, to, x * 4, y);
}

// A narrow and a wide tent, as two components.
extern "C" __global__ void blur(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width,
                                int height) {
  TEXEL;
  float narrow = 0, wide = 0, narrow_sum = 0, wide_sum = 0;
  for (int dy = -4; dy <= 4; ++dy)
    for (int dx = -4; dx <= 4; ++dx) {
      const float value = surf2Dread<float>(from, (x + dx) * 4, y + dy, cudaBoundaryModeClamp);
      const int reach = max(abs(dx), 0) + max(abs(dy), 0);
      const float near = max(0, 3 - reach), far = max(0, 7 - reach);
      narrow += near * value;
      narrow_sum += near;
      wide += far * value;
      wide_sum += far;
    }
  surf2Dwrite(make_float2(narrow / narrow_sum, wide / wide_sum), to, x * 8, y);
}

extern "C" __global__ void draw(cudaSurfaceObject_t photo, cudaSurfaceObject_t blurred,
                                cudaSurfaceObject_t to, int width, int height) {
  TEXEL;
  // The mean of a small square has no grain.
  float red = 0, green = 0, blue = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      const uchar4 c = surf2Dread<uchar4>(photo, (x + dx) * 4, y + dy, cudaBoundaryModeClamp);
      red += c.x;
      green += c.y;
      blue += c.z;
    }
  const float2 b = surf2Dread<float2>(blurred, x * 8, y);
  const float line = b.y - b.x > 0.012f ? fmaxf(0.0f, 1 - (b.y - b.x - 0.012f) * 30) : 1.0f;
  const auto level = [line](float sum) {
    const float steps = floorf(sum / 25 / 255 * 5 + 0.5f) / 5;
    return static_cast<unsigned char>(fminf(steps * line * 255 + 0.5f, 255.0f));
  };
  surf2Dwrite(make_uchar4(level(red), level(green), level(blue), 255), to, x * 4, y);
}
