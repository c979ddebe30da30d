// Kernels that stand for what applications do beside their surface instructions.
// tests/kernels/README.md says how the expected checksums in the manifests were made.
#include <cuda_fp16.h>
#include <stdint.h>

struct Settings {
  int width, height;
  float weights[9];
  cudaSurfaceObject_t surfaces[2];
  double scale;
};
__constant__ float table[16] = {0.5f, 1.25f, -2,      3,  4.75f, 5,  6,  7.5f,
                                8,    9,     10.125f, 11, 12,    13, 14, 15.0625f};
__constant__ int offsets[4] = {1, -1, 3, 7};
__device__ unsigned counter;
__device__ float weights[4] = {0.1f, 0.2f, 0.3f, 0.4f};
__device__ float* pointers[2] = {weights, weights + 2};

static __device__ unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}
static __device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void convolve(Settings p) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= p.width || y >= p.height) return;
  float sum = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i) {
      float v;
      surf2Dread(&v, p.surfaces[0], (x + i) * 4, y + j, cudaBoundaryModeClamp);
      sum += v * p.weights[(j + 1) * 3 + i + 1];
    }
  surf2Dwrite((float)(sum * p.scale), p.surfaces[1], x * 4, y);
}

extern "C" __global__ void reduce(cudaSurfaceObject_t s, unsigned* out, int n) {
  __shared__ unsigned sums[256];
  int t = threadIdx.x;
  sums[t] = mix(thread() + n);
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) sums[t] += sums[t + k];
    __syncthreads();
  }
  if (t == 0) {
    out[blockIdx.x] = sums[0];
    surf1Dwrite(sums[0], s, blockIdx.x * 4);
  }
}

extern "C" __global__ void single(cudaSurfaceObject_t s, float* out, int n) {
  int i = thread();
  float a = (float)(int)(mix(i) & 0xffff) / 257.0f, b = 1.0f + (float)(mix(i + n) & 0xff);
  float r = a / b + sqrtf(a) + 1.0f / b + fmodf(a, 3.7f) + floorf(a) * rintf(b) + truncf(-a) +
            ceilf(b / 3);
  r += fminf(a, b) - fmaxf(a, -b) + fabsf(a - b) + copysignf(b, a - 100) + fmaf(a, b, r) +
       __frcp_rz(b) + __fdiv_ru(a, b);
  r += __int2float_rd(i * 77777777) + __uint2float_ru(i * 99999u) +
       (float)(long long)(i * 123456789ll);
  out[i] = r;
  surf1Dwrite(r, s, i * 4);
}

extern "C" __global__ void dual(cudaSurfaceObject_t s, double* out, int n) {
  int i = thread();
  double a = (double)(int)(mix(i) & 0xffffff) / 257.0, b = 1.0 + (double)(mix(i + n) & 0xff);
  double r =
      a / b + sqrt(a) + 1.0 / b + floor(a) * rint(b) + trunc(-a) + fma(a, b, -a) + fmod(a, 3.7);
  r += (double)(float)a + (double)(long long)(a * 1e6) + (double)(unsigned)(b * 1e7) + fmin(a, b) +
       fabs(a - b);
  r += exp(-b / 64) + log(a + 1) + sin(a) * cos(b) + pow(b, 0.75) + cbrt(a) + atan2(a, b);
  out[i] = r;
  surf1Dwrite((float)r, s, i * 4);
}

extern "C" __global__ void wide(cudaSurfaceObject_t s, unsigned long long* out, long long n) {
  int i = thread();
  long long a = (long long)((unsigned long long)mix(i) << 32 | mix(i + 7)),
            b = (long long)mix(i + 13) - 0x70000000ll * n;
  unsigned long long r = (unsigned long long)(a / (b | 1)) + (unsigned long long)(a % (b | 1));
  r += (unsigned long long)a / ((unsigned long long)b | 1) ^
       (unsigned long long)a % ((unsigned long long)b | 1);
  r ^= (unsigned long long)__mul64hi(a, b) + __umul64hi(a, b) + (a << (i & 63)) + (a >> (i & 31)) +
       (unsigned long long)(a < b);
  r += __popcll(a) + __clzll(b) + __ffsll(a) + __brevll(a) + (unsigned long long)(a > 0 ? a : -a);
  out[i] = r;
  surf1Dwrite((unsigned)(r >> 32), s, i * 4);
}

