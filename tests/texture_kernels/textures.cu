// What applications do with textures beside surfaces: filters, volumes, tables, mipmaps, cubes.
// README.md says how the expected checksums in the manifests were made.
#include <stdint.h>

using Texture = cudaTextureObject_t;
using Surface = cudaSurfaceObject_t;

static __device__ int column() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ int row() { return blockIdx.y * blockDim.y + threadIdx.y; }
static __device__ float4 over(float4 a, float4 b, float share) {
  return make_float4(a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share,
                     a.z + (b.z - a.z) * share, a.w + (b.w - a.w) * share);
}
static __device__ uchar4 bytes(float4 c) {
  return make_uchar4((unsigned char)(__saturatef(c.x) * 255.0f + 0.5f),
                     (unsigned char)(__saturatef(c.y) * 255.0f + 0.5f),
                     (unsigned char)(__saturatef(c.z) * 255.0f + 0.5f),
                     (unsigned char)(__saturatef(c.w) * 255.0f + 0.5f));
}

// Reads pitched memory shifted, wrapped around.
extern "C" __global__ void shift(Texture from, Surface to, int width, int height, float dx,
                                 float dy) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  surf2Dwrite(tex2D<float>(from, (x + dx) / width, (y + dy) / height), to, x * 4, y);
}

// A cube's faces from inside.
extern "C" __global__ void faces(Texture cube, Surface to, int width) {
  const int x = column(), y = row();
  if (x >= width || y >= width) return;
  const float u = (x + 0.5f) / width * 2.0f - 1.0f, v = (y + 0.5f) / width * 2.0f - 1.0f;
  const float3 directions[6] = {{1, -v, -u}, {-1, -v, u}, {u, 1, v},
                                {u, -1, -v}, {u, -v, 1},  {-u, -v, -1}};
  for (int face = 0; face < 6; ++face) {
    const float3 d = directions[face];
    surf2DLayeredwrite(-texCubemap<float>(cube, d.x, d.y, d.z) + face, to, x * 4, y, face);
  }
}

extern "C" __global__ void cubes(Texture cubes, Surface to, int width, int count) {
  const int x = column(), y = row();
  if (x >= width || y >= width) return;
  const float a = x * 0.13f - 3.1f, b = y * 0.11f - 2.7f;
  float sum = 0;
  for (int k = 0; k < count; ++k)
    sum += texCubemapLayered<float>(cubes, a, b, 1.7f - 0.02f * x, k) +
           texCubemapLayeredLod<float>(cubes, b, 1.1f, a, k, 0.01f * y);
  surf2Dwrite(sum, to, x * 4, y);
}

extern "C" __global__ void layers(Texture planes, Texture lines, Surface to, int width, int height,
                                  int count) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int k = 0; k < count; ++k) {
    const float4 c = tex2DLayered<float4>(planes, (x + 0.3f) / width, (y + 0.7f) / height, k);
    const float weight = tex1DLayered<float>(lines, (x + y) * 0.25f, k);
    sum = make_float4(sum.x + c.x * weight, sum.y + c.y * weight, sum.z + c.z, sum.w + weight);
  }
  surf2Dwrite(sum, to, x * 16, y);
}

// B-splines out of four bilinear reads, and Catmull-Rom out of sixteen texels.
static __device__ float w0(float a) { return (1.0f / 6) * (a * (a * (-a + 3) - 3) + 1); }
static __device__ float w1(float a) { return (1.0f / 6) * (a * a * (3 * a - 6) + 4); }
static __device__ float w2(float a) { return (1.0f / 6) * (a * (a * (-3 * a + 3) + 3) + 1); }
static __device__ float w3(float a) { return (1.0f / 6) * (a * a * a); }
static __device__ float catmull(float a, int k) {
  return k == 0   ? a * (-0.5f + a * (1 - 0.5f * a))
         : k == 1 ? 1 + a * a * (-2.5f + 1.5f * a)
         : k == 2 ? a * (0.5f + a * (2 - 1.5f * a))
                  : a * a * (-0.5f + 0.5f * a);
}
extern "C" __global__ void bicubic(Texture linear, Texture point, Surface to, int width, int height,
                                   float scale) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  const float u = x * scale - 0.5f, v = y * scale - 0.5f, px = floorf(u), py = floorf(v);
  const float fx = u - px, fy = v - py;
  const float g0x = w0(fx) + w1(fx), g1x = w2(fx) + w3(fx), g0y = w0(fy) + w1(fy),
              g1y = w2(fy) + w3(fy);
  const float h0x = w1(fx) / g0x - 0.5f, h1x = w3(fx) / g1x + 1.5f, h0y = w1(fy) / g0y - 0.5f,
              h1y = w3(fy) / g1y + 1.5f;
  const float spline = g0y * (g0x * tex2D<float>(linear, px + h0x, py + h0y) +
                              g1x * tex2D<float>(linear, px + h1x, py + h0y)) +
                       g1y * (g0x * tex2D<float>(linear, px + h0x, py + h1y) +
                              g1x * tex2D<float>(linear, px + h1x, py + h1y));
  float exact = 0;
  for (int j = 0; j < 4; ++j) {
    float line = 0;
    for (int i = 0; i < 4; ++i)
      line += catmull(fx, i) * tex2D<unsigned char>(point, px + i - 1, py + j - 1);
    exact += catmull(fy, j) * line;
  }
  surf2Dwrite(make_float2(spline, exact), to, x * 8, y);
}

