// Memory pools: what they keep of freed memory, when they give it back, and whom they give it
// again.
#include "driver.cuh"

#include <unistd.h>

#include <chrono>
#include <thread>

namespace {

constexpr std::size_t kMiB = 1 << 20;

void CUDART_CB rest(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

std::uint64_t get(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  std::uint64_t value = 0;
  CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

void set(cudaMemPool_t pool, cudaMemPoolAttr attribute, std::uint64_t value) {
  std::printf("  set %d to %llu: %s\n", static_cast<int>(attribute),
              static_cast<unsigned long long>(value),
              cudaGetErrorName(cudaMemPoolSetAttribute(pool, attribute, &value)));
}

/// NVIDIA's driver reserves memory in steps.
constexpr std::uint64_t kStep = 32 * kMiB;

/// What is used, and whether the pool has more, and had more, than that takes.
void tell(const char* when, cudaMemPool_t pool) {
  const std::uint64_t used = get(pool, cudaMemPoolAttrUsedMemCurrent),
                      reserved = get(pool, cudaMemPoolAttrReservedMemCurrent),
                      most = get(pool, cudaMemPoolAttrReservedMemHigh);
  const char* more = reserved > (used + kStep - 1) / kStep * kStep ? "more" : "no more";
  std::printf("  %-24s used %llu, most %llu, reserved %s, most %s\n", when,
              static_cast<unsigned long long>(used),
              static_cast<unsigned long long>(get(pool, cudaMemPoolAttrUsedMemHigh)),
              reserved ? more : "nothing", most > reserved ? "more" : "as much");
}

cudaMemPool_t make(std::uint64_t threshold = 0, std::size_t most = 0) {
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.maxSize = most;
  cudaMemPool_t pool = nullptr;
  CHECK(cudaMemPoolCreate(&pool, &props));
  if (threshold) CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  return pool;
}

char* take(cudaMemPool_t pool, std::size_t bytes, cudaStream_t stream) {
  void* p = nullptr;
  if (cudaError_t code = cudaMallocFromPoolAsync(&p, bytes, pool, stream))
    std::printf("  %zu bytes: %s\n", bytes, cudaGetErrorName(code));
  return static_cast<char*>(p);
}

cudaStream_t stream() {
  cudaStream_t made = nullptr;
  CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}

void sizes() {
  cudaStream_t s = stream();
  for (std::size_t bytes : {std::size_t{1}, std::size_t{512}, std::size_t{513}, std::size_t{4096},
                            kMiB, 2 * kMiB, 2 * kMiB + 1, 31 * kMiB, 32 * kMiB - 1, 32 * kMiB,
                            32 * kMiB + 1, 33 * kMiB, 64 * kMiB, 65 * kMiB, 100 * kMiB}) {
    cudaMemPool_t pool = make();
    std::printf("%zu bytes\n", bytes);
    char* p = take(pool, bytes, s);
    tell("taken", pool);
    CHECK(cudaFreeAsync(p, s));
    CHECK(cudaStreamSynchronize(s));
    tell("freed and waited", pool);
    CHECK(cudaMemPoolDestroy(pool));
  }
}

/// When freed memory goes back, with work before the free that takes 100 ms.
void moments() {
  for (std::uint64_t threshold : {std::uint64_t{0}, 64 * kMiB, ~std::uint64_t{0}}) {
    std::printf("threshold %llu\n", static_cast<unsigned long long>(threshold));
    cudaStream_t s = stream(), other = stream();
    cudaMemPool_t pool = make(threshold);
    char *p = take(pool, 40 * kMiB, s), *q = take(pool, 50 * kMiB, s), *r = take(pool, 4096, s);
    tell("taken", pool);
    CHECK(cudaLaunchHostFunc(s, rest, nullptr));
    CHECK(cudaFreeAsync(p, s));
    CHECK(cudaFreeAsync(q, s));
    tell("freed behind work", pool);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    tell("trimmed", pool);
    CHECK(cudaStreamSynchronize(other));
    tell("another stream waited", pool);
    CHECK(cudaStreamSynchronize(s));
    tell("waited", pool);
    CHECK(cudaMemPoolTrimTo(pool, 60 * kMiB));
    CHECK(cudaMemPoolTrimTo(pool, 4096));
    tell("trimmed to 4096", pool);
    set(pool, cudaMemPoolAttrReservedMemHigh, 0);
    set(pool, cudaMemPoolAttrUsedMemHigh, 0);
    tell("set to 0", pool);
    CHECK(cudaFreeAsync(r, s));
    CHECK(cudaStreamSynchronize(s));
    tell("all freed", pool);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    tell("trimmed to 0", pool);
  }
}

/// Which waits give freed memory back.
void waits() {
  cudaStream_t s = stream(), other = stream();
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event));
  void* device = nullptr;
  CHECK(cudaMalloc(&device, 64));
  int word = 0;
  const auto after = [&](const char* what, auto&& wait) {
    cudaMemPool_t pool = make();
    char* p = take(pool, 40 * kMiB, s);
    CHECK(cudaFreeAsync(p, s));
    CHECK(cudaEventRecord(event, s));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    wait();
    tell(what, pool);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
  };
  after("nothing", [] {});
  after("cudaStreamQuery", [&] { CHECK(cudaStreamQuery(s)); });
  after("cudaEventQuery", [&] { CHECK(cudaEventQuery(event)); });
  after("cudaStreamSynchronize", [&] { CHECK(cudaStreamSynchronize(s)); });
  after("another stream's", [&] { CHECK(cudaStreamSynchronize(other)); });
  after("cudaEventSynchronize", [&] { CHECK(cudaEventSynchronize(event)); });
  after("cudaDeviceSynchronize", [&] { CHECK(cudaDeviceSynchronize()); });
  after("cudaMemcpy", [&] { CHECK(cudaMemcpy(&word, device, 4, cudaMemcpyDeviceToHost)); });
  after("cudaMemcpyAsync", [&] { CHECK(cudaMemcpyAsync(&word, device, 4, cudaMemcpyDefault, s)); });
  after("cudaFree", [&] { CHECK(cudaFree(nullptr)); });
}

const char* same(const char* a, const char* b) { return a == b ? "the same" : "another"; }

/// Whether freed memory is given again, to whom.
void reuse() {
  cudaStream_t s = stream(), other = stream();
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event));
  const auto with = [&](const char* what, auto&& steps) {
    cudaMemPool_t pool = make(~std::uint64_t{0});
    steps(pool);
    tell(what, pool);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
  };
  for (bool busy : {false, true}) {
    std::printf("%s\n", busy ? "behind work" : "idle");
    const auto work = [&] {
      if (busy) CHECK(cudaLaunchHostFunc(s, rest, nullptr));
    };
    for (std::size_t bytes : {40 * kMiB, 39 * kMiB})
      with("the stream's own", [&](cudaMemPool_t pool) {
        char* p = take(pool, 40 * kMiB, s);
        work();
        CHECK(cudaFreeAsync(p, s));
        char* q = take(pool, bytes, s);
        std::printf("  %zu MiB again: %s\n", bytes / kMiB, same(p, q));
        CHECK(cudaFreeAsync(q, s));
      });
    with("another's", [&](cudaMemPool_t pool) {
      char* p = take(pool, 40 * kMiB, s);
      work();
      CHECK(cudaFreeAsync(p, s));
      if (!busy) CHECK(cudaStreamSynchronize(s));
      char* q = take(pool, 40 * kMiB, other);
      std::printf("  in another stream: %s\n", same(p, q));
      CHECK(cudaFreeAsync(q, other));
    });
    with("behind an event", [&](cudaMemPool_t pool) {
      char* p = take(pool, 40 * kMiB, s);
      work();
      CHECK(cudaFreeAsync(p, s));
      CHECK(cudaEventRecord(event, s));
      CHECK(cudaStreamWaitEvent(other, event, 0));
      char* q = take(pool, 40 * kMiB, other);
      std::printf("  %sbehind an event: %s\n", busy ? "" : "idle, ", same(p, q));
      CHECK(cudaFreeAsync(q, other));
    });
    for (int which = 1; which <= 3; ++which)
      with("without", [&](cudaMemPool_t pool) {
        int off = 0;
        CHECK(cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(which), &off));
        char* p = take(pool, 40 * kMiB, s);
        work();
        CHECK(cudaFreeAsync(p, s));
        if (!busy) CHECK(cudaStreamSynchronize(s));
        char* q = take(pool, 40 * kMiB, other);
        std::printf("  without attribute %d: %s\n", which, same(p, q));
        CHECK(cudaFreeAsync(q, other));
      });
  }
}

