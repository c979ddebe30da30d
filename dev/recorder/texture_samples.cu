// Where the samples of anisotropic reads lie and what they weigh, read by bisection under a point
// filter; which texels a filtered read weighs how; and levels by bias and bounds. CUDA, for an
// H200: tests/data/hardware/texture_samples.txt.gz holds a sample of what it writes, as text.
//
//     nvcc -O1 -std=c++17 -arch=sm_90 -o texture_samples texture_samples.cu
//     ./texture_samples FOLDER
//
// It writes places.bin, levels.bin and feet.bin: words of 32 bits but where half() writes one of
// 16, in the order of write_places, write_levels and write_feet.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(x)                                                                      \
  do {                                                                                \
    cudaError_t e_ = (x);                                                             \
    if (e_ != cudaSuccess) {                                                          \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      std::exit(1);                                                                   \
    }                                                                                 \
  } while (0)

constexpr int kExtent = 64, kMost = 40;
struct Case {
  float g[4];
  uint32_t texture;
};
struct Jump {
  int at;
  float value;
};
struct Sweep {
  uint32_t count;
  Jump jumps[kMost];
};
struct Places {
  float level[4];
  Sweep sweeps[4];  // x even, y even, x odd, y odd
};

__device__ float part(float4 v, int k) { return k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w; }

__device__ float read_at(cudaTextureObject_t t, const Case& c, int i, int sweep) {
  const float x = (float)i * 4.76837158203125e-7f;
  const bool along_y = sweep & 1;
  const float4 v = tex2DGrad<float4>(t, along_y ? 0.503f : x, along_y ? x : 0.503f,
                                     make_float2(c.g[0], c.g[1]), make_float2(c.g[2], c.g[3]));
  return part(v, sweep);
}

__global__ void places(const cudaTextureObject_t* steps, const cudaTextureObject_t* levels,
                       const Case* cases, Places* out, int count) {
  const int number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= count * 4) return;
  const Case c = cases[number >> 2];
  const int sweep = number & 3;
  Places& place = out[number >> 2];
  if (sweep == 0) {
    const float4 v = tex2DGrad<float4>(levels[c.texture], 0.5f, 0.5f, make_float2(c.g[0], c.g[1]),
                                       make_float2(c.g[2], c.g[3]));
    place.level[0] = v.x;
    place.level[1] = v.y;
    place.level[2] = v.z;
    place.level[3] = v.w;
  }
  const cudaTextureObject_t t = steps[c.texture];
  Sweep& s = place.sweeps[sweep];
  int at = 1 << 17;
  const int end = 15 << 17;
  float value = read_at(t, c, at, sweep);
  const float last = read_at(t, c, end, sweep);
  uint32_t n = 0;
  while (value != last && n < kMost) {
    int low = at, high = end;
    float next = last;
    while (high - low > 1) {
      const int middle = (low + high) >> 1;
      const float v = read_at(t, c, middle, sweep);
      if (v == value)
        low = middle;
      else {
        high = middle;
        next = v;
      }
    }
    at = high;
    value = next;
    s.jumps[n].at = at - (1 << 20);
    s.jumps[n].value = value;
    ++n;
  }
  s.count = n;
}

struct FootCase {
  float at[2];
  float g[4];
  uint32_t texture;
};
constexpr int kFoot = 32, kEntries = 256;
struct Foot {
  uint32_t count;
  uint16_t texel[kEntries];
  float weight[kEntries];
};

__global__ void feet(const cudaTextureObject_t* textures, const FootCase* cases, Foot* out,
                     int count, int layers) {
  const int number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= count) return;
  const FootCase c = cases[number];
  Foot& f = out[number];
  uint32_t n = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const float4 v =
        tex2DLayeredGrad<float4>(textures[c.texture], c.at[0], c.at[1], layer,
                                 make_float2(c.g[0], c.g[1]), make_float2(c.g[2], c.g[3]));
    for (int k = 0; k < 4; ++k)
      if (part(v, k) != 0 && n < kEntries) {
        f.texel[n] = (uint16_t)(layer * 4 + k);
        f.weight[n++] = part(v, k);
      }
  }
  f.count = n;
}

