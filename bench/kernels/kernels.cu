// The benchmark's kernels. Each .comp beside this file does the same work, written by hand for bound buffers.
#include <cstdint>

extern "C" __global__ void copy4(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  surf2Dwrite(surf2Dread<uint32_t>(from, x * 4, y, cudaBoundaryModeClamp), to, x * 4, y, cudaBoundaryModeZero);
}

extern "C" __global__ void copy16(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  surf2Dwrite(surf2Dread<uint4>(from, x * 16, y, cudaBoundaryModeClamp), to, x * 16, y, cudaBoundaryModeZero);
}

extern "C" __global__ void stencil2d(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const auto at = [&](int i, int j) { return surf2Dread<float>(from, (x + i) * 4, y + j, cudaBoundaryModeClamp); };
  surf2Dwrite(0.5f * at(0, 0) + 0.125f * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)), to, x * 4, y, cudaBoundaryModeZero);
}

extern "C" __global__ void stencil3d(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  const auto at = [&](int i, int j, int k) {
    return surf3Dread<float>(from, (x + i) * 4, y + j, z + k, cudaBoundaryModeClamp);
  };
  const float sum = at(-1, 0, 0) + at(1, 0, 0) + at(0, -1, 0) + at(0, 1, 0) + at(0, 0, -1) + at(0, 0, 1);
  surf3Dwrite(0.25f * at(0, 0, 0) + 0.125f * sum, to, x * 4, y, z, cudaBoundaryModeZero);
}

extern "C" __global__ void histogram(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const uint32_t texel = surf2Dread<uint32_t>(from, x * 4, y, cudaBoundaryModeClamp);
  const int cell = (texel >> 20) * 4;
  asm volatile("sured.b.add.1d.u32.clamp [%0, {%1}], %2;" ::"l"(to), "r"(cell), "r"(1));
}

extern "C" __global__ void mandelbrot(cudaSurfaceObject_t to, int turns, float scale) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  const float cx = px * scale - 2.0f, cy = py * scale - 1.5f;
  float x = 0, y = 0;
  int n = 0;
  for (; n < turns; ++n) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
  }
  surf2Dwrite(uint32_t(n), to, px * 4, py, cudaBoundaryModeZero);
}
