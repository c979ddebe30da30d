// Products of matrices by the manual's layout of fragments and the rule of
// docs/reference/hardware.md in plain doubles, of which every step is exact.
#pragma once

#include <cstdint>
#include <functional>

#include "translator/ir/bits.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// What a thread gets. `operand`: what a lane gives for one.
Bits product_of(const WarpProduct& form, std::uint32_t lane,
                const std::function<Bits(std::uint32_t lane, unsigned operand)>& operand);

}  // namespace ptx2spv::ir
