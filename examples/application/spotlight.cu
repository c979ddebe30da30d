// Darkens a picture outside a circle, in place: read from a surface and write to it.
#include <cuda_runtime.h>

extern "C" __global__ void spotlight(cudaSurfaceObject_t picture, int width, int height, int x0,
                                     int y0, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int dx = x - x0, dy = y - y0;
  if (dx * dx + dy * dy <= radius * radius) return;

  // x is in bytes, as everywhere in surface functions.
  const int column = x * static_cast<int>(sizeof(uchar4));
  uchar4 texel = surf2Dread<uchar4>(picture, column, y);
  texel.x /= 4;
  texel.y /= 4;
  texel.z /= 4;
  surf2Dwrite(texel, picture, column, y);
}
