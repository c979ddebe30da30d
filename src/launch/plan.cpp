// From a launch's configuration and arguments to pipeline, bindings and dispatches.
#include "src/launch/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <shared_mutex>

#include "src/launch/arguments.hpp"
#include "src/launch/backing.hpp"
#include "src/launch/interpretation.hpp"
#include "src/launch/loop_trial.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::uint64_t kSlabBytes = 64ull << 20;
// Shared memory of a block on the largest targets (CUDA programming guide, compute capabilities).
constexpr std::uint64_t kMostShared = 227 * 1024;
constexpr std::uint64_t kMostDispatches = 1u << 20;
constexpr std::uint64_t kMostCooperative = 1u << 18;  ///< threads

std::uint64_t grid_blocks(const Dim3& grid) { return std::uint64_t{grid.x} * grid.y * grid.z; }

std::uint32_t block_threads(const LaunchConfig& config) {
  return config.block.x * config.block.y * config.block.z;
}

Status check_shape(const KernelState& kernel, const LaunchConfig& config) {
  const EntryInfo& info = *kernel.info;
  const Dim3 &grid = config.grid, &block = config.block;
  auto bad = [&](std::string text) {
    return make_error(ErrorCode::invalid_argument,
                      fmt::format("launch of kernel '{}': {}", info.name, text));
  };
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
    return bad("a dimension of grid or block is zero");
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return bad(fmt::format("a grid of {} x {} x {} exceeds 2147483647 x 65535 x 65535", grid.x,
                           grid.y, grid.z));
  if (block.x > 1024 || block.y > 1024 || block.z > 64 ||
      std::uint64_t{block.x} * block.y * block.z > 1024)
    return bad(
        fmt::format("a block of {} x {} x {} exceeds 1024 threads", block.x, block.y, block.z));
  const std::uint32_t* required = info.reqntid;
  if (required[0]) {
    std::uint32_t want[3] = {required[0], std::max(required[1], 1u), std::max(required[2], 1u)};
    if (block.x != want[0] || block.y != want[1] || block.z != want[2])
      return bad(fmt::format("its .reqntid is {}, {}, {}, and the block is {} x {} x {}", want[0],
                             want[1], want[2], block.x, block.y, block.z));
  }
  const std::uint32_t* most = info.maxntid;
  if (most[0]) {
    std::uint64_t limit = std::uint64_t{most[0]} * std::max(most[1], 1u) * std::max(most[2], 1u);
    if (std::uint64_t{block.x} * block.y * block.z > limit)
      return bad(fmt::format("its .maxntid allows {} threads, and the block has {}", limit,
                             block.x * block.y * block.z));
  }
  if (!config.repeat) return bad("it is to be repeated zero times");
  if (config.cooperative && grid_blocks(grid) * block_threads(config) > kMostCooperative)
    return bad(
        fmt::format("{} blocks of {} threads are launched cooperatively, and all of them "
                    "may have {} threads",
                    grid_blocks(grid), block_threads(config), kMostCooperative));
  return {};
}

/// A block fits when a workgroup can hold it as it is.
bool block_fits(const DeviceState& device, const Dim3& block) {
  const VkPhysicalDeviceLimits& limits = device.traits.properties.limits;
  return block.x <= limits.maxComputeWorkGroupSize[0] &&
         block.y <= limits.maxComputeWorkGroupSize[1] &&
         block.z <= limits.maxComputeWorkGroupSize[2] &&
         block.x * block.y * block.z <= device.profile.max_workgroup_invocations;
}

/// Whether one workgroup runs all blocks: those that wait for each other where the device promises
/// nothing.
bool runs_together(const KernelState& kernel, const LaunchConfig& config) {
  return config.cooperative && kernel.info->waits && grid_blocks(config.grid) > 1 &&
         !kernel.module->device->profile.exactness.independent_threads;
}

