#include "src/array/texel_shadow.hpp"

#include <cstring>

#include "ptx2spv/abi_sanitizer.hpp"

namespace ptx2spv::runtime {

Status add_shadow(ArrayState& array) {
  DeviceState& device = *array.device;
  if (!(device.checks & check_init)) return {};
  const Level& last = array.levels.back();
  const std::uint64_t bytes = abi::shadow_init_bytes(last.offset + last.bytes);
  auto shadow = device.heap.allocate(MemoryKind::visible, bytes);
  if (!shadow) return shadow.error();
  std::memset(shadow->mapped(), 0, bytes);
  array.shadow = std::move(*shadow);
  device.allocations.add_bits(array.shadow.mapped(), last.offset + last.bytes);
  return {};
}

void mark_box(const ArrayState& array, const ArrayBox& box) {
  if (!array.shadow) return;
  const std::uint64_t first = box.rows.offset - array.linear.offset();
  for (std::uint64_t z = 0; z < box.rows.slices; ++z)
    for (std::uint64_t y = 0; y < box.rows.rows; ++y)
      set_written_bits(array.shadow.mapped(),
                       first + z * box.rows.slice_pitch + y * box.rows.row_pitch,
                       box.rows.row_bytes);
}

void mark_level(const ArrayState& array, std::uint32_t level) {
  if (array.shadow)
    set_written_bits(array.shadow.mapped(), array.levels[level].offset, array.levels[level].bytes);
}

void mark_array(const ArrayState& array) {
  for (std::uint32_t level = 0; level < array.levels.size(); ++level) mark_level(array, level);
}

}  // namespace ptx2spv::runtime
