// Surfaces of every geometry: written and read back by kernels, and by copies.
#include "common.cuh"

size_t g_wrong = 0;

struct Shape {
  const char* name;
  cudaExtent extent;
  unsigned flags;
  int kind;  // 1, 2, 3 dimensions, 4, 5 layered, 6 cube, 7 layered cube
};

template <class T>
__host__ __device__ T value_at(int x, int y, int z);
template <>
__host__ __device__ unsigned value_at<unsigned>(int x, int y, int z) {
  return x * 1000003u + y * 7919u + z * 104729u;
}
template <>
__host__ __device__ uchar4 value_at<uchar4>(int x, int y, int z) {
  return make_uchar4(x, y, z, x ^ y ^ z);
}
template <>
__host__ __device__ float2 value_at<float2>(int x, int y, int z) {
  return make_float2(x + 0.25f * y, z - 0.5f * x);
}
template <>
__host__ __device__ ushort2 value_at<ushort2>(int x, int y, int z) {
  return make_ushort2(x * 3 + z, y * 5 + 1);
}

template <class T>
__global__ void write(cudaSurfaceObject_t s, int kind, int w, int h, int d) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z;
  if (x >= w || y >= h || z >= d) return;
  T v = value_at<T>(x, y, z);
  const int at = x * sizeof(T);
  switch (kind) {
    case 1: surf1Dwrite(v, s, at); break;
    case 2: surf2Dwrite(v, s, at, y); break;
    case 3: surf3Dwrite(v, s, at, y, z); break;
    case 4: surf1DLayeredwrite(v, s, at, z); break;
    case 5: surf2DLayeredwrite(v, s, at, y, z); break;
    case 6: surfCubemapwrite(v, s, at, y, z); break;
    case 7: surfCubemapLayeredwrite(v, s, at, y, z); break;
  }
}

template <class T>
__global__ void read(cudaSurfaceObject_t s, T* out, int kind, int w, int h, int d) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z;
  if (x >= w || y >= h || z >= d) return;
  // One texel to the right and below: the last of each row is out of bounds.
  T v = value_at<T>(0, 0, 0);
  const int at = (x + 1) * sizeof(T);
  switch (kind) {
    case 1: surf1Dread(&v, s, at, cudaBoundaryModeZero); break;
    case 2: surf2Dread(&v, s, at, y + 1, cudaBoundaryModeClamp); break;
    case 3: surf3Dread(&v, s, at, y + 1, z, cudaBoundaryModeZero); break;
    case 4: surf1DLayeredread(&v, s, at, z, cudaBoundaryModeClamp); break;
    case 5: surf2DLayeredread(&v, s, at, y + 1, z, cudaBoundaryModeZero); break;
    case 6: surfCubemapread(&v, s, at, y + 1, z, cudaBoundaryModeClamp); break;
    case 7: surfCubemapLayeredread(&v, s, at, y + 1, z, cudaBoundaryModeZero); break;
  }
  out[(z * h + y) * w + x] = v;
}

/// What `read` finds at (x, y, z), by the rules of the boundary modes.
template <class T>
T expected(int kind, int x, int y, int z, int w, int h) {
  x += 1;
  if (kind != 1 && kind != 4) y += 1;
  const bool clamp = kind == 2 || kind == 4 || kind == 6;
  if (clamp) return value_at<T>(x < w ? x : w - 1, y < h ? y : h - 1, z);
  return x < w && y < h ? value_at<T>(x, y, z) : T{};
}

template <class T>
void compare(const char* name, const std::vector<T>& got, const std::vector<T>& wanted) {
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) wrong += std::memcmp(&got[i], &wanted[i], sizeof(T)) != 0;
  if (wrong) std::printf("%s: %zu of %zu texels are wrong\n", name, wrong, got.size());
  g_wrong += wrong;
}

template <class T>
void run(const Shape& shape, const char* type) {
  const int w = shape.extent.width, h = shape.extent.height ? shape.extent.height : 1;
  const int d = shape.extent.depth ? shape.extent.depth : 1;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &format, shape.extent, shape.flags | cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  T* out;
  CHECK(cudaMalloc(&out, sizeof(T) * w * h * d));
  dim3 block(16, h > 1 ? 4 : 1), grid((w + 15) / 16, h > 1 ? (h + 3) / 4 : 1, d);
  write<T><<<grid, block>>>(surface, shape.kind, w, h, d);
  CHECK(cudaGetLastError());
  read<T><<<grid, block>>>(surface, out, shape.kind, w, h, d);
  CHECK(cudaDeviceSynchronize());
  char name[64];
  std::snprintf(name, sizeof name, "%s %s kernel", shape.name, type);
  std::vector<T> host(w * h * d), shifted, plain;
  for (int z = 0; z < d; ++z)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        shifted.push_back(expected<T>(shape.kind, x, y, z, w, h));
        plain.push_back(value_at<T>(x, y, z));
      }
  CHECK(cudaMemcpy(host.data(), out, sizeof(T) * w * h * d, cudaMemcpyDeviceToHost));
  compare(name, host, shifted);
  cudaMemcpy3DParms copy{};
  copy.srcArray = array;
  copy.dstPtr = make_cudaPitchedPtr(host.data(), w * sizeof(T), w, h);
  copy.extent = make_cudaExtent(w, h, d);
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  std::snprintf(name, sizeof name, "%s %s copy", shape.name, type);
  compare(name, host, plain);
  cudaResourceDesc again{};
  CHECK(cudaGetSurfaceObjectResourceDesc(&again, surface));
  if (again.res.array.array != array) std::printf("another array\n"), ++g_wrong;
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
}

int main() {
  const Shape shapes[] = {
      {"1d", make_cudaExtent(37, 0, 0), 0, 1},
      {"2d", make_cudaExtent(33, 17, 0), 0, 2},
      {"3d", make_cudaExtent(19, 11, 5), 0, 3},
      {"1d layered", make_cudaExtent(41, 0, 6), cudaArrayLayered, 4},
      {"2d layered", make_cudaExtent(23, 9, 4), cudaArrayLayered, 5},
      {"cube", make_cudaExtent(16, 16, 6), cudaArrayCubemap, 6},
      {"cube layered", make_cudaExtent(8, 8, 12), cudaArrayCubemap | cudaArrayLayered, 7},
  };
  for (const Shape& shape : shapes) {
    run<unsigned>(shape, "uint");
    run<uchar4>(shape, "uchar4");
    run<float2>(shape, "float2");
    run<ushort2>(shape, "ushort2");
  }
  std::printf(g_wrong ? "wrong\n" : "good\n");
}
