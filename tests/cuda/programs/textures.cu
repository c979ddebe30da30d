// Texture objects over arrays of every geometry, mipmaps and memory, in every mode.
#include <cmath>

#include "common.cuh"

constexpr int kReads = 512;

__device__ unsigned hash(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}
/// A coordinate in 1/64 steps from -0.5 to 1.5 extents.
__device__ float coordinate(unsigned seed, float extent) {
  return ((int)(hash(seed) % 2048u) - 512) / 1024.0f * extent;
}

template <int kind>
__global__ void sample(cudaTextureObject_t t, float4* out, float w, float h, float d,
                       float level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = coordinate(i * 3, w), y = coordinate(i * 3 + 1, h), z = coordinate(i * 3 + 2, d);
  int layer = i % 3;
  float4 v = make_float4(0, 0, 0, 0);
  if (kind == 1) v = tex1D<float4>(t, x);
  if (kind == 2) v = tex2D<float4>(t, x, y);
  if (kind == 3) v = tex3D<float4>(t, x, y, z);
  if (kind == 4) v = tex1DLayered<float4>(t, x, layer);
  if (kind == 5) v = tex2DLayered<float4>(t, x, y, layer);
  if (kind == 6) v = texCubemap<float4>(t, x - 0.4f, y - 0.3f, z - 0.2f);
  if (kind == 7) v = tex2DLod<float4>(t, x, y, level + (i % 4) * 0.5f);
  if (kind == 8) v = tex2Dgather<float4>(t, x, y, 1);
  out[i] = v;
}

using Kernel = void (*)(cudaTextureObject_t, float4*, float, float, float, float);
const Kernel kKernels[] = {nullptr,   sample<1>, sample<2>, sample<3>, sample<4>,
                           sample<5>, sample<6>, sample<7>, sample<8>};

__global__ void fetch(cudaTextureObject_t t, uint4* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tex1Dfetch<uint4>(t, (int)(hash(i) % (unsigned)(count + 8)) - 4);
}

cudaTextureDesc describe(int address, int filter, int read, int normalized) {
  cudaTextureDesc desc{};
  for (int i = 0; i < 3; ++i) desc.addressMode[i] = (cudaTextureAddressMode)address;
  desc.filterMode = (cudaTextureFilterMode)filter;
  desc.readMode = (cudaTextureReadMode)read;
  desc.normalizedCoords = normalized;
  desc.maxMipmapLevelClamp = 10;
  desc.borderColor[0] = 0.25f;
  desc.borderColor[3] = 0.75f;
  return desc;
}

float4* g_out;
int g_wrong = 0;

// ---------------------------------------------------------------------------- the same on the host

/// An array's texels as floats, four channels each.
struct Texels {
  int w, h, d;
  std::vector<float> values;
  const float* at(int x, int y, int z) const { return &values[((z * h + y) * w + x) * 4]; }
};
Texels g_texels;
/// Of an array of bytes the border's colour is rounded to bytes, too.
const float g_border[4] = {0.25f, 0, 0, 0.75f};
const float g_border_of_bytes[4] = {64 / 255.0f, 0, 0, 191 / 255.0f};
bool g_bytes = false;

unsigned host_hash(unsigned x) { return mix(x); }
float host_coordinate(unsigned seed, float extent) {
  return ((int)(host_hash(seed) % 2048u) - 512) / 1024.0f * extent;
}

/// A texel index by an address mode (wrap, clamp, mirror, border); -1: the border.
int address_of(int i, int n, int mode) {
  if (mode == 1) return i < 0 ? 0 : i >= n ? n - 1 : i;
  if (mode == 3) return i < 0 || i >= n ? -1 : i;
  const int period = mode == 0 ? n : 2 * n, m = ((i % period) + period) % period;
  return m < n ? m : 2 * n - 1 - m;
}

float texel(int x, int y, int z, int channel, int mode) {
  x = address_of(x, g_texels.w, mode);
  y = address_of(y, g_texels.h, mode);
  z = address_of(z, g_texels.d, mode);
  if (x < 0 || y < 0 || z < 0) return (g_bytes ? g_border_of_bytes : g_border)[channel];
  return g_texels.at(x, y, z)[channel];
}

/// A read at a position in texels. `axes` are filtered; others are indices.
float read(const float* at, int axes, int layer, int channel, int mode, bool linear) {
  int first[3] = {0, 0, layer};
  float part[3] = {0, 0, 0};
  for (int a = 0; a < axes; ++a) {
    const float p = linear ? at[a] - 0.5f : at[a];
    first[a] = (int)std::floor(p);
    part[a] = p - first[a];
  }
  if (!linear) return texel(first[0], first[1], first[2], channel, mode);
  float sum = 0;
  for (int corner = 0; corner < 1 << axes; ++corner) {
    float weight = 1;
    int where[3] = {first[0], first[1], first[2]};
    for (int a = 0; a < axes; ++a) {
      const bool up = corner >> a & 1;
      weight *= up ? part[a] : 1 - part[a];
      where[a] += up;
    }
    if (weight != 0) sum += weight * texel(where[0], where[1], where[2], channel, mode);
  }
  return sum;
}

