// Where an array lives: in memory or in an image. It moves when its kernels want it elsewhere.
#pragma once

#include "src/array/array.hpp"

namespace ptx2spv::runtime {

/// Whether it may be moved at all now.
inline bool may_move(const ArrayState& array) { return array.movable && !array.device->pins; }

/// Both wait for all work submitted before, copy the array once and free what it leaves. The caller
/// holds DeviceState::residency alone. An array that no image can hold stays and is not movable.
Status move_to_image(ArrayState& array);
Status move_to_memory(ArrayState& array);

/// Whether an array in memory that a launch would read from an image moves there. One that had to
/// come back waits for more such launches each time.
bool wants_to_move(ArrayState& array);

}  // namespace ptx2spv::runtime
