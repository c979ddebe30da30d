// Sizes, pitches, offsets and counts that no memory has, in every call that takes some: each place
// of an argument is a group of its own.
#include "mistakes.cuh"

__device__ int words[16];
__global__ void nothing() {}

namespace {

constexpr std::size_t kSizes[] = {std::size_t{1} << 31, std::size_t{1} << 32, std::size_t{1} << 40,
                                  std::size_t{1} << 63, ~std::size_t{0}};

char host[1 << 12];
char* p = nullptr;  // 4,096 bytes of the device
cudaArray_t array = nullptr, deep = nullptr;
const cudaChannelFormatDesc kFormat = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};

void prepare() {
  CHECK(cudaMalloc(&p, 4096));
  CHECK(cudaMallocArray(&array, &kFormat, 16, 8));
  CHECK(cudaMalloc3DArray(&deep, &kFormat, make_cudaExtent(8, 4, 2)));
}

/// One line for each size.
template <class F>
void each(const char* what, F&& function) {
  for (const std::size_t n : kSizes) {
    char line[96];
    std::snprintf(line, sizeof line, "%s, %#llx", what, static_cast<unsigned long long>(n));
    tell(line, function(n));
  }
}

void linear() {
  prepare();
  each("memcpy to device",
       [](std::size_t n) { return cudaMemcpy(p, host, n, cudaMemcpyHostToDevice); });
  each("memcpy from device",
       [](std::size_t n) { return cudaMemcpy(host, p, n, cudaMemcpyDeviceToHost); });
  each("memcpy within",
       [](std::size_t n) { return cudaMemcpy(p, p, n, cudaMemcpyDeviceToDevice); });
  each("memcpy default", [](std::size_t n) { return cudaMemcpy(p, host, n, cudaMemcpyDefault); });
  each("memcpyAsync",
       [](std::size_t n) { return cudaMemcpyAsync(p, host, n, cudaMemcpyHostToDevice, nullptr); });
  each("memcpyPeer", [](std::size_t n) { return cudaMemcpyPeer(p, 0, p, 0, n); });
  each("toSymbol, bytes", [](std::size_t n) { return cudaMemcpyToSymbol(words, host, n); });
  each("toSymbol, offset", [](std::size_t n) { return cudaMemcpyToSymbol(words, host, 4, n); });
  each("fromSymbol, bytes", [](std::size_t n) { return cudaMemcpyFromSymbol(host, words, n); });
  each("fromSymbol, offset", [](std::size_t n) { return cudaMemcpyFromSymbol(host, words, 4, n); });
}

void rows() {
  prepare();
  each("2D, device's pitch",
       [](std::size_t n) { return cudaMemcpy2D(p, n, host, 64, 64, 2, cudaMemcpyHostToDevice); });
  each("2D, device's pitch, one row",
       [](std::size_t n) { return cudaMemcpy2D(p, n, host, 64, 64, 1, cudaMemcpyHostToDevice); });
  each("2D, both pitches",
       [](std::size_t n) { return cudaMemcpy2D(p, n, host, n, 64, 2, cudaMemcpyHostToDevice); });
  each("2D, width",
       [](std::size_t n) { return cudaMemcpy2D(p, 64, host, 64, n, 2, cudaMemcpyHostToDevice); });
  each("2D, width and pitches",
       [](std::size_t n) { return cudaMemcpy2D(p, n, host, n, n, 2, cudaMemcpyHostToDevice); });
  each("2D, height",
       [](std::size_t n) { return cudaMemcpy2D(p, 64, host, 64, 64, n, cudaMemcpyHostToDevice); });
  each("2D within, both pitches",
       [](std::size_t n) { return cudaMemcpy2D(p, n, p, n, 64, 2, cudaMemcpyDeviceToDevice); });
  each("2D, host's pitch, one row",
       [](std::size_t n) { return cudaMemcpy2D(p, 64, host, n, 64, 1, cudaMemcpyHostToDevice); });
  each("toArray, pitch, one row", [](std::size_t n) {
    return cudaMemcpy2DToArray(array, 0, 0, host, n, 64, 1, cudaMemcpyHostToDevice);
  });
  each("2D from device, device's pitch",
       [](std::size_t n) { return cudaMemcpy2D(host, 64, p, n, 64, 2, cudaMemcpyDeviceToHost); });
}

