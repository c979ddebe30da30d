#include "src/executor/ready.hpp"

#include <algorithm>

#include "src/launch/backing.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::size_t kPlans = 8;       ///< of a kernel, the last ones
constexpr std::size_t kDispatches = 4;  ///< of one

/// Whether nothing but the launch's shape and its surfaces decides over the plan.
bool is_plain(const LaunchFacts& facts) {
  const EntryInfo& info = *facts.kernel->info;
  return !info.uses_textures && !info.dynamic_handles && !info.waits.reads_clock &&
         !facts.config.cooperative && facts.checks == no_checks &&
         facts.device().checks == no_checks;
}

bool same(const Dim3& one, const Dim3& other) {
  return one.x == other.x && one.y == other.y && one.z == other.z;
}

bool fits(const ReadyPlan& ready, const LaunchFacts& facts) {
  const LaunchConfig &one = ready.config, &other = facts.config;
  const auto& slots = facts.kernel->info->slots;
  if (!same(one.grid, other.grid) || !same(one.block, other.block) ||
      one.dynamic_shared != other.dynamic_shared || one.threads != other.threads ||
      one.bind_slots != other.bind_slots || ready.fp != facts.fp)
    return false;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (ready.handles[i] != word64(facts.params, slots[i].offset)) return false;
  return slots.empty() || ready.plan.moves == facts.device().moves;
}

std::shared_ptr<const ReadyPlan> find(const LaunchFacts& facts) {
  KernelState& kernel = *facts.kernel;
  const std::lock_guard lock(kernel.mutex);
  const auto found =
      std::ranges::find_if(kernel.ready, [&](const auto& each) { return fits(*each, facts); });
  if (found == kernel.ready.end()) return nullptr;
  kernel.variants.use(*(*found)->plan.variant);
  kernel.pipelines.use(*(*found)->plan.vulkan.pipeline);
  return *found;
}

}  // namespace

std::optional<LaunchPlan> ready_plan(const Facts& facts) {
  if (!is_plain(*facts)) return std::nullopt;
  const auto ready = find(*facts);
  if (!ready) return std::nullopt;
  std::optional<LaunchPlan> plan(ready->plan);
  for (const std::uint64_t handle : ready->handles) {
    auto surface = facts->device().surfaces.owner(handle);
    if (!surface) return std::nullopt;
    plan->keep.push_back(std::move(surface));
  }
  if (ready->handles.empty()) {
    plan->params = facts->params;
    plan->moves = facts->device().moves;
  } else {
    // Records lie behind the arguments.
    const std::size_t arguments = facts->kernel->info->slot_records;
    std::copy_n(facts->params.begin(), std::min(arguments, facts->params.size()),
                plan->params.begin());
  }
  plan->facts = facts;
  return plan;
}

void keep_ready(const LaunchPlan& plan) {
  const LaunchFacts& facts = *plan.facts;
  const auto& slots = facts.kernel->info->slots;
  if (!is_plain(facts) || plan.first_block || !plan.slots->settled ||
      plan.vulkan.dispatches.size() > kDispatches)
    return;
  auto ready = std::make_shared<ReadyPlan>();
  for (const SlotInfo& slot : slots) ready->handles.push_back(word64(plan.params, slot.offset));
  ready->config = facts.config;
  ready->fp = facts.fp;
  ready->plan = plan;
  ready->plan.facts = nullptr;
  ready->plan.slots = nullptr;
  ready->plan.keep.clear();
  ready->plan.prepare_ms = 0;
  if (slots.empty()) ready->plan.params.clear();
  KernelState& kernel = *facts.kernel;
  const std::lock_guard lock(kernel.mutex);
  if (kernel.ready.size() == kPlans) kernel.ready.erase(kernel.ready.begin());
  kernel.ready.push_back(std::move(ready));
}

}  // namespace ptx2spv::runtime
