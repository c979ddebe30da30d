// Every combination of what arrays, texture objects and copies are made from, and what each
// answers: a letter for a call, a line for a family. A newcomer's first mistakes are among them.
#include "mistakes.cuh"

#include <string>

namespace {

/// A letter for each code that is met, so that a line holds a whole family of calls.
char letter(cudaError_t code) {
  (void)cudaGetLastError();
  switch (static_cast<int>(code)) {
    case cudaSuccess: return '.';
    case cudaErrorInvalidValue: return 'v';
    case cudaErrorMemoryAllocation: return 'm';
    case cudaErrorInvalidPitchValue: return 'p';
    case cudaErrorInvalidChannelDescriptor: return 'c';
    case cudaErrorInvalidMemcpyDirection: return 'k';
    case cudaErrorInvalidFilterSetting: return 'f';
    case cudaErrorInvalidNormSetting: return 'n';
    case cudaErrorInvalidResourceHandle: return 'h';
    case cudaErrorNotSupported: return 'u';
    default: std::printf("[%s]", cudaGetErrorName(code)); return '?';
  }
}

constexpr cudaChannelFormatKind kKinds[] = {cudaChannelFormatKindSigned,
                                            cudaChannelFormatKindUnsigned,
                                            cudaChannelFormatKindFloat, cudaChannelFormatKindNone};

void formats() {
  for (int bits : {0, 4, 8, 12, 16, 24, 32, 64}) {
    std::string line;
    for (cudaChannelFormatKind kind : kKinds)
      for (int channels = 1; channels <= 4; ++channels) {
        const cudaChannelFormatDesc desc = {bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                            channels > 3 ? bits : 0, kind};
        cudaArray_t array = nullptr;
        line += letter(cudaMallocArray(&array, &desc, 4, 4));
        if (array) CHECK(cudaFreeArray(array));
      }
    std::printf("%2d bits: %s\n", bits, line.c_str());
  }
}

constexpr cudaExtent kExtents[] = {{0, 0, 0},   {5, 0, 0},  {0, 5, 0},     {0, 0, 5}, {5, 5, 0},
                                   {5, 0, 5},   {0, 5, 5},  {5, 5, 5},     {5, 5, 6}, {5, 5, 12},
                                   {5, 5, 7},   {5, 4, 6},  {16384, 0, 0}, {1, 1, 1}, {1, 1, 6},
                                   {32, 32, 0}, {40, 24, 3}};

void extents() {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  for (unsigned flags = 0; flags < 16; ++flags) {
    std::string line;
    for (const cudaExtent& extent : kExtents) {
      cudaArray_t array = nullptr;
      line += letter(cudaMalloc3DArray(&array, &desc, extent, flags));
      if (array) CHECK(cudaFreeArray(array));
    }
    std::printf("arrays of flags %2u: %s\n", flags, line.c_str());
  }
}

/// What is told of an array: its extent, its flags and the bits of a channel.
void tell_array(cudaArray_t array) {
  cudaChannelFormatDesc desc{};
  cudaExtent extent{};
  unsigned flags = 99;
  CHECK(cudaArrayGetInfo(&desc, &extent, &flags, array));
  std::printf(" %zux%zux%zu/%u/%d", extent.width, extent.height, extent.depth, flags, desc.x);
}

void mipmaps() {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<unsigned short>();
  for (const cudaExtent& extent : kExtents) {
    std::string line;
    for (unsigned levels = 0; levels <= 7; ++levels) {
      cudaMipmappedArray_t mipmap = nullptr;
      line += letter(cudaMallocMipmappedArray(&mipmap, &desc, extent, levels));
      if (mipmap) CHECK(cudaFreeMipmappedArray(mipmap));
    }
    std::printf("levels of %zux%zux%zu: %s", extent.width, extent.height, extent.depth,
                line.c_str());
    const unsigned flags = extent.depth == 3 ? cudaArrayLayered : 0;
    cudaMipmappedArray_t mipmap = nullptr;
    if (cudaMallocMipmappedArray(&mipmap, &desc, extent, 3, flags) == cudaSuccess) {
      for (unsigned level = 0; level < 5; ++level) {
        cudaArray_t array = nullptr;
        if (letter(cudaGetMipmappedArrayLevel(&array, mipmap, level)) == '.') tell_array(array);
      }
      CHECK(cudaFreeMipmappedArray(mipmap));
    }
    (void)cudaGetLastError();
    std::printf("\n");
  }
}

/// Texture objects over a resource: read modes, filters, coordinates, address modes and sRGB.
void texture_line(const char* name, const cudaResourceDesc& resource) {
  std::string line;
  for (int i = 0; i < 64; ++i) {
    cudaTextureDesc desc{};
    for (cudaTextureAddressMode& mode : desc.addressMode)
      mode = static_cast<cudaTextureAddressMode>(i & 3);
    desc.readMode = static_cast<cudaTextureReadMode>(i >> 2 & 1);
    desc.filterMode = static_cast<cudaTextureFilterMode>(i >> 3 & 1);
    desc.normalizedCoords = i >> 4 & 1;
    desc.sRGB = i >> 5 & 1;
    cudaTextureObject_t texture = 0;
    line += letter(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    if (i % 16 == 15) line += ' ';
    if (!texture) continue;
    // What is asked for comes back as it was given.
    cudaResourceDesc told{};
    cudaTextureDesc back{};
    CHECK(cudaGetTextureObjectResourceDesc(&told, texture));
    CHECK(cudaGetTextureObjectTextureDesc(&back, texture));
    if (told.resType != resource.resType || back.addressMode[1] != desc.addressMode[1] ||
        back.readMode != desc.readMode || back.filterMode != desc.filterMode ||
        back.normalizedCoords != desc.normalizedCoords || back.sRGB != desc.sRGB)
      line += '!';
    CHECK(cudaDestroyTextureObject(texture));
  }
  std::printf("%-22s %s\n", name, line.c_str());
}

template <class T>
void textures_of(const char* name, void* memory) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<T>();
  struct Shape {
    const char* name;
    cudaExtent extent;
    unsigned flags;
  };
  for (const Shape& shape :
       {Shape{"1d", {8, 0, 0}, 0}, Shape{"2d", {8, 8, 0}, 0}, Shape{"3d", {8, 8, 8}, 0},
        Shape{"layered", {8, 8, 2}, cudaArrayLayered},
        Shape{"cube", {8, 8, 6}, cudaArrayCubemap}}) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    CHECK(cudaMalloc3DArray(&resource.res.array.array, &desc, shape.extent, shape.flags));
    texture_line((std::string(name) + " " + shape.name).c_str(), resource);
    CHECK(cudaFreeArray(resource.res.array.array));
  }
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  CHECK(cudaMallocMipmappedArray(&resource.res.mipmap.mipmap, &desc, {8, 8, 0}, 3));
  texture_line((std::string(name) + " mipmap").c_str(), resource);
  CHECK(cudaFreeMipmappedArray(resource.res.mipmap.mipmap));
  resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {memory, desc, 1024};
  texture_line((std::string(name) + " linear").c_str(), resource);
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D = {memory, desc, 8, 8, 512};
  texture_line((std::string(name) + " pitch").c_str(), resource);
}