/// A cooperative launch tells its kernel where the grid's workspace is.
Status place_workspace(const KernelState& kernel, const LaunchConfig& config, LaunchPlan& plan) {
  const EntryInfo& info = *kernel.info;
  if (!config.cooperative || !info.uses_grid_workspace) return {};
  DeviceState& device = *kernel.module->device;
  auto memory = device.grid_workspace.get(device);
  if (!memory) return memory.error();
  plan.workspace = *memory;
  const std::uint64_t address = plan.workspace->address();
  std::memcpy(plan.params.data() + info.grid_workspace, &address, sizeof address);
  return {};
}

/// What the device's clocks are scaled by. The interpreter's need it not.
void place_clock_rates(const KernelState& kernel, LaunchPlan& plan) {
  if (!kernel.info->reads_clock || plan.interpreted) return;
  const ClockRates rates = plan.module->device->clocks.get(*plan.module->device);
  std::memcpy(plan.params.data() + kernel.info->clock_rates, rates.data(), sizeof rates);
}

ThreadModel choose_threads(const KernelState& kernel, const LaunchConfig& config) {
  const EntryInfo& info = *kernel.info;
  const DeviceState& device = *kernel.module->device;
  const ThreadModel asked =
      block_fits(device, config.block) ? ThreadModel::direct : ThreadModel::flat;
  const std::uint32_t block[3] = {config.block.x, config.block.y, config.block.z};
  return thread_model(info, config.threads.value_or(asked),
                      native_warps(info, device.profile, block, checks_of(kernel, config)));
}

/// Puts a copy of each slot's record where the kernel reads it; a dead handle's stays zero.
void place_records(const KernelState& kernel, const Slots& slots, std::vector<std::byte>& params) {
  const EntryInfo& info = *kernel.info;
  const Table& table = kernel.module->device->surfaces;
  for (std::size_t i = 0; i < slots.surfaces.size(); ++i) {
    // An unbound .surfref with initialisers has a record, though no surface.
    const std::uint64_t handle = word64(params, info.slots[i].offset);
    if (!slots.surfaces[i] && !table.live(handle)) continue;
    std::vector<std::uint32_t> record;
    std::string name;
    table.describe(handle, record, name);
    record.resize(abi::kSurfaceWords);
    const std::size_t at = info.slot_records + i * abi::kSurfaceWords * 4;
    if (at + abi::kSurfaceWords * 4 > params.size()) params.resize(at + abi::kSurfaceWords * 4);
    std::memcpy(params.data() + at, record.data(), abi::kSurfaceWords * 4);
  }
}

/// The same for textures; a handle that is dead stays unknown, and the kernel looks it up and
/// traps.
void place_texture_records(const KernelState& kernel, const Slots& slots,
                           std::vector<std::byte>& params, std::vector<TextureSpec>& specs,
                           bool approximate) {
  const EntryInfo& info = *kernel.info;
  const Table& table = kernel.module->device->textures;
  constexpr std::size_t kBytes = abi::kTextureWords * 4;
  specs.resize(info.texture_slots.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::uint64_t handle = word64(params, info.texture_slots[i]);
    if (!table.live(handle)) continue;
    std::vector<std::uint32_t> record;
    std::string name;
    table.describe(handle, record, name);
    record.resize(abi::kTextureWords);
    const std::size_t at = info.texture_records + i * kBytes;
    if (params.size() < at + kBytes) params.resize(at + kBytes);
    std::memcpy(params.data() + at, record.data(), kBytes);
    TextureSpec& spec = specs[i];
    spec.known = true;
    spec.sampler = record[abi::x_sampler];
    spec.format = static_cast<abi::SurfaceFormat>(record[abi::x_format]);
    spec.channels = static_cast<std::uint8_t>(record[abi::x_channels]);
    spec.one_level = record[abi::x_levels] == 1;
    if (i >= slots.textures.size() || !slots.textures[i].use.possible) continue;
    spec.unit = TextureUnit::sampler;
    spec.faces = slots.textures[i].use.faces;
    spec.divides = slots.textures[i].use.divides;
    spec.biased = slots.textures[i].use.biased;
    spec.approximate = approximate;
  }
}