/// Pools that are destroyed, the device's own, freed by cudaFree, and limits.
void ends() {
  cudaStream_t s = stream();
  cudaMemPool_t pool = make(~std::uint64_t{0});
  char* p = take(pool, kMiB, s);
  std::printf("destroyed with memory: %s\n", cudaGetErrorName(cudaMemPoolDestroy(pool)));
  std::printf("fill: %s\n", cudaGetErrorName(cudaMemsetAsync(p, 1, kMiB, s)));
  std::printf("free: %s\n", cudaGetErrorName(cudaFreeAsync(p, s)));
  std::printf("wait: %s\n", cudaGetErrorName(cudaStreamSynchronize(s)));
  pool = make(~std::uint64_t{0});
  p = take(pool, kMiB, s);
  std::printf("cudaFree: %s\n", cudaGetErrorName(cudaFree(p)));
  for (std::size_t most : {std::size_t{1}, kMiB, 32 * kMiB, 33 * kMiB}) {
    pool = make(0, most);
    std::printf("at most %zu\n", most);
    for (std::size_t bytes : {std::size_t{1}, kMiB, kMiB + 1, 32 * kMiB, 64 * kMiB}) {
      if (char* q = take(pool, bytes, s)) CHECK(cudaFreeAsync(q, s));
      CHECK(cudaStreamSynchronize(s));
    }
    tell("in the end", pool);
  }
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  tell("the device's", pool);
  void* q = nullptr;
  CHECK(cudaMallocAsync(&q, 1000, s));
  tell("1000 bytes", pool);
  CHECK(cudaFreeAsync(q, s));
  CHECK(cudaStreamSynchronize(s));
  tell("freed", pool);
  CHECK(cudaMallocAsync(&q, 0, s));
  std::printf("0 bytes: %s\n", q ? "an address" : "null");
  std::printf("free: %s\n", cudaGetErrorName(cudaFreeAsync(q, s)));
  CHECK(cudaMallocAsync(&q, 1000, s));
  std::printf("freed at an offset: %s\n",
              cudaGetErrorName(cudaFreeAsync(static_cast<char*>(q) + 8, s)));
  (void)cudaGetLastError();
  std::printf("free: %s\n", cudaGetErrorName(cudaFreeAsync(q, s)));
  std::printf("twice: %s\n", cudaGetErrorName(cudaFreeAsync(q, s)));
  (void)cudaGetLastError();
  CHECK(cudaMalloc(&q, 1000));
  std::printf("of cudaMalloc: %s\n", cudaGetErrorName(cudaFreeAsync(q, s)));
  std::printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
}

