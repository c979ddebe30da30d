// Reading of little-endian numbers at offsets that may lie anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ptx2spv::fatbin {

using ByteSpan = std::span<const std::byte>;

/// Whether `count` bytes from `offset` on lie within `bytes`.
inline bool holds(ByteSpan bytes, std::uint64_t offset, std::uint64_t count) {
  return offset <= bytes.size() && count <= bytes.size() - offset;
}

/// The number of sizeof(T) bytes at `offset`, which must lie within `bytes`.
template <class T>
T number_at(ByteSpan bytes, std::uint64_t offset) {
  T value = 0;
  for (std::size_t k = 0; k < sizeof(T); ++k)
    value = T(value | T(std::to_integer<T>(bytes[std::size_t(offset) + k])) << (8 * k));
  return value;
}

/// The characters from `offset` on, up to a zero or `count` of them; empty when they lie outside.
inline std::string_view text_at(ByteSpan bytes, std::uint64_t offset, std::uint64_t count) {
  if (!holds(bytes, offset, count)) return {};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + offset,
                              std::size_t(count));
  return text.substr(0, text.find('\0'));
}

}  // namespace ptx2spv::fatbin
