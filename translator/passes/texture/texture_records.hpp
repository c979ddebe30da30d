// Textures whose handles are known before the launch: parameters and module variables.
#pragma once

#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

/// Fills entry.texture_slots. Before SSA, after inlining.
void find_texture_slots(const ir::Function& function, EntryInfo& entry);
/// Lets the slots that the host knows read their records' copies in the parameters, and what it
/// says of them be constants, so that a read keeps only what its texture needs. Before SSA.
void fix_texture_records(ir::Function& function, const EntryInfo& entry,
                         const std::vector<TextureSpec>& specs);

}  // namespace ptx2spv::passes