struct LevelCase {
  float lod, g[4];
};
__global__ void by_level(cudaTextureObject_t t, const LevelCase* cases, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const LevelCase c = cases[i];
  out[2 * i] = tex2DLod<float4>(t, 0.5f, 0.5f, c.lod).x;
  out[2 * i + 1] =
      tex2DGrad<float4>(t, 0.5f, 0.5f, make_float2(c.g[0], c.g[1]), make_float2(c.g[2], c.g[3])).x;
}

static uint32_t g_state = 12345;
static uint32_t bits() {
  g_state ^= g_state << 13;
  g_state ^= g_state >> 17;
  g_state ^= g_state << 5;
  return g_state * 0x9e3779b1u;
}
static float uniform(float low, float high) {
  return low + (high - low) * (float)(bits() >> 8) / 16777216.0f;
}

static cudaTextureObject_t texture_of(cudaMipmappedArray_t array, unsigned anisotropy, bool full,
                                      bool linear, float max_level, float min_level = 0,
                                      float bias = 0) {
  cudaResourceDesc r{};
  r.resType = cudaResourceTypeMipmappedArray;
  r.res.mipmap.mipmap = array;
  cudaTextureDesc d{};
  for (auto& a : d.addressMode) a = cudaAddressModeClamp;
  d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  d.mipmapFilterMode = cudaFilterModeLinear;
  d.readMode = cudaReadModeElementType;
  d.normalizedCoords = 1;
  d.maxAnisotropy = anisotropy;
  d.minMipmapLevelClamp = min_level;
  d.mipmapLevelBias = bias;
  d.maxMipmapLevelClamp = max_level;
  d.disableTrilinearOptimization = full;
  cudaTextureObject_t t = 0;
  CHECK(cudaCreateTextureObject(&t, &r, &d, nullptr));
  return t;
}

template <typename F>
static cudaMipmappedArray_t array_of(int extent, int layers, int levels, F value) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
  cudaMipmappedArray_t array = nullptr;
  CHECK(cudaMallocMipmappedArray(&array, &format, make_cudaExtent(extent, extent, layers), levels,
                                 layers ? cudaArrayLayered : 0));
  for (int l = 0; l < levels; ++l) {
    const int n = extent >> l, depth = layers ? layers : 1;
    std::vector<float> data((size_t)n * n * depth * 4);
    size_t at = 0;
    for (int z = 0; z < depth; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x)
          for (int k = 0; k < 4; ++k) data[at++] = value(l, n, x, y, z, k);
    cudaArray_t level = nullptr;
    CHECK(cudaGetMipmappedArrayLevel(&level, array, l));
    cudaMemcpy3DParms p{};
    p.srcPtr = make_cudaPitchedPtr(data.data(), (size_t)n * 16, n, n);
    p.dstArray = level;
    p.extent = make_cudaExtent(n, n, depth);
    p.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&p));
  }
  return array;
}

