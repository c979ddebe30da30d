// Kernels that wait for what the program does while they run: the host's stores, copies and kernels
// of other streams. Calls of other streams return meanwhile, and so do launches of long kernels.
#include "expect.cuh"

#include <atomic>
#include <chrono>

namespace {

using Word = volatile unsigned;

/// Takes a number that the host gives, and answers with its double, until that is 0.
__global__ void serve(Word* mail) {
  for (;;) {
    unsigned given;
    while ((given = mail[0]) == ~0u) {
    }
    mail[0] = ~0u;
    mail[1] = given * 2;
    __threadfence_system();
    if (given == 0) return;
  }
}

__global__ void wait_for(Word* flag, unsigned value, Word* answer) {
  if (answer) *answer = 1;
  __threadfence_system();
  while (*flag != value) {
  }
  if (answer) *answer = value + 1;
}

__global__ void store(Word* flag, unsigned value) { *flag = value; }

__device__ unsigned flag_variable;
__global__ void wait_for_variable(Word* answer) {
  while (*const_cast<Word*>(&flag_variable) != 3) {
  }
  *answer = 4;
}

__global__ void pass(long long ticks, int* done) {
  const long long start = clock64();
  while (clock64() - start < ticks) {
  }
  *done = 1;
}

/// What both clocks count until 20 ms are over by the second one.
__global__ void pace(long long* counted) {
  const auto nanoseconds = [] {
    long long now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  };
  const long long from = nanoseconds(), start = clock64();
  long long to = from;
  while (to - from < 20'000'000) to = nanoseconds();
  counted[0] = clock64() - start;
  counted[1] = to - from;
}

__host__ __device__ unsigned ground(unsigned x, unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) x = (x ^ x >> 7) * 1664525u + i;
  return x;
}
__global__ void grind(unsigned turns, unsigned* results) {
  results[threadIdx.x] = ground(threadIdx.x, turns);
}

/// The host's memory is written at once, without calls.
unsigned read(Word* word) { return *word; }

/// Waits for a kernel's store as long as that kernel may run.
void await(Word* word, unsigned value) {
  const auto start = std::chrono::steady_clock::now();
  while (read(word) != value)
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(120)) {
      std::printf("wrong: no answer\n");
      std::exit(1);
    }
}

struct Streams {
  cudaStream_t one = nullptr, other = nullptr;
  explicit Streams(unsigned flags = cudaStreamNonBlocking) {
    CHECK(cudaStreamCreateWithFlags(&one, flags));
    CHECK(cudaStreamCreateWithFlags(&other, flags));
  }
  ~Streams() {
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(other));
  }
};

void serve_numbers(unsigned* memory) {
  Streams s;
  Word* mail = memory;
  mail[0] = ~0u;
  mail[1] = 1;
  serve<<<1, 1, 0, s.one>>>(mail);
  for (unsigned n = 100; n-- > 0;) {
    mail[1] = 1;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    mail[0] = n;
    await(&mail[1], 2 * n);
  }
  CHECK(cudaStreamSynchronize(s.one));
}

/// What other streams do while a kernel waits.
void calls_meanwhile(unsigned* memory, unsigned* device) {
  Streams s;
  Word *flag = memory, *answer = memory + 1;
  flag[0] = answer[0] = 0;
  cudaEvent_t before = nullptr, after = nullptr, others = nullptr;
  for (cudaEvent_t* each : {&before, &after, &others}) CHECK(cudaEventCreate(each));
  int* done = nullptr;
  CHECK(cudaMalloc(&done, 4));
  // The stream had work before.
  CHECK(cudaMemsetAsync(done, 0, 4, s.one));
  CHECK(cudaEventRecord(before, s.one));
  wait_for<<<1, 1, 0, s.one>>>(flag, 5, answer);
  CHECK(cudaEventRecord(after, s.one));
  await(answer, 1);
  EXPECT(cudaStreamQuery(s.one) == cudaErrorNotReady);
  EXPECT(cudaEventQuery(after) == cudaErrorNotReady);
  EXPECT(cudaEventQuery(before) == cudaSuccess);
  store<<<1, 1, 0, s.other>>>(device, 7);
  CHECK(cudaEventRecord(others, s.other));
  CHECK(cudaEventSynchronize(others));
  unsigned seven = 0;
  CHECK(cudaMemcpyAsync(&seven, device, 4, cudaMemcpyDeviceToHost, s.other));
  CHECK(cudaStreamSynchronize(s.other));
  EXPECT(seven == 7);
  store<<<1, 1>>>(device, 8);
  CHECK(cudaMemcpy(&seven, device, 4, cudaMemcpyDeviceToHost));
  EXPECT(seven == 8);
  CHECK(cudaStreamSynchronize(nullptr));
  void* more = nullptr;
  CHECK(cudaMalloc(&more, 1 << 20));
  EXPECT(cudaStreamQuery(s.one) == cudaErrorNotReady);
  EXPECT(read(answer) == 1);
  *flag = 5;
  CHECK(cudaEventSynchronize(after));
  EXPECT(read(answer) == 6);
  CHECK(cudaFree(more));
  CHECK(cudaFree(done));
  for (const cudaEvent_t each : {before, after, others}) CHECK(cudaEventDestroy(each));
}

