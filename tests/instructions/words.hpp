// Runs a few instructions in every thread of a launch on the test's device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2spv::tests {

using Words = std::vector<std::uint32_t>;

/// What a launch runs. `text` finds in %in the address of the thread's operands, in %out that of
/// its results, in %t0 its number; there are %t<8>, %f<8>, %h<8>, %g<8>, %d<8> (64 bits), %q, %p<4>
/// besides.
struct WordsKernel {
  std::string text;
  unsigned threads = 64, operands = 0, results = 1;  ///< threads; words of each
  std::string version = "8.0", target = "sm_80";
  std::string before;  ///< stands before the kernel: variables, functions
};
std::string words_module(const WordsKernel& kernel);
/// All results; none where something failed, which is reported.
Words run_words(const WordsKernel& kernel, const Words& in);
Words run_words(const std::string& text, unsigned threads, const Words& in, unsigned results);

}  // namespace ptx2spv::tests
