#include "tests/faults/live_bytes.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
namespace ptx2spv {
std::int64_t live_bytes() { return 0; }
}  // namespace ptx2spv
#else
namespace {

std::atomic<std::int64_t> live{0};

void* taken(void* memory) {
  if (!memory) throw std::bad_alloc();
  live += static_cast<std::int64_t>(malloc_usable_size(memory));
  return memory;
}

void given(void* memory) {
  if (memory) live -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return taken(std::malloc(bytes ? bytes : 1)); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  const auto to = static_cast<std::size_t>(align);
  return taken(std::aligned_alloc(to, (std::max(bytes, to) + to - 1) / to * to));
}
void operator delete(void* memory) noexcept { given(memory); }
void operator delete(void* memory, std::size_t) noexcept { given(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { given(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { given(memory); }

namespace ptx2spv {
std::int64_t live_bytes() { return live; }
}  // namespace ptx2spv
#endif