/// Compares what `sample` left for 1D, 2D, 3D, layered and pitched reads. Hardware filters with 8
/// bits of weight, so a linear read may be off by 1/128.
void compare(const char* name, const cudaTextureDesc& desc, int kind) {
  std::vector<float4> got(kReads);
  CHECK(cudaMemcpy(got.data(), g_out, kReads * sizeof(float4), cudaMemcpyDeviceToHost));
  const int axes = kind == 3 ? 3 : kind == 2 || kind == 5 ? 2 : 1;
  const bool linear = desc.filterMode == cudaFilterModeLinear;
  const float scale[3] = {(float)g_texels.w, (float)g_texels.h, (float)g_texels.d};
  int wrong = 0;
  for (int i = 0; i < kReads; ++i) {
    float at[3];
    for (int a = 0; a < 3; ++a)
      at[a] = desc.normalizedCoords ? host_coordinate(i * 3 + a, 1) * scale[a]
                                    : host_coordinate(i * 3 + a, scale[a]);
    const int layer = kind == 4 || kind == 5 ? i % 3 : 0;
    const float* channels = &got[i].x;
    for (int c = 0; c < 4; ++c) {
      float wanted = read(at, axes, layer, c, desc.addressMode[0], linear);
      // A 1D texture is a row of a 2D one, read at its upper edge: half of what lies above is mixed
      // in, which is the border where that is y's address mode (docs/reference/hardware.md).
      if (kind == 1 && linear && desc.addressMode[1] == cudaAddressModeBorder)
        wanted = (wanted + (g_bytes ? g_border_of_bytes : g_border)[c]) / 2;
      wrong += std::fabs(channels[c] - wanted) > (linear ? 1.0f / 64 : 1e-6f);
    }
  }
  if (wrong) std::printf("%s: %d of %d values are wrong\n", name, wrong, kReads * 4);
  g_wrong += wrong;
}

/// Cube maps, gathers and levels: every value is one that the texels can give.
void plausible(const char* name) {
  std::vector<float4> got(kReads);
  CHECK(cudaMemcpy(got.data(), g_out, kReads * sizeof(float4), cudaMemcpyDeviceToHost));
  int wrong = 0, different = 0;
  for (const float4& each : got) {
    for (float value : {each.x, each.y, each.z, each.w}) wrong += !(value >= 0 && value <= 1);
    different += each.x != got[0].x;
  }
  if (wrong || different < kReads / 8) std::printf("%s: not what textures give\n", name), ++g_wrong;
}

void run(const char* name, const cudaResourceDesc& resource, const cudaTextureDesc& desc, int kind,
         float w, float h, float d) {
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
  if (desc.normalizedCoords) w = h = d = 1;
  kKernels[kind]<<<kReads / 64, 64>>>(texture, g_out, w, h, d, 0.0f);
  CHECK(cudaDeviceSynchronize());
  if (kind <= 5)
    compare(name, desc, kind);
  else
    plausible(name);
  cudaTextureDesc again;
  CHECK(cudaGetTextureObjectTextureDesc(&again, texture));
  if (again.filterMode != desc.filterMode || again.normalizedCoords != desc.normalizedCoords)
    std::printf("another description\n"), ++g_wrong;
  CHECK(cudaDestroyTextureObject(texture));
}

template <class T>
cudaArray_t filled(cudaExtent extent, unsigned flags) {
  const size_t w = extent.width, h = extent.height ? extent.height : 1,
               d = extent.depth ? extent.depth : 1;
  std::vector<unsigned char> bytes(w * h * d * sizeof(T));
  if (sizeof(T) == sizeof(float4))
    for (size_t i = 0; i < bytes.size() / 4; ++i) {
      float value = mix(i) % 256 / 256.0f;
      std::memcpy(&bytes[i * 4], &value, 4);
    }
  else
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = mix(i);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
  g_texels = {(int)w, (int)h, (int)d, {}};
  g_bytes = sizeof(T) == 4;
  for (size_t i = 0; i < w * h * d * 4; ++i) {
    float value = bytes[i % bytes.size()] / 255.0f;
    if (sizeof(T) == sizeof(float4)) std::memcpy(&value, &bytes[i * 4], 4);
    g_texels.values.push_back(value);
  }
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(bytes.data(), w * sizeof(T), w, h);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(w, h, d);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  return array;
}

