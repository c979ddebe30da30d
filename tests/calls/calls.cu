// nvcc -std=c++17 -ptx -arch=compute_80 -fmad=false -o calls.ptx calls.cu
#include <cuda_runtime.h>

#define FUNCTION static __device__ __noinline__
#define ROOT(x) __fsqrt_rn(x)
#include "functions.inc"

static __device__ unsigned number() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void diamonds(const unsigned* in, unsigned* out) {
  const unsigned i = number(), x = in[i];
  unsigned sum = level5(x, 0);
  if (x & 2) sum += level4(x + 1, 1);
  if ((x & 5) == 1) sum ^= level2(sum, x) + level5(sum, 2);
  out[i] = sum;
}

extern "C" __global__ void walks(const unsigned* in, unsigned* out) {
  const unsigned i = number(), x = in[i];
  unsigned sum = walk(x);
  if (sum & 1) sum += walk(sum);
  out[i] = sum * 3 + walk(x ^ 0x55555555u);
}

extern "C" __global__ void pixels(const unsigned*, unsigned* out) {
  const unsigned i = number();
  out[i] = __float_as_uint(pixel(i));
}

extern "C" __global__ void trees(const unsigned* in, unsigned* out) {
  const unsigned i = number(), x = in[i];
  out[i] = tree(x, 4) + collatz(x & 0x3f) * tree(x >> 5, 2);
}

// Through addresses, which lead to functions that are called by name too.
typedef unsigned (*Function)(unsigned, unsigned);
__device__ Function table[4] = {level0, level1, level2, level3};
extern "C" __global__ void addresses(const unsigned* in, unsigned* out) {
  const unsigned i = number(), x = in[i];
  unsigned sum = table[x & 3](x, i);
  sum += level1(sum, 1);
  for (unsigned k = 0; k < (x & 3); ++k) sum ^= table[(sum + k) & 3](sum, k);
  out[i] = sum;
}

// Barriers in functions: the threads of a block hand their words on.
__shared__ unsigned words[256];
static __device__ __noinline__ unsigned block_sum(unsigned value) {
  __syncthreads();
  words[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) words[threadIdx.x] += words[threadIdx.x + half];
    __syncthreads();
  }
  return words[0];
}
static __device__ __noinline__ unsigned neighbour(unsigned value, unsigned by) {
  __syncthreads();
  words[threadIdx.x] = value;
  __syncthreads();
  return words[(threadIdx.x + by) & (blockDim.x - 1)];
}
extern "C" __global__ void barriers(const unsigned* in, unsigned* out) {
  const unsigned i = number(), x = in[i];
  unsigned sum = block_sum(x);
  sum += block_sum(x ^ 0xff) * neighbour(sum + threadIdx.x, 1);
  for (unsigned k = 1; k < 4; ++k) {
    sum += neighbour(sum, k);
    if (k == 2) sum ^= block_sum(sum & 0xffff);
  }
  out[i] = sum;
}
// And between calls that only some threads make.
extern "C" __global__ void uneven(const unsigned* in, unsigned* out) {
  const unsigned i = number(), x = in[i];
  unsigned sum = x & 1 ? level2(x, 3) : x;
  sum += neighbour(sum, 3);
  if (sum & 2) sum += level2(sum, 4) * collatz(sum & 0xff);
  sum ^= block_sum(sum);
  if (sum & 4) sum += collatz(sum & 0x7f);
  out[i] = sum;
}

// Warp operations in functions, with all threads of a warp and with some.
static __device__ __noinline__ unsigned warp_sum(unsigned value, unsigned mask) {
  unsigned sum = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned one = __shfl_sync(mask, value, lane);
    if (mask >> lane & 1) sum = sum * 3 + one;
  }
  return sum + __popc(__ballot_sync(mask, value & 1));
}
extern "C" __global__ void warps(const unsigned* in, unsigned* out) {
  const unsigned i = number(), x = in[i];
  unsigned sum = warp_sum(x, 0xffffffffu);
  if (threadIdx.x & 1)
    sum += warp_sum(sum + i, 0xaaaaaaaau);
  else
    sum ^= warp_sum(sum - i, 0x55555555u) + collatz(x & 0x3f);
  out[i] = sum + warp_sum(sum, 0xffffffffu) + collatz(sum & 0x3f);
}

// Surfaces that are handed to functions: one that always is the same, and several.
static __device__ __noinline__ unsigned row_sum(cudaSurfaceObject_t s, int y, unsigned from) {
  unsigned sum = 0;
  for (int x = 0; x < 8; ++x) {
    unsigned v;
    surf2Dread(&v, s, ((x + from) & 7) * 4, y, cudaBoundaryModeClamp);
    sum = sum * 5 + v;
  }
  return sum;
}
static __device__ __noinline__ void put(cudaSurfaceObject_t s, int x, int y, unsigned v) {
  surf2Dwrite(v, s, x * 4, y, cudaBoundaryModeTrap);
}
extern "C" __global__ void surfaces(cudaSurfaceObject_t a, cudaSurfaceObject_t b,
                                    cudaSurfaceObject_t o, unsigned* out, int beyond) {
  const unsigned i = number();
  const int y = i & 3, x = i >> 2;
  unsigned sum = row_sum(a, y, x) + row_sum(b, y + 1, 2) * 7;
  if (i & 1) sum += row_sum(i & 2 ? a : b, 3, i);
  put(o, x & 15, y, sum);
  put(o, (x & 15) + beyond, y + 4, sum ^ i);
  out[i] = sum;
}
