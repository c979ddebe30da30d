// A place in a source text.
#pragma once

#include <cstdint>

namespace ptx2spv {

/// `length` bytes from byte `begin` of one source file.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
  std::uint32_t end() const { return begin + length; }
};
inline Span join(Span first, Span last) {
  return {first.begin, last.end() > first.begin ? last.end() - first.begin : first.length};
}

}  // namespace ptx2spv