void textures() {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4096));
  textures_of<float>("float", memory);
  textures_of<uchar4>("uchar4", memory);
  textures_of<short2>("short2", memory);
  textures_of<unsigned>("unsigned", memory);
  CHECK(cudaFree(memory));
}

/// Regions of an array of 6 x 5 texels of four bytes: where each may begin and end.
void regions() {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &desc, 6, 5));
  static float host[64];
  for (std::size_t x : {0, 2, 4, 20, 24, 28}) {
    std::string line;
    for (std::size_t y : {0, 4, 5, 6})
      for (std::size_t width : {0, 2, 4, 20, 24, 28})
        for (std::size_t height : {0, 1, 5, 6})
          line += letter(
              cudaMemcpy2DToArray(array, x, y, host, 32, width, height, cudaMemcpyHostToDevice));
    std::printf("to %zu: %s\n", x, line.c_str());
    line.clear();
    for (std::size_t y : {0, 4, 5, 6})
      for (std::size_t width : {0, 2, 4, 20, 24, 28})
        for (std::size_t height : {0, 1, 5, 6})
          line += letter(
              cudaMemcpy2DFromArray(host, 32, array, x, y, width, height, cudaMemcpyDeviceToHost));
    std::printf("from %zu: %s\n", x, line.c_str());
  }
  for (std::size_t pitch : {0, 4, 20, 24, 32})
    std::printf(
        "pitch %zu: %c%c\n", pitch,
        letter(cudaMemcpy2DToArray(array, 0, 0, host, pitch, 24, 2, cudaMemcpyHostToDevice)),
        letter(cudaMemcpy2DToArray(array, 0, 0, host, pitch, 24, 1, cudaMemcpyHostToDevice)));
  CHECK(cudaFreeArray(array));
}

void boxes() {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  CHECK(cudaMalloc3DArray(&array, &desc, {6, 5, 4}));
  static float host[512];
  for (std::size_t z : {0, 3, 4})
    for (std::size_t x : {0, 5, 6}) {
      std::string line;
      for (std::size_t width : {0, 1, 6, 7})
        for (std::size_t height : {0, 1, 5, 6})
          for (std::size_t depth : {0, 1, 4, 5}) {
            cudaMemcpy3DParms copy{};
            copy.srcPtr = make_cudaPitchedPtr(host, 32, 6, 5);
            copy.dstArray = array;
            copy.dstPos = make_cudaPos(x, 0, z);
            copy.extent = make_cudaExtent(width, height, depth);
            copy.kind = cudaMemcpyHostToDevice;
            line += letter(cudaMemcpy3D(&copy));
          }
      std::printf("at %zu %zu: %s\n", x, z, line.c_str());
    }
  cudaPitchedPtr memory{};
  CHECK(cudaMalloc3D(&memory, {20, 5, 4}));
  std::printf("%zu %zu\n", memory.xsize, memory.ysize);
  std::string line;
  for (std::size_t width : {0, 1, 20, 21})
    for (std::size_t height : {0, 1, 5, 6})
      for (std::size_t depth : {0, 1, 4})
        line += letter(cudaMemset3D(memory, 0, {width, height, depth}));
  std::printf("fills: %s\n", line.c_str());
  CHECK(cudaFree(memory.ptr));
  CHECK(cudaFreeArray(array));
}

}  // namespace

int main(int argc, char** argv) {
  const Group groups[] = {{"formats", formats},   {"extents", extents}, {"mipmaps", mipmaps},
                          {"textures", textures}, {"regions", regions}, {"boxes", boxes}};
  return run_group(groups, argc, argv);
}
