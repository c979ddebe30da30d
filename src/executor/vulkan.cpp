// Launches that the device runs: from facts to pipeline, bindings and dispatches, and into a
// command buffer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>

#include "src/device/local_memory.hpp"
#include "src/executor/dispatches.hpp"
#include "src/executor/executor.hpp"
#include "src/executor/ready.hpp"
#include "src/launch/backing.hpp"
#include "src/launch/shape.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::uint32_t kQueries = 256;  // two a timed launch
constexpr std::size_t kUnasked = 32;     // so many launches are made between looks at older ones
/// Launches that end sooner may be submitted together with others, and in one queue with them.
constexpr float kShortUs = 1000, kBriefUs = 25;
/// Of so many launches one is measured at least: of those that end so soon, and of others.
constexpr std::uint32_t kBriefApart = 32, kApart = 8;

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
bool runs_together(const LaunchFacts& facts) {
  return facts.config.cooperative && facts.kernel->info->waits.spins &&
         volume(facts.config.grid) > 1 && !facts.device().profile.exactness.independent_threads;
}

ThreadModel choose_threads(const LaunchFacts& facts) {
  const EntryInfo& info = *facts.kernel->info;
  const Dim3& block = facts.config.block;
  const ThreadModel asked =
      block_fits(facts.device(), block) ? ThreadModel::direct : ThreadModel::flat;
  const std::uint32_t size[3] = {block.x, block.y, block.z};
  // Warps may want the block in one row.
  const bool one_row =
      volume(block) <= facts.device().traits.properties.limits.maxComputeWorkGroupSize[0];
  return thread_model(info, facts.config.threads.value_or(asked),
                      (one_row || block.x % 32 == 0) &&
                          native_warps(info, facts.device().profile, size, facts.checks));
}

Status bind_textures(LaunchPlan& plan) {
  const Slots& slots = *plan.slots;
  for (std::uint32_t i = 0; i < slots.textures.size(); ++i) {
    const TextureSlot& slot = slots.textures[i];
    if (!slot.use.possible) continue;
    auto sampled = sampled_texture(*slot.texture, slot.use);
    if (!sampled) return sampled.error();
    plan.vulkan.textures.push_back({i, sampled->view, sampled->sampler, sampled->serial});
    plan.keep.push_back(slot.texture);
  }
  return {};
}

/// Elements that no texture has are another's, which no kernel reads.
Status bind_table(LaunchPlan& plan) {
  const Slots& slots = *plan.slots;
  const auto first = static_cast<std::uint32_t>(plan.variant->info.textures.slots.size());
  for (const TableTexture& each : slots.table) {
    auto sampled = sampled_texture(*each.texture, each.use);
    if (!sampled) return sampled.error();
    const VkDescriptorImageInfo element{sampled->sampler, sampled->view, VK_IMAGE_LAYOUT_GENERAL};
    const std::uint32_t binding = first + static_cast<std::uint32_t>(each.geometry) * kTexelKinds +
                                  static_cast<std::uint32_t>(texel_of(*each.texture));
    auto array = std::ranges::find(plan.vulkan.table, binding, &TableBinding::binding);
    if (array == plan.vulkan.table.end())
      array = plan.vulkan.table.insert(array, {binding, std::vector(slots.table_size, element)});
    array->elements[each.index] = element;
    ++plan.vulkan.table_textures;
    plan.keep.push_back(each.texture);
  }
  return {};
}

