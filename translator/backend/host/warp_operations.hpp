// Operations that the lanes of a warp do together (PTX's shfl, vote, match, redux, activemask,
// elect, mma).
#pragma once

#include <utility>

#include "translator/backend/host/program.hpp"

namespace ptx2spv::interpreter {

/// The lane that a shuffle reads, and whether it is within the segment (PTX manual, shfl.sync).
std::pair<std::uint32_t, bool> shuffled(ir::ShflMode mode, std::uint32_t lane, std::uint32_t b,
                                        std::uint32_t c);
/// The members that a lane names; 0 where the operation has none.
std::uint32_t members(const Lanes& lanes, const Step& step, unsigned lane);
/// Gives `lanes` what they get of an operation to which those of `present` have come.
void resolve(const Lanes& warp, const Step& step, std::uint32_t lanes, std::uint32_t present);

}  // namespace ptx2spv::interpreter
