// Variables that live in local memory instead of SSA values.
#pragma once

#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Moves the variables of `moves` (by number) to local memory: each read becomes a load, each write
/// a store. `entry` is where a thread starts; there they become 0, which is what a variable is
/// before it is written.
void spill_variables(Function& function, const std::vector<bool>& moves, BlockId entry);

}  // namespace ptx2spv::passes
