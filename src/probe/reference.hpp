// What NVIDIA's hardware gives for a question's kernel: the interpreter's words, which tests/probe
// compares with those of an H100.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2spv::runtime {

struct Reference {
  std::vector<std::uint32_t> words;
  std::string error;  ///< why there are none; empty: there are
};
/// Runs the entry `k` of a module, whose parameters are the addresses of `input`, of so many
/// `words` that are 0, and a surface that it leaves alone.
Reference reference(const std::string& text, std::uint32_t blocks, std::uint32_t block,
                    std::vector<std::uint32_t> input, std::size_t words);

}  // namespace ptx2spv::runtime