void other_streams(unsigned* memory, unsigned* device) {
  Streams s;
  Word* answer = memory;
  *answer = 0;
  CHECK(cudaMemset(device, 0, 64));
  CHECK(cudaDeviceSynchronize());
  wait_for<<<1, 1, 0, s.one>>>(device, 9, answer);
  unsigned* nine = memory + 8;
  *nine = 9;
  CHECK(cudaMemcpyAsync(device, nine, 4, cudaMemcpyHostToDevice, s.other));
  CHECK(cudaStreamSynchronize(s.one));
  EXPECT(read(answer) == 10);

  wait_for<<<1, 1, 0, s.one>>>(device, 11, answer);
  store<<<1, 1, 0, s.other>>>(device, 11);
  CHECK(cudaDeviceSynchronize());
  EXPECT(read(answer) == 12);

  wait_for_variable<<<1, 1, 0, s.one>>>(answer);
  const unsigned three = 3;
  CHECK(cudaMemcpyToSymbolAsync(flag_variable, &three, 4, 0, cudaMemcpyHostToDevice, s.other));
  CHECK(cudaStreamSynchronize(s.one));
  EXPECT(read(answer) == 4);
}

void graph(unsigned* memory) {
  Streams s;
  Word *flag = memory, *answer = memory + 1;
  *flag = *answer = 0;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t instance = nullptr;
  CHECK(cudaStreamBeginCapture(s.one, cudaStreamCaptureModeGlobal));
  wait_for<<<1, 1, 0, s.one>>>(flag, 2, answer);
  CHECK(cudaStreamEndCapture(s.one, &captured));
  CHECK(cudaGraphInstantiate(&instance, captured, 0));
  CHECK(cudaGraphLaunch(instance, s.one));
  await(answer, 1);
  EXPECT(cudaStreamQuery(s.one) == cudaErrorNotReady);
  *flag = 2;
  CHECK(cudaStreamSynchronize(s.one));
  EXPECT(read(answer) == 3);
  CHECK(cudaGraphExecDestroy(instance));
  CHECK(cudaGraphDestroy(captured));
}

/// A graph's wait for an event behind a kernel that waits.
void graph_after_event(unsigned* memory, unsigned* device) {
  Streams s;
  Word *flag = memory, *answer = memory + 1;
  *flag = *answer = 0;
  cudaGraph_t made = nullptr;
  cudaGraphExec_t instance = nullptr;
  cudaGraphNode_t wait = nullptr, fill = nullptr;
  cudaEvent_t event = nullptr;
  cudaMemsetParams set{};
  set.dst = device;
  set.value = 6;
  set.elementSize = 4;
  set.width = set.height = 1;
  CHECK(cudaMemset(device, 0, 4));
  CHECK(cudaEventCreate(&event));
  CHECK(cudaGraphCreate(&made, 0));
  CHECK(cudaGraphAddEventWaitNode(&wait, made, nullptr, 0, event));
  CHECK(cudaGraphAddMemsetNode(&fill, made, &wait, 1, &set));
  CHECK(cudaGraphInstantiate(&instance, made, 0));
  wait_for<<<1, 1, 0, s.one>>>(flag, 2, answer);
  CHECK(cudaEventRecord(event, s.one));
  CHECK(cudaGraphLaunch(instance, s.other));
  await(answer, 1);
  EXPECT(cudaStreamQuery(s.other) == cudaErrorNotReady);
  *flag = 2;
  CHECK(cudaStreamSynchronize(s.other));
  EXPECT(read(answer) == 3);
  unsigned six = 0;
  CHECK(cudaMemcpy(&six, device, 4, cudaMemcpyDeviceToHost));
  EXPECT(six == 6);
  CHECK(cudaGraphExecDestroy(instance));
  CHECK(cudaGraphDestroy(made));
  CHECK(cudaEventDestroy(event));
}

