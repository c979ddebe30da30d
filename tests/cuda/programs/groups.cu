// Cooperative groups, asynchronous copies and barriers as nvcc's headers write them for each
// compute capability. Results are compared on the host.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>

#include <algorithm>

#include "common.cuh"

namespace cg = cooperative_groups;

namespace {

constexpr int kThreads = 128, kResults = 9;

__global__ void groups(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto half = cg::tiled_partition<16>(block);
  const int v = in[block.thread_rank()];
  int* o = out + block.thread_rank() * kResults;
  o[0] = cg::reduce(warp, v, cg::plus<int>());
  o[1] = cg::reduce(half, v, cg::greater<int>());
  o[2] = cg::inclusive_scan(warp, v, cg::plus<int>());
  o[3] = 0;
  if (v & 1) {
    auto odd = cg::coalesced_threads();
    o[3] = odd.size() * 100 + odd.thread_rank();
  }
  auto labelled = cg::labeled_partition(warp, v % 3);
  o[4] = cg::reduce(labelled, v, cg::plus<int>());
  o[5] = warp.ballot(v > 10);
  o[6] = warp.any(v == 5);
  o[7] = warp.shfl_xor(v, 3);
  o[8] = warp.match_any(v % 4);
}

__global__ void copied(const int* in, int* out) {
  __shared__ int tile[kThreads];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, sizeof tile);
  cg::wait(block);
  out[block.thread_rank()] = tile[kThreads - 1 - block.thread_rank()];
}

__global__ void barriers(const int* in, int* out) {
  __shared__ int tile[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  const int i = threadIdx.x;
  if (i == 0) init(&barrier, kThreads);
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[i] = in[i] + round;
    barrier.arrive_and_wait();
    sum += tile[(i + 1) % kThreads];
    barrier.arrive_and_wait();
  }
  out[i] = sum;
}

/// Tiles of several warps, whose barriers are loops over shared memory.
__global__ void tiles(const int* in, int* out) {
  __shared__ cg::block_tile_memory<kThreads> scratch;
  auto block = cg::this_thread_block(scratch);
  auto half = cg::tiled_partition<kThreads / 2>(block);
  const int v = in[block.thread_rank()];
  int sum = cg::reduce(half, v, cg::plus<int>());
  half.sync();
  out[block.thread_rank()] = sum * 100 + half.shfl(v, 3);
}

/// A lock in shared memory, taken by each thread in turn.
__global__ void locked(const int* in, int* out) {
  __shared__ int taken, last;
  if (threadIdx.x == 0) taken = last = 0;
  __syncthreads();
  while (atomicCAS(&taken, 0, 1) != 0) {
  }
  __threadfence_block();
  last += in[threadIdx.x];
  __threadfence_block();
  atomicExch(&taken, 0);
  __syncthreads();
  out[threadIdx.x] = last;
}

/// Warps of blocks whose rows are none, and a row of `kRow` threads that goes on without the rest
/// of its warp.
template <int kRow>
__global__ void rows(const int* in, int* out) {
  __shared__ int sums[32];
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  int sum = in[t];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
  const int odd = __popc(__ballot_sync(~0u, in[t] & 1) & ((1u << t % 32) - 1));
  out[t] = sum * 10000 + odd * 100 + __shfl_up_sync(~0u, in[t], 3);
  if (t % 32 == 0) sums[t / 32] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && threadIdx.z == 0 && threadIdx.x < kRow) {
    int all = threadIdx.x < threads / 32 ? sums[threadIdx.x] : 0;
#pragma unroll
    for (int k = kRow / 2; k > 0; k /= 2) all += __shfl_down_sync((1u << kRow) - 1, all, k);
    if (threadIdx.x == 0) out[threads] = all;
  }
}

int failures = 0;

void same(const char* what, int thread, int got, int expected) {
  if (got == expected) return;
  if (++failures < 20) std::printf("%s, thread %d: %d, not %d\n", what, thread, got, expected);
}