Status bind_textures(const Slots& slots, LaunchPlan& plan) {
  for (std::uint32_t i = 0; i < slots.textures.size(); ++i) {
    const TextureSlot& slot = slots.textures[i];
    if (!slot.use.possible) continue;
    auto sampled = sampled_texture(*slot.texture, slot.use);
    if (!sampled) return sampled.error();
    plan.textures.push_back({i, sampled->view, sampled->sampler, sampled->serial});
    plan.keep.push_back(slot.texture);
  }
  return {};
}

/// Elements that no texture has are another's, which no kernel reads.
Status bind_table(const Slots& slots, LaunchPlan& plan) {
  const auto first = static_cast<std::uint32_t>(plan.variant->info.texture_slots.size());
  for (const TableTexture& each : slots.table) {
    auto sampled = sampled_texture(*each.texture, each.use);
    if (!sampled) return sampled.error();
    const VkDescriptorImageInfo element{sampled->sampler, sampled->view, VK_IMAGE_LAYOUT_GENERAL};
    const std::uint32_t binding = first + static_cast<std::uint32_t>(each.geometry) * kTexelKinds +
                                  static_cast<std::uint32_t>(texel_of(*each.texture));
    auto array = std::ranges::find(plan.table, binding, &TableBinding::binding);
    if (array == plan.table.end())
      array = plan.table.insert(array, {binding, std::vector(slots.table_size, element)});
    array->elements[each.index] = element;
    ++plan.table_textures;
    plan.keep.push_back(each.texture);
  }
  return {};
}

void bind_slots(const Slots& slots, LaunchPlan& plan) {
  plan.slots.resize(slots.specs.size());
  for (std::size_t i = 0; i < slots.specs.size(); ++i) {
    SlotBinding& binding = plan.slots[i];
    binding.backing = slots.specs[i].backing;
    if (!slots.surfaces[i]) continue;
    plan.keep.push_back(slots.surfaces[i]);
    const ArrayState& array = *slots.surfaces[i]->array;
    const Level& level = array.levels[slots.surfaces[i]->level];
    binding.serial = level.serial;
    if (binding.backing == Backing::image) {
      // As the module declares it.
      binding.view = plan.variant->info.slots[i].image_format == "r64ui" ? level.storage_view64
                                                                         : level.storage_view;
    } else if (binding.backing == Backing::buffer) {
      binding.buffer = array.linear.buffer();
      binding.offset = array.linear.offset() + level.offset;
      binding.range = level.bytes;
    }
  }
}

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

/// Whether cut_grid leaves a grid whole, and few threads stand along each axis.
bool small_grid(const DeviceState& device, const LaunchConfig& config) {
  const std::uint32_t* most = device.traits.properties.limits.maxComputeWorkGroupCount;
  const Dim3 &grid = config.grid, &block = config.block;
  const auto few = [](std::uint64_t groups, std::uint32_t size) {
    return groups * size <= abi::kSmallGrid;
  };
  return grid.x <= most[0] && grid.y <= most[1] && grid.z <= most[2] && few(grid.x, block.x) &&
         few(grid.y, block.y) && few(grid.z, block.z);
}

/// The flat model: threads are numbered through, and a dispatch takes as many whole blocks as it
/// can.
void cut_blocks(const DeviceState& device, std::uint64_t from, std::uint64_t blocks,
                std::uint32_t threads_each, std::uint32_t workgroup,
                std::vector<Dispatch>& dispatches) {
  std::uint64_t groups = device.traits.properties.limits.maxComputeWorkGroupCount[0];
  std::uint64_t most = std::min<std::uint64_t>(groups * workgroup, 0xffffffffu) / threads_each;
  for (std::uint64_t first = from; first < blocks; first += most) {
    std::uint64_t threads = std::min(most, blocks - first) * threads_each;
    Dispatch dispatch;
    dispatch.threads = static_cast<std::uint32_t>(threads);
    dispatch.groups = {static_cast<std::uint32_t>((threads + workgroup - 1) / workgroup), 1, 1};
    dispatch.base = {static_cast<std::uint32_t>(first), 0, 0};
    dispatches.push_back(dispatch);
  }
}

