// The random numbers of the programs: the same on every platform and with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptx2spv::programs {

/// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(bits() >> 32); }
  /// 0 to n - 1; `n` is below 2^32.
  std::uint32_t below(std::size_t n) {
    return static_cast<std::uint32_t>((std::uint64_t{word()} * n) >> 32);
  }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::uint64_t state_;
};

/// One value of 64 bits out of those that are already mixed, for hashes.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return Random(hash ^ (value * 0xff51afd7ed558ccdu)).bits();
}

}  // namespace ptx2spv::programs
