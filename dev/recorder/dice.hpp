// Choices at random, the same on every machine.
#pragma once

#include <array>
#include <cstdint>

#include "dev/recorder/texture_setup.hpp"

namespace ptx2spv::recorder {

/// A choice out of the generator's next bits.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(seed * 2654435761u + 1) {}
  std::uint32_t bits() { return next_bits(state_) * 0x9e3779b1u; }
  unsigned below(unsigned n) { return (bits() >> 8) % n; }
  bool chance(unsigned percent) { return below(100) < percent; }
  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(bits() >> 8) / 16777216.0f;
  }
  template <class T, std::size_t N>
  T pick(const std::array<T, N>& list) {
    return list[below(N)];
  }

 private:
  std::uint32_t state_;
};

}  // namespace ptx2spv::recorder
