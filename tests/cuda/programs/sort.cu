// Sorts of thrust, which takes the toolkit's own kernels: warp operations by the hundred, and
// blocks that wait for the blocks before them. The host does the same and compares. Prints "good",
// or that there is no thrust. With a number, that many keys are sorted.
#if __has_include(<thrust/sort.h>)
#include <thrust/device_vector.h>
#include <thrust/sort.h>

#include <algorithm>
#include <numeric>

#include "common.cuh"

namespace {

int failures = 0;

void expect(const char* what, std::size_t count, bool holds) {
  if (holds) return;
  std::printf("%s of %zu is wrong\n", what, count);
  ++failures;
}

template <class T>
std::vector<T> on_host(const thrust::device_vector<T>& device) {
  std::vector<T> host(device.size());
  thrust::copy(device.begin(), device.end(), host.begin());
  return host;
}

void keys(std::size_t count) {
  std::vector<std::uint32_t> host(count);
  for (std::size_t i = 0; i < count; ++i) host[i] = mix(static_cast<std::uint32_t>(i));
  thrust::device_vector<std::uint32_t> device(host.begin(), host.end());
  thrust::sort(device.begin(), device.end());
  std::sort(host.begin(), host.end());
  expect("sort", count, on_host(device) == host);
}

/// Many keys are equal: their values keep their order.
void pairs(std::size_t count) {
  std::vector<float> key(count);
  std::vector<int> value(count);
  std::iota(value.begin(), value.end(), 0);
  for (std::size_t i = 0; i < count; ++i)
    key[i] = static_cast<float>(static_cast<int>(mix(static_cast<std::uint32_t>(i)) % 4001) - 2000);
  thrust::device_vector<float> keys(key.begin(), key.end());
  thrust::device_vector<int> values(value.begin(), value.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin(), thrust::greater<float>());
  std::stable_sort(value.begin(), value.end(), [&](int a, int b) { return key[a] > key[b]; });
  std::stable_sort(key.begin(), key.end(), std::greater<float>());
  expect("stable_sort_by_key", count, on_host(keys) == key && on_host(values) == value);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    keys(std::strtoul(argv[1], nullptr, 10));
  } else {
    for (const std::size_t count : {1000, 100'000, 300'007}) {
      keys(count);
      pairs(count);
    }
  }
  if (failures == 0) std::puts("good");
  return failures != 0;
}
#else
#include <cstdio>
int main() { std::puts("no thrust"); }
#endif