void to_array() {
  prepare();
  each("toArray, x", [](std::size_t n) {
    return cudaMemcpy2DToArray(array, n, 0, host, 64, 4, 1, cudaMemcpyHostToDevice);
  });
  each("toArray, y", [](std::size_t n) {
    return cudaMemcpy2DToArray(array, 0, n, host, 64, 4, 1, cudaMemcpyHostToDevice);
  });
  each("toArray, width", [](std::size_t n) {
    return cudaMemcpy2DToArray(array, 0, 0, host, 64, n, 1, cudaMemcpyHostToDevice);
  });
  each("toArray, width and pitch", [](std::size_t n) {
    return cudaMemcpy2DToArray(array, 0, 0, host, n, n, 1, cudaMemcpyHostToDevice);
  });
  each("toArray, height", [](std::size_t n) {
    return cudaMemcpy2DToArray(array, 0, 0, host, 64, 4, n, cudaMemcpyHostToDevice);
  });
  each("fromArray, x", [](std::size_t n) {
    return cudaMemcpy2DFromArray(host, 64, array, n, 0, 4, 1, cudaMemcpyDeviceToHost);
  });
  each("fromArray, y", [](std::size_t n) {
    return cudaMemcpy2DFromArray(host, 64, array, 0, n, 4, 1, cudaMemcpyDeviceToHost);
  });
  each("fromArray, width and pitch", [](std::size_t n) {
    return cudaMemcpy2DFromArray(host, n, array, 0, 0, n, 1, cudaMemcpyDeviceToHost);
  });
  each("fromArray, height", [](std::size_t n) {
    return cudaMemcpy2DFromArray(host, 64, array, 0, 0, 4, n, cudaMemcpyDeviceToHost);
  });
  each("arrayToArray, width",
       [](std::size_t n) { return cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 4, n, 1); });
  each("arrayToArray, x",
       [](std::size_t n) { return cudaMemcpy2DArrayToArray(array, n, 0, array, 0, 4, 4, 1); });
  each("arrayToArray, y",
       [](std::size_t n) { return cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, n, 4, 1); });
  each("arrayToArray, height",
       [](std::size_t n) { return cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 4, 4, n); });
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void runs() {
  prepare();
  each("run toArray, bytes", [](std::size_t n) {
    return cudaMemcpyToArray(array, 0, 0, host, n, cudaMemcpyHostToDevice);
  });
  each("run toArray, x", [](std::size_t n) {
    return cudaMemcpyToArray(array, n, 0, host, 4, cudaMemcpyHostToDevice);
  });
  each("run toArray, y", [](std::size_t n) {
    return cudaMemcpyToArray(array, 0, n, host, 4, cudaMemcpyHostToDevice);
  });
  each("run fromArray, bytes", [](std::size_t n) {
    return cudaMemcpyFromArray(host, array, 0, 0, n, cudaMemcpyDeviceToHost);
  });
  each("run arrayToArray, bytes",
       [](std::size_t n) { return cudaMemcpyArrayToArray(array, 0, 0, array, 0, 4, n); });
}
#pragma GCC diagnostic pop

/// A copy of a box from memory of the host to the device's, with all well.
cudaMemcpy3DParms box() {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host, 64, 16, 4);
  copy.dstPtr = make_cudaPitchedPtr(p, 64, 16, 4);
  copy.extent = make_cudaExtent(64, 4, 2);
  copy.kind = cudaMemcpyHostToDevice;
  return copy;
}
/// The same to an array.
cudaMemcpy3DParms array_box() {
  cudaMemcpy3DParms copy = box();
  copy.dstPtr = {};
  copy.dstArray = deep;
  copy.extent = make_cudaExtent(8, 4, 2);
  return copy;
}

void boxes() {
  prepare();
  NOTE("3D", [] {
    auto c = box();
    return cudaMemcpy3D(&c);
  }());
  NOTE("3D to an array", [] {
    auto c = array_box();
    return cudaMemcpy3D(&c);
  }());
#define EACH_BOX(of, member)                       \
  each("3D " #of ", " #member, [](std::size_t n) { \
    auto c = of();                                 \
    c.member = n;                                  \
    return cudaMemcpy3D(&c);                       \
  })
  EACH_BOX(box, extent.width);
  EACH_BOX(box, extent.height);
  EACH_BOX(box, extent.depth);
  EACH_BOX(box, dstPtr.pitch);
  EACH_BOX(box, dstPtr.ysize);
  EACH_BOX(box, dstPos.x);
  EACH_BOX(box, dstPos.y);
  EACH_BOX(box, dstPos.z);
  EACH_BOX(array_box, extent.width);
  EACH_BOX(array_box, extent.height);
  EACH_BOX(array_box, extent.depth);
  EACH_BOX(array_box, dstPos.x);
  EACH_BOX(array_box, dstPos.y);
  EACH_BOX(array_box, dstPos.z);
}

void host_box_x() {
  prepare();
  EACH_BOX(box, srcPos.x);
}

void fills() {
  prepare();
  each("memset", [](std::size_t n) { return cudaMemset(p, 1, n); });
  each("memsetAsync", [](std::size_t n) { return cudaMemsetAsync(p, 1, n, nullptr); });
  each("memset2D, pitch", [](std::size_t n) { return cudaMemset2D(p, n, 1, 64, 2); });
  each("memset2D, pitch, one row", [](std::size_t n) { return cudaMemset2D(p, n, 1, 64, 1); });
  each("memset2D, width", [](std::size_t n) { return cudaMemset2D(p, 64, 1, n, 2); });
  each("memset2D, width and pitch", [](std::size_t n) { return cudaMemset2D(p, n, 1, n, 2); });
  each("memset2D, height", [](std::size_t n) { return cudaMemset2D(p, 64, 1, 64, n); });
  const auto fill = [](std::size_t pitch, std::size_t rows, cudaExtent extent) {
    return cudaMemset3D(make_cudaPitchedPtr(p, pitch, 16, rows), 1, extent);
  };
  each("memset3D, pitch", [&](std::size_t n) { return fill(n, 4, {64, 4, 2}); });
  each("memset3D, rows", [&](std::size_t n) { return fill(64, n, {64, 4, 2}); });
  each("memset3D, width", [&](std::size_t n) { return fill(64, 4, {n, 4, 2}); });
  each("memset3D, height", [&](std::size_t n) { return fill(64, 4, {64, n, 2}); });
  each("memset3D, depth", [&](std::size_t n) { return fill(64, 4, {64, 4, n}); });
  NOTE("memset3D without a pitch, depth", fill(0, 1, {1, 1, kSizes[3]}));
}

