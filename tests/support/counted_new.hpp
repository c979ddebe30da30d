// operator new and delete that count, for one source file of a test to include. They see what the
// runtime and the translator allocate, and not what a driver does, which has functions of its own.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace ptx2spv::test {

/// Bytes that operator new has given and not got back, and the most there were of them.
inline std::atomic<std::int64_t> live_bytes{0}, peak_bytes{0};

inline void* counted(void* memory) {
  if (!memory) throw std::bad_alloc();
  const auto bytes = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t now = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (peak < now && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

inline void free_counted(void* memory) {
  if (memory)
    live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)),
                         std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace ptx2spv::test

void* operator new(std::size_t bytes) {
  return ptx2spv::test::counted(std::malloc(bytes ? bytes : 1));
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  const auto to = static_cast<std::size_t>(align);
  return ptx2spv::test::counted(std::aligned_alloc(to, (std::max(bytes, to) + to - 1) / to * to));
}
void operator delete(void* memory) noexcept { ptx2spv::test::free_counted(memory); }
void operator delete(void* memory, std::size_t) noexcept { ptx2spv::test::free_counted(memory); }
void operator delete(void* memory, std::align_val_t) noexcept {
  ptx2spv::test::free_counted(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  ptx2spv::test::free_counted(memory);
}
