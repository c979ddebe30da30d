// Calls of destructors and exit handlers, of which some are a thread's first ones: they work, or
// say that the library is being taken away. The argument is when the program calls before them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <cuda_runtime.h>

__global__ void add(int* to) { atomicAdd(to, 1); }

static bool good(cudaError_t code) {
  return code == cudaSuccess || code == cudaErrorCudartUnloading;
}
static void check(bool is_good, const char* what) {
  if (is_good) return;
  std::printf("%s: %s\n", what, cudaGetErrorName(cudaGetLastError()));
  std::fflush(stdout);
  std::_Exit(1);
}

/// Calls of every kind that keeps something of the thread's.
static void call(int** memory, const char* who) {
  if (!*memory) check(good(cudaMalloc(memory, 4)), who);
  check(good(cudaMemsetAsync(*memory, 0, 4, cudaStreamPerThread)), who);
  add<<<1, 1, 0, cudaStreamPerThread>>>(*memory);
  check(good(cudaGetLastError()), who);
  int value = 0;
  const cudaError_t code =
      cudaMemcpyAsync(&value, *memory, 4, cudaMemcpyDefault, cudaStreamPerThread);
  check(good(code), who);
  const cudaError_t end = cudaStreamSynchronize(cudaStreamPerThread);
  check(good(end), who);
  check(code || end || value == 1, who);
  cudaFree(reinterpret_cast<void*>(8));  // its reason is logged, and it is the last error
  check(cudaGetLastError() != cudaSuccess, who);
}

struct Holder {
  const char* who;
  int* memory = nullptr;
  ~Holder() {
    call(&memory, who);
    check(good(cudaFree(memory)), who);
    std::printf("%s\n", who);
    std::fflush(stdout);
  }
};

static Holder last{"a destructor"};
static int* of_handler;
thread_local Holder of_thread{"a thread's destructor"};

int main(int, char** arguments) {
  std::atexit([] {
    call(&of_handler, "a handler");
    std::printf("a handler\n");
  });
  const bool before = !std::strcmp(arguments[1], "before");
  if (before) cudaFree(nullptr);
  if (!std::strcmp(arguments[1], "thread")) {
    std::thread([] {
      of_thread.memory = nullptr;
      call(&of_thread.memory, "a thread");
    }).join();
    return 0;
  }
  of_thread.memory = nullptr;  // made here
  if (before || !std::strcmp(arguments[1], "launch")) call(&last.memory, "main");
  return 0;
}
