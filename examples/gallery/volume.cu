// A volume on a 3D surface: blobs of a density, and rays that gather colour on their way through.
#include <cuda_runtime.h>

extern "C" __global__ void fill(cudaSurfaceObject_t volume, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= size || y >= size || z >= size) return;
  const float blobs[6][4] = {{0.35f, 0.35f, 0.4f, 0.15f}, {0.65f, 0.4f, 0.55f, 0.17f},
                             {0.5f, 0.68f, 0.4f, 0.14f},  {0.3f, 0.62f, 0.68f, 0.11f},
                             {0.72f, 0.7f, 0.68f, 0.1f},  {0.55f, 0.25f, 0.75f, 0.1f}};
  const float scale = 1.0f / size;
  float density = 0;
  for (const auto& blob : blobs) {
    const float dx = (x + 0.5f) * scale - blob[0], dy = (y + 0.5f) * scale - blob[1],
                dz = (z + 0.5f) * scale - blob[2];
    density += blob[3] * blob[3] / (dx * dx + dy * dy + dz * dz + 0.001f);
  }
  surf3Dwrite(density, volume, x * 4, y, z);
}

__device__ float texel(cudaSurfaceObject_t volume, int x, int y, int z) {
  return surf3Dread<float>(volume, x * 4, y, z, cudaBoundaryModeClamp);
}

// Between the eight texels around.
__device__ float density(cudaSurfaceObject_t volume, int size, float3 p) {
  const float x = p.x * size - 0.5f, y = p.y * size - 0.5f, z = p.z * size - 0.5f;
  const float fx = floorf(x), fy = floorf(y), fz = floorf(z);
  const int ix = static_cast<int>(fx), iy = static_cast<int>(fy), iz = static_cast<int>(fz);
  float planes[2];
  for (int k = 0; k < 2; ++k) {
    const float a = texel(volume, ix, iy, iz + k), b = texel(volume, ix + 1, iy, iz + k);
    const float c = texel(volume, ix, iy + 1, iz + k), d = texel(volume, ix + 1, iy + 1, iz + k);
    const float top = a + (b - a) * (x - fx), bottom = c + (d - c) * (x - fx);
    planes[k] = top + (bottom - top) * (y - fy);
  }
  return planes[0] + (planes[1] - planes[0]) * (z - fz);
}

extern "C" __global__ void render(cudaSurfaceObject_t volume, cudaSurfaceObject_t picture, int size,
                                  int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= width) return;
  const float u = (x + 0.5f) / width - 0.5f, v = (y + 0.5f) / width - 0.5f;
  // A camera that looks from the side and a little from above.
  const float3 eye = make_float3(0.5f + 0.45f, 0.5f - 0.55f, -1.15f);
  const float3 way = make_float3(u - 0.25f, v + 0.3f, 1.05f);
  const float step = 0.02f;
  float red = 0, green = 0, blue = 0, clear = 1;
  for (int i = 0; i < 120 && clear > 0.01f; ++i) {
    const float t = 0.75f + i * step;
    const float3 p = make_float3(eye.x + way.x * t, eye.y + way.y * t, eye.z + way.z * t);
    if (p.x < 0 || p.y < 0 || p.z < 0 || p.x > 1 || p.y > 1 || p.z > 1) continue;
    const float here = density(volume, size, p);
    if (here < 0.75f) continue;
    const float h = 0.02f;
    const float3 slope = make_float3(density(volume, size, make_float3(p.x + h, p.y, p.z)) - here,
                                     density(volume, size, make_float3(p.x, p.y + h, p.z)) - here,
                                     density(volume, size, make_float3(p.x, p.y, p.z + h)) - here);
    const float length =
        sqrtf(slope.x * slope.x + slope.y * slope.y + slope.z * slope.z) + 0.00001f;
    const float lit = fmaxf(0.0f, (0.5f * slope.x + 0.7f * slope.y + 0.5f * slope.z) / length);
    const float core = fminf((here - 0.75f) * 0.55f, 1.0f);
    const float opaque = fminf(0.06f + core * 0.5f, 1.0f);
    const float shade = (0.25f + 0.85f * lit) * opaque * clear;
    red += shade * (0.2f + 0.8f * core);
    green += shade * (0.55f - 0.15f * core);
    blue += shade * (0.95f - 0.75f * core);
    clear *= 1 - opaque;
  }
  const float sky = 0.10f + 0.12f * (1 - (v + 0.5f));
  const auto byte = [](float value) {
    return static_cast<unsigned char>(fminf(sqrtf(fmaxf(value, 0.0f)), 1.0f) * 255 + 0.5f);
  };
  surf2Dwrite(make_uchar4(byte(red + clear * sky * 0.5f), byte(green + clear * sky * 0.6f),
                          byte(blue + clear * sky), 255),
              picture, x * 4, y);
}
