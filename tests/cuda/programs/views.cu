// Resource views: arrays read by another format, some of their levels, some of their layers.
#include "common.cuh"

namespace {

template <class T>
__global__ void rows(cudaTextureObject_t t, T* out, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<T>(t, x + 0.5f, y + 0.5f);
}

__global__ void layers(cudaTextureObject_t t, float* out, int width, int layer) {
  const int x = threadIdx.x, y = threadIdx.y;
  out[y * width + x] = tex2DLayered<float>(t, x + 0.5f, y + 0.5f, layer);
}

__global__ void levels(cudaTextureObject_t t, float* out, float level) {
  out[threadIdx.x] = tex2DLod<float>(t, (threadIdx.x + 0.5f) / 8, 0.3f, level);
}

cudaTextureObject_t view_of(const char* what, const cudaResourceDesc& resource,
                            const cudaTextureDesc& desc, const cudaResourceViewDesc& view) {
  cudaTextureObject_t texture = 0;
  std::printf("%-44s %s\n", what,
              cudaGetErrorName(cudaCreateTextureObject(&texture, &resource, &desc, &view)));
  return texture;
}

template <class T>
void read(const char* what, cudaTextureObject_t texture, int width, int height) {
  if (!texture) return;
  T* out;
  CHECK(cudaMalloc(&out, sizeof(T) * width * height));
  rows<<<1, dim3(width, height)>>>(texture, out, width, height);
  show_device(what, out, sizeof(T) * width * height);
  CHECK(cudaFree(out));
  CHECK(cudaDestroyTextureObject(texture));
}

std::vector<std::uint32_t> noise(std::size_t words, std::uint32_t seed) {
  std::vector<std::uint32_t> all(words);
  for (std::size_t i = 0; i < words; ++i) all[i] = mix(static_cast<std::uint32_t>(i) + seed);
  return all;
}

void formats() {
  const cudaChannelFormatDesc words = cudaCreateChannelDesc<unsigned>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &words, 16, 8));
  const auto texels = noise(16 * 8, 7);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), 64, 64, 8, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc desc{};
  cudaResourceViewDesc view{};
  view.width = 16;
  view.height = 8;
  const auto of = [&](const char* what, cudaResourceViewFormat format) {
    view.format = format;
    return view_of(what, resource, desc, view);
  };
  read<unsigned>("own format", of("own format", cudaResViewFormatUnsignedInt1), 16, 8);
  read<int>("signed", of("words as signed", cudaResViewFormatSignedInt1), 16, 8);
  read<uchar4>("bytes", of("words as four bytes", cudaResViewFormatUnsignedChar4), 16, 8);
  read<char4>("signed bytes", of("words as four signed bytes", cudaResViewFormatSignedChar4), 16,
              8);
  read<ushort2>("halves", of("words as two shorts", cudaResViewFormatUnsignedShort2), 16, 8);
  desc.readMode = cudaReadModeNormalizedFloat;
  desc.filterMode = cudaFilterModeLinear;
  read<float4>("filtered bytes", of("words as four filtered bytes", cudaResViewFormatUnsignedChar4),
               16, 8);
  desc = {};
  (void)of("words as one byte", cudaResViewFormatUnsignedChar1);
  (void)of("words as two words", cudaResViewFormatUnsignedInt2);
  view.width = 8;
  (void)of("a view of another width", cudaResViewFormatUnsignedInt1);
  view.width = 16;
  view.lastMipmapLevel = 1;
  (void)of("a view of a level that is not there", cudaResViewFormatUnsignedInt1);
  view.lastMipmapLevel = 0;
  view.lastLayer = 1;
  (void)of("a view of a layer that is not there", cudaResViewFormatUnsignedInt1);
  CHECK(cudaFreeArray(array));
}

void some_layers() {
  const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &f, make_cudaExtent(8, 4, 6), cudaArrayLayered));
  std::vector<float> texels(8 * 4 * 6);
  for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = i * 1.5f;
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(texels.data(), 32, 8, 4);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(8, 4, 6);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc desc{};
  cudaResourceViewDesc view{};
  view.format = cudaResViewFormatFloat1;
  view.width = 8;
  view.height = 4;
  view.depth = 6;
  view.firstLayer = 2;
  view.lastLayer = 4;
  const cudaTextureObject_t texture = view_of("layers 2 to 4", resource, desc, view);
  float* out;
  CHECK(cudaMalloc(&out, 8 * 4 * 4));
  for (int layer = 0; layer < 5 && texture; ++layer) {
    layers<<<1, dim3(8, 4)>>>(texture, out, 8, layer);
    char name[32];
    std::snprintf(name, sizeof name, "layer %d of the view", layer);
    show_device(name, out, 8 * 4 * 4);
  }
  view.firstLayer = 4;
  view.lastLayer = 2;
  (void)view_of("layers 4 to 2", resource, desc, view);
  view.firstLayer = 5;
  view.lastLayer = 6;
  (void)view_of("layers 5 to 6", resource, desc, view);
  CHECK(cudaFree(out));
  CHECK(cudaFreeArray(array));
}

void some_levels() {
  const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t mipmap;
  CHECK(cudaMallocMipmappedArray(&mipmap, &f, make_cudaExtent(32, 16, 0), 5));
  for (unsigned level = 0; level < 5; ++level) {
    cudaArray_t array;
    CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
    const int width = 32 >> level, height = 16 >> level;
    std::vector<float> texels(width * height);
    for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = level * 100.0f + i;
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), width * 4, width * 4, height,
                              cudaMemcpyHostToDevice));
  }
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mipmap;
  cudaTextureDesc desc{};
  desc.normalizedCoords = 1;
  desc.maxMipmapLevelClamp = 10;
  desc.mipmapFilterMode = cudaFilterModeLinear;
  desc.filterMode = cudaFilterModeLinear;
  float* out;
  CHECK(cudaMalloc(&out, 8 * 4));
  const auto look = [&](const char* what, unsigned first, unsigned last,
                        cudaResourceViewFormat format) {
    cudaResourceViewDesc view{};
    view.format = format;
    view.width = 32;
    view.height = 16;
    view.firstMipmapLevel = first;
    view.lastMipmapLevel = last;
    const cudaTextureObject_t texture = view_of(what, resource, desc, view);
    for (float level : {0.0f, 0.5f, 1.0f, 1.75f, 4.0f}) {
      if (!texture) break;
      levels<<<1, 8>>>(texture, out, level);
      char name[32];
      std::snprintf(name, sizeof name, "at level %g", level);
      show_device(name, out, 8 * 4);
    }
    if (texture) CHECK(cudaDestroyTextureObject(texture));
  };
  look("levels 0 to 4", 0, 4, cudaResViewFormatFloat1);
  look("levels 1 to 3", 1, 3, cudaResViewFormatFloat1);
  look("levels 2 to 2", 2, 2, cudaResViewFormatFloat1);
  look("levels 3 to 1", 3, 1, cudaResViewFormatFloat1);
  look("levels 1 to 3 without a format", 1, 3, cudaResViewFormatNone);
  desc.minMipmapLevelClamp = 1.5f;
  look("levels 1 to 3, clamped at 1.5", 1, 3, cudaResViewFormatFloat1);
  CHECK(cudaFree(out));
  CHECK(cudaFreeMipmappedArray(mipmap));
}

}  // namespace

int main() {
  formats();
  some_layers();
  some_levels();
}
