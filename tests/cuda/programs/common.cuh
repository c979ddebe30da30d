// What the programs of this folder share: checked calls, and digests of results.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    cudaError_t code = (call);                                                            \
    if (code != cudaSuccess) {                                                            \
      std::printf("%s:%d: %s: %s\n", "program", __LINE__, #call, cudaGetErrorName(code)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

/// FNV-1a over bytes.
inline std::uint64_t digest(const void* data, std::size_t bytes) {
  std::uint64_t value = 14695981039346656037ull;
  for (std::size_t i = 0; i < bytes; ++i)
    value = (value ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211ull;
  return value;
}

inline void show(const char* name, const void* data, std::size_t bytes) {
  std::printf("%-28s %016llx\n", name, static_cast<unsigned long long>(digest(data, bytes)));
}

/// The words of a buffer of the device, as a digest.
inline void show_device(const char* name, const void* data, std::size_t bytes) {
  std::vector<unsigned char> copy(bytes);
  CHECK(cudaMemcpy(copy.data(), data, bytes, cudaMemcpyDeviceToHost));
  show(name, copy.data(), bytes);
}

inline std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}
