// The translator under this test is compiled with -fsanitize-coverage=trace-pc, so that each of its
// basic blocks calls __sanitizer_cov_trace_pc; the linker gives its calls of memcpy and the like to
// the functions below. Not thread-safe: a translation runs on one thread.
#include "tests/scaling/counts.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::uint64_t blocks, copied, live, peak, at_start;

void* taken(void* memory) {
  if (!memory) throw std::bad_alloc();
  live += malloc_usable_size(memory);
  peak = std::max(peak, live);
  return memory;
}

void given(void* memory) {
  if (memory) live -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

extern "C" {
void __sanitizer_cov_trace_pc() { ++blocks; }

void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);
void* __real_memset(void*, int, std::size_t);
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  copied += bytes;
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  copied += bytes;
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  copied += bytes;
  return __real_memset(to, value, bytes);
}
}

void* operator new(std::size_t bytes) { return taken(std::malloc(bytes ? bytes : 1)); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  const auto to = static_cast<std::size_t>(align);
  return taken(std::aligned_alloc(to, (std::max(bytes, to) + to - 1) / to * to));
}
void operator delete(void* memory) noexcept { given(memory); }
void operator delete(void* memory, std::size_t) noexcept { given(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { given(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { given(memory); }

namespace ptx2spv::test {

void start_counting() {
  blocks = copied = 0;
  peak = at_start = live;
}

Counts stop_counting() { return {blocks, copied, peak - at_start}; }

}  // namespace ptx2spv::test