/// Work that waits names memory that is freed before its turn, and given again.
void turns() {
  constexpr int kWords = 1000;
  constexpr std::size_t kBytes = kWords * sizeof(int);
  cudaStream_t s = stream();
  int* read = nullptr;
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&read), 3 * kBytes));
  for (int turn = 0; turn < 3; ++turn) {
    CHECK(cudaLaunchHostFunc(
        s, [](void*) { usleep(20000); }, nullptr));
    void* p = nullptr;
    CHECK(cudaMallocAsync(&p, kBytes - 64 * turn, s));
    CHECK(cudaMemsetAsync(p, turn + 1, kBytes - 64 * turn, s));
    CHECK(cudaMemcpyAsync(read + kWords * turn, p, kBytes - 64 * turn, cudaMemcpyDefault, s));
    CHECK(cudaFreeAsync(p, s));
    std::printf("twice: %s\n", cudaGetErrorName(cudaFreeAsync(p, s)));
    (void)cudaGetLastError();
  }
  CHECK(cudaStreamSynchronize(s));
  for (int turn = 0; turn < 3; ++turn)
    std::printf("%#x %#x\n", static_cast<unsigned>(read[kWords * turn]),
                static_cast<unsigned>(read[kWords * (turn + 1) - 16 * turn - 1]));
}

constexpr Group kGroups[] = {{"sizes", sizes}, {"moments", moments}, {"waits", waits},
                             {"reuse", reuse}, {"ends", ends},       {"turns", turns}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
