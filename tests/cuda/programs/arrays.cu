// How arrays are made and freed: every combination of flags, the largest extents of each kind, and
// what is no array any more.
#include "driver.cuh"

#include <functional>
#include <string>

namespace {

char letter(int code) {
  (void)cudaGetLastError();
  switch (code) {
    case 0: return '.';
    case 1: return 'v';
    case 2: return 'm';
    case 20: return 'c';
    case 33:
    case 400: return 'h';
    case 801: return 'u';
    default: std::printf("[%d]", code); return '?';
  }
}

constexpr cudaExtent kShapes[] = {{64, 0, 0},  {64, 64, 0},  {64, 64, 64}, {64, 0, 6},
                                  {64, 64, 6}, {64, 64, 12}, {64, 1, 0},   {64, 64, 1}};

struct Maker {
  const char* name;
  std::function<int(cudaExtent, unsigned)> make;
};

int run_array(cudaExtent extent, unsigned flags) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  const int code = cudaMalloc3DArray(&array, &desc, extent, flags);
  if (code == 0) CHECK(cudaFreeArray(array));
  return code;
}
int run_mipmap(cudaExtent extent, unsigned flags) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t array = nullptr;
  const int code = cudaMallocMipmappedArray(&array, &desc, extent, 2, flags);
  if (code == 0) CHECK(cudaFreeMipmappedArray(array));
  return code;
}
CUDA_ARRAY3D_DESCRIPTOR description(cudaExtent extent, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  desc.Width = extent.width;
  desc.Height = extent.height;
  desc.Depth = extent.depth;
  desc.Format = CU_AD_FORMAT_FLOAT;
  desc.NumChannels = 1;
  desc.Flags = flags;
  return desc;
}
int driver_array(cudaExtent extent, unsigned flags) {
  static const auto create = DRIVER(cuArray3DCreate);
  static const auto destroy = DRIVER(cuArrayDestroy);
  const auto desc = description(extent, flags);
  CUarray array = nullptr;
  const int code = create(&array, &desc);
  if (code == 0 && destroy(array)) std::printf("[not destroyed]");
  return code;
}
int driver_mipmap(cudaExtent extent, unsigned flags) {
  static const auto create = DRIVER(cuMipmappedArrayCreate);
  static const auto destroy = DRIVER(cuMipmappedArrayDestroy);
  const auto desc = description(extent, flags);
  CUmipmappedArray array = nullptr;
  const int code = create(&array, &desc, 2);
  if (code == 0 && destroy(array)) std::printf("[not destroyed]");
  return code;
}
int flat_array(cudaExtent extent, unsigned flags) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  const int code = cudaMallocArray(&array, &desc, extent.width, extent.height, flags);
  if (code == 0) CHECK(cudaFreeArray(array));
  return code;
}
const Maker kMakers[] = {{"cudaMallocArray", flat_array},
                         {"cudaMalloc3DArray", run_array},
                         {"cudaMallocMipmappedArray", run_mipmap},
                         {"cuArray3DCreate", driver_array},
                         {"cuMipmappedArrayCreate", driver_mipmap}};

/// Sparse and deferred arrays are something that a device may lack: taken is what is not wrong.
char flag_letter(const Maker& maker, cudaExtent shape, unsigned flag) {
  constexpr unsigned kMapped = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;
  const int code = maker.make(shape, flag);
  return letter(code == CUDA_ERROR_NOT_SUPPORTED && (flag & kMapped) ? 0 : code);
}

void flags() {
  for (const Maker& maker : kMakers)
    for (const cudaExtent& shape : kShapes) {
      if (maker.name == kMakers[0].name && shape.depth) continue;
      std::printf("%s of %zux%zux%zu\n", maker.name, shape.width, shape.height, shape.depth);
      for (unsigned first = 0; first < 512; first += 64) {
        std::string line;
        for (unsigned flag = first; flag < first + 64; ++flag)
          line += flag_letter(maker, shape, flag);
        std::printf(" %03x: %s\n", first, line.c_str());
      }
      std::string line;
      for (int bit = 9; bit < 31; ++bit) line += letter(maker.make(shape, 1u << bit));
      for (unsigned flag : {0xffffffffu, 0xdeadbeefu, 0x400u, 0x7fffffffu})
        line += letter(maker.make(shape, flag));
      std::printf(" others: %s\n", line.c_str());
      std::fflush(stdout);
    }
}

