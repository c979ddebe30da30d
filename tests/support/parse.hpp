// Reads what ir::print writes, for tests: passes are tested by text before and after.
#pragma once

#include <string>
#include <string_view>

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// Reads one function. Empty when well, else `line N: text`. Values keep the numbers of the text.
std::string parse(std::string_view text, Function& function, Module& module);

}  // namespace ptx2spv::ir