std::uint32_t round_to_power(std::uint32_t value) {
  std::uint32_t power = 32;
  while (power < value) power *= 2;
  return power;
}

void fill_push(const LaunchConfig& config, LaunchPlan& plan) {
  const DeviceState& device = *plan.module->device;
  auto& push = plan.push;
  push[abi::grid_x] = config.grid.x;
  push[abi::grid_y] = config.grid.y;
  push[abi::grid_z] = config.grid.z;
  push[abi::block_x] = config.block.x;
  push[abi::block_y] = config.block.y;
  push[abi::block_z] = config.block.z;
  push[abi::dynamic_shared] = config.dynamic_shared;
  auto address = [&](abi::Push word, std::uint64_t value) {
    push[word] = static_cast<std::uint32_t>(value);
    push[word + 1] = static_cast<std::uint32_t>(value >> 32);
  };
  if (plan.module->globals) address(abi::globals, plan.module->globals.address());
  if (plan.module->constants) address(abi::constants_address, plan.module->constants.address());
  address(abi::discard, device.discard.address());
  push[abi::surface_count] = device.surfaces.count();
  push[abi::texture_count] = device.textures.count();
}

/// What the launch knows before its translation: the key of the variant that serves it.
Result<Specialization> specialize(const KernelState& kernel, const LaunchConfig& config,
                                  const Slots& slots, std::uint64_t shared, LaunchPlan& plan) {
  const EntryInfo& info = *kernel.info;
  DeviceState& device = *kernel.module->device;
  Specialization key;
  key.texture_features = 0;
  key.fp = config.fp.value_or(plan.module->options.fp);
  key.threads = plan.interpreted ? ThreadModel::direct : choose_threads(kernel, config);
  key.assume_live_handles = slots.checked;
  key.wide_surfaces = slots.wide || info.dynamic_handles || info.slots.size() > slots.specs.size();
  if (info.uses_textures) {
    key.texture_features = device.texture_features.load(std::memory_order_relaxed);
    place_texture_records(kernel, slots, plan.params, key.textures,
                          filter_of(config) == FilterPolicy::device);
    key.table = slots.table_specs;
    key.table_size = slots.table_size;
  }
  key.slots = slots.specs;
  if (shared > kMostShared)
    return make_error(
        ErrorCode::invalid_argument,
        fmt::format("kernel '{}' would have {} bytes of shared memory, {} of them dynamic; CUDA "
                    "gives a block {} at most",
                    info.name, shared, config.dynamic_shared, kMostShared));
  if (!plan.interpreted && runs_together(kernel, config)) {
    key.together[0] = config.grid.x;
    key.together[1] = config.grid.y;
    key.together[2] = config.grid.z;
  }
  key.shared_in_memory =
      !plan.interpreted && (key.together[0] || shared > device.profile.max_shared_bytes);
  key.assume_small_grid =
      key.threads != ThreadModel::flat && !key.shared_in_memory && small_grid(device, config) &&
      // A module that takes long to compile serves all grids, and the rest of one.
      kernel.patience_us == 0;
  key.max_block_threads =
      key.threads == ThreadModel::regions ? round_to_power(block_threads(config)) : 1024;
  if (key.threads == ThreadModel::direct ||
      (key.threads == ThreadModel::regions &&
       (info.barriers || info.warp_operations || info.waits))) {
    key.block[0] = config.block.x;
    key.block[1] = config.block.y;
    key.block[2] = config.block.z;
  }
  if (key.threads == ThreadModel::flat)
    key.workgroup_threads = std::min(device.profile.max_workgroup_invocations, 128u);
  return key;
}

/// Whether the parameters that bound the kernel's loops are small enough for a translation without
/// guards.
bool few_iterations(const EntryInfo& info, const std::vector<std::byte>& params) {
  return !info.trip_count_params.empty() &&
         std::all_of(info.trip_count_params.begin(), info.trip_count_params.end(),
                     [&](std::uint32_t offset) {
                       std::uint32_t word = 0;
                       if (offset + 4 <= params.size())
                         std::memcpy(&word, params.data() + offset, 4);
                       return word <= info.trip_count_limit;
                     });
}

