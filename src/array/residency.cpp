#include "src/array/residency.hpp"

#include <algorithm>

namespace ptx2spv::runtime {

namespace {

void count_copy(DeviceState& device) {
  std::lock_guard lock(device.statistics_mutex);
  ++device.statistics.array_copies;
}

/// Descriptors name what they bind by serial numbers.
void rename_levels(ArrayState& array) {
  for (Level& level : array.levels) level.serial = array.device->next_serial.fetch_add(1);
}

void enter(ArrayState& array) {
  std::lock_guard lock(array.device->arrays_mutex);
  array.device->image_arrays.push_back(&array);
}

void leave(ArrayState& array) {
  std::lock_guard lock(array.device->arrays_mutex);
  std::erase(array.device->image_arrays, &array);
}

}  // namespace

Status move_to_image(ArrayState& array) {
  DeviceState& device = *array.device;
  if (array.image_backed || !may_move(array)) return {};
  if (Status status = create_image(array); !status) {
    destroy_image(array);
    array.movable = false;
    return {};
  }
  Status status =
      device.queue.run([&](VkCommandBuffer commands) { array.record_copy(commands, false); });
  if (!status) {
    destroy_image(array);
    return status;
  }
  count_copy(device);
  {
    std::lock_guard lock(array.mutex);
    array.image_backed = true;
    array.linear = Memory();
    array.wanted = 0;
    rename_levels(array);
    array.update_records();
  }
  enter(array);
  ++device.moves;
  return {};
}

Status move_to_memory(ArrayState& array) {
  DeviceState& device = *array.device;
  if (!array.image_backed || !may_move(array)) return {};
  Status status = array.ensure_linear();
  if (!status) return status;
  status = device.queue.run([&](VkCommandBuffer commands) { array.record_copy(commands, true); });
  if (!status) return status;
  count_copy(device);
  leave(array);
  {
    std::lock_guard lock(array.mutex);
    destroy_image(array);
    array.image_backed = false;
    array.returns = std::min(array.returns + 1, 20u);
    rename_levels(array);
    array.update_records();
  }
  ++device.moves;
  return {};
}

bool wants_to_move(ArrayState& array) {
  if (array.image_backed || !may_move(array)) return false;
  const std::uint32_t returns = array.returns;
  return returns == 0 || ++array.wanted > 8u << returns;
}

}  // namespace ptx2spv::runtime
