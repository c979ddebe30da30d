// CUDA C++ as clang compiles it without a toolkit: the words of the language, launches by <<<>>>,
// templates, variables, shared memory, and texture and surface references, against declarations of
// our own. Registration and launches are clang's.
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

#include "runtime.h"

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned a, unsigned b = 1, unsigned c = 1)
      : x(a), y(b), z(c) {}
};
extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                     cudaStream_t stream = nullptr);
cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream);
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               int kind);
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 int kind);
}

template <class T, int dimensions = 1, int mode = 0>
struct __attribute__((device_builtin_texture_type)) texture : textureReference {};
template <class T, int dimensions = 1>
struct __attribute__((device_builtin_surface_type)) surface;
template <int dimensions>
struct __attribute__((device_builtin_surface_type)) surface<void, dimensions> : surfaceReference {};

texture<float, 2> image;
texture<unsigned char, 2, 1> grey;  // bytes as floats up to 1
surface<void, 2> target;
__constant__ int factors[4];
__device__ int count;

// The compiler gives a reference's handle where an operand of 64 bits is asked for.
template <class Reference>
__device__ float fetch(Reference reference, float x, float y) {
  float a, b, c, d;
  asm("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
      : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
      : "l"(reference), "f"(x), "f"(y));
  return a;
}
template <class Reference>
__device__ void store(Reference reference, int x, int y, int value) {
  asm volatile("sust.b.2d.b32.trap [%0, {%1, %2}], {%3};" ::"l"(reference), "r"(x * 4), "r"(y),
               "r"(value));
}

__global__ void read(float* out, int width) {
  const int x = __nvvm_read_ptx_sreg_tid_x(), y = __nvvm_read_ptx_sreg_ctaid_x();
  out[y * width + x] = fetch(image, x + 0.5f, y + 0.5f) + fetch(grey, x + 0.5f, y + 0.5f);
}
__global__ void paint(int step) {
  const int x = __nvvm_read_ptx_sreg_tid_x(), y = __nvvm_read_ptx_sreg_ctaid_x();
  store(target, x, y, step * y + x);
}
/// The block's sum, times a constant; counts its blocks.
template <class T>
__global__ void sum(const T* from, T* to) {
  __shared__ T parts[64];
  const int i = __nvvm_read_ptx_sreg_tid_x(), block = __nvvm_read_ptx_sreg_ctaid_x();
  parts[i] = from[block * 64 + i];
  __nvvm_bar_sync(0);
  for (int step = 32; step; step /= 2) {
    if (i < step) parts[i] += parts[i + step];
    __nvvm_bar_sync(0);
  }
  if (i == 0) {
    to[block] = parts[0] * factors[block];
    __nvvm_atom_add_gen_i(&count, 1);
  }
}

template <class T>
void sums() {
  T values[256], results[4], *from, *to;
  const int with[4] = {1, 2, 3, 4};
  int before = 0, after = 0;
  for (int i = 0; i < 256; ++i) values[i] = static_cast<T>(i);
  OK(cudaMalloc(reinterpret_cast<void**>(&from), sizeof values));
  OK(cudaMalloc(reinterpret_cast<void**>(&to), sizeof results));
  OK(cudaMemcpy(from, values, sizeof values, kToDevice));
  OK(cudaMemcpyToSymbol(&factors, with, sizeof with, 0, kToDevice));
  OK(cudaMemcpyFromSymbol(&before, &count, sizeof before, 0, kToHost));
  sum<T><<<4, 64>>>(from, to);
  OK(cudaGetLastError());
  OK(cudaMemcpy(results, to, sizeof results, kToHost));
  for (int block = 0; block < 4; ++block) {
    T expected = 0;
    for (int i = 0; i < 64; ++i) expected += values[block * 64 + i];
    TRUE(results[block] == expected * with[block]);
  }
  OK(cudaMemcpyFromSymbol(&after, &count, sizeof after, 0, kToHost));
  TRUE(after == before + 4);
  OK(cudaFree(from));
  OK(cudaFree(to));
}

void references() {
  constexpr int width = 8, height = 4;
  const cudaChannelFormatDesc floats = {32, 0, 0, 0, kReal}, bytes = {8, 0, 0, 0, kUnsigned},
                              words = {32, 0, 0, 0, kSigned};
  float texels[height][width], values[height][width], *out;
  unsigned char greys[height][width];
  int painted[height][width];
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      texels[y][x] = y * 100.0f + x;
      greys[y][x] = (x + y) % 2 ? 255 : 0;
    }
  cudaArray_t a, b, c;
  OK(cudaMallocArray(&a, &floats, width, height, 0));
  OK(cudaMallocArray(&b, &bytes, width, height, 0));
  OK(cudaMallocArray(&c, &words, width, height, 2));
  OK(cudaMemcpy2DToArray(a, 0, 0, texels, width * 4, width * 4, height, kToDevice));
  OK(cudaMemcpy2DToArray(b, 0, 0, greys, width, width, height, kToDevice));
  OK(cudaMalloc(reinterpret_cast<void**>(&out), sizeof values));
  OK(cudaBindTextureToArray(&image, a, &floats));
  OK(cudaBindTextureToArray(&grey, b, &bytes));
  read<<<height, width>>>(out, width);
  OK(cudaMemcpy(values, out, sizeof values, kToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) TRUE(values[y][x] == texels[y][x] + (x + y) % 2);
  OK(cudaBindSurfaceToArray(&target, c, &words));
  paint<<<height, width>>>(1000);
  OK(cudaMemcpy2DFromArray(painted, width * 4, c, 0, 0, width * 4, height, kToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) TRUE(painted[y][x] == y * 1000 + x);
  OK(cudaFreeArray(a));
  OK(cudaFreeArray(b));
  OK(cudaFreeArray(c));
  OK(cudaFree(out));
}

int main() {
  sums<int>();
  sums<float>();
  references();
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
