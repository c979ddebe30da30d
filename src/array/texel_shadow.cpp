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

namespace {
void note_whole(const ArrayState& array, std::size_t level) {
  if (level < 64) array.whole |= std::uint64_t{1} << level;
}
}  // namespace

bool whole(const ArrayState& array, std::uint32_t level) {
  return !array.shadow || (level < 64 && (array.whole >> level & 1) != 0);
}

void mark_box(const ArrayState& array, const ArrayBox& box) {
  if (!array.shadow) return;
  const std::uint64_t first = box.rows.offset - array.linear.offset();
  for (std::size_t level = 0; level < array.levels.size(); ++level) {
    const Level& each = array.levels[level];
    if (first == each.offset && box.rows.row_bytes == each.row_bytes &&
        box.rows.rows == each.height && box.rows.slices == array.slices(each))
      note_whole(array, level);
  }
  for (std::uint64_t z = 0; z < box.rows.slices; ++z)
    for (std::uint64_t y = 0; y < box.rows.rows; ++y)
      set_written_bits(array.shadow.mapped(),
                       first + z * box.rows.slice_pitch + y * box.rows.row_pitch,
                       box.rows.row_bytes);
}

void mark_level(const ArrayState& array, std::uint32_t level) {
  if (!array.shadow) return;
  set_written_bits(array.shadow.mapped(), array.levels[level].offset, array.levels[level].bytes);
  note_whole(array, level);
}

void mark_array(const ArrayState& array) {
  for (std::uint32_t level = 0; level < array.levels.size(); ++level) mark_level(array, level);
}

}  // namespace ptx2spv::runtime
