// What all executors do to prepare a launch.
#include <cstring>

#include "src/executor/executor.hpp"
#include "src/executor/tier.hpp"
#include "src/launch/backing.hpp"
#include "src/launch/shape.hpp"

namespace ptx2spv::runtime {

namespace {

/// Puts a copy of each slot's record where the kernel reads it; a dead handle's stays zero.
void write_slot_records(LaunchPlan& plan) {
  const EntryInfo& info = *plan.kernel().info;
  const Table& table = plan.device().surfaces;
  const Slots& slots = *plan.slots;
  std::vector<std::byte>& params = plan.params;
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
void write_texture_records(LaunchPlan& plan, std::vector<TextureSpec>& specs) {
  const EntryInfo& info = *plan.kernel().info;
  const Table& table = plan.device().textures;
  const Slots& slots = *plan.slots;
  std::vector<std::byte>& params = plan.params;
  const bool approximate = filter_of(*plan.facts) == FilterPolicy::device;
  constexpr std::size_t kBytes = abi::kTextureWords * 4;
  specs.resize(info.textures.slots.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::uint64_t handle = word64(params, info.textures.slots[i]);
    if (!table.live(handle)) continue;
    std::vector<std::uint32_t> record;
    std::string name;
    table.describe(handle, record, name);
    record.resize(abi::kTextureWords);
    const std::size_t at = info.textures.records + i * kBytes;
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

/// Whether one dispatch takes a grid, and few threads stand along each axis.
bool small_grid(const DeviceState& device, const LaunchConfig& config) {
  const std::uint32_t* most = device.traits.properties.limits.maxComputeWorkGroupCount;
  const Dim3 &grid = config.grid, &block = config.block;
  const auto few = [](std::uint64_t groups, std::uint32_t size) {
    return groups * size <= abi::kSmallGrid;
  };
  return grid.x <= most[0] && grid.y <= most[1] && grid.z <= most[2] && few(grid.x, block.x) &&
         few(grid.y, block.y) && few(grid.z, block.z);
}

void fill_push(LaunchPlan& plan) {
  const DeviceState& device = plan.device();
  const ModuleState& module = *plan.facts->module;
  const LaunchConfig& config = plan.facts->config;
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
  if (module.globals) address(abi::globals, module.globals.address());
  if (module.constants) address(abi::constants_address, module.constants.address());
  address(abi::discard, device.discard.address());
  push[abi::surface_count] = device.surfaces.count();
  push[abi::texture_count] = device.textures.count();
}

}  // namespace

Result<Specialization> Executor::begin(LaunchPlan& plan, bool reads_images,
                                       std::shared_lock<std::shared_mutex>& residency) const {
  const LaunchFacts& facts = *plan.facts;
  const EntryInfo& info = *facts.kernel->info;
  DeviceState& device = facts.device();
  plan.executor = this;
  plan.params = facts.params;
  plan.slots = std::make_shared<Slots>();
  Slots& slots = *plan.slots;
  // Nothing moves until the plan is made; whether anything has by the time that it is submitted,
  // `moves` tells.
  for (;;) {
    if (Status status = choose_backings(plan, reads_images); !status) return status.error();
    residency = std::shared_lock(device.residency);
    if (plan.moves == device.moves) break;
    residency.unlock();
    plan.mirrored.clear();
    slots = {};
  }
  write_slot_records(plan);
  fill_push(plan);
  Specialization key;
  key.fp = facts.fp;
  key.assume_live_handles = slots.checked;
  key.wide_surfaces = slots.wide || info.dynamic_handles || info.slots.size() > slots.specs.size();
  key.texture_features = 0;
  if (info.uses_textures) {
    key.texture_features = device.texture_features.load(std::memory_order_relaxed);
    write_texture_records(plan, key.textures);
    key.table = slots.table_specs;
    key.table_size = slots.table_size;
  }
  key.slots = slots.specs;
  key.max_block_threads = limits::kThreads;
  key.block[0] = facts.config.block.x;
  key.block[1] = facts.config.block.y;
  key.block[2] = facts.config.block.z;
  key.assume_small_grid = small_grid(device, facts.config) && !serves_parts(*facts.kernel);
  return key;
}

Status Executor::add_checks(LaunchPlan& plan, std::uint64_t groups) {
  if (plan.sanitized)
    return allocate_checks(plan.kernel(), *plan.variant, groups, *plan.sanitized, plan.params);
  // Nobody sees what this launch writes.
  if ((plan.device().checks & check_init) != 0) plan.device().allocations.all_written();
  return {};
}

}  // namespace ptx2spv::runtime