/// The translation for `key`, which takes in what only the translation tells.
Result<std::shared_ptr<const Variant>> choose_variant(KernelState& kernel,
                                                      const LaunchConfig& config,
                                                      Specialization& key, LaunchPlan& plan) {
  const DeviceState& device = *kernel.module->device;
  if (plan.interpreted) return kernel.interpretation(key, plan.prepare_ms);
  auto variant = kernel.variant(key, plan.prepare_ms);
  if (!variant) return variant.error();
  // Threads of one invocation may need shared memory to meet, beside the kernel's own.
  const auto own_shared = [&] {
    const std::uint64_t dynamic = key.shared_in_memory ? 0 : config.dynamic_shared;
    return (*variant)->info.shared_bytes + dynamic;
  };
  if (!key.shared_in_memory && own_shared() > device.profile.max_shared_bytes) {
    key.shared_in_memory = true;
    key.assume_small_grid = false;
    variant = kernel.variant(key, plan.prepare_ms);
    if (!variant) return variant.error();
  }
  if (key.shared_in_memory && key.threads == ThreadModel::regions &&
      own_shared() > device.profile.max_shared_bytes)
    return make_error(
        ErrorCode::unsupported,
        fmt::format(
            "kernel '{}' needs {} bytes of shared memory for its threads to meet; {} has {}",
            kernel.info->name, own_shared(), device.info.name, device.profile.max_shared_bytes));
  const EntryInfo& info = (*variant)->info;
  const bool few = few_iterations(info, plan.params);
  // Where loops are tried, a module serves the rest of a grid, too.
  const bool parts = !few && info.guarded_loops && key.assume_small_grid &&
                     device.interpreted != Interpreted::none;
  if (few || parts) {
    key.assume_trip_counts = few;
    key.assume_small_grid = key.assume_small_grid && !parts;
    variant = kernel.variant(key, plan.prepare_ms);
    if (!variant) return variant.error();
  }
  return *variant;
}

Result<PipelineKey> pipeline_shape(const DeviceState& device, const LaunchConfig& config,
                                   const Specialization& key, const Variant& variant) {
  PipelineKey shape;
  shape.variant = variant.serial;
  switch (key.threads) {
    case ThreadModel::direct:
      shape.size[0] = config.block.x;
      shape.size[1] = config.block.y;
      shape.size[2] = config.block.z;
      if (!block_fits(device, config.block))
        return make_error(
            ErrorCode::unsupported,
            fmt::format("a block of {} x {} x {} is more than {} takes as it is", config.block.x,
                        config.block.y, config.block.z, device.info.name));
      break;
    case ThreadModel::flat: shape.size[0] = key.workgroup_threads; break;
    case ThreadModel::regions: shape.size[0] = std::max(variant.info.workgroup_threads, 1u); break;
  }
  if (!key.shared_in_memory) shape.shared_words = (config.dynamic_shared + 3) / 4;
  // A checked access of 16 bytes that fails reads the first ones.
  if (key.checks != no_checks && shape.shared_words)
    shape.shared_words = std::max(shape.shared_words, 4u);
  return shape;
}

