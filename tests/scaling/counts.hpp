// Work and memory of a piece of code, by counts that are the same on every machine.
#pragma once

#include <cstdint>

namespace ptx2spv::test {

struct Counts {
  std::uint64_t blocks = 0;  ///< basic blocks of the translator that ran
  std::uint64_t copied = 0;  ///< bytes that memcpy, memmove and memset wrote for it
  std::uint64_t peak = 0;    ///< most bytes allocated at a time, more than at the start

  /// 64 bytes copied count as one block.
  std::uint64_t work() const { return blocks + copied / 64; }
};

void start_counting();
Counts stop_counting();

}  // namespace ptx2spv::test
