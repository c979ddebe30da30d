// A photograph without its grain. A warp has a square of 16 x 16 texels: tensor cores turn it into
// waves (a cosine transform by two products of matrices), weak waves go, and two more products turn
// it back. The middle of the square is stored, where the neighbours' edges do not show.
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

constexpr int kSide = 16, kInner = 12, kTexels = kSide * kSide;

// cos(pi i / 32) / sqrt(8)
__constant__ float kCosines[17] = {0.35355339f, 0.35185093f, 0.34675996f, 0.33832950f, 0.32664074f,
                                   0.31180625f, 0.29396890f, 0.27330047f, 0.25000000f, 0.22429190f,
                                   0.19642374f, 0.16666392f, 0.13529903f, 0.10263113f, 0.06897484f,
                                   0.03465429f, 0.0f};

// What a wave of that number has at a place.
__device__ float wave(int number, int place) {
  if (number == 0) return 0.25f;
  int at = (2 * place + 1) * number % 64;
  if (at > 32) at = 64 - at;
  return at > 16 ? -kCosines[32 - at] : kCosines[at];
}

__device__ unsigned scrambled(unsigned v) {
  v = (v ^ (v >> 16)) * 0x7feb352du;
  v = (v ^ (v >> 15)) * 0x846ca68bu;
  return v ^ (v >> 16);
}

extern "C" __global__ void add_grain(cudaSurfaceObject_t photo, cudaSurfaceObject_t to, int width,
                                     int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const uchar4 c = surf2Dread<uchar4>(photo, x * 4, y);
  const unsigned noise = scrambled(y * width + x);
  const auto grainy = [](int level, unsigned bits) {
    const int grain = static_cast<int>(bits & 63) - 32;
    return static_cast<unsigned char>(min(max(level + grain, 0), 255));
  };
  surf2Dwrite(
      make_uchar4(grainy(c.x, noise), grainy(c.y, noise >> 8), grainy(c.z, noise >> 16), 255), to,
      x * 4, y);
}

__device__ void product(const __half* a, const __half* b, float* to) {
  wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float> sum;
  wmma::load_matrix_sync(left, a, kSide);
  wmma::load_matrix_sync(right, b, kSide);
  wmma::fill_fragment(sum, 0.0f);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(to, sum, kSide, wmma::mem_row_major);
  __syncwarp();
}

extern "C" __global__ void __launch_bounds__(32)
    denoise(cudaTextureObject_t from, cudaSurfaceObject_t to, int width, int height, int percent) {
  __shared__ __align__(32) __half waves[kTexels], turned[kTexels], square[kTexels];
  __shared__ __align__(32) float sums[kTexels], channels[3][kTexels];
  const int lane = threadIdx.x;
  const int left = blockIdx.x * kInner - (kSide - kInner) / 2,
            top = blockIdx.y * kInner - (kSide - kInner) / 2;
  for (int i = lane; i < kTexels; i += 32) {
    waves[i] = __float2half(wave(i / kSide, i % kSide));
    turned[i] = __float2half(wave(i % kSide, i / kSide));
    const float4 texel = tex2D<float4>(from, left + i % kSide + 0.5f, top + i / kSide + 0.5f);
    channels[0][i] = texel.x;
    channels[1][i] = texel.y;
    channels[2][i] = texel.z;
  }
  __syncwarp();
#pragma unroll 1
  for (int step = 0; step < 12; ++step) {
    float* channel = channels[step / 4];
    const float weak = step % 4 == 2 ? percent * 0.01f : 0.0f;
    const float* now = step % 4 == 0 ? channel : sums;
    for (int i = lane; i < kTexels; i += 32)
      square[i] = __float2half(i > 0 && fabsf(now[i]) < weak ? 0.0f : now[i]);
    __syncwarp();
    // waves square, then by turned; turned square, then by waves.
    const __half* with = step % 4 == 0 || step % 4 == 3 ? waves : turned;
    product(step % 2 == 0 ? with : square, step % 2 == 0 ? square : with,
            step % 4 == 3 ? channel : sums);
  }
  for (int i = lane; i < kInner * kInner; i += 32) {
    const int column = i % kInner + (kSide - kInner) / 2, row = i / kInner + (kSide - kInner) / 2;
    const int x = left + column, y = top + row, at = row * kSide + column;
    if (x >= width || y >= height) continue;
    // A formatted store: the surface's format says how fractions are stored.
    asm volatile("sust.p.2d.v4.b32.trap [%0, {%1, %2}], {%3, %4, %5, %6};"
                 :
                 : "l"(to), "r"(x), "r"(y), "f"(channels[0][at]), "f"(channels[1][at]),
                   "f"(channels[2][at]), "f"(1.0f)
                 : "memory");
  }
}
