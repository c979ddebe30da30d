// The stack that a thread has in its local memory, for alloca and for functions that call
// themselves.
#pragma once

#include <cstdint>

namespace ptx2spv::ir {

/// What a thread's calls of alloca may take, all together, and the frames of recursive functions
/// with them; beyond these is room for the registers that the last frame keeps.
constexpr std::uint32_t kStackBytes = 4096, kRecursionBytes = 8192, kStackHead = 16,
                        kMostKeptBytes = 2048;

}  // namespace ptx2spv::ir
