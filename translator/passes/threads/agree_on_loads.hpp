// Loads of which all threads of a block get the same.
#pragma once

#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Weak loads of global and shared memory by which barriers_diverge() is true, and is not once
/// agree_on_loads() has taken them. None if they do not decide it alone. Takes the function before
/// structurizing, calls inlined; works on copies.
std::vector<Value> loads_to_agree_on(const Function& function, Module& module);
/// Gives all threads of a block what the first one loads, through shared memory between barriers.
/// Needs variables, ThreadModel::direct, and that all threads come to the loads.
void agree_on_loads(Function& function, const std::vector<Value>& loads);

}  // namespace ptx2spv::passes
