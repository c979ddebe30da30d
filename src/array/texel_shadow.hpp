// For the sanitizer: which bytes of an array were written, a bit each, in the order of its linear
// form.
#pragma once

#include "src/array/copy.hpp"

namespace ptx2spv::runtime {

/// Gives an array of a device with check_init its shadow; all of it counts as not written.
Status add_shadow(ArrayState& array);
/// The box, a level, or all of the array was written by the host or a copy.
void mark_box(const ArrayState& array, const ArrayBox& box);
void mark_level(const ArrayState& array, std::uint32_t level);
void mark_array(const ArrayState& array);
/// Whether all of a level was written in one of these ways, or nobody looks.
bool whole(const ArrayState& array, std::uint32_t level);

}  // namespace ptx2spv::runtime
