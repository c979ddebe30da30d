// Reaction and diffusion of two substances (the Gray-Scott model) on a 2D surface of float2.
//
// `step` reads one surface and writes the other, and is launched several hundred times with the two
// swapped in between. Cells beyond the border repeat the border (cudaBoundaryModeClamp).
#include <cuda_runtime.h>

struct Model {
  float diffusion_u, diffusion_v;  // per step
  float feed, kill;
};

__device__ float2 cell(cudaSurfaceObject_t surface, int x, int y) {
  return surf2Dread<float2>(surface, x * static_cast<int>(sizeof(float2)), y,
                            cudaBoundaryModeClamp);
}

__device__ void set_cell(cudaSurfaceObject_t surface, int x, int y, float2 value) {
  surf2Dwrite(value, surface, x * static_cast<int>(sizeof(float2)), y);
}

__device__ unsigned scramble(unsigned h) {
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  return h ^ h >> 16;
}

// Full of u, with squares of v scattered one to a tile in most tiles.
extern "C" __global__ void seed(cudaSurfaceObject_t field, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  constexpr int kTile = 24, kSquare = 7;
  const unsigned h = scramble(x / kTile * 0x9e3779b9u + y / kTile * 0x85ebca6bu + 1);
  const int dx = x % kTile - static_cast<int>(h % (kTile - kSquare));
  const int dy = y % kTile - static_cast<int>((h >> 8) % (kTile - kSquare));
  const bool seeded = (h >> 16) % 100 < 70 && dx >= 0 && dx < kSquare && dy >= 0 && dy < kSquare;
  set_cell(field, x, y, seeded ? make_float2(0.5f, 0.25f) : make_float2(1.0f, 0.0f));
}

extern "C" __global__ void step(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width,
                                int height, Model model) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;

  const float2 here = cell(from, x, y);
  float2 sides = make_float2(0.0f, 0.0f), corners = sides;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0) continue;
      float2& sum = dx == 0 || dy == 0 ? sides : corners;
      const float2 neighbour = cell(from, x + dx, y + dy);
      sum.x += neighbour.x;
      sum.y += neighbour.y;
    }
  }
  const float spread_u = 0.2f * sides.x + 0.05f * corners.x - here.x;
  const float spread_v = 0.2f * sides.y + 0.05f * corners.y - here.y;
  const float reaction = here.x * here.y * here.y;
  set_cell(to, x, y,
           make_float2(here.x + model.diffusion_u * spread_u - reaction +
                           model.feed * (1.0f - here.x),
                       here.y + model.diffusion_v * spread_v + reaction -
                           (model.feed + model.kill) * here.y));
}

// v as a picture: dark blue through teal to white.
extern "C" __global__ void paint(cudaSurfaceObject_t field, cudaSurfaceObject_t picture, int width,
                                 int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float t = fminf(fmaxf(cell(field, x, y).y * 2.6f, 0.0f), 1.0f);
  const auto level = [](float value) {
    return static_cast<unsigned char>(fminf(fmaxf(value, 0.0f), 1.0f) * 255.0f + 0.5f);
  };
  surf2Dwrite(make_uchar4(level(2.0f * t - 1.0f), level(0.05f + 0.95f * t),
                          level(0.2f + 1.1f * t), 255),
              picture, x * static_cast<int>(sizeof(uchar4)), y);
}