void allocations() {
  void* q = nullptr;
  std::size_t pitch = 0;
  cudaPitchedPtr pitched{};
  const auto from_2_40 = [](const char* what, auto&& function) {
    for (const std::size_t n : kSizes)
      if (n >> 40) {
        char line[96];
        std::snprintf(line, sizeof line, "%s, %#llx", what, static_cast<unsigned long long>(n));
        tell(line, function(n));
      }
  };
  from_2_40("malloc", [&](std::size_t n) { return cudaMalloc(&q, n); });
  from_2_40("mallocPitch, width", [&](std::size_t n) { return cudaMallocPitch(&q, &pitch, n, 2); });
  from_2_40("mallocPitch, height",
            [&](std::size_t n) { return cudaMallocPitch(&q, &pitch, 64, n); });
  from_2_40("malloc3D, width", [&](std::size_t n) { return cudaMalloc3D(&pitched, {n, 2, 2}); });
  from_2_40("malloc3D, height", [&](std::size_t n) { return cudaMalloc3D(&pitched, {64, n, 2}); });
  from_2_40("malloc3D, depth", [&](std::size_t n) { return cudaMalloc3D(&pitched, {64, 2, n}); });
  from_2_40("mallocArray, width",
            [&](std::size_t n) { return cudaMallocArray(&array, &kFormat, n, 4); });
  from_2_40("mallocArray, height",
            [&](std::size_t n) { return cudaMallocArray(&array, &kFormat, 4, n); });
  from_2_40("malloc3DArray, depth", [&](std::size_t n) {
    return cudaMalloc3DArray(&array, &kFormat, make_cudaExtent(4, 4, n));
  });
  from_2_40("mallocAsync", [&](std::size_t n) { return cudaMallocAsync(&q, n, nullptr); });
}

void host_allocations() {
  void* q = nullptr;
  for (const std::size_t n : {kSizes[3], kSizes[4]}) {
    NOTE("hostAlloc", cudaHostAlloc(&q, n, cudaHostAllocDefault));
    NOTE("mallocHost", cudaMallocHost(&q, n));
    NOTE("mallocManaged", cudaMallocManaged(&q, n));
    NOTE("hostRegister", cudaHostRegister(host, n, cudaHostRegisterDefault));
  }
}

void objects() {
  prepare();
  cudaTextureObject_t texture = 0;
  const cudaTextureDesc reads{};
  const auto make = [&](auto&& set) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {p, kFormat, 16, 4, 512};
    set(resource.res.pitch2D);
    return cudaCreateTextureObject(&texture, &resource, &reads, nullptr);
  };
  each("texture of bytes", [&](std::size_t n) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {p, kFormat, n};
    return cudaCreateTextureObject(&texture, &resource, &reads, nullptr);
  });
  each("texture of rows, width",
       [&](std::size_t n) { return make([n](auto& r) { r.width = n; }); });
  each("texture of rows, height",
       [&](std::size_t n) { return make([n](auto& r) { r.height = n; }); });
  each("texture of rows, pitch",
       [&](std::size_t n) { return make([n](auto& r) { r.pitchInBytes = n; }); });
}

void launches() {
  const auto launch = [](dim3 grid, dim3 block, std::size_t shared) {
    return cudaLaunchKernel(reinterpret_cast<const void*>(nothing), grid, block, nullptr, shared,
                            nullptr);
  };
  each("shared memory of a launch", [&](std::size_t n) { return launch(1, 1, n); });
  NOTE("grid of 2^31", launch(1u << 31, 1, 0));
  NOTE("grid of 2^16 rows", launch(dim3(1, 1u << 16), 1, 0));
  NOTE("block of 2^31", launch(1, 1u << 31, 0));
  NOTE("block of 2^16 by 2^16", launch(1, dim3(1u << 16, 1u << 16), 0));
  NOTE("block of 2^32-1 each", launch(1, dim3(~0u, ~0u, ~0u), 0));
  each("limit of the stack",
       [](std::size_t n) { return cudaDeviceSetLimit(cudaLimitStackSize, n); });
}

constexpr Group kGroups[] = {{"linear", linear},
                             {"rows", rows},
                             {"to_array", to_array},
                             {"runs", runs},
                             {"boxes", boxes},
                             {"host_box_x", host_box_x},
                             {"fills", fills},
                             {"allocations", allocations},
                             {"host_allocations", host_allocations},
                             {"objects", objects},
                             {"launches", launches}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
