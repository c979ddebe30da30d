// Branches that keep lanes from operations of a whole warp, where that is as good as their end.
#pragma once

#include "translator/passes/analysis/uniformity.hpp"

namespace ptx2spv::interpreter::llvm {

using namespace ir;

/// Whether the lanes of a warp do the operation together, or wait for others of the block.
bool together(ir::Op op);
/// Whether other threads or the host can see it; nobody reads the trap record in a launch.
bool is_visible(const ir::Inst& inst);

/// Of a structured function in SSA form, with preds: branches outside of loops, one side of which
/// alone has such operations. Lanes on the other side never come to them, so nobody waits for them;
/// where the operations are barriers, these lanes do nothing any more that others could see.
passes::EarlyExits find_early_exits(const ir::Function& function, const ir::StructuredLoops& nest,
                                    const passes::Scope& scope);

}  // namespace ptx2spv::interpreter::llvm
