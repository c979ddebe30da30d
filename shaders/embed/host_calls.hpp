// The library's functions as the processor itself calls them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptx2spv::embed {

using Words = std::vector<std::uint32_t>;

inline constexpr std::size_t kHeaderWords = 5;

/// Calls `visit` with the opcode, place and length of each instruction. False where the module is
/// damaged.
template <typename F>
bool each_instruction(const Words& words, F&& visit) {
  for (std::size_t at = kHeaderWords; at < words.size();) {
    const std::size_t count = words[at] >> 16;
    if (count == 0 || at + count > words.size()) return false;
    visit(words[at] & 0xffff, at, count);
    at += count;
  }
  return true;
}

/// Writes the source of NAME_host_calls() (shaders/library.hpp) for the module as glslang made it:
/// each function whose parameters and result are truth values, words and vectors of words.
bool write_host_calls(const char* path, const char* name, const Words& module);

}  // namespace ptx2spv::embed
