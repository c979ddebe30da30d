// Runs a few instructions in every thread of a launch on the test's device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2spv::tests {

/// `text` finds in %in the address of the thread's operands, `in.size() / threads` words of `in`,
/// in %out the address of its `results` words, in %t0 its number; there are %t<8>, %f<8>, %h<8>,
/// %g<8>, %d<8> (64 bits), %q, %p<4> besides. All results; none where something failed, which is
/// reported.
std::vector<std::uint32_t> run_words(const std::string& text, unsigned threads,
                                     const std::vector<std::uint32_t>& in, unsigned results);

}  // namespace ptx2spv::tests
