// The same work by blocks of any size: what larger blocks cost where a device has smaller ones.
// Each block of `reduce` and `blur` has 1,024 words to do, one of `transpose` 32 x 32.
constexpr int kWords = 1024, kSide = 32;

// Sums: a tree in shared memory, a barrier for every level.
extern "C" __global__ void reduce(const unsigned* from, unsigned* to, unsigned) {
  __shared__ unsigned sums[kWords];
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x) {
    const unsigned v = from[blockIdx.x * kWords + i];
    sum += v * v;
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) to[blockIdx.x] = sums[0];
}

// A tile through shared memory; `size` is the matrix's side.
extern "C" __global__ void transpose(const unsigned* from, unsigned* to, unsigned size) {
  __shared__ unsigned tile[kSide][kSide + 1];
  const unsigned x = threadIdx.x % kSide, rows = blockDim.x / kSide;
  const unsigned tiles = size / kSide, left = blockIdx.x % tiles * kSide,
                 top = blockIdx.x / tiles * kSide;
  for (unsigned y = threadIdx.x / kSide; y < kSide; y += rows)
    tile[y][x] = from[(top + y) * size + left + x];
  __syncthreads();
  for (unsigned y = threadIdx.x / kSide; y < kSide; y += rows)
    to[(left + y) * size + top + x] = tile[x][y];
}

// Nine taps along a line, three times over.
extern "C" __global__ void blur(const unsigned* from, unsigned* to, unsigned) {
  __shared__ unsigned line[2][kWords + 8];
  for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x)
    line[0][i + 4] = from[blockIdx.x * kWords + i] & 0xffff;
  if (threadIdx.x < 4) {
    for (unsigned k = 0; k < 2; ++k) {
      line[k][threadIdx.x] = 0;
      line[k][kWords + 4 + threadIdx.x] = 0;
    }
  }
  for (unsigned pass = 0; pass < 3; ++pass) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x) {
      unsigned sum = 0;
      for (unsigned k = 0; k < 9; ++k) sum += line[pass & 1][i + k] * (k + 1);
      line[~pass & 1][i + 4] = sum / 45;
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kWords; i += blockDim.x)
    to[blockIdx.x * kWords + i] = line[1][i + 4];
}
