// Texts in the room that a program gives.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

namespace ptx2spv::cuda {

/// Copies what `room` characters take of `text`, with a zero at its end. What is behind that stays
/// as it was, as CUDA leaves it: there are programs that name more room than they have.
inline void copy_text(const std::string& text, char* to, int room) {
  const std::size_t bytes = std::min(text.size(), static_cast<std::size_t>(room) - 1);
  std::memcpy(to, text.data(), bytes);
  to[bytes] = 0;
}

}  // namespace ptx2spv::cuda