/// What the device reports for a kind of array, and which extents that is.
struct Limit {
  const char* name;
  unsigned flags;
  cudaExtent least;   // the other extents
  int attributes[3];  // CUdevice_attribute of width, height and depth; 0: none
  unsigned unit;      // of the depth
};
constexpr Limit kLimits[] = {{"1D", 0, {1, 0, 0}, {21, 0, 0}, 1},
                             {"2D", 0, {1, 1, 0}, {22, 23, 0}, 1},
                             {"2D gather", 8, {1, 1, 0}, {45, 46, 0}, 1},
                             {"3D", 0, {1, 1, 1}, {24, 25, 26}, 1},
                             {"1D layered", 1, {1, 0, 1}, {42, 0, 43}, 1},
                             {"2D layered", 1, {1, 1, 1}, {27, 28, 29}, 1},
                             {"cube layered", 5, {1, 1, 6}, {0, 0, 54}, 6},
                             {"1D surface", 2, {1, 0, 0}, {55, 0, 0}, 1},
                             {"2D surface", 2, {1, 1, 0}, {56, 57, 0}, 1},
                             {"3D surface", 2, {1, 1, 1}, {58, 59, 60}, 1},
                             {"1D layered surface", 3, {1, 0, 1}, {61, 0, 62}, 1},
                             {"2D layered surface", 3, {1, 1, 1}, {63, 64, 65}, 1},
                             {"cube layered surface", 7, {1, 1, 6}, {0, 0, 68}, 6}};

/// Each reported extent works, with the others at their least, and the next one does not.
void limits() {
  CHECK(cudaFree(nullptr));
  for (const Maker& maker : kMakers)
    for (const Limit& limit : kLimits) {
      if (maker.name == kMakers[0].name && limit.least.depth) continue;
      std::string line;
      for (int axis = 0; axis < 3; ++axis) {
        if (!limit.attributes[axis]) continue;
        int most = 0;
        DRIVER(cuDeviceGetAttribute)
        (&most, static_cast<CUdevice_attribute>(limit.attributes[axis]), 0);
        for (const std::size_t extent :
             {std::size_t(most), std::size_t(most) + (axis == 2 ? limit.unit : 1)}) {
          cudaExtent e = limit.least;
          (axis == 0 ? e.width : axis == 1 ? e.height : e.depth) = extent;
          line += letter(maker.make(e, limit.flags));
        }
        line += ' ';
      }
      std::printf("%s, %s: %s\n", maker.name, limit.name, line.c_str());
    }
}

void handle_frees() {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  TELL(cudaStreamDestroy(nullptr));
  TELL(cudaStreamDestroy(cudaStreamLegacy));
  TELL(cudaStreamDestroy(cudaStreamPerThread));
  TELL(cudaEventDestroy(nullptr));
  TELL(cudaGraphDestroy(nullptr));
  TELL(cudaGraphExecDestroy(nullptr));
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  TELL(cudaGraphExecDestroy(exec));
  TELL(cudaGraphDestroy(graph));
  CHECK(cudaEventCreate(&event));
  TELL(cudaEventDestroy(event));
  CHECK(cudaStreamCreate(&stream));
  TELL(cudaStreamDestroy(stream));
  TELL(cudaDestroyTextureObject(0));
  TELL(cudaDestroySurfaceObject(0));
  TELL(cudaMemPoolDestroy(nullptr));
  TELL(cudaUserObjectRelease(nullptr, 1));
  TELL(cudaHostUnregister(nullptr));
}
void twice_graph() {
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  TELL(cudaGraphDestroy(graph));
  TELL(cudaGraphDestroy(graph));
}
void twice_exec() {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  TELL(cudaGraphExecDestroy(exec));
  TELL(cudaGraphExecDestroy(exec));
}
void driver_handles() {
  CHECK(cudaFree(nullptr));
  DTELL(cuMemFree, (0));
  DTELL(cuMemFreeHost, (nullptr));
  DTELL(cuStreamDestroy, (nullptr));
  DTELL(cuEventDestroy, (nullptr));
  DTELL(cuGraphDestroy, (nullptr));
  DTELL(cuGraphExecDestroy, (nullptr));
  DTELL(cuTexObjectDestroy, (0));
  DTELL(cuSurfObjectDestroy, (0));
  DTELL(cuMemPoolDestroy, (nullptr));
  DTELL(cuModuleUnload, (nullptr));
  DTELL(cuCtxDestroy, (nullptr));
  DTELL(cuLinkDestroy, (nullptr));
  DTELL(cuLibraryUnload, (nullptr));
}

constexpr Group kGroups[] = {{"flags", flags},
                             {"limits", limits},
                             {"handle_frees", handle_frees},

                             {"twice_graph", twice_graph},
                             {"twice_exec", twice_exec},
                             {"driver_handles", driver_handles}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
