// The two halves of ir::validate; each gives the first violation, or an empty string.
#pragma once

#include <string>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// Operand counts and types of one instruction.
std::string validate_types(const Function& function, const Module& module, Value value);
/// SPIR-V's rules of structured control flow, on a function whose graph is otherwise well-formed.
std::string validate_structure(const Function& function);

}  // namespace ptx2spv::ir
