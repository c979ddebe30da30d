// Loads whose values a kernel only moves.
#pragma once

#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

/// For each value of a function whose registers are variables: it goes nowhere but into memory, as
/// what is stored, whole or in parts. Padding of structures is moved so.
std::vector<bool> only_stored(const ir::Function& function);

}  // namespace ptx2spv::passes
