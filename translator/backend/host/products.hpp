// Products of matrices by a warp.
#pragma once

#include "translator/backend/host/program.hpp"

namespace ptx2spv::interpreter {

/// The rows of a warp_product's result, of which `operands` has the rows of each operand. All lanes
/// take part.
void multiply_tile(const ir::WarpProduct& form, const std::uint32_t* const* operands,
                   std::uint32_t (&out)[4][kLanes]);

}  // namespace ptx2spv::interpreter
