// Functions that call themselves, directly or by way of others.
#pragma once

#include <string>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// By number; empty when there is none.
std::vector<bool> recursive_functions(const Module& module);

/// Calls among the functions of a cycle become jumps: what a caller still needs of its registers
/// goes to the thread's stack (translator/ir/thread_stack.hpp), with the number of the place to
/// come back to. Afterwards no function calls itself, and inlining may
/// follow. Message when a caller keeps too much.
std::string expand_recursion(Module& module);

}  // namespace ptx2spv::passes
