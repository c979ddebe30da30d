// Coordinates for texture records: edges, texel centres, far values, and random ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "dev/recorder/texture_setup.hpp"

namespace ptx2spv::recorder {

inline std::uint32_t float_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

class Coordinates {
 public:
  Coordinates(const TextureSetup& setup, std::uint32_t seed)
      : setup_(setup), state_(seed * 2654435761u + 1) {}

  std::uint32_t bits() { return next_bits(state_) * 0x9e3779b1u; }
  float unit() { return static_cast<float>(bits() >> 8) / 16777216.0f; }
  float uniform(float low, float high) { return low + (high - low) * unit(); }
  unsigned extent(unsigned axis) const {
    return axis == 0 ? setup_.width : axis == 1 ? setup_.height : setup_.level_depth(0);
  }
  float scale(unsigned axis) const {
    return setup_.normalized ? 1.0f / static_cast<float>(extent(axis)) : 1.0f;
  }
  /// A coordinate given in texels, as the texture takes it.
  float texels(unsigned axis, float value) const {
    return setup_.normalized ? value / static_cast<float>(extent(axis)) : value;
  }

  std::vector<std::uint32_t> edges(unsigned axis) const {
    const auto n = static_cast<int>(extent(axis));
    std::vector<std::uint32_t> list;
    for (int k = -2; k <= n + 2; ++k) {
      if (k > 3 && k < n - 3) continue;
      for (float part :
           {0.0f, 0.25f, 0.5f, 0.75f, 0.001953125f, 0.998046875f, 0.501953125f, 0.498046875f}) {
        list.push_back(float_bits(texels(axis, static_cast<float>(k) + part)));
      }
      for (float at : {0.0f, 0.5f}) {
        const std::uint32_t exact = float_bits(texels(axis, static_cast<float>(k) + at));
        list.push_back(exact + 1);
        list.push_back(exact - 1);
      }
    }
    for (float far : {-0.0f,
                      1e-40f,
                      -1e-40f,
                      1e-6f,
                      100.7f,
                      -100.7f,
                      4096.25f,
                      65535.5f,
                      1e6f,
                      8388607.5f,
                      16777216.0f,
                      2147483648.0f,
                      -2147483648.0f,
                      3e9f,
                      1e20f,
                      -1e20f,
                      std::numeric_limits<float>::max(),
                      std::numeric_limits<float>::lowest(),
                      std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity()}) {
      list.push_back(float_bits(far));
    }
    list.insert(list.end(), {0x7fc00000u, 0xffc00000u, 0x7f800001u});
    return list;
  }
  std::vector<std::uint32_t> integer_edges(unsigned axis) const {
    const auto n = static_cast<std::int32_t>(extent(axis));
    std::vector<std::uint32_t> list;
    for (std::int32_t k : {-2 * n - 1,
                           -n - 1,
                           -n,
                           -2,
                           -1,
                           0,
                           1,
                           2,
                           n - 1,
                           n,
                           n + 1,
                           2 * n,
                           2 * n + 1,
                           1000,
                           65535,
                           65536,
                           -65536,
                           1 << 24,
                           std::numeric_limits<std::int32_t>::max(),
                           std::numeric_limits<std::int32_t>::min()}) {
      list.push_back(static_cast<std::uint32_t>(k));
    }
    return list;
  }
  std::uint32_t layer() {
    static constexpr std::uint32_t kFar[] = {0xffffffffu, 0x80000000u, 65535, 65536, 0x10001, 17};
    const std::uint32_t pick = bits() >> 16;
    if (pick % 6 == 0) return kFar[pick / 6 % 6];
    return pick % (setup_.depth + 1);
  }

  /// Tuples of the coordinate words of the setup's geometry: each axis over its edges, then
  /// `random` tuples.
  std::vector<std::uint32_t> plane(bool integers, unsigned random) {
    std::vector<std::uint32_t> out;
    const unsigned axes = setup_.dimensions();
    std::uint32_t values[3] = {};
    auto push = [&] {
      if (setup_.layered()) out.push_back(layer());
      out.insert(out.end(), values, values + axes);
    };
    auto middle = [&](unsigned axis) {
      const float at = uniform(0.0f, static_cast<float>(extent(axis)));
      return integers ? static_cast<std::uint32_t>(at) : float_bits(texels(axis, at));
    };
    for (unsigned axis = 0; axis < axes; ++axis) {
      for (std::uint32_t edge : integers ? integer_edges(axis) : edges(axis)) {
        for (unsigned k = 0; k < axes; ++k) values[k] = k == axis ? edge : middle(k);
        push();
      }
    }
    for (unsigned i = 0; i < random; ++i) {
      for (unsigned k = 0; k < axes; ++k) {
        const auto n = static_cast<float>(extent(k));
        const float at = i % 2 ? uniform(-1.5f * n, 2.5f * n) : uniform(-0.6f, n + 0.6f);
        values[k] = integers ? static_cast<std::uint32_t>(static_cast<std::int32_t>(at))
                             : float_bits(texels(k, at));
      }
      push();
    }
    return out;
  }

  /// Tuples inside the texture and half a texel around it.
  std::vector<std::uint32_t> inside(unsigned count, float margin = 0.6f) {
    std::vector<std::uint32_t> out;
    for (unsigned i = 0; i < count; ++i) {
      if (setup_.layered()) out.push_back(bits() % setup_.depth);
      for (unsigned k = 0; k < setup_.dimensions(); ++k) {
        out.push_back(
            float_bits(texels(k, uniform(-margin, static_cast<float>(extent(k)) + margin))));
      }
    }
    return out;
  }

  /// Directions for cube maps: random ones, and with equal, zero and unbounded components.
  std::vector<std::uint32_t> directions(unsigned count) {
    static constexpr float kParts[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 2.0f, 1e-30f, 1e30f};
    std::vector<std::uint32_t> out;
    for (unsigned i = 0; i < count; ++i) {
      if (setup_.layered()) out.push_back(layer());
      for (unsigned k = 0; k < 3; ++k) {
        float v = uniform(-1.0f, 1.0f);
        if (i % 4 == 1) v = kParts[bits() % 9];
        if (i % 16 == 3 && k == i / 16 % 3) v = std::numeric_limits<float>::infinity();
        if (i % 32 == 7 && k == 1) v = std::numeric_limits<float>::quiet_NaN();
        out.push_back(float_bits(v));
      }
    }
    return out;
  }

  /// Tuples with further operands behind each: `extra(i)` appends them.
  template <class Extra>
  static std::vector<std::uint32_t> with(const std::vector<std::uint32_t>& tuples, unsigned words,
                                         Extra extra) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i * words < tuples.size(); ++i) {
      out.insert(out.end(), tuples.begin() + static_cast<std::ptrdiff_t>(i * words),
                 tuples.begin() + static_cast<std::ptrdiff_t>((i + 1) * words));
      extra(out);
    }
    return out;
  }

 private:
  TextureSetup setup_;
  std::uint32_t state_;
};

}  // namespace ptx2spv::recorder