// Neighbours weighted by distance and by likeness.
__constant__ float distances[9] = {1.0f,    0.8825f, 0.6065f, 0.3247f, 0.1353f,
                                   0.0439f, 0.0111f, 0.0022f, 0.0003f};
extern "C" __global__ void bilateral(Texture from, Surface to, int width, int height, int radius) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  const float4 centre = tex2D<float4>(from, x, y);
  float4 sum = make_float4(0, 0, 0, 0);
  float all = 0;
  for (int j = -radius; j <= radius; ++j)
    for (int i = -radius; i <= radius; ++i) {
      const float4 c = tex2D<float4>(from, x + i, y + j);
      const float r = c.x - centre.x, g = c.y - centre.y, b = c.z - centre.z;
      const float weight = distances[abs(i) + abs(j)] / (1.0f + 20.0f * (r * r + g * g + b * b));
      sum = make_float4(sum.x + c.x * weight, sum.y + c.y * weight, sum.z + c.z * weight,
                        sum.w + c.w * weight);
      all += weight;
    }
  surf2Dwrite(bytes(make_float4(sum.x / all, sum.y / all, sum.z / all, sum.w / all)), to, x * 4, y);
}

// Marches through a volume and colours by a table.
extern "C" __global__ void march(Texture volume, Texture table, Surface to, int width, int height,
                                 float turn) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  const float u = (float)x / width * 2 - 1, v = (float)y / height * 2 - 1;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int k = 0; k < 48; ++k) {
    const float t = k / 24.0f - 1, px = u * 0.8f + t * turn, py = v * 0.8f, pz = t - u * turn;
    const float density =
        tex3D<float>(volume, px * 0.5f + 0.5f, py * 0.5f + 0.5f, pz * 0.5f + 0.5f);
    float4 colour = tex1D<float4>(table, density * 1.2f - 0.1f);
    colour.w *= 0.25f;
    sum = over(sum, colour, colour.w * (1 - sum.w));
    if (sum.w > 0.95f) break;
  }
  surf2Dwrite(bytes(sum), to, x * 4, y);
}

// Classifies the cells of a grid by tables in linear memory.
extern "C" __global__ void classify(Texture volume, Texture counts, Texture edges, unsigned* out,
                                    int n, unsigned threshold) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n * n) return;
  const int x = i % n, y = i / n % n, z = i / n / n;
  unsigned index = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const unsigned v =
        tex3D<unsigned char>(volume, x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2));
    index |= (v < threshold) << corner;
  }
  unsigned sum = 0;
  const unsigned count = tex1Dfetch<unsigned>(counts, index);
  for (unsigned k = 0; k < count % 13; ++k)
    sum = sum * 31 + tex1Dfetch<uint4>(edges, index * 2 + k).y;
  out[2 * i] = count;
  out[2 * i + 1] = sum;
}

// Mipmaps by surface, out of the level before by texture.
extern "C" __global__ void mipmap(Texture from, Surface to, int width, int height) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  surf2Dwrite(bytes(tex2D<float4>(from, (x + 0.5f) / width, (y + 0.5f) / height)), to, x * 4, y);
}
// Textures whose handles lie in memory.
extern "C" __global__ void levels(const Texture* textures, int count, Surface to, int width,
                                  int height) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  const Texture t = textures[(x / 8 + y / 8) % count];
  const float4 a =
      tex2DLod<float4>(t, (float)x / width * 3, (float)y / height * 3, (x + y) * 0.03f);
  surf2Dwrite(bytes(a), to, x * 4, y);
}

