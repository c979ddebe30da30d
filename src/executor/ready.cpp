#include "src/executor/ready.hpp"

#include <algorithm>

#include "src/launch/backing.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::size_t kPlans = 8;       ///< of a kernel, the last ones
constexpr std::size_t kDispatches = 4;  ///< of one

/// Whether nothing but the launch's shape, surfaces and textures decides over the plan.
bool is_plain(const LaunchFacts& facts) {
  return !facts.kernel->info->waits.reads_clock && !facts.config.cooperative &&
         facts.checks == no_checks && facts.device().checks == no_checks;
}

bool same(const Dim3& one, const Dim3& other) {
  return one.x == other.x && one.y == other.y && one.z == other.z;
}

ReadyTerms terms_of(const LaunchFacts& facts) {
  const EntryInfo& info = *facts.kernel->info;
  ReadyTerms terms;
  if (!info.uses_textures) return terms;
  const DeviceState& device = facts.device();
  terms.filter = filter_of(facts);
  terms.texture_features = device.texture_features.load(std::memory_order_relaxed);
  if (info.textures.dynamic) terms.table_changes = device.textures.changes();
  return terms;
}

/// `terms`: those of the launch.
bool fits(const ReadyPlan& ready, const LaunchFacts& facts, const ReadyTerms& terms) {
  const LaunchConfig &one = ready.config, &other = facts.config;
  const EntryInfo& info = *facts.kernel->info;
  if (!same(one.grid, other.grid) || !same(one.block, other.block) ||
      one.dynamic_shared != other.dynamic_shared || one.threads != other.threads ||
      one.bind_slots != other.bind_slots || ready.fp != facts.fp || ready.terms != terms)
    return false;
  const auto names = [&](std::uint64_t handle, std::uint32_t offset) {
    return handle == word64(facts.params, offset);
  };
  return std::ranges::equal(ready.surfaces, info.slots, names, {}, &SlotInfo::offset) &&
         std::ranges::equal(ready.textures, info.textures.slots, names) &&
         (ready.is_bare || ready.plan.moves == facts.device().moves);
}

bool has_images(DeviceState& device) {
  const std::lock_guard lock(device.arrays_mutex);
  return !device.image_arrays.empty();
}

std::shared_ptr<const ReadyPlan> find(const LaunchFacts& facts) {
  KernelState& kernel = *facts.kernel;
  const ReadyTerms terms = terms_of(facts);
  const std::lock_guard lock(kernel.mutex);
  const auto found = std::ranges::find_if(
      kernel.ready, [&](const auto& each) { return fits(*each, facts, terms); });
  if (found == kernel.ready.end()) return nullptr;
  kernel.variants.use(*(*found)->plan.variant);
  kernel.pipelines.use(*(*found)->plan.vulkan.pipeline);
  return *found;
}

/// Adds what live handles name. False: one of them is dead, or that of a module's own texture.
bool add_owners(const Table& table, const std::vector<std::uint64_t>& handles,
                std::vector<std::shared_ptr<const void>>& owners) {
  for (const std::uint64_t handle : handles) {
    auto owner = table.owner(handle);
    if (!owner) return false;
    owners.push_back(std::move(owner));
  }
  return true;
}

}  // namespace

std::optional<LaunchPlan> ready_plan(const Facts& facts) {
  if (!is_plain(*facts)) return std::nullopt;
  const auto ready = find(*facts);
  if (!ready) return std::nullopt;
  std::optional<LaunchPlan> plan(ready->plan);
  DeviceState& device = facts->device();
  if (!add_owners(device.surfaces, ready->surfaces, plan->keep) ||
      !add_owners(device.textures, ready->textures, plan->keep) ||
      (ready->needs_memory && has_images(device)))
    return std::nullopt;
  for (const auto& texture : ready->table) {
    auto alive = texture.lock();
    if (!alive) return std::nullopt;
    plan->keep.push_back(std::move(alive));
  }
  if (ready->is_bare) {
    plan->params = facts->params;
    plan->moves = device.moves;
  } else {
    // Records lie behind the arguments.
    const EntryInfo& info = *facts->kernel->info;
    std::size_t arguments = facts->params.size();
    if (!ready->surfaces.empty()) arguments = std::min<std::size_t>(arguments, info.slot_records);
    if (!ready->textures.empty())
      arguments = std::min<std::size_t>(arguments, info.textures.records);
    std::copy_n(facts->params.begin(), arguments, plan->params.begin());
  }
  plan->push[abi::surface_count] = device.surfaces.count();
  plan->facts = facts;
  return plan;
}

void keep_ready(const LaunchPlan& plan) {
  const LaunchFacts& facts = *plan.facts;
  const EntryInfo& info = *facts.kernel->info;
  if (!is_plain(facts) || plan.first_block || !plan.slots->settled ||
      plan.vulkan.dispatches.size() > kDispatches)
    return;
  auto ready = std::make_shared<ReadyPlan>();
  for (const SlotInfo& slot : info.slots)
    ready->surfaces.push_back(word64(plan.params, slot.offset));
  for (const std::uint32_t offset : info.textures.slots)
    ready->textures.push_back(word64(plan.params, offset));
  std::vector<std::shared_ptr<const void>> owners;
  if (!add_owners(facts.device().textures, ready->textures, owners)) return;
  for (const TableTexture& each : plan.slots->table) ready->table.push_back(each.texture);
  // Those that the plan was made for, whatever has changed since.
  if (info.uses_textures)
    ready->terms = {filter_of(facts), plan.variant->key.texture_features,
                    info.textures.dynamic ? plan.table_changes : 0};
  ready->is_bare = info.slots.empty() && !info.uses_textures && !info.dynamic_handles;
  ready->needs_memory =
      info.dynamic_handles || (info.textures.dynamic && plan.slots->table.empty());
  ready->config = facts.config;
  ready->fp = facts.fp;
  ready->plan = plan;
  ready->plan.facts = nullptr;
  ready->plan.slots = nullptr;
  ready->plan.keep.clear();
  ready->plan.prepare_ms = 0;
  if (ready->is_bare) ready->plan.params.clear();
  KernelState& kernel = *facts.kernel;
  const std::lock_guard lock(kernel.mutex);
  if (kernel.ready.size() == kPlans) kernel.ready.erase(kernel.ready.begin());
  kernel.ready.push_back(std::move(ready));
}

}  // namespace ptx2spv::runtime