/// Cuts the launch into dispatches that the device takes.
Status cut_launch(const DeviceState& device, const LaunchConfig& config, const Specialization& key,
                  std::uint64_t shared, LaunchPlan& plan) {
  const std::uint64_t blocks = grid_blocks(config.grid);
  if (key.threads == ThreadModel::flat) {
    if (blocks >> 32)
      return make_error(ErrorCode::unsupported,
                        fmt::format("{} blocks that are larger than {} takes are too many", blocks,
                                    device.info.name));
    cut_blocks(device, plan.first_block, blocks, block_threads(config), key.workgroup_threads,
               plan.dispatches);
    return {};
  }
  const std::uint64_t block_bytes = (shared + 15) / 16 * 16;
  if (key.together[0]) {
    plan.dispatches.push_back({.groups = {1, 1, 1}});
    plan.slab_bytes = blocks * block_bytes + plan.variant->info.control_bytes;
    return {};
  }
  std::uint64_t most = UINT64_MAX;
  if (key.shared_in_memory && !config.cooperative)
    most = std::max<std::uint64_t>(kSlabBytes / shared, 1);
  if (const std::uint64_t shadows = most_groups(plan.sanitized.get()))
    most = std::min(most, shadows);
  if (most < UINT64_MAX && blocks / most > kMostDispatches)
    return make_error(
        ErrorCode::unsupported,
        fmt::format("{} blocks with {} bytes of shared memory each are too many for {}", blocks,
                    shared, device.info.name));
  for (const Box& box : rest_of(config.grid, plan.first_block))
    cut_grid(device, box, most, plan.dispatches);
  if (key.shared_in_memory)
    for (const Dispatch& each : plan.dispatches)
      plan.slab_bytes = std::max(plan.slab_bytes, std::uint64_t{each.groups[0]} * each.groups[1] *
                                                      each.groups[2] * block_bytes);
  if (config.cooperative && plan.dispatches.size() > 1)
    return make_error(ErrorCode::unsupported,
                      fmt::format("{} blocks that are launched cooperatively are more than {} "
                                  "takes at once",
                                  blocks, device.info.name));
  return {};
}

/// What a plan is made for. A quick device is one that need not compile for long: else the plan has
/// no pipeline.
enum class For : std::uint8_t { device, quick_device, interpreter };

/// Chooses the pipeline, and cuts the launch into dispatches that the device takes.
Status place_on_device(KernelState& kernel, const LaunchConfig& config, const Specialization& key,
                       std::uint64_t shared, For whom, LaunchPlan& plan) {
  const DeviceState& device = *plan.module->device;
  auto shape = pipeline_shape(device, config, key, *plan.variant);
  if (!shape) return shape.error();
  if (whom == For::quick_device && !kernel.has_pipeline(*shape) &&
      interprets_first(kernel, config, *plan.variant))
    return {};
  auto pipeline = kernel.pipeline(*plan.variant, *shape, plan.prepare_ms);
  if (!pipeline) return pipeline.error();
  plan.pipeline = std::move(*pipeline);
  return cut_launch(device, config, key, shared, plan);
}

Result<LaunchPlan> make_plan(KernelState& kernel, const LaunchConfig& config, const Args& args,
                             For whom, std::uint64_t first_block = 0) {
  if (Status status = check_shape(kernel, config); !status) return status.error();
  DeviceState& device = *kernel.module->device;
  LaunchPlan plan;
  plan.module = kernel.module->shared_from_this();
  plan.kernel = &kernel;
  plan.repeat = config.repeat;
  plan.timed = config.time;
  plan.interpreted = whom == For::interpreter;
  plan.first_block = first_block;
  if (Status status = place_arguments(kernel, args, plan.params); !status) return status.error();
  if (Status status = place_references(kernel, args, plan.params, plan.keep); !status)
    return status.error();
  if (Status status = place_workspace(kernel, config, plan); !status) return status.error();
  place_clock_rates(kernel, plan);
  for (const Args::Item& item : args.items)
    if (item.keep) plan.keep.push_back(item.keep);

  Slots slots;
  if (Status status = choose_backings(kernel, config, plan, slots); !status) return status.error();
  // Nothing moves until the plan is made; whether anything has by the time that it is submitted,
  // `moves` tells.
  std::shared_lock residency(device.residency);
  if (plan.moves != device.moves) {
    residency.unlock();
    return make_plan(kernel, config, args, whom, first_block);
  }
  place_records(kernel, slots, plan.params);

  const std::uint64_t shared = std::uint64_t{kernel.info->shared_bytes} + config.dynamic_shared;
  auto key = specialize(kernel, config, slots, shared, plan);
  if (!key) return key.error();
  auto sanitized = prepare_checks(kernel, config, slots, plan.params, plan.interpreted, *key);
  if (!sanitized) return sanitized.error();
  plan.sanitized = std::move(*sanitized);
  auto variant = choose_variant(kernel, config, *key, plan);
  if (!variant) return variant.error();
  plan.variant = std::move(*variant);

  if (plan.interpreted)
    plan.dispatches.push_back({.groups = {config.grid.x, config.grid.y, config.grid.z}});
  else if (Status status = place_on_device(kernel, config, *key, shared, whom, plan); !status)
    return status.error();
  if (plan.sanitized) {
    std::uint64_t groups = 0;
    for (const Dispatch& each : plan.dispatches)
      groups = std::max(groups, std::uint64_t{each.groups[0]} * each.groups[1] * each.groups[2]);
    if (key->together[0]) groups = grid_blocks(config.grid);
    if (Status status = place_checks(kernel, *plan.variant, groups, *plan.sanitized, plan.params);
        !status)
      return status.error();
  } else if ((device.checks & check_init) != 0) {
    // Nobody sees what this launch writes.
    device.allocations.all_written();
  }
  bind_slots(slots, plan);
  if (Status status = bind_textures(slots, plan); !status) return status.error();
  if (Status status = bind_table(slots, plan); !status) return status.error();
  fill_push(config, plan);
  return plan;
}

