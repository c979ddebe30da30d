// Which rows of a warp's registers a function's values take.
#pragma once

#include <cstdint>
#include <vector>

#include "translator/backend/host/program.hpp"

namespace ptx2spv::interpreter {

struct Places {
  std::vector<Place> of;   ///< by value; of constants undefined
  std::uint32_t rows = 0;  ///< that all of them take
};

/// `order`: the blocks that are reached, dominators first. Values that live at the same time, or of
/// which one is made where the other is read for the last time, have rows of their own. Linear but
/// for a sort.
Places allocate_registers(const ir::Function& function, const std::vector<ir::BlockId>& order);

}  // namespace ptx2spv::interpreter
