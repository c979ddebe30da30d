// Kernels with cuda::barrier, cuda::pipeline, cooperative groups and malloc, for
// cuda_kernels_test.cpp, which says what they leave.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

extern "C" __global__ void meet(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int cells[256];
  const int t = threadIdx.x, n = blockDim.x;
  if (t == 0) init(&barrier, n);
  __syncthreads();
  cells[t] = t * 3;
  auto token = barrier.arrive();
  barrier.wait(std::move(token));
  const int first = cells[n - 1 - t];
  barrier.arrive_and_wait();
  cells[t] = first + t;
  barrier.arrive_and_wait();
  out[t] = cells[(t + 1) % n];
}

extern "C" __global__ void pipeline(const int* in, int* out, int rounds) {
  __shared__ int cells[2][256];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int n = blockDim.x;
  int sum = 0;
  pipe.producer_acquire();
  cuda::memcpy_async(block, cells[0], in, sizeof(int) * n, pipe);
  pipe.producer_commit();
  for (int i = 1; i <= rounds; ++i) {
    if (i < rounds) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, cells[i & 1], in + n * i, sizeof(int) * n, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += i * cells[(i - 1) & 1][n - 1 - threadIdx.x];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

extern "C" __global__ void groups(const int* in, int* out) {
  __shared__ int cells[256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, cells, in, sizeof(int) * blockDim.x);
  cg::wait(block);
  auto warp = cg::tiled_partition<32>(block);
  out[threadIdx.x] = cg::reduce(warp, cells[threadIdx.x], cg::plus<int>());
}

extern "C" __global__ void blocks(const int* in, int* out) {
  int* const list = static_cast<int*>(malloc(sizeof(int) * (threadIdx.x + 1)));
  for (int i = 0; i <= int(threadIdx.x); ++i) list[i] = in[i];
  int* const one = new int(5);
  int sum = *one;
  for (int i = 0; i <= int(threadIdx.x); ++i) sum += list[i];
  delete one;
  free(list);
  out[threadIdx.x] = sum;
}