// A step of optical flow: warping and derivatives of mirrored images.
extern "C" __global__ void flow(Texture before, Texture after, Surface u, Surface v, int width,
                                int height) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  const float dx = 1.0f / width, dy = 1.0f / height;
  float du, dv;
  surf2Dread(&du, u, x * 4, y);
  surf2Dread(&dv, v, x * 4, y);
  const float px = (x + 0.5f + du) * dx, py = (y + 0.5f + dv) * dy;
  const float warped = tex2D<float>(after, px, py);
  float ix = tex2D<float>(before, px - 2 * dx, py) - 8 * tex2D<float>(before, px - dx, py) +
             8 * tex2D<float>(before, px + dx, py) - tex2D<float>(before, px + 2 * dx, py);
  float iy = tex2D<float>(after, px, py - 2 * dy) - 8 * tex2D<float>(after, px, py - dy) +
             8 * tex2D<float>(after, px, py + dy) - tex2D<float>(after, px, py + 2 * dy);
  const float it = warped - tex2D<float>(before, (x + 0.5f) * dx, (y + 0.5f) * dy);
  const float step = (ix * du + iy * dv + it) / (0.01f + ix * ix + iy * iy);
  surf2Dwrite(du - ix * step, u, x * 4, y);
  surf2Dwrite(dv - iy * step, v, x * 4, y);
}

// Edges of a grey picture, and of its tiles in shared memory.
extern "C" __global__ void edges(Texture from, Surface to, int width, int height) {
  __shared__ unsigned char tile[18][18];
  const int x = column(), y = row();
  for (int k = threadIdx.y * 16 + threadIdx.x; k < 18 * 18; k += 256)
    tile[k / 18][k % 18] = tex2D<unsigned char>(from, (float)((int)(blockIdx.x * 16) + k % 18 - 1),
                                                (float)((int)(blockIdx.y * 16) + k / 18 - 1));
  __syncthreads();
  if (x >= width || y >= height) return;
  int h = 0, v = 0;
  for (int k = -1; k <= 1; ++k) {
    const int weight = 2 - abs(k), i = threadIdx.x + 1, j = threadIdx.y + 1;
    h += weight * (tile[j + k][i + 1] - tile[j + k][i - 1]);
    v += weight * (tile[j + 1][i + k] - tile[j - 1][i + k]);
  }
  surf2Dwrite((unsigned char)min(255, abs(h) + abs(v)), to, x, y);
}

// The darkest and the lightest of four by four texels, by gathers.
extern "C" __global__ void extremes(Texture from, Surface to, int width, int height) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  float least = 1e30f, most = -1e30f;
  for (int j = 0; j < 4; j += 2)
    for (int i = 0; i < 4; i += 2) {
      const float4 g = tex2Dgather<float4>(from, 4 * x + i + 1, 4 * y + j + 1, (i + j) / 2);
      least = fminf(least, fminf(fminf(g.x, g.y), fminf(g.z, g.w)));
      most = fmaxf(most, fmaxf(fmaxf(g.x, g.y), fmaxf(g.z, g.w)));
    }
  surf2Dwrite(make_float2(least, most), to, x * 8, y);
}

// Blocks of four by four colours as two ends and two bits for each texel.
extern "C" __global__ void blocks(Texture from, Surface to, int width, int height) {
  const int x = column(), y = row();
  if (x >= width || y >= height) return;
  int least = 1000, most = -1;
  for (int k = 0; k < 16; ++k) {
    const uchar4 c = tex2D<uchar4>(from, 4 * x + k % 4, 4 * y + k / 4);
    const int grey = (c.x * 2 + c.y * 5 + c.z) / 8;
    least = min(least, grey);
    most = max(most, grey);
  }
  unsigned bits = 0;
  for (int k = 0; k < 16; ++k) {
    const uchar4 c = tex2D<uchar4>(from, 4 * x + k % 4, 4 * y + k / 4);
    const int grey = (c.x * 2 + c.y * 5 + c.z) / 8;
    bits |= (unsigned)((grey - least) * 3 / max(most - least, 1)) << (2 * k);
  }
  surf2Dwrite(make_uint2(least | most << 16, bits), to, x * 8, y);
}

// One array as texture and as surface: each launch halves it between the other half's texels.
extern "C" __global__ void pingpong(Texture t, Surface s, int width, int height, int turn) {
  const int x = column(), y = row();
  if (x >= width || y >= height || ((x + y) & 1) != turn) return;
  const float v = tex2D<float>(t, x - 0.5f, y + 0.5f) + tex2D<float>(t, x + 1.5f, y + 0.5f) +
                  tex2D<float>(t, x + 0.5f, y - 0.5f) + tex2D<float>(t, x + 0.5f, y + 1.5f);
  surf2Dwrite(v * 0.25f, s, x * 4, y);
}
