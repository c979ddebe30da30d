// What the IR's floating-point operations mean, by the CPU's own arithmetic in its rounding modes.
#pragma once

#include <span>

#include "tests/support/reference.hpp"

namespace ptx2spv::test {

/// False for operations and formats that it does not know: the approximate ones among them.
bool float_operation(const ir::Inst& inst, std::span<const ir::Bits> args, ir::Bits& result);

}  // namespace ptx2spv::test
