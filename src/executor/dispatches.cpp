#include "src/executor/dispatches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/launch/shape.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::uint64_t kSlabBytes = 64ull << 20;
/// Of local memory: what all invocations of a dispatch have, whether or not they run at a time.
constexpr std::uint64_t kMostLocalSlab = 2ull << 30;
constexpr std::uint64_t kMostDispatches = 1u << 20;

/// Blocks of a grid, from `first` on.
struct Box {
  std::array<std::uint32_t, 3> first{};
  Dim3 size;
};

/// The blocks of a grid from number `first` on: what is left of its row, of its plane, of the grid.
std::vector<Box> rest_of(const Dim3& grid, std::uint64_t first) {
  const auto x = static_cast<std::uint32_t>(first % grid.x);
  const auto y = static_cast<std::uint32_t>(first / grid.x % grid.y);
  const auto z = static_cast<std::uint32_t>(first / grid.x / grid.y);
  const std::uint32_t next_y = x ? y + 1 : y, next_z = next_y ? z + 1 : z;
  std::vector<Box> boxes;
  if (x) boxes.push_back({{x, y, z}, {grid.x - x, 1, 1}});
  if (next_y && next_y < grid.y) boxes.push_back({{0, next_y, z}, {grid.x, grid.y - next_y, 1}});
  if (next_z < grid.z) boxes.push_back({{0, 0, next_z}, {grid.x, grid.y, grid.z - next_z}});
  return boxes;
}

/// Cuts blocks into dispatches that the device takes. `most_groups`: of one dispatch.
void cut_grid(const DeviceState& device, const Box& box, std::uint64_t most_groups,
              std::vector<Dispatch>& dispatches) {
  const Dim3& grid = box.size;
  const std::uint32_t* most = device.traits.properties.limits.maxComputeWorkGroupCount;
  std::uint64_t total = std::uint64_t{grid.x} * grid.y * grid.z;
  std::uint32_t step[3] = {std::min(grid.x, most[0]), std::min(grid.y, most[1]),
                           std::min(grid.z, most[2])};
  if (total > most_groups) {
    step[0] = static_cast<std::uint32_t>(std::min<std::uint64_t>(step[0], most_groups));
    step[1] =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most_groups / step[0], 1, step[1]));
    step[2] = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(most_groups / (std::uint64_t{step[0]} * step[1]), 1, step[2]));
  }
  for (std::uint64_t z = 0; z < grid.z; z += step[2])
    for (std::uint64_t y = 0; y < grid.y; y += step[1])
      for (std::uint64_t x = 0; x < grid.x; x += step[0]) {
        auto at = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
        Dispatch dispatch;
        dispatch.base = {box.first[0] + at(x), box.first[1] + at(y), box.first[2] + at(z)};
        dispatch.groups = {std::min(step[0], grid.x - at(x)), std::min(step[1], grid.y - at(y)),
                           std::min(step[2], grid.z - at(z))};
        dispatches.push_back(dispatch);
      }
}

/// The flat model: threads are numbered through, and a dispatch takes as many whole blocks as it
/// can, one at least. `most_groups`: of one dispatch of several blocks.
void cut_blocks(const DeviceState& device, std::uint64_t from, std::uint64_t blocks,
                std::uint32_t threads_each, std::uint32_t workgroup, std::uint64_t most_groups,
                std::vector<Dispatch>& dispatches) {
  const std::uint64_t groups = std::min<std::uint64_t>(
      device.traits.properties.limits.maxComputeWorkGroupCount[0], most_groups);
  const std::uint64_t most = std::max<std::uint64_t>(
      std::min<std::uint64_t>(groups * workgroup, 0xffffffffu) / threads_each, 1);
  for (std::uint64_t first = from; first < blocks; first += most) {
    std::uint64_t threads = std::min(most, blocks - first) * threads_each;
    Dispatch dispatch;
    dispatch.threads = static_cast<std::uint32_t>(threads);
    dispatch.groups = {static_cast<std::uint32_t>((threads + workgroup - 1) / workgroup), 1, 1};
    dispatch.base = {static_cast<std::uint32_t>(first), 0, 0};
    dispatches.push_back(dispatch);
  }
}

