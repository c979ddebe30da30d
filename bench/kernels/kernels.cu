// The benchmark's kernels. Each .comp beside this file does the same work, written by hand for
// bound buffers.
#include <cstdint>

extern "C" __global__ void copy4(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  surf2Dwrite(surf2Dread<uint32_t>(from, x * 4, y, cudaBoundaryModeClamp), to, x * 4, y,
              cudaBoundaryModeZero);
}

extern "C" __global__ void copy16(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  surf2Dwrite(surf2Dread<uint4>(from, x * 16, y, cudaBoundaryModeClamp), to, x * 16, y,
              cudaBoundaryModeZero);
}

extern "C" __global__ void stencil2d(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const auto at = [&](int i, int j) {
    return surf2Dread<float>(from, (x + i) * 4, y + j, cudaBoundaryModeClamp);
  };
  surf2Dwrite(0.5f * at(0, 0) + 0.125f * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)), to, x * 4,
              y, cudaBoundaryModeZero);
}

extern "C" __global__ void stencil3d(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z;
  const auto at = [&](int i, int j, int k) {
    return surf3Dread<float>(from, (x + i) * 4, y + j, z + k, cudaBoundaryModeClamp);
  };
  const float sum =
      at(-1, 0, 0) + at(1, 0, 0) + at(0, -1, 0) + at(0, 1, 0) + at(0, 0, -1) + at(0, 0, 1);
  surf3Dwrite(0.25f * at(0, 0, 0) + 0.125f * sum, to, x * 4, y, z, cudaBoundaryModeZero);
}

extern "C" __global__ void histogram(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const uint32_t texel = surf2Dread<uint32_t>(from, x * 4, y, cudaBoundaryModeClamp);
  const int cell = (texel >> 20) * 4;
  asm volatile("sured.b.add.1d.u32.clamp [%0, {%1}], %2;" ::"l"(to), "r"(cell), "r"(1));
}

extern "C" __global__ void mandelbrot(cudaSurfaceObject_t to, int iterations, float scale) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  const float cx = px * scale - 2.0f, cy = py * scale - 1.5f;
  float x = 0, y = 0;
  int n = 0;
  for (; n < iterations; ++n) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
  }
  surf2Dwrite(uint32_t(n), to, px * 4, py, cudaBoundaryModeZero);
}

// Gravity on each of the bodies (place, mass) by all of them, 256 at a time in shared memory.
extern "C" __global__ void nbody(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width,
                                 int height) {
  __shared__ float4 tile[256];
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int thread = threadIdx.y * 16 + threadIdx.x;
  const float4 mine = surf2Dread<float4>(from, x * 16, y, cudaBoundaryModeClamp);
  float ax = 0, ay = 0, az = 0;
  for (int first = 0; first < width * height; first += 256) {
    const int body = first + thread;
    tile[thread] =
        surf2Dread<float4>(from, body % width * 16, body / width, cudaBoundaryModeClamp);
    __syncthreads();
    for (int k = 0; k < 256; ++k) {
      const float4 other = tile[k];
      const float dx = other.x - mine.x, dy = other.y - mine.y, dz = other.z - mine.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
      const float force = other.w * inverse * inverse * inverse;
      ax += dx * force;
      ay += dy * force;
      az += dz * force;
    }
    __syncthreads();
  }
  surf2Dwrite(make_float4(ax, ay, az, 0), to, x * 16, y, cudaBoundaryModeZero);
}

// Each thread is one splat of 3 x 3 pixels that slopes away from its corner. The nearest wins:
// depth stands in the high word, the splat's number in the low one.
extern "C" __global__ void zbuffer(cudaSurfaceObject_t to) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x,
                 y = blockIdx.y * blockDim.y + threadIdx.y;
  const uint32_t id = (blockIdx.z * (gridDim.y * blockDim.y) + y) * (gridDim.x * blockDim.x) + x;
  uint32_t hash = id * 0x9e3779b1u;
  hash ^= hash >> 15;
  hash *= 0x85ebca77u;
  hash ^= hash >> 13;
  const int px = int(2 * x + (hash & 31)) - 16, py = int(2 * y + (hash >> 5 & 31)) - 16;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) {
      const uint64_t value = uint64_t((hash >> 1) + 977 * i + 131 * j) << 32 | id;
      asm volatile("sured.b.min.2d.u64.zero [%0, {%1, %2}], %3;" ::"l"(to), "r"((px + i) * 8),
                   "r"(py + j), "l"(value));
    }
}

// Binomial weights over nine texels, first along x, then along y, of a tile with its halo in shared
// memory.
__device__ float nine(const float* at, int step) {
  return 0.2734375f * at[0] + 0.21875f * (at[-step] + at[step]) +
         0.109375f * (at[-2 * step] + at[2 * step]) + 0.03125f * (at[-3 * step] + at[3 * step]) +
         0.00390625f * (at[-4 * step] + at[4 * step]);
}

extern "C" __global__ void blur(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  __shared__ float tile[24 * 24], rows[24 * 16];
  const int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16, layer = blockIdx.z;
  const int thread = threadIdx.y * 16 + threadIdx.x;
  for (int k = thread; k < 24 * 24; k += 256)
    tile[k] = surf2DLayeredread<float>(from, (x0 - 4 + k % 24) * 4, y0 - 4 + k / 24, layer,
                                       cudaBoundaryModeClamp);
  __syncthreads();
  for (int k = thread; k < 24 * 16; k += 256) rows[k] = nine(&tile[k / 16 * 24 + k % 16 + 4], 1);
  __syncthreads();
  surf2DLayeredwrite(nine(&rows[(threadIdx.y + 4) * 16 + threadIdx.x], 16), to,
                     (x0 + int(threadIdx.x)) * 4, y0 + int(threadIdx.y), layer,
                     cudaBoundaryModeZero);
}
