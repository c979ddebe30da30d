#include "src/cache/digest.hpp"

#include <cstring>

namespace ptx2spv::runtime {

namespace {
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}
}  // namespace

void Digest::add_number(std::uint64_t value) {
  a_ = (a_ ^ value) * 0x00000100000001b3u;
  a_ ^= a_ >> 29;
  b_ = mix(b_ + value + 0x9e3779b97f4a7c15u);
}

void Digest::add(std::string_view bytes) {
  add_number(bytes.size());
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    add_number(word);
  }
  std::uint64_t rest = 0;
  if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  add_number(rest);
}

std::uint64_t Digest::value() const { return mix(a_ ^ (b_ << 1)); }

std::string Digest::text() const {
  std::string result;
  for (std::uint64_t word : {mix(a_), mix(b_ ^ a_)})
    for (int shift = 60; shift >= 0; shift -= 4) result += "0123456789abcdef"[word >> shift & 15];
  return result;
}

}  // namespace ptx2spv::runtime
