// The wave equation on a part of a 3D grid, in two surfaces of float. Slices 1 to `depth` are the
// part's own; slice 0 and the one behind them are the neighbours'. Around the grid all is 0.
#include <cuda_runtime.h>

struct Part {
  int width, height, depth;
  int first;  // slice of the whole grid that slice 1 is
};

__device__ bool inside(const Part& part, int x, int y) {
  return x < part.width && y < part.height;
}

__device__ float cell(cudaSurfaceObject_t field, int x, int y, int z) {
  return surf3Dread<float>(field, x * static_cast<int>(sizeof(float)), y, z, cudaBoundaryModeZero);
}

__device__ void set_cell(cudaSurfaceObject_t field, int x, int y, int z, float value) {
  surf3Dwrite(value, field, x * static_cast<int>(sizeof(float)), y, z);
}

// A bump in a corner of the whole grid, at rest.
extern "C" __global__ void start(cudaSurfaceObject_t before, cudaSurfaceObject_t now, Part part) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  if (!inside(part, x, y)) return;
  const int dx = x - 12, dy = y - 9, dz = z - 1 + part.first - 7;
  const int height = 64 - dx * dx - dy * dy - dz * dz;
  const bool own = z >= 1 && z <= part.depth;
  const float value = own && height > 0 ? static_cast<float>(height) : 0.0f;
  set_cell(before, x, y, z, value);
  set_cell(now, x, y, z, value);
}

// The field before `now` becomes the one after it.
extern "C" __global__ void step(cudaSurfaceObject_t before, cudaSurfaceObject_t now, Part part) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z + 1;
  if (!inside(part, x, y)) return;
  const float here = cell(now, x, y, z);
  const float around = cell(now, x - 1, y, z) + cell(now, x + 1, y, z) + cell(now, x, y - 1, z) +
                       cell(now, x, y + 1, z) + cell(now, x, y, z - 1) + cell(now, x, y, z + 1);
  const float next = 2.0f * here - cell(before, x, y, z) + 0.15f * (around - 6.0f * here);
  set_cell(before, x, y, z, next);
}
