// Every surface and texture function on every kind of array: which texels a store of a cube of
// threads changes, and what loads and reads give.
#include <vector>

#include "common.cuh"

constexpr int kThreads = 4;
/// Threads that store to one texel have one value, but for the layers of a volume.
#define PLACE                                                                              \
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, at = 16 * z + 4 * y + x;    \
  const int value =                                                                        \
      1000 + x + (how == 0 || how == 3 ? 0 : 4 * y) + (how == 0 || how == 1 ? 0 : 16 * z); \
  (void)at, (void)value

template <cudaSurfaceBoundaryMode kMode>
__global__ void store(int how, cudaSurfaceObject_t s) {
  PLACE;
  if (how == 0) surf1Dwrite(value, s, x * 4, kMode);
  if (how == 1) surf2Dwrite(value, s, x * 4, y, kMode);
  if (how == 2) surf3Dwrite(value, s, x * 4, y, z, kMode);
  if (how == 3) surf1DLayeredwrite(value, s, x * 4, z, kMode);
  if (how == 4) surf2DLayeredwrite(value, s, x * 4, y, z, kMode);
  if (how == 5) surfCubemapwrite(value, s, x * 4, y, z, kMode);
  if (how == 6) surfCubemapLayeredwrite(value, s, x * 4, y, z, kMode);
}
template <cudaSurfaceBoundaryMode kMode>
__global__ void load(int how, cudaSurfaceObject_t s, int* out) {
  PLACE;
  int got = -1;
  if (how == 0) surf1Dread(&got, s, x * 4, kMode);
  if (how == 1) surf2Dread(&got, s, x * 4, y, kMode);
  if (how == 2) surf3Dread(&got, s, x * 4, y, z, kMode);
  if (how == 3) surf1DLayeredread(&got, s, x * 4, z, kMode);
  if (how == 4) surf2DLayeredread(&got, s, x * 4, y, z, kMode);
  if (how == 5) surfCubemapread(&got, s, x * 4, y, z, kMode);
  if (how == 6) surfCubemapLayeredread(&got, s, x * 4, y, z, kMode);
  out[at] = got;
}
__global__ void fetch(int how, cudaTextureObject_t t, int* out) {
  PLACE;
  const float u = x + 0.5f, v = y + 0.5f, w = z + 0.5f;
  int got = -1;
  if (how == 0) got = tex1D<int>(t, u);
  if (how == 1) got = tex2D<int>(t, u, v);
  if (how == 2) got = tex3D<int>(t, u, v, w);
  if (how == 3) got = tex1DLayered<int>(t, u, z);
  if (how == 4) got = tex2DLayered<int>(t, u, v, z);
  if (how == 5) got = texCubemap<int>(t, u - 2, v - 2, w - 2);
  if (how == 6) got = texCubemapLayered<int>(t, u - 2, v - 2, w - 2, 0);
  if (how == 7) got = tex1Dfetch<int>(t, x);
  out[at] = got;
}

struct Kind {
  const char* name;
  int width, height, depth;
  unsigned flags;
};
const Kind kKinds[] = {{"1D", 5, 0, 0, 0},
                       {"2D", 5, 3, 0, 0},
                       {"2D of height 1", 5, 1, 0, 0},
                       {"3D", 5, 3, 2, 0},
                       {"3D of depth 1", 5, 3, 1, 0},
                       {"1D layered", 5, 0, 3, cudaArrayLayered},
                       {"2D layered", 5, 3, 2, cudaArrayLayered},
                       {"cubemap", 4, 4, 6, cudaArrayCubemap},
                       {"cubemap layered", 4, 4, 12, cudaArrayCubemap | cudaArrayLayered}};

const dim3 kBlock(kThreads, kThreads, kThreads);
const char* const kNames[] = {
    "1D", "2D", "3D", "1DLayered", "2DLayered", "Cubemap", "CubemapLayered", "1Dfetch"};

/// The array's texels, or what they are set to.
void copy(cudaArray_t array, const Kind& kind, std::vector<int>& texels, bool to_array) {
  const int rows = kind.height ? kind.height : 1, slices = kind.depth ? kind.depth : 1;
  texels.resize(static_cast<size_t>(kind.width) * rows * slices, 7);
  cudaMemcpy3DParms parameters{};
  const cudaPitchedPtr host = make_cudaPitchedPtr(texels.data(), kind.width * 4, kind.width, rows);
  if (to_array)
    parameters.srcPtr = host, parameters.dstArray = array;
  else
    parameters.dstPtr = host, parameters.srcArray = array;
  parameters.extent = make_cudaExtent(kind.width, rows, slices);
  parameters.kind = to_array ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&parameters));
}

void print(const char* what, const char* how, const std::vector<int>& list) {
  unsigned hash = 2166136261u;
  for (const int each : list) hash = (hash ^ static_cast<unsigned>(each)) * 16777619u;
  std::printf("  %s%s %08x:", what, how, hash);
  for (size_t i = 0; i < list.size() && i < 12; ++i) std::printf(" %d", list[i]);
  std::printf("\n");
}

int main() {
  int* out;
  CHECK(cudaMalloc(&out, 256));
  std::vector<int> got(64);
  for (const Kind& kind : kKinds) {
    std::printf("%s\n", kind.name);
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(kind.width, kind.height, kind.depth),
                            kind.flags | cudaArraySurfaceLoadStore));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    cudaTextureDesc description{};
    for (auto& mode : description.addressMode) mode = cudaAddressModeClamp;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    std::vector<int> first, texels;
    copy(array, kind, first, false);
    for (size_t i = 0; i < first.size(); ++i) first[i] = static_cast<int>(i) + 1;
    for (int how = 0; how < 8; ++how) {
      for (const bool clamp : {false, true}) {
        if (how == 7) break;
        copy(array, kind, first, true);
        (clamp ? load<cudaBoundaryModeClamp> : load<cudaBoundaryModeZero>)<<<1, kBlock>>>(
            how, surface, out);
        CHECK(cudaMemcpy(got.data(), out, 256, cudaMemcpyDeviceToHost));
        print(clamp ? "load clamp " : "load zero ", kNames[how], got);
        // Threads that clamp meet at the border with values of their own.
        if (clamp) continue;
        store<cudaBoundaryModeZero><<<1, kBlock>>>(how, surface);
        // All layers of a volume are its first slice, in any order.
        copy(array, kind, texels, false);
        const bool several = (how == 4 || how == 5 || how == 6) && kind.depth && !kind.flags;
        for (int& each : texels)
          if (several && each >= 1000) each = 1000 + (each - 1000) % 16;
        print("store zero ", kNames[how], texels);
      }
      copy(array, kind, first, true);
      fetch<<<1, kBlock>>>(how, texture, out);
      CHECK(cudaMemcpy(got.data(), out, 256, cudaMemcpyDeviceToHost));
      print("tex", kNames[how], got);
    }
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
  }
  CHECK(cudaDeviceSynchronize());
}
