// The texture kernels of the benchmark. nvcc -ptx -arch=sm_75 made textures.ptx from it.
#include <stdint.h>

using Texture = cudaTextureObject_t;
using Surface = cudaSurfaceObject_t;

static __device__ int column() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ int row() { return blockIdx.y * blockDim.y + threadIdx.y; }
static __device__ uchar4 bytes(float4 c) {
  return make_uchar4((unsigned char)(__saturatef(c.x) * 255.0f + 0.5f),
                     (unsigned char)(__saturatef(c.y) * 255.0f + 0.5f),
                     (unsigned char)(__saturatef(c.z) * 255.0f + 0.5f),
                     (unsigned char)(__saturatef(c.w) * 255.0f + 0.5f));
}

// A field carried along by another, both in texels.
extern "C" __global__ void advect(Texture speed, Texture field, Surface to, float step) {
  const int x = column(), y = row();
  const float u = tex2D<float>(speed, x + 0.5f, y + 0.5f);
  const float v = tex2D<float>(speed, y + 0.5f, x + 0.5f);
  const float a = tex2D<float>(field, x + 0.5f - step * u, y + 0.5f - step * v);
  const float b = tex2D<float>(field, x + 0.5f + step * u, y + 0.5f + step * v);
  surf2Dwrite(make_float4(a, b, a - b, u + v), to, x * 16, y);
}

extern "C" __global__ void scale(Texture from, Surface to, float over_width, float over_height) {
  const int x = column(), y = row();
  const float4 c = tex2D<float4>(from, (x + 0.25f) * over_width, (y + 0.25f) * over_height);
  surf2Dwrite(bytes(c), to, x * 4, y);
}

// 25 taps out of 13 reads between texels.
extern "C" __global__ void gauss(Texture from, Surface to, int layer) {
  const int x = column(), y = row();
  float sum = tex2DLayered<float>(from, x + 0.5f, y + 0.5f, layer) * 0.16f;
  for (int k = 0; k < 12; ++k) {
    const float dx = (k % 4) * 1.3f - 1.95f, dy = (k / 4) * 1.4f - 1.4f;
    sum += tex2DLayered<float>(from, x + 0.5f + dx, y + 0.5f + dy, layer) * 0.07f;
  }
  surf2DLayeredwrite(sum, to, x * 4, y, layer);
}

extern "C" __global__ void march(Texture volume, Surface to, float over_width, float over_height,
                                 int steps) {
  const int x = column(), y = row();
  const float u = (x + 0.5f) * over_width, v = (y + 0.5f) * over_height, step = 1.0f / steps;
  float sum = 0, w = 0.5f * step;
  for (int k = 0; k < steps; ++k, w += step)
    sum += tex3D<float>(volume, u + 0.1f * w, v - 0.1f * w, w);
  surf2Dwrite(sum * step, to, x * 4, y);
}

extern "C" __global__ void trilinear(Texture levels, Surface to, float over_width,
                                     float over_height) {
  const int x = column(), y = row();
  const float u = (x + 0.5f) * over_width, v = (y + 0.5f) * over_height;
  surf2Dwrite(bytes(tex2DLod<float4>(levels, u * 3, v * 3, 4.0f * u)), to, x * 4, y);
}

extern "C" __global__ void gather(Texture from, Surface to, float over_width, float over_height) {
  const int x = column(), y = row();
  const float4 c = tex2Dgather<float4>(from, x * over_width, y * over_height, 0);
  surf2Dwrite(c.x * 0.5f + c.y * 0.25f + c.z * 0.125f + c.w * 0.125f, to, x * 4, y);
}

extern "C" __global__ void cube(Texture faces, Surface to, float over_width, float over_height) {
  const int x = column(), y = row();
  const float u = (x + 0.5f) * over_width * 2 - 1, v = (y + 0.5f) * over_height * 2 - 1;
  const float a = texCubemap<float>(faces, u, v, 0.7f), b = texCubemap<float>(faces, 0.7f, u, -v);
  surf2Dwrite(a + b, to, x * 4, y);
}

// Handles out of memory.
extern "C" __global__ void table(const Texture* textures, Surface to, float over_width,
                                 float over_height) {
  const int x = column(), y = row();
  float sum = 0;
  for (int k = 0; k < 4; ++k)
    sum += tex2D<float>(textures[k], (x + 0.3f) * over_width, (y + 0.3f) * over_height);
  surf2Dwrite(sum, to, x * 4, y);
}

extern "C" __global__ void pitched(Texture memory, Surface to, float over_width,
                                   float over_height) {
  const int x = column(), y = row();
  surf2Dwrite(tex2D<float>(memory, (x + 0.3f) * over_width, (y + 0.3f) * over_height), to, x * 4,
              y);
}

extern "C" __global__ void fetch(Texture memory, Surface to, int width) {
  const int x = column(), y = row();
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += tex1Dfetch<float>(memory, y * width + (x ^ k));
  surf2Dwrite(sum, to, x * 4, y);
}
