// Upkeep of the block list after edges have gone.
#pragma once

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Numbers the blocks that control reaches in emission order and drops the others.
void renumber_blocks(Function& function);

/// Drops blocks that cannot be reached, numbers the rest in emission order and takes the operands
/// of lost predecessors out of phis. Merge blocks that no thread reaches stay, ending in
/// Term::unreachable, and so do continue targets; straight lines become one block. Works with and
/// without SSA form.
void remove_unreachable(Function& function);

/// Finds loops that are left in their first iteration, by what their phis are on entry, and makes
/// straight lines of them. Needs SSA form; the caller drops what is unreachable then.
bool delete_single_trip_loops(Function& function);

/// Numbers the instructions in the order in which they stand and drops those that no block holds,
/// so that a walk over the function is a walk through memory.
void renumber_values(Function& function);

}  // namespace ptx2spv::passes
