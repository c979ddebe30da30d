// Values within their blocks.
#pragma once

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Sends every value that another block uses through a variable; constants and builtins are
/// repeated instead. Needs a function without phis.
void demote_to_stack(Function& function);

}  // namespace ptx2spv::passes
