// What tests/host/emulated.hpp tells the program that runs a kernel under an emulator.
#pragma once

#include <cstdint>

namespace ptx2spv::tests {

struct Start {
  std::uint32_t block[3], blocks, lanes, words;  ///< words: that follow, and that are written
};

}  // namespace ptx2spv::tests
