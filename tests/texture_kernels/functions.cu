// Every texture function of CUDA on floats of one, two and four components; one
// read after the other, each in four words.
// README.md says where the checksums in the manifests come from.
#include <stdint.h>

using Texture = cudaTextureObject_t;

struct Textures {
  Texture line, d1, d2, d3, lines, planes, cube, cubes;
};

static __device__ uint32_t word(float v) { return __float_as_uint(v); }

static __device__ uint4 digest(float v, int) { return make_uint4(word(v), 0, 0, 0); }
static __device__ uint4 digest(float2 v, int) { return make_uint4(word(v.x), word(v.y), 0, 0); }
static __device__ uint4 digest(float4 v, int) {
  return make_uint4(word(v.x), word(v.y), word(v.z), word(v.w));
}
constexpr int kReads = 39;

template <class T>
static __device__ void read_all(Textures t, uint4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = (i % 19) * 0.0625f - 0.05f, y = (i % 7) * 0.171875f - 0.06f,
              z = (i % 11) * 0.109375f - 0.04f, l = (i % 5) * 0.5f - 0.25f;
  const float a = (i % 13) * 0.15625f - 0.9f, b = (i % 17) * 0.1171875f - 0.8f,
              c = (i % 3) * 0.6875f - 0.7f;
  const int layer = i % 4;
  const float g = (1 + i % 3) * 0.0625f, h = (1 + i % 6) * 0.03125f;
  const float2 gx = make_float2(g, 0), gy = make_float2(0, h);
  const float4 hx = make_float4(g, 0, 0, 0), hy = make_float4(0, h, 0, 0);
  uint4* to = out + i * kReads;
  const auto put = [&](T v) { *to++ = digest(v, 0); };
  put(tex1Dfetch<T>(t.line, i - 2));
  put(tex1D<T>(t.d1, x));
  put(tex2D<T>(t.d2, x, y));
  put(tex3D<T>(t.d3, x, y, z));
  put(tex1DLayered<T>(t.lines, x, layer));
  put(tex2DLayered<T>(t.planes, x, y, layer));
  put(texCubemap<T>(t.cube, a, b, c));
  put(texCubemapLayered<T>(t.cubes, a, b, c, layer));
  put(tex1DLod<T>(t.d1, x, l));
  put(tex2DLod<T>(t.d2, x, y, l));
  put(tex3DLod<T>(t.d3, x, y, z, l));
  put(tex1DLayeredLod<T>(t.lines, x, layer, l));
  put(tex2DLayeredLod<T>(t.planes, x, y, layer, l));
  put(texCubemapLod<T>(t.cube, a, b, c, l));
  put(texCubemapLayeredLod<T>(t.cubes, a, b, c, layer, l));
  put(tex1DGrad<T>(t.d1, x, g, h));
  put(tex2DGrad<T>(t.d2, x, y, gx, gy));
  put(tex3DGrad<T>(t.d3, x, y, z, hx, hy));
  put(tex1DLayeredGrad<T>(t.lines, x, layer, g, h));
  put(tex2DLayeredGrad<T>(t.planes, x, y, layer, gx, gy));
  put(texCubemapGrad<T>(t.cube, a, b, c, hx, hy));
  put(texCubemapLayeredGrad<T>(t.cubes, a, b, c, layer, hx, hy));
  bool resident = true, all = true;
  const auto sparse = [&](T v) {
    all = all && resident;
    put(v);
  };
  sparse(tex2D<T>(t.d2, y, x, &resident));
  sparse(tex3D<T>(t.d3, z, y, x, &resident));
  sparse(tex2DLayered<T>(t.planes, y, x, layer, &resident));
  sparse(tex2DLod<T>(t.d2, y, x, l, &resident));
  sparse(tex3DLod<T>(t.d3, z, y, x, l, &resident));
  sparse(tex2DLayeredLod<T>(t.planes, y, x, layer, l, &resident));
  sparse(tex2DGrad<T>(t.d2, y, x, gx, gy, &resident));
  sparse(tex3DGrad<T>(t.d3, z, y, x, hx, hy, &resident));
  sparse(tex2DLayeredGrad<T>(t.planes, y, x, layer, gx, gy, &resident));
  *to++ = make_uint4(all, 0, 0, 0);
}

// Gathers give a component of four texels.
template <class T>
static __device__ void gather_all(Texture t, uint4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = (i % 19) * 0.0625f - 0.05f, y = (i % 7) * 0.171875f - 0.06f;
  uint4* to = out + i * kReads + 32;
  *to++ = digest(tex2Dgather<T>(t, x, y, 0), 0);
  *to++ = digest(tex2Dgather<T>(t, x, y, 1), 0);
  *to++ = digest(tex2Dgather<T>(t, x, y, 2), 0);
  *to++ = digest(tex2Dgather<T>(t, x, y, 3), 0);
  *to++ = make_uint4(word(x), word(y), 0, 0);
}

#define KERNEL(T, VECTOR)                                                                         \
  extern "C" __global__ void read_##T(Texture line, Texture d1, Texture d2, Texture d3,           \
                                      Texture lines, Texture planes, Texture cube, Texture cubes, \
                                      uint4* out) {                                               \
    read_all<T>(Textures{line, d1, d2, d3, lines, planes, cube, cubes}, out);                     \
    gather_all<VECTOR>(d2, out);                                                                  \
  }
KERNEL(float, float4)
KERNEL(float2, float4)
KERNEL(float4, float4)