/// The device may run blocks that follow those of the interpreter where no two of them meet.
void give_patience(const KernelState& kernel, const LaunchConfig& config, LaunchPlan& plan) {
  const std::uint64_t patience = kernel.patience_us, interpreted = kernel.interpreted_us;
  if (kernel.device_refuses || interpreted >= patience || patience == UINT64_MAX ||
      config.cooperative || config.repeat != 1 || checks_of(kernel, config) != no_checks)
    return;
  plan.patience = static_cast<double>(patience - interpreted) * 1e-6;
  plan.blocks_run = std::make_shared<std::optional<std::uint64_t>>();
  plan.many_iterations = many_iterations(kernel, 1);
}

/// The launch that the device is about to run, or its first blocks, where it is to be seen how
/// often its loops iterate.
Result<LaunchPlan> try_loops(KernelState& kernel, const LaunchConfig& config, const Args& args,
                             LaunchPlan&& device) {
  if (!tries_loops(kernel, config, device)) return std::move(device);
  auto plan = make_plan(kernel, config, args, For::interpreter);
  if (!plan) {
    if (!of_device(plan.error())) return plan;
    kernel.not_interpreted = true;
    return std::move(device);
  }
  begin_trial(kernel, config, device, *plan);
  return plan;
}

}  // namespace

Result<LaunchPlan> plan_rest(KernelState& kernel, const LaunchConfig& config, const Args& args,
                             std::uint64_t first_block) {
  auto plan = make_plan(kernel, config, args, For::device, first_block);
  if (plan) plan->rest = true;
  return plan;
}

Result<LaunchPlan> plan_launch(KernelState& kernel, const LaunchConfig& config, const Args& args,
                               Runner runner) {
  if (runner == Runner::device || !may_interpret(kernel))
    return make_plan(kernel, config, args, For::device);
  if (interprets_at_once(kernel, config)) {
    auto plan = make_plan(kernel, config, args, For::interpreter);
    if (plan) give_patience(kernel, config, *plan);
    if (plan || !of_device(plan.error())) return plan;
    kernel.not_interpreted = true;
    return make_plan(kernel, config, args, For::device);
  }
  auto plan = make_plan(kernel, config, args, For::quick_device);
  if (plan && plan->pipeline) return try_loops(kernel, config, args, std::move(*plan));
  if (!plan && !of_device(plan.error())) return plan;
  auto other = make_plan(kernel, config, args, For::interpreter);
  if (other) {
    if (!plan) kernel.device_refuses = true;
    give_patience(kernel, config, *other);
    return other;
  }
  kernel.not_interpreted = true;
  if (plan) return make_plan(kernel, config, args, For::device);
  // The device's own reason says more.
  return plan;
}

}  // namespace ptx2spv::runtime