template <int kRow>
void check_rows(dim3 block, const int* in, const int* from, int* to) {
  rows<kRow><<<1, block>>>(from, to);
  int out[kThreads + 1], all = 0;
  const int threads = block.x * block.y * block.z;
  CHECK(cudaMemcpy(out, to, (threads + 1) * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < threads; ++i) {
    int sum = 0, odd = 0;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) {
      sum += in[k];
      if (k < i) odd += in[k] & 1;
    }
    same("rows", i, out[i], sum * 10000 + odd * 100 + in[i % 32 < 3 ? i : i - 3]);
    all += in[i];
  }
  same("a row of some of a warp", block.x, out[threads], all);
}

void check_groups(const int* in, const int* out) {
  for (int i = 0; i < kThreads; ++i) {
    const int *o = out + i * kResults, first = i / 32 * 32, tile = i / 16 * 16;
    int sum = 0, most = 0, scan = 0, odd = 0, rank = 0, label = 0, ballot = 0, five = 0, match = 0;
    for (int k = 0; k < 32; ++k) {
      const int v = in[first + k];
      sum += v;
      if (first + k <= i) scan += v;
      odd += v & 1;
      if (first + k < i) rank += v & 1;
      if (v % 3 == in[i] % 3) label += v;
      if (v > 10) ballot |= 1 << k;
      if (v == 5) five = 1;
      if (v % 4 == in[i] % 4) match |= 1 << k;
    }
    for (int k = 0; k < 16; ++k) most = std::max(most, in[tile + k]);
    same("reduce", i, o[0], sum);
    same("reduce of 16", i, o[1], most);
    same("scan", i, o[2], scan);
    same("coalesced threads", i, o[3], in[i] & 1 ? odd * 100 + rank : 0);
    same("labelled", i, o[4], label);
    same("ballot", i, o[5], ballot);
    same("any", i, o[6], five);
    same("shuffle", i, o[7], in[i ^ 3]);
    same("match", i, o[8], match);
  }
}

}  // namespace

int main() {
  int in[kThreads], out[kThreads * kResults], *from, *to;
  for (int i = 0; i < kThreads; ++i) in[i] = i * 37 % 29;
  CHECK(cudaMalloc(&from, sizeof in));
  CHECK(cudaMalloc(&to, sizeof out));
  CHECK(cudaMemcpy(from, in, sizeof in, cudaMemcpyHostToDevice));
  groups<<<1, kThreads>>>(from, to);
  CHECK(cudaMemcpy(out, to, sizeof out, cudaMemcpyDeviceToHost));
  check_groups(in, out);
  copied<<<1, kThreads>>>(from, to);
  CHECK(cudaMemcpy(out, to, sizeof in, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kThreads; ++i) same("copied", i, out[i], in[kThreads - 1 - i]);
  barriers<<<1, kThreads>>>(from, to);
  CHECK(cudaMemcpy(out, to, sizeof in, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kThreads; ++i) same("barriers", i, out[i], 3 * in[(i + 1) % kThreads] + 3);
  tiles<<<1, kThreads>>>(from, to);
  CHECK(cudaMemcpy(out, to, sizeof in, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kThreads; ++i) {
    const int first = i / (kThreads / 2) * (kThreads / 2);
    int sum = 0;
    for (int k = 0; k < kThreads / 2; ++k) sum += in[first + k];
    same("tiles", i, out[i], sum * 100 + in[first + 3]);
  }
  check_rows<16>({16, kThreads / 16, 1}, in, from, to);
  check_rows<8>({8, 4, kThreads / 32}, in, from, to);
  check_rows<16>({kThreads / 2, 2, 1}, in, from, to);
  check_rows<16>({48, kThreads / 96 * 2, 1}, in, from, to);
  locked<<<1, kThreads>>>(from, to);
  CHECK(cudaMemcpy(out, to, sizeof in, cudaMemcpyDeviceToHost));
  int all = 0;
  for (const int v : in) all += v;
  for (int i = 0; i < kThreads; ++i) same("locked", i, out[i], all);
  std::printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
