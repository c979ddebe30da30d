// FNV-1a, for seeds and checksums that records keep. Keys of caches are digests (digest.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

namespace ptx2spv {

/// Of the values, whatever their width; `hash`: to go on from there.
template <typename Values>
constexpr std::uint64_t fnv(const Values& values, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const auto value : values)
    hash = (hash ^ static_cast<std::make_unsigned_t<std::decay_t<decltype(value)>>>(value)) *
           0x100000001b3u;
  return hash;
}

/// A seed of 24 bits, by the hash of 32 bits.
template <typename Text>
constexpr std::uint32_t fnv_seed(const Text& text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash >> 8;
}

}  // namespace ptx2spv
