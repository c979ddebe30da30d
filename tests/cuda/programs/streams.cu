// Streams, events, callbacks, threads and printf.
#include <atomic>
#include <thread>

#include "common.cuh"

__global__ void add(int* p, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = (int)((unsigned)p[i] * 3u + (unsigned)value);
}
__global__ void greet(int count) {
  for (int i = 0; i < count; ++i)
    if (threadIdx.x == 0) printf("%d of %d: %s %.2f\n", i, count, "hello", 1.5);
}

std::atomic<int> calls{0};
void CUDART_CB host(void* data) { calls += *(int*)data; }
void CUDART_CB callback(cudaStream_t, cudaError_t status, void* data) {
  calls += status == cudaSuccess ? *(int*)data : 1000;
}

// Fills of each width and copies in each direction, behind kernels and before them.
bool in_turn(cudaStream_t stream) {
  constexpr int kCount = 1 << 16;
  constexpr std::size_t kBytes = kCount * sizeof(int);
  int *p, *q, *pinned;
  CHECK(cudaMalloc(&p, kBytes));
  CHECK(cudaMalloc(&q, kBytes));
  CHECK(cudaMallocHost(&pinned, 2 * kBytes));
  bool good = true;
  const auto step = [&](int* of, int value) {
    add<<<kCount / 256, 256, 0, stream>>>(of, value, kCount);
  };
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kCount; ++i) pinned[i] = i * round;
    step(p, 0);
    CHECK(cudaMemsetAsync(p, 1, kBytes, stream));
    step(p, round);
    CHECK(cudaMemcpyAsync(q, p, kBytes / 2, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemcpyAsync(q + kCount / 2, pinned, kBytes / 2, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemsetAsync(p, 2, kBytes, stream));
    CHECK(cudaMemsetAsync((char*)p + 5, 3, 6, stream));  // no whole words
    step(q, 7);
    step(p, 9);
    CHECK(cudaMemcpyAsync(pinned + kCount, q, kBytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(p + 1, p + kCount / 2, 4, cudaMemcpyDeviceToDevice, stream));
    std::vector<unsigned> last(kCount);
    CHECK(cudaMemcpyAsync(last.data(), p, kBytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (unsigned i = 0; i < kCount; ++i) {
      const unsigned filled = 0x01010101u * 3 + round;
      const unsigned copied = (i < kCount / 2 ? filled : (i - kCount / 2) * round) * 3 + 7;
      const unsigned bytes = i == 2 ? 0x02030303u : 0x02020202u;
      good = good && (unsigned)pinned[kCount + i] == copied && last[i] == bytes * 3 + 9;
    }
  }
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(q));
  CHECK(cudaFree(p));
  return good;
}

int main() {
  constexpr int kCount = 4096;
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = i;
  cudaStream_t a, b;
  cudaEvent_t start, middle, end;
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&middle));
  CHECK(cudaEventCreate(&end));
  int *p, *q, *pinned;
  CHECK(cudaMalloc(&p, kCount * 4));
  CHECK(cudaMallocAsync(&q, kCount * 4, b));
  CHECK(cudaMallocHost(&pinned, kCount * 4));
  std::memcpy(pinned, values.data(), kCount * 4);
  CHECK(cudaEventRecord(start, a));
  CHECK(cudaMemcpyAsync(p, pinned, kCount * 4, cudaMemcpyHostToDevice, a));
  for (int i = 0; i < 10; ++i) add<<<kCount / 256, 256, 0, a>>>(p, i, kCount);
  CHECK(cudaEventRecord(middle, a));
  CHECK(cudaStreamWaitEvent(b, middle, 0));
  CHECK(cudaMemcpyAsync(q, p, kCount * 4, cudaMemcpyDeviceToDevice, b));
  for (int i = 0; i < 5; ++i) add<<<kCount / 256, 256, 0, b>>>(q, i + 100, kCount);
  int two = 2, forty = 40;
  CHECK(cudaLaunchHostFunc(b, host, &two));
  CHECK(cudaStreamAddCallback(b, callback, &forty, 0));
  CHECK(cudaMemcpyAsync(pinned, q, kCount * 4, cudaMemcpyDeviceToHost, b));
  CHECK(cudaEventRecord(end, b));
  CHECK(cudaEventSynchronize(end));
  for (int& each : values) {
    unsigned x = each;
    for (int i = 0; i < 10; ++i) x = x * 3 + i;
    for (int i = 0; i < 5; ++i) x = x * 3 + i + 100;
    each = x;
  }
  bool same = !std::memcmp(pinned, values.data(), kCount * 4);
  std::printf("two streams %s\ncalls %d\n", same ? "good" : "wrong", calls.load());
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, end));
  std::printf("time %s\n", ms >= 0 && ms < 60000 ? "plausible" : "wrong");
  CHECK(cudaStreamQuery(a));
  CHECK(cudaFreeAsync(q, b));
  greet<<<1, 32>>>(3);
  CHECK(cudaDeviceSynchronize());

  std::vector<std::thread> threads;
  std::vector<int> digests(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &digests] {
      int* mine;
      CHECK(cudaMalloc(&mine, kCount * 4));
      CHECK(cudaMemsetAsync(mine, 0, kCount * 4, cudaStreamPerThread));
      for (int i = 0; i < 20; ++i)
        add<<<kCount / 128, 128, 0, cudaStreamPerThread>>>(mine, i + t, kCount);
      std::vector<int> copy(kCount);
      CHECK(cudaMemcpyAsync(copy.data(), mine, kCount * 4, cudaMemcpyDeviceToHost,
                            cudaStreamPerThread));
      CHECK(cudaStreamSynchronize(cudaStreamPerThread));
      unsigned x = 0;
      for (int i = 0; i < 20; ++i) x = x * 3 + i + t;
      digests[t] = 1;
      for (int each : copy) digests[t] = digests[t] && (unsigned)each == x;
      // The last error belongs to a thread.
      if (t == 1) cudaSetDevice(99);
      if (t != 1 && cudaPeekAtLastError() != cudaSuccess) digests[t] = 0;
      CHECK(cudaFree(mine));
    });
  for (auto& each : threads) each.join();
  for (auto each : digests) std::printf("thread %s\n", each ? "good" : "wrong");
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("in turn %s\n", in_turn(a) && in_turn(b) && in_turn(0) ? "good" : "wrong");
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(p));
  CHECK(cudaStreamDestroy(a));
  CHECK(cudaStreamDestroy(b));
}