template <class T>
void geometry(const char* name, int kind, cudaExtent extent, unsigned flags, int read) {
  cudaArray_t array = filled<T>(extent, flags);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  const float w = extent.width, h = extent.height, d = extent.depth;
  for (int address = 0; address < 4; ++address)
    for (int filter = 0; filter < 2; ++filter) {
      // Wrap and mirror work on normalised coordinates, which cube maps always have.
      const int normalized = address == 0 || address == 2 || kind == 6;
      if (kind == 6 && address) continue;
      if (kind == 8 && filter) continue;
      char text[64];
      std::snprintf(text, sizeof text, "%s address %d filter %d", name, address, filter);
      run(text, resource, describe(address, filter, read, normalized), kind, w, h, d);
    }
  CHECK(cudaFreeArray(array));
}

void mipmap() {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
  cudaMipmappedArray_t mipmap;
  CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(32, 16, 0), 6, 0));
  for (unsigned level = 0; level < 6; ++level) {
    cudaArray_t array;
    CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
    cudaExtent extent;
    CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, array));
    std::vector<float> texels(extent.width * extent.height * 4);
    for (size_t i = 0; i < texels.size(); ++i) texels[i] = mix(i + level * 977) % 128 / 128.0f;
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), extent.width * 16, extent.width * 16,
                              extent.height, cudaMemcpyHostToDevice));
  }
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mipmap;
  for (int filter = 0; filter < 2; ++filter) {
    cudaTextureDesc desc = describe(1, filter, 0, 1);
    desc.mipmapFilterMode = (cudaTextureFilterMode)filter;
    run(filter ? "mipmap linear" : "mipmap point", resource, desc, 7, 32, 16, 1);
  }
  CHECK(cudaFreeMipmappedArray(mipmap));
}

void memory() {
  constexpr int kCount = 300;
  std::vector<unsigned> words(kCount * 4);
  for (size_t i = 0; i < words.size(); ++i) words[i] = mix(i);
  void* linear;
  CHECK(cudaMalloc(&linear, words.size() * 4));
  CHECK(cudaMemcpy(linear, words.data(), words.size() * 4, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = linear;
  resource.res.linear.desc = cudaCreateChannelDesc<uint4>();
  resource.res.linear.sizeInBytes = words.size() * 4;
  cudaTextureDesc desc = describe(1, 0, 0, 0);
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
  fetch<<<kReads / 64, 64>>>(texture, (uint4*)g_out, kCount);
  CHECK(cudaDeviceSynchronize());
  std::vector<uint4> fetched(kReads);
  CHECK(cudaMemcpy(fetched.data(), g_out, kReads * 16, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kReads; ++i) {
    const int at = (int)(host_hash(i) % (unsigned)(kCount + 8)) - 4;
    const unsigned* texel = &fetched[i].x;
    for (int c = 0; c < 4; ++c)
      wrong += texel[c] != (at < 0 || at >= kCount ? 0 : words[at * 4 + c]);
  }
  if (wrong) std::printf("linear memory: %d words are wrong\n", wrong);
  g_wrong += wrong;
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFree(linear));

  void* rows;
  size_t pitch;
  CHECK(cudaMallocPitch(&rows, &pitch, 24 * 4, 14));
  CHECK(cudaMemcpy2D(rows, pitch, words.data(), 24 * 4, 24 * 4, 12, cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = rows;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.pitch2D.width = 24;
  resource.res.pitch2D.height = 12;
  resource.res.pitch2D.pitchInBytes = pitch;
  g_texels = {24, 12, 1, {}};
  for (int i = 0; i < 24 * 12 * 4; ++i)
    g_texels.values.push_back((words[i / 4] >> i % 4 * 8 & 0xff) / 255.0f);
  for (int filter = 0; filter < 2; ++filter)
    run(filter ? "pitched linear" : "pitched point", resource, describe(1, filter, 1, 0), 2, 24, 12,
        1);
  CHECK(cudaFree(rows));
}

int main() {
  CHECK(cudaMalloc(&g_out, kReads * sizeof(float4)));
  geometry<float4>("1d float4", 1, make_cudaExtent(48, 0, 0), 0, 0);
  geometry<uchar4>("2d uchar4", 2, make_cudaExtent(24, 18, 0), 0, 1);
  geometry<float4>("2d float4", 2, make_cudaExtent(24, 18, 0), 0, 0);
  geometry<float4>("3d float4", 3, make_cudaExtent(12, 10, 8), 0, 0);
  geometry<uchar4>("1d layered", 4, make_cudaExtent(40, 0, 3), cudaArrayLayered, 1);
  geometry<float4>("2d layered", 5, make_cudaExtent(16, 12, 3), cudaArrayLayered, 0);
  geometry<float4>("cube", 6, make_cudaExtent(16, 16, 6), cudaArrayCubemap, 0);
  geometry<float4>("gather", 8, make_cudaExtent(16, 12, 0), cudaArrayTextureGather, 0);
  mipmap();
  memory();
  CHECK(cudaFree(g_out));
  std::printf(g_wrong ? "wrong\n" : "good\n");
}
