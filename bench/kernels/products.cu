// Products of two matrices of f16 with sums of f32: c = a b, where a lies by rows and b by columns.
// A block has 64 x 64 elements of c and 32 of k in shared memory at a time.
#include <cuda_fp16.h>

constexpr int kTile = 64, kDepth = 32;

// Tensor cores: each of eight warps has 16 x 32 elements of c.
extern "C" __global__ void __launch_bounds__(256)
    product_mma(const __half* a, const __half* b, float* c, unsigned n) {
  __shared__ __align__(16) __half rows[kTile][kDepth + 8], columns[kTile][kDepth + 8];
  const unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const unsigned top = blockIdx.y * kTile, left = blockIdx.x * kTile;
  const unsigned down = warp / 2 * 16, across = warp % 2 * 32;
  float sums[4][4] = {};
  for (unsigned k = 0; k < n; k += kDepth) {
    for (unsigned i = thread; i < kTile * kDepth / 8; i += 256) {
      const unsigned row = i / (kDepth / 8), at = i % (kDepth / 8) * 8;
      *reinterpret_cast<uint4*>(&rows[row][at]) =
          *reinterpret_cast<const uint4*>(&a[size_t(top + row) * n + k + at]);
      *reinterpret_cast<uint4*>(&columns[row][at]) =
          *reinterpret_cast<const uint4*>(&b[size_t(left + row) * n + k + at]);
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned step = 0; step < kDepth; step += 16) {
      unsigned x[4], y[4][2];
      const auto from = static_cast<unsigned>(
          __cvta_generic_to_shared(&rows[down + lane % 16][step + lane / 16 * 8]));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(from));
      for (int j = 0; j < 4; j += 2) {
        const auto from = static_cast<unsigned>(__cvta_generic_to_shared(
            &columns[across + 8 * j + lane / 16 * 8 + lane % 8][step + lane / 8 % 2 * 8]));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[j][0]), "=r"(y[j][1]), "=r"(y[j + 1][0]), "=r"(y[j + 1][1])
                     : "r"(from));
      }
      for (int j = 0; j < 4; ++j)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[j][0]), "r"(y[j][1]));
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    for (int half = 0; half < 2; ++half) {
      const unsigned row = top + down + 8 * half + lane / 4,
                     column = left + across + 8 * j + lane % 4 * 2;
      *reinterpret_cast<float2*>(&c[size_t(row) * n + column]) =
          make_float2(sums[j][2 * half], sums[j][2 * half + 1]);
    }
}

// The same without: each thread has 8 x 4 elements of c.
extern "C" __global__ void __launch_bounds__(128)
    product_fma(const __half* a, const __half* b, float* c, unsigned n) {
  __shared__ __align__(16) float rows[kDepth][kTile], columns[kDepth][kTile];
  const unsigned thread = threadIdx.x;
  const unsigned top = blockIdx.y * kTile, left = blockIdx.x * kTile;
  const unsigned down = thread / 16 * 8, across = thread % 16 * 4;
  float sums[8][4] = {};
  for (unsigned k = 0; k < n; k += kDepth) {
    for (unsigned i = thread; i < kTile * kDepth / 2; i += 128) {
      const unsigned row = i % kTile, at = i / kTile * 2;
      const float2 x = __half22float2(
          *reinterpret_cast<const __half2*>(&a[size_t(top + row) * n + k + at]));
      const float2 y = __half22float2(
          *reinterpret_cast<const __half2*>(&b[size_t(left + row) * n + k + at]));
      rows[at][row] = x.x;
      rows[at + 1][row] = x.y;
      columns[at][row] = y.x;
      columns[at + 1][row] = y.y;
    }
    __syncthreads();
#pragma unroll 4
    for (unsigned step = 0; step < kDepth; ++step) {
      float x[8], y[4];
      for (int i = 0; i < 8; ++i) x[i] = rows[step][down + i];
      for (int j = 0; j < 4; ++j) y[j] = columns[step][across + j];
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j)
      c[size_t(top + down + i) * n + left + across + j] = sums[i][j];
}
