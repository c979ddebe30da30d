// The meaning of the pure integer operations, for constant folding and for the tests' reference.
#pragma once

#include <optional>
#include <span>

#include "translator/ir/bits.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// The result of a pure operation on bits, or nothing for operations without a meaning here
/// (floating point, library functions, values that are not functions of the operands). `from` is
/// the type of the first operand.
std::optional<Bits> evaluate(const Inst& inst, Type from, std::span<const Bits> args);

}  // namespace ptx2spv::ir