/// Bytes of the slab that the local memory of a workgroup takes, whose warps are whole.
std::uint64_t local_slab_of_group(const LaunchPlan& plan) {
  const std::uint32_t* size = plan.vulkan.shape.size;
  const std::uint64_t lanes = (std::uint64_t{size[0]} * size[1] * size[2] + 31) / 32 * 32;
  return lanes * plan.variant->info.local_slab_bytes;
}

std::uint64_t most_local_slab(const DeviceState& device) {
  if (!device.profile.features.device_addresses) return kSlabBytes;
  return std::clamp(device.info.memory_bytes / 16, kSlabBytes, kMostLocalSlab);
}

/// What the largest dispatch has of what each workgroup takes.
std::uint64_t of_largest(const std::vector<Dispatch>& dispatches, std::uint64_t of_group) {
  std::uint64_t most = 0;
  for (const Dispatch& each : dispatches)
    most = std::max(most, std::uint64_t{each.groups[0]} * each.groups[1] * each.groups[2]);
  return most * of_group;
}

}  // namespace

Status cut_launch(LaunchPlan& plan) {
  const DeviceState& device = plan.device();
  const LaunchConfig& config = plan.facts->config;
  const Specialization& key = plan.variant->key;
  const std::uint64_t blocks = volume(config.grid), shared = plan.facts->shared;
  const std::uint64_t first = plan.first_block.value_or(0);
  VulkanPlan& out = plan.vulkan;
  const std::uint64_t local = local_slab_of_group(plan);
  std::uint64_t most = UINT64_MAX;
  if (local && !config.cooperative)
    most = std::max<std::uint64_t>(most_local_slab(device) / local, 1);
  if (key.threads == ThreadModel::flat) {
    if (blocks >> 32)
      return make_error(ErrorCode::unsupported,
                        "{} blocks that are larger than {} takes are too many", blocks,
                        device.info.name);
    cut_blocks(device, first, blocks, static_cast<std::uint32_t>(volume(config.block)),
               key.workgroup_threads, most, out.dispatches);
    out.slab_bytes = out.local_slab_bytes = of_largest(out.dispatches, local);
    return {};
  }
  const std::uint64_t block_bytes = (shared + 15) / 16 * 16;
  if (key.together[0]) {
    out.dispatches.push_back({.groups = {1, 1, 1}});
    out.local_slab_bytes = local;
    out.slab_bytes = local + blocks * block_bytes + plan.variant->info.sync.control_bytes;
    return {};
  }
  if (key.shared_in_memory && !config.cooperative)
    most = std::min(most, std::max<std::uint64_t>(kSlabBytes / shared, 1));
  if (const std::uint64_t shadows = most_groups(plan.sanitized.get()))
    most = std::min(most, shadows);
  if (most < UINT64_MAX && blocks / most > kMostDispatches)
    return make_error(
        ErrorCode::unsupported,
        "{} blocks with {} bytes of shared memory and {} of local memory each are too "
        "many for {}",
        blocks, shared, local, device.info.name);
  for (const Box& box : rest_of(config.grid, first)) cut_grid(device, box, most, out.dispatches);
  out.local_slab_bytes = of_largest(out.dispatches, local);
  out.slab_bytes =
      out.local_slab_bytes + of_largest(out.dispatches, key.shared_in_memory ? block_bytes : 0);
  if (config.cooperative && out.dispatches.size() > 1)
    return make_error(ErrorCode::unsupported,
                      "{} blocks that are launched cooperatively are more than {} "
                      "takes at once",
                      blocks, device.info.name);
  return {};
}

}  // namespace ptx2spv::runtime
