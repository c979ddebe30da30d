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

/// By instruction of `stops`: the values made before it that a lane may need after it, those of
/// lanes that are behind it or have left a loop around it among them.
std::vector<std::vector<ir::Value>> needed_after(const ir::Function& function,
                                                 const std::vector<ir::BlockId>& order,
                                                 const std::vector<ir::Value>& stops);

}  // namespace ptx2spv::interpreter