/// %clock64 runs at the rate that programs are told, in kHz. A thread may lose the processor
/// between its readings, though not each time.
void rates(long long* counted) {
  int rate = 0;
  CHECK(cudaDeviceGetAttribute(&rate, cudaDevAttrClockRate, 0));
  bool as_told = false;
  for (int tries = 0; tries < 20 && !as_told; ++tries) {
    pace<<<1, 1>>>(counted);
    CHECK(cudaDeviceSynchronize());
    const double ratio = static_cast<double>(counted[0]) * 1e6 / static_cast<double>(counted[1]);
    as_told = ratio > 0.9 * rate && ratio < 1.1 * rate;
  }
  EXPECT(as_told);
}

/// A kernel waits for nothing and takes long: its first launch returns before it ends, and later
/// ones. Copies to pageable memory are complete when they return.
void long_kernels(unsigned* device) {
  Streams s;
  cudaEvent_t before = nullptr, after = nullptr;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&after));
  for (unsigned turns : {50'000'000u, 50'000'001u}) {
    CHECK(cudaEventRecord(before, s.one));
    const auto start = std::chrono::steady_clock::now();
    grind<<<1, 16, 0, s.one>>>(turns, device);
    EXPECT(cudaStreamQuery(s.one) == cudaErrorNotReady);
    CHECK(cudaEventRecord(after, s.one));
    EXPECT(cudaEventQuery(after) == cudaErrorNotReady);
    store<<<1, 1, 0, s.one>>>(device + 1, 1);
    unsigned results[2] = {};
    CHECK(cudaMemcpyAsync(results, device, sizeof results, cudaMemcpyDeviceToHost, s.one));
    EXPECT(results[0] == ground(0, turns));
    EXPECT(results[1] == 1);
    const std::chrono::duration<float, std::milli> took = std::chrono::steady_clock::now() - start;
    float between = 0;
    CHECK(cudaEventElapsedTime(&between, before, after));
    EXPECT(between > 10 && between < took.count());
  }
  CHECK(cudaEventDestroy(before));
  CHECK(cudaEventDestroy(after));
}

/// Launches return before a kernel that waits for a clock ends.
void clocks(int* done) {
  Streams s;
  *done = 0;
  int rate = 0;
  CHECK(cudaDeviceGetAttribute(&rate, cudaDevAttrClockRate, 0));
  pass<<<1, 1, 0, s.one>>>(100ll * rate, done);  // 100 ms
  EXPECT(cudaStreamQuery(s.one) == cudaErrorNotReady);
  CHECK(cudaStreamSynchronize(s.one));
  EXPECT(*done == 1);
}

}  // namespace

int main() {
  // NVIDIA's driver loads a kernel at its first launch, and waits for running ones then.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  unsigned *pinned = nullptr, *managed = nullptr, *device = nullptr;
  CHECK(cudaMallocHost(&pinned, 64));
  CHECK(cudaMallocManaged(&managed, 64));
  CHECK(cudaMalloc(&device, 64));
  int concurrent = 0;
  CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
  for (unsigned* memory : {pinned, concurrent ? managed : pinned}) {
    serve_numbers(memory);
    calls_meanwhile(memory, device);
    other_streams(memory, device);
    graph(memory);
    graph_after_event(memory, device);
  }
  long_kernels(device);
  clocks(reinterpret_cast<int*>(pinned));
  rates(reinterpret_cast<long long*>(pinned));
  const int code = verdict();
  // The process may end before a kernel.
  *pinned = 0;
  wait_for<<<1, 1>>>(pinned, 1, nullptr);
  return code;
}
