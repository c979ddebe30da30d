// Whose NaN a function tells from another.
#pragma once

#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

/// By value, before doubles are legalised: whether something may look at which NaN it is, of values
/// that are floats of 32 or 64 bits.
std::vector<bool> observed_nans(const ir::Function& function);

}  // namespace ptx2spv::passes
