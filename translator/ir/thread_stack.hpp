// The stack that a thread has in its local memory, for alloca and for functions that call
// themselves. Its pointer is a register.
#pragma once

#include <cstdint>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// What a thread's calls of alloca may take, all together, and the frames of recursive functions
/// with them; beyond these is room for the registers that the last frame keeps.
constexpr std::uint32_t kStackBytes = 4096, kRecursionBytes = 8192, kMostKeptBytes = 2048;

/// The variable, per_thread, with the address of the first free byte; made on first use.
std::uint32_t stack_pointer(Function& function);

}  // namespace ptx2spv::ir