extern "C" __global__ void bits(cudaSurfaceObject_t s, unsigned* out, int n) {
  int i = thread();
  unsigned a = mix(i), b = mix(i + n), c = mix(i * 3);
  unsigned r = __popc(a) + __clz(b) + __ffs(c) + __brev(a) + __byte_perm(a, b, c) +
               __funnelshift_l(a, b, c) + __funnelshift_rc(a, b, c & 63);
  r ^= __vadd4(a, b) + __vabsdiffu4(a, c) + __vmaxs2(a, b) + __vcmpgtu4(a, b) + __sad(a, b, c) +
       __mul24(a, b) + __umulhi(a, b) + __mulhi((int)a, (int)b) + __uhadd(a, b) +
       __dp4a((int)a, (int)b, (int)c);
  r += (a & b) ^ (b | ~c) ^ (a % 7) ^ (int)a / 13 ^ (int)b % ((int)(c & 255) + 1) ^
       a / ((b >> 20) + 1);
  out[i] = r;
  surf1Dwrite(r, s, i * 4);
}

extern "C" __global__ void machine(cudaSurfaceObject_t s, int* out, int n) {
  int i = thread(), state = i % 5, v = i;
  for (int k = 0; k < n; ++k) {
    switch (state) {
      case 0:
        v += 3;
        state = (v & 1) ? 2 : 4;
        break;
      case 1:
        v ^= k;
        state = 3;
        if (v > 1000) goto done;
        break;
      case 2:
        v *= 2;
        state = 1;
        break;
      case 3:
        v -= k;
        state = v & 3;
        break;
      default:
        v += 1;
        state = 0;
        if (v == 77) {
          out[i] = -1;
          return;
        }
    }
  }
done:
  out[i] = v;
  surf1Dwrite(v, s, i * 4);
}

static __device__ __noinline__ float lerp_helper(float a, float b, Settings p) {
  return a * p.weights[2] + b * (float)p.scale;
}
static __device__ __noinline__ float4 swap4(float4 v) { return make_float4(v.w, v.z, v.y, v.x); }
typedef float (*Function)(float);
__device__ float plus_one(float a) { return a + 1; }
__device__ float twice(float a) { return a * 2; }
__device__ Function functions[2] = {plus_one, twice};

extern "C" __global__ void calls(cudaSurfaceObject_t s, float* out, Settings p) {
  int i = thread();
  float v = lerp_helper(i, 3, p);
  float4 q = swap4(make_float4(v, 1, 2, 3));
  v = functions[i & 1](q.w) + pointers[i & 1][1];
  out[i] = v + q.x;
  surf2Dwrite(q, s, (i & 31) * 16, i >> 5);
}

extern "C" __global__ void local(cudaSurfaceObject_t s, int* out, int n) {
  int i = thread(), array[32];
  for (int k = 0; k < 32; ++k) array[k] = k * n + i;
  int* p = array + (n & 7);
  *p = 3;
  for (int k = 0; k < 31; ++k)
    if (mix(array[k]) > mix(array[k + 1])) {
      int t = array[k];
      array[k] = array[k + 1];
      array[k + 1] = t;
    }
  out[i] = array[(i * 5) & 31] + array[(i + n) & 31] + (int)table[i & 15] + offsets[i & 3];
  surf1Dwrite((short)out[i], s, i * 2);
}

extern "C" __global__ void atomics(cudaSurfaceObject_t s, unsigned* out,
                                   unsigned long long* wide_out) {
  int i = thread();
  unsigned a = mix(i);
  atomicAdd(&out[0], a);
  atomicMax(&out[1], a);
  atomicMin((int*)&out[2], (int)a);
  atomicXor(&out[3], a);
  atomicInc(&out[4], 1000);
  atomicOr(&out[5], 1u << (a & 31));
  atomicAdd(&wide_out[0], (unsigned long long)a << 20);
  atomicMax(&wide_out[1], (unsigned long long)a << 32 | i);
  atomicMin(&wide_out[2], (unsigned long long)a << 32 | i);
  atomicAdd(&counter, 1);
  atomicAdd((float*)&out[6], (float)(i & 15));
  atomicAdd((double*)&wide_out[3], (double)(i & 31));
  __shared__ unsigned shared_sum;
  if (threadIdx.x == 0) shared_sum = 0;
  __syncthreads();
  atomicAdd(&shared_sum, a & 255);
  __syncthreads();
  if (threadIdx.x == 0) surf1Dwrite(shared_sum, s, blockIdx.x * 4);
}