template <typename T>
static T* upload(const std::vector<T>& list) {
  T* p = nullptr;
  CHECK(cudaMalloc(&p, list.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, list.data(), list.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

static void vector_of(float* g, float length, float angle) {
  g[0] = length * std::cos(angle) / kExtent;
  g[1] = length * std::sin(angle) / kExtent;
}

static std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](float ax, float ay, float bx, float by, uint32_t texture) {
    const float f = 1.0f / kExtent;
    list.push_back({{ax * f, ay * f, bx * f, by * f}, texture});
  };
  const auto pair = [&](float longer, float shorter, float angle, float turn, uint32_t texture) {
    Case c{};
    c.texture = texture;
    const bool swap = bits() & 1u;
    vector_of(c.g + (swap ? 2 : 0), longer, angle);
    vector_of(c.g + (swap ? 0 : 2), shorter, angle + turn);
    list.push_back(c);
  };
  // One vector, one component against the other: the larger from 8 to 32.
  for (int i = 0; i < 9000; ++i) {
    const float a = i % 3 == 2 ? uniform(16, 32) : uniform(8, 16), b = uniform(0, 1) * a;
    const float x = bits() & 1u ? -a : a, y = bits() & 1u ? -b : b;
    if (bits() & 1u)
      add(x, y, 0, 0, 12);
    else
      add(y, x, 0, 0, 12);
  }
  // Shorter ones, so that samples are few.
  for (int i = 0; i < 4000; ++i) {
    const float a = exp2f(uniform(0, 3)), b = uniform(0, 1) * a;
    const float x = bits() & 1u ? -a : a, y = bits() & 1u ? -b : b;
    if (bits() & 1u)
      add(x, y, 0, 0, 12);
    else
      add(0, 0, y, x, 12);
  }
  // The smallest of second components.
  for (int i = 0; i < 600; ++i) {
    const float a = uniform(8, 16), b = uniform(0, 1.5f);
    if (i & 1)
      add(a, b, 0, 0, 12);
    else
      add(b, a, 0, 0, 12);
  }
  // At right angles, then at any.
  for (int i = 0; i < 9000; ++i) {
    const float shorter = exp2f(uniform(-0.2f, 1.0f)), longer = shorter * exp2f(uniform(0, 4.1f));
    pair(longer, shorter, uniform(0, 6.2831853f), 1.5707963f, i % 4 == 3 ? 13 : 12);
  }
  for (int i = 0; i < 7000; ++i) {
    const float longer = exp2f(uniform(0, 4.5f)), shorter = longer * exp2f(uniform(-3, 0));
    pair(longer, shorter, uniform(0, 6.2831853f), uniform(0, 6.2831853f), i % 4 == 3 ? 13 : 12);
  }
  // Along an axis.
  for (int i = 0; i < 7000; ++i) {
    const float shorter = i % 4 ? exp2f(uniform(0, 1)) : 1.0f,
                longer = shorter * exp2f(uniform(0, i % 2 ? 1.3f : 4.1f));
    add(longer, 0, 0, shorter, i % 3 == 2 ? 13 : 12);
  }
  // Fewer samples.
  for (uint32_t t = 0; t < 14; ++t) {
    const float most = std::log2((float)(t < 2    ? 2
                                         : t < 4  ? 4
                                         : t < 6  ? 6
                                         : t < 8  ? 8
                                         : t < 10 ? 10
                                         : t < 12 ? 12
                                                  : 16));
    for (int i = 0; i < 900; ++i) {
      const float shorter = exp2f(uniform(0, 1)),
                  longer = shorter * exp2f(uniform(most - 1.5f, most + 0.5f));
      if (i < 500)
        add(longer, 0, 0, shorter, t);
      else
        pair(longer, shorter, uniform(0, 6.2831853f), i < 700 ? 1.5707963f : uniform(0, 6.2831853f),
             t);
    }
  }
  return list;
}

static std::vector<FootCase> foot_cases() {
  std::vector<FootCase> list;
  const float f = 1.0f / kFoot;
  for (int i = 0; i < 14000; ++i) {
    FootCase c{};
    const bool point = i % 4 == 3;
    c.texture = (i % 8 == 6 ? 1 : 0) + (point ? 2 : 0);
    c.at[0] = uniform(0.45f, 0.55f);
    c.at[1] = uniform(0.45f, 0.55f);
    // One coordinate in the middle of a texel keeps the other's weights apart.
    const int kind = (i / 8) % 4;
    if (kind == 0) c.at[1] = 16.5f / kFoot;
    const float shorter = exp2f(uniform(0, 1)),
                longer = shorter * exp2f(uniform(0, kind == 1 ? 1.2f : 3.2f));
    const float angle = uniform(0, 6.2831853f);
    if (kind < 3) {
      c.g[0] = longer * f;
      c.g[3] = shorter * f;
    } else {
      const float turn = i % 64 < 32 ? 1.5707963f : uniform(0, 6.2831853f);
      c.g[0] = longer * std::cos(angle) * f;
      c.g[1] = longer * std::sin(angle) * f;
      c.g[2] = shorter * std::cos(angle + turn) * f;
      c.g[3] = shorter * std::sin(angle + turn) * f;
    }
    list.push_back(c);
  }
  return list;
}

static void word(FILE* f, uint32_t v) { std::fwrite(&v, 4, 1, f); }
static void half(FILE* f, uint32_t v) {
  const uint16_t h = (uint16_t)v;
  std::fwrite(&h, 2, 1, f);
}
static long g_inexact = 0;
static uint32_t fixed(float v) {
  const float x = v * 32768.0f;
  if (x != std::floor(x) || x < 0 || x > 65535) ++g_inexact;
  return (uint32_t)x;
}

static FILE* create(const std::string& path) {
  FILE* f = std::fopen(path.c_str(), "wb");
  if (!f) {
    std::perror(path.c_str());
    std::exit(1);
  }
  return f;
}

/// A texture whose texels say their level.
static cudaMipmappedArray_t array_of_levels() {
  return array_of(kExtent, 0, 7, [](int l, int, int, int, int, int k) {
    return k == 0 ? (float)l : k == 1 ? 1.0f : k == 2 ? (float)(l & 1) : (float)(l * l);
  });
}

static void write_places(const std::string& path, cudaMipmappedArray_t levels) {
  // Even levels in the first two channels, odd ones in the others: which samples are past the
  // middle.
  const auto steps = array_of(kExtent, 0, 7, [](int l, int n, int x, int y, int, int k) {
    return (l & 1) == k / 2 && 2 * (k & 1 ? y : x) >= n ? 1.0f : 0.0f;
  });
  std::vector<cudaTextureObject_t> step_textures, level_textures;
  for (unsigned most : {2u, 4u, 6u, 8u, 10u, 12u, 16u})
    for (bool full : {false, true}) {
      step_textures.push_back(texture_of(steps, most, full, false, 20));
      level_textures.push_back(texture_of(levels, most, full, false, 20));
    }
  const auto list = cases();
  const int count = (int)list.size();
  Places* at = nullptr;
  CHECK(cudaMalloc(&at, sizeof(Places) * (size_t)count));
  CHECK(cudaMemset(at, 0, sizeof(Places) * (size_t)count));
  places<<<(count * 4 + 127) / 128, 128>>>(upload(step_textures), upload(level_textures),
                                           upload(list), at, count);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<Places> got((size_t)count);
  CHECK(cudaMemcpy(got.data(), at, sizeof(Places) * (size_t)count, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(at));
  FILE* f = create(path);
  word(f, (uint32_t)count);
  for (int i = 0; i < count; ++i) {
    word(f, list[i].texture);
    std::fwrite(list[i].g, 4, 4, f);
    std::fwrite(got[i].level, 4, 2, f);
    for (const Sweep& s : got[i].sweeps) {
      half(f, s.count);
      for (uint32_t k = 0; k < s.count; ++k) {
        std::fwrite(&s.jumps[k].at, 4, 1, f);
        half(f, fixed(s.jumps[k].value));
      }
    }
  }
  std::fclose(f);
  std::printf("places %d\n", count);
}

static void write_levels(const std::string& path, cudaMipmappedArray_t levels) {
  struct Sampler {
    unsigned most;
    float bias, low, high;
  };
  std::vector<Sampler> samplers;
  for (unsigned most : {2u, 4u, 6u, 10u, 12u, 16u}) {
    for (int bias :
         {0, 1, -1, 5, 16, 17, 20, 24, 28, 31, 32, 33, 40, 48, 56, 63, 64, 96, -96, 128, 255})
      samplers.push_back({most, (float)bias / 256.0f, 0, 20});
    for (float bias : {0.0f, 0.375f, -0.25f})
      for (int bounds = 1; bounds < 4; ++bounds)
        samplers.push_back({most, bias, bounds & 1 ? 0.625f : 0.0f, bounds & 2 ? 2.4375f : 20.0f});
  }
  FILE* f = create(path);
  const int count = 512;
  word(f, (uint32_t)samplers.size());
  word(f, (uint32_t)count);
  float* at = nullptr;
  CHECK(cudaMalloc(&at, count * 2 * sizeof(float)));
  for (const Sampler& s : samplers) {
    std::vector<LevelCase> list;
    for (int i = 0; i < count; ++i) {
      LevelCase c{};
      c.lod = i % 4 == 0 ? (float)((int)(bits() % 1024u) - 128) / 256.0f : uniform(-0.5f, 3.5f);
      const float longer = exp2f(uniform(0, 5.5f)),
                  shorter = i % 2 ? 0.0f : longer * exp2f(uniform(-4.5f, 0));
      c.g[0] = longer / kExtent;
      c.g[3] = shorter / kExtent;
      list.push_back(c);
    }
    LevelCase* cases = upload(list);
    by_level<<<(count + 63) / 64, 64>>>(
        texture_of(levels, s.most, false, true, s.high, s.low, s.bias), cases, at, count);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::vector<float> got(count * 2);
    CHECK(cudaMemcpy(got.data(), at, count * 2 * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(cases));
    std::fwrite(&s, sizeof(s), 1, f);
    std::fwrite(list.data(), sizeof(LevelCase), count, f);
    std::fwrite(got.data(), sizeof(float), count * 2, f);
  }
  std::fclose(f);
  std::printf("levels %zu\n", samplers.size());
}

static void write_feet(const std::string& path) {
  int total = 0;
  std::vector<int> from;
  for (int l = 0; l < 6; ++l) {
    from.push_back(total);
    total += (kFoot >> l) * (kFoot >> l);
  }
  const int layers = (total + 3) / 4;
  const auto ones = array_of(kFoot, layers, 6, [&](int l, int n, int x, int y, int z, int k) {
    return from[l] + y * n + x == z * 4 + k ? 1.0f : 0.0f;
  });
  std::vector<cudaTextureObject_t> textures;
  for (bool point : {false, true})
    for (bool full : {false, true}) textures.push_back(texture_of(ones, 16, full, !point, 20));
  const auto list = foot_cases();
  const int count = (int)list.size();
  Foot* at = nullptr;
  CHECK(cudaMalloc(&at, sizeof(Foot) * (size_t)count));
  CHECK(cudaMemset(at, 0, sizeof(Foot) * (size_t)count));
  feet<<<(count + 63) / 64, 64>>>(upload(textures), upload(list), at, count, layers);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<Foot> got((size_t)count);
  CHECK(cudaMemcpy(got.data(), at, sizeof(Foot) * (size_t)count, cudaMemcpyDeviceToHost));
  FILE* f = create(path);
  word(f, (uint32_t)count);
  for (int i = 0; i < count; ++i) {
    word(f, list[i].texture);
    std::fwrite(list[i].at, 4, 2, f);
    std::fwrite(list[i].g, 4, 4, f);
    half(f, got[i].count);
    for (uint32_t k = 0; k < got[i].count; ++k) {
      half(f, got[i].texel[k]);
      half(f, fixed(got[i].weight[k]));
    }
  }
  std::fclose(f);
  std::printf("feet %d layers %d\n", count, layers);
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const cudaMipmappedArray_t levels = array_of_levels();
  write_places(folder + "/places.bin", levels);
  write_levels(folder + "/levels.bin", levels);
  write_feet(folder + "/feet.bin");
  std::printf("weights that are no 32768ths: %ld\n", g_inexact);
  return 0;
}