void bind_slots(LaunchPlan& plan) {
  const Slots& slots = *plan.slots;
  plan.vulkan.slots.resize(slots.specs.size());
  for (std::size_t i = 0; i < slots.specs.size(); ++i) {
    SlotBinding& binding = plan.vulkan.slots[i];
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

std::uint32_t round_to_power(std::uint32_t value) {
  std::uint32_t power = 32;
  while (power < value) power *= 2;
  return power;
}

/// Makes the key of `begin` that of a module for the device.
void specialise(const LaunchFacts& facts, Specialization& key) {
  const EntryInfo& info = *facts.kernel->info;
  const LaunchConfig& config = facts.config;
  const Profile& profile = facts.device().profile;
  key.threads = choose_threads(facts);
  if (runs_together(facts)) {
    key.together[0] = config.grid.x;
    key.together[1] = config.grid.y;
    key.together[2] = config.grid.z;
  }
  key.shared_in_memory = key.together[0] || facts.shared > profile.max_shared_bytes;
  key.local_in_memory = exceeds_local(facts.device().traits, info.local_bytes);
  key.assume_small_grid = key.assume_small_grid && key.threads != ThreadModel::flat &&
                          !key.shared_in_memory && !key.local_in_memory;
  if (key.threads == ThreadModel::flat)
    key.workgroup_threads = std::min(profile.max_workgroup_invocations, 128u);
  // What is asked for as direct becomes regions where warp operations need it.
  if (key.threads == ThreadModel::regions || info.sync.warp_operations)
    key.max_block_threads = round_to_power(static_cast<std::uint32_t>(volume(config.block)));
  if (key.threads == ThreadModel::direct) return;
  if (key.threads == ThreadModel::flat ||
      !(info.sync.barriers || info.sync.warp_operations || info.waits.spins))
    std::fill(std::begin(key.block), std::end(key.block), 0);
}

/// The translation for `key`, which takes in what only the translation tells.
Result<std::shared_ptr<const Variant>> choose_variant(Specialization& key, LaunchPlan& plan) {
  const DeviceState& device = plan.device();
  const LaunchConfig& config = plan.facts->config;
  KernelState& kernel = plan.kernel();
  Result<std::shared_ptr<const Variant>> variant = std::shared_ptr<const Variant>();
  // Threads of one invocation may need shared memory to meet, beside the kernel's own.
  const auto own_shared = [&] {
    const std::uint64_t dynamic = key.shared_in_memory ? 0 : config.dynamic_shared;
    return (*variant)->info.shared_bytes + dynamic;
  };
  for (bool again = true; again;) {
    variant = kernel.variant(key, plan.prepare_ms);
    if (!variant) return variant.error();
    again = false;
    if (!key.shared_in_memory && own_shared() > device.profile.max_shared_bytes)
      again = key.shared_in_memory = true;
    // The same holds for local memory.
    if (!key.local_in_memory && exceeds_local(device.traits, (*variant)->info.local_bytes))
      again = key.local_in_memory = true;
    if (again) key.assume_small_grid = false;
  }
  if (key.shared_in_memory && (*variant)->info.threads == ThreadModel::regions &&
      own_shared() > device.profile.max_shared_bytes)
    return make_error(
        ErrorCode::unsupported,
        "kernel '{}' needs {} bytes of shared memory for its threads to meet; {} has {}",
        kernel.info->name, own_shared(), device.info.name, device.profile.max_shared_bytes);
  return variant;
}

Result<PipelineKey> pipeline_shape(const LaunchPlan& plan) {
  const DeviceState& device = plan.device();
  const LaunchConfig& config = plan.facts->config;
  const Specialization& key = plan.variant->key;
  PipelineKey shape;
  shape.variant = plan.variant->serial;
  switch (const EntryInfo& info = plan.variant->info; info.threads) {
    case ThreadModel::direct:
      shape.size[0] = config.block.x;
      shape.size[1] = config.block.y;
      shape.size[2] = config.block.z;
      if (info.sync.warp_subgroups && config.block.x % 32 != 0) {
        shape.size[0] = static_cast<std::uint32_t>((volume(config.block) + 31) / 32 * 32);
        shape.size[1] = shape.size[2] = 1;
      }
      if (!block_fits(device, config.block))
        return make_error(ErrorCode::unsupported,
                          "a block of {} x {} x {} is more than {} takes as it is", config.block.x,
                          config.block.y, config.block.z, device.info.name);
      break;
    case ThreadModel::flat: shape.size[0] = key.workgroup_threads; break;
    case ThreadModel::regions: shape.size[0] = std::max(info.workgroup_threads, 1u); break;
  }
  if (!key.shared_in_memory) shape.shared_words = (config.dynamic_shared + 3) / 4;
  // A checked access of 16 bytes that fails reads the first ones.
  if (key.checks != no_checks && shape.shared_words)
    shape.shared_words = std::max(shape.shared_words, 4u);
  return shape;
}

/// Workgroups of the largest dispatch.
std::uint64_t most_groups_of(const LaunchPlan& plan) {
  if (plan.variant->key.together[0]) return volume(plan.facts->config.grid);
  std::uint64_t groups = 0;
  for (const Dispatch& each : plan.vulkan.dispatches)
    groups = std::max(groups, std::uint64_t{each.groups[0]} * each.groups[1] * each.groups[2]);
  return groups;
}

class VulkanExecutor final : public Executor {
 public:
  const char* refusal(const LaunchFacts&) const override { return nullptr; }

  Result<LaunchPlan> prepare(const Facts& facts,
                             std::optional<std::uint64_t> first_block) const override {
    if (auto ready = first_block ? std::nullopt : ready_plan(facts)) return std::move(*ready);
    DeviceState& device = facts->device();
    const EntryInfo& info = *facts->kernel->info;
    const ClockRates rates = info.waits.reads_clock ? device.clocks.get(device) : ClockRates{};
    LaunchPlan plan{.facts = facts, .first_block = first_block};
    std::shared_lock<std::shared_mutex> residency;
    auto key = begin(plan, true, residency);
    if (!key) return key.error();
    // What the device's clocks are scaled by.
    if (info.waits.reads_clock)
      std::memcpy(plan.params.data() + info.waits.clock_rates, rates.data(), sizeof rates);
    specialise(*facts, *key);
    auto sanitized = prepare_checks(*facts, *plan.slots, plan.params, true, *key);
    if (!sanitized) return sanitized.error();
    plan.sanitized = std::move(*sanitized);
    auto variant = choose_variant(*key, plan);
    if (!variant) return variant.error();
    plan.variant = std::move(*variant);
    auto shape = pipeline_shape(plan);
    if (!shape) return shape.error();
    plan.vulkan.shape = *shape;
    return plan;
  }

  bool is_compiled(const LaunchPlan& plan) const override {
    return plan.vulkan.pipeline || plan.kernel().has_pipeline(plan.vulkan.shape);
  }

  Status complete(LaunchPlan& plan) const override {
    if (plan.vulkan.pipeline) return {};
    DeviceState& device = plan.device();
    std::shared_lock residency(device.residency);
    while (plan.moves != device.moves) {
      residency.unlock();
      auto again = prepare(plan.facts, plan.first_block);
      if (!again) return again.error();
      again->prepare_ms += plan.prepare_ms;
      plan = std::move(*again);
      if (plan.vulkan.pipeline) return {};
      residency.lock();
    }
    auto pipeline = plan.kernel().pipeline(*plan.variant, plan.vulkan.shape, plan.prepare_ms);
    if (!pipeline) return pipeline.error();
    plan.vulkan.pipeline = std::move(*pipeline);
    if (Status status = cut_launch(plan); !status) return status;
    if (Status status = add_checks(plan, most_groups_of(plan)); !status) return status;
    bind_slots(plan);
    if (Status status = bind_textures(plan); !status) return status;
    if (Status status = bind_table(plan); !status) return status;
    keep_ready(plan);
    plan.slots.reset();
    return {};
  }

  Result<Submitted> submit(StreamState& stream, LaunchPlan&& plan,
                           const std::shared_ptr<Outcome>& outcome) const override;
};

/// What launches of this shape take.
LaunchTime& times_of(const LaunchPlan& plan) {
  const LaunchConfig& config = plan.facts->config;
  return plan.kernel().tier.time_of(volume(config.grid) * config.repeat);
}

/// What the launch takes, in microseconds; infinity: not known.
float time_of(const LaunchPlan& plan) {
  const float known = times_of(plan).known();
  return known < 0 ? std::numeric_limits<float>::infinity() : known;
}

/// Two timestamps for a launch, whose first query is the result; -1: none. The time of one that is
/// not asked for is measured now and then where lanes are chosen by it. The queries are taken when
/// the launch is recorded.
Result<int> take_queries(StreamState& stream, const LaunchPlan& plan, float time) {
  DeviceState& device = stream.device;
  const bool asked = plan.facts->config.time, full = stream.timed >= kQueries / 2;
  const auto wanted = [&] {
    return stream.measures() && times_of(plan).wants_sample(time < kBriefUs ? kBriefApart : kApart);
  };
  if (!device.traits.timestamp_bits || !(asked || (wanted() && !full))) return -1;
  if (!stream.queries) {
    VkQueryPoolCreateInfo create{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = kQueries;
    const VkResult result =
        device.vk.CreateQueryPool(device.handle, &create, nullptr, &stream.queries);
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateQueryPool");
  }
  if (full)
    if (Status status = stream.wait_all(); !status) return status.error();
  return static_cast<int>(stream.next_query);
}

thread_local bool t_may_wait = false;

/// Waits for a kernel that may wait for what the program does.
Status await_aside(Queue& side, std::uint64_t value, const std::string& kernel) {
  if (side.has_timeout()) {
    side.name(value, "kernel '" + kernel + "'");
    return side.wait(value);
  }
  constexpr std::chrono::microseconds kLeast{20}, kMost{1000};
  // A device over a bus may keep what it read of the host's memory.
  constexpr std::chrono::seconds kLong{10};
  const auto since = std::chrono::steady_clock::now();
  bool told = false;
  for (auto pause = kLeast; !side.reached(value); pause = std::min(2 * pause, kMost)) {
    if (waiting_launches_stopped()) {
      side.abandon();
      return {};
    }
    if (!told && std::chrono::steady_clock::now() - since > kLong) {
      told = true;
      std::fprintf(
          stderr,
          "ptx2spv: note: kernel '%s' has waited for 10 seconds for what the program does; "
          "of page-locked memory it sees the host's stores while it runs where an "
          "allocation has at most 4096 bytes\n",
          kernel.c_str());
    }
    std::this_thread::sleep_for(pause);
  }
  return side.wait(value);
}

/// A kernel that waits for what the program does, in a queue of its own. It is over when the call
/// returns.
Result<Submitted> submit_aside(StreamState& stream, LaunchPlan&& plan,
                               const std::shared_ptr<Outcome>& outcome) {
  DeviceState& device = stream.device;
  if (Status status = device.queue.gather(); !status) return status.error();
  // No value of the queue lets later work come after it, so all comes before.
  const std::uint64_t before = device.queue.submitted();
  if (Status status = device.queue.wait(before); !status) return status.error();
  stream.retire();
  auto lease = device.sides.take(device.queue.timeout());
  if (!lease) return lease.error();
  Queue& side = lease->queue();
  if (Status status = stream.make_room(plan); !status) return status.error();
  auto place = stream.place(plan, true);
  if (!place) return place.error();
  const auto run = [&]() -> Status {
    auto recording = side.begin(work_of(plan));
    if (!recording) return recording.error();
    record_launch(recording->commands, plan, *place, *recording->bound);
    auto value = side.end(std::move(*recording), When::awaited);
    if (!value) return value.error();
    return await_aside(side, *value, plan.kernel().info->name);
  };
  if (Status status = run(); !status) {
    stream.ring.cancel();
    return status.error();
  }
  stream.pend(std::move(plan), *place, before, outcome);
  stream.retire();
  // Its slice is free: no value of the queue stands for it.
  stream.ring.cancel();
  stream.last_value = std::max(stream.last_value, before);
  return Submitted{before};
}

/// Whether the launch gets a queue of its own.
bool goes_aside(const StreamState& stream, const LaunchPlan& plan) {
  const EntryInfo& info = *plan.facts->kernel->info;
  const bool memory_alone = plan.vulkan.textures.empty() && plan.vulkan.table.empty() &&
                            std::ranges::none_of(plan.vulkan.slots, [](const SlotBinding& slot) {
                              return slot.backing == Backing::image;
                            });
  return t_may_wait && plan.kernel().tier.waits_for_others && memory_alone &&
         !info.system_atomics && !plan.facts->config.time && stream.device.sides.any();
}

Result<Submitted> VulkanExecutor::submit(StreamState& stream, LaunchPlan&& plan,
                                         const std::shared_ptr<Outcome>& outcome) const {
  if (goes_aside(stream, plan)) return submit_aside(stream, std::move(plan), outcome);
  DeviceState& device = stream.device;
  float time = time_of(plan);
  if (stream.pending.size() % kUnasked == kUnasked - 1 || (stream.measures() && std::isinf(time))) {
    stream.retire();
    time = time_of(plan);
  }
  if (Status status = stream.make_room(plan); !status) return status.error();
  auto taken = take_queries(stream, plan, time);
  if (!taken) return taken.error();
  auto place = stream.place(plan, true);
  if (!place) return place.error();
  const Takes takes = time < kBriefUs ? Takes::little : time < kShortUs ? Takes::more : Takes::much;
  auto recording = stream.begin(
      work_of(plan), lane_of(plan, takes == Takes::little ? stream.brief_lane() : stream.lane),
      takes, plan.facts->config.time || (*taken >= 0 && times_of(plan).overdue()));
  if (!recording) {
    stream.ring.cancel();
    return recording.error();
  }
  if (std::isfinite(time)) recording->time = time;
  // The first timestamp would be that of the end of what runs beside it.
  const int query = recording->beside ? -1 : *taken;
  const auto stamp = [&](std::uint32_t second) {
    if (query < 0) return;
    const auto index = static_cast<std::uint32_t>(query);
    if (!second) device.vk.CmdResetQueryPool(recording->commands, stream.queries, index, 2);
    device.vk.CmdWriteTimestamp(recording->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                stream.queries, index + second);
  };
  stamp(0);
  record_launch(recording->commands, plan, *place, *recording->bound);
  stamp(1);
  const EntryInfo& info = *plan.facts->kernel->info;
  PageGuard& guard = device.queue.guard();
  const bool guards = info.system_atomics && guard.close(info.name, info.waits.spins);
  const When when = outcome || guards      ? When::awaited
                    : takes == Takes::much ? When::now
                                           : When::together;
  auto value = stream.end(std::move(*recording), when);
  if (guards) guard.until(value ? *value : 0);
  if (!value) {
    stream.ring.cancel();
    return value.error();
  }
  stream.ring.close(*value);
  if (device.queue.has_timeout())
    device.queue.name(*value, "kernel '" + plan.kernel().info->name + "'");
  if (query >= 0) {
    times_of(plan).measuring();
    stream.next_query = (stream.next_query + 2) % kQueries;
    ++stream.timed;
  }
  stream.pend(std::move(plan), *place, *value, outcome).query = query;
  return Submitted{*value};
}

}  // namespace

void let_launches_wait() { t_may_wait = true; }

const Executor& vulkan_executor() {
  static const VulkanExecutor executor;
  return executor;
}

Result<LaunchPlan> plan_for_device(const Facts& facts, std::optional<std::uint64_t> first_block) {
  auto plan = vulkan_executor().prepare(facts, first_block);
  if (plan)
    if (Status status = vulkan_executor().complete(*plan); !status) return status.error();
  return plan;
}

}  // namespace ptx2spv::runtime