extern "C" __global__ void narrow(cudaSurfaceObject_t s, signed char* bytes,
                                  unsigned short* halves) {
  int i = thread();
  bytes[i] = (signed char)(bytes[i] / 3 - i);
  halves[i] = (unsigned short)(halves[i] * 5 + bytes[i]);
  uchar4 v;
  surf2Dread(&v, s, (i & 31) * 4, i >> 5);
  unsigned char t = v.x;
  v.x = v.w + 1;
  v.w = t;
  surf2Dwrite(v, s, (i & 31) * 4, i >> 5);
}

extern "C" __global__ void half_precision(cudaSurfaceObject_t s, __half2* out, int n) {
  int i = thread();
  __half2 a = __floats2half2_rn((float)(mix(i) & 1023) / 64, (float)(mix(i + n) & 255) / 16 - 4);
  __half2 b = __hfma2(a, a, __float2half2_rn(0.5f));
  b = __hadd2(b, __hmul2(a, __half2half2(__ushort_as_half((unsigned short)0x3e00))));
  b = __hmax2(b, a);
  if (__hgt(__low2half(b), __high2half(a))) b = __hneg2(b);
  out[i] = b;
  surf1Dwrite(__half2float(__low2half(b)) + __half2float(__high2half(b)), s, i * 4);
}

extern "C" __global__ void warps(cudaSurfaceObject_t s, unsigned* out, int n) {
  int i = thread();
  unsigned v = mix(i + n);
  for (int k = 16; k > 0; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
  v ^= __shfl_down_sync(~0u, v, 3) + __shfl_up_sync(~0u, i, 5) + __shfl_sync(~0u, i * 7, v & 31);
  v += __ballot_sync(~0u, mix(i) & 1) + __any_sync(~0u, i == 40) + __all_sync(~0u, i >= 0) * 3;
  if (mix(i) & 4) {
    unsigned mask = __activemask();
    out[i] = v + __popc(mask);
  } else {
    out[i] = v;
  }
  v += __match_any_sync(~0u, i / 3) + __reduce_add_sync(~0u, i);
  surf1Dwrite(v, s, i * 4);
}

extern "C" __global__ void __launch_bounds__(1024)
    transpose(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int n) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  float v = 0;
  if (x < n && y < n) surf2Dread(&v, from, x * 4, y);
  tile[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  if (x < n && y < n) surf2Dwrite(tile[threadIdx.x][threadIdx.y] + 1, to, x * 4, y);
}

extern "C" __global__ void early_exit(cudaSurfaceObject_t s, unsigned* out, int n) {
  __shared__ unsigned shared_values[128];
  int t = threadIdx.x;
  if (t >= n) return;
  shared_values[t] = mix(thread());
  for (int k = 0; k < (t & 3) + 1; ++k) shared_values[t] += k;
  __syncthreads();
  unsigned v = shared_values[(t + 1) % n];
  __syncthreads();
  if (t & 1) return;
  out[thread()] = v;
  surf1Dwrite(v, s, thread() * 4);
}

extern "C" __global__ void indirect(const cudaSurfaceObject_t* handles, unsigned* out, int n) {
  int i = thread();
  cudaSurfaceObject_t s = handles[mix(i) % n];
  unsigned v;
  surf2Dread(&v, s, (i & 31) * 4, (i >> 5) & 7, cudaBoundaryModeZero);
  surf3Dwrite((unsigned char)v, handles[n], (i & 7), (i >> 3) & 7, (i >> 6) & 3,
              cudaBoundaryModeZero);
  out[i] = v;
}

extern "C" __global__ void layers(cudaSurfaceObject_t s, cudaSurfaceObject_t line, int n) {
  int i = thread();
  uint2 v;
  surf2DLayeredread(&v, s, (i & 15) * 8, (i >> 4) & 7, i >> 7, cudaBoundaryModeClamp);
  v.x += v.y * n;
  surf2DLayeredwrite(v, s, (i & 15) * 8, (i >> 4) & 7, i >> 7, cudaBoundaryModeZero);
  surf1DLayeredwrite((unsigned short)v.x, line, (i & 63) * 2, i >> 6, cudaBoundaryModeTrap);
}
