// The meaning of the pure integer operations, for the interpreter and for constant folding.
#pragma once

#include <optional>
#include <span>

#include "translator/ir/interpret.hpp"

namespace ptx2spv::ir {

/// The result of a pure operation on bits, or nothing for operations without a meaning here
/// (floating point, library functions, values that are not functions of the operands). `from` is
/// the type of the first operand.
std::optional<Bits> evaluate(const Inst& inst, Type from, std::span<const Bits> args);

}  // namespace ptx2spv::ir
