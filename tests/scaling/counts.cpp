// The translator under this test is compiled with -fsanitize-coverage=trace-pc, so that each of its
// basic blocks calls __sanitizer_cov_trace_pc; the linker gives its calls of memcpy and the like to
// the functions below. Not thread-safe: a translation runs on one thread.
#include "tests/scaling/counts.hpp"

#include <cstddef>

#include "tests/support/counted_new.hpp"

namespace {
std::uint64_t blocks, copied;
std::int64_t at_start;
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

namespace ptx2spv::test {

void start_counting() {
  blocks = copied = 0;
  at_start = live_bytes;
  peak_bytes = at_start;
}

Counts stop_counting() {
  return {blocks, copied, static_cast<std::uint64_t>(peak_bytes - at_start)};
}

}  // namespace ptx2spv::test
