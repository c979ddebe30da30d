#include "src/stream/stream.hpp"

#include <algorithm>
#include <cstring>

#include "src/launch/report.hpp"
#include "src/launch/shape.hpp"

namespace ptx2spv::runtime {

/// Copies of so many bytes over a bus are over soon, or sooner than a wait for another lane.
constexpr std::uint64_t kShortCopy = 1 << 20, kBriefCopy = 128 << 10;
/// How much sooner copies within a GPU's memory are over than those over its bus: an H100 takes a
/// 22nd to a 27th of the time.
constexpr std::uint64_t kTimesBus = 24;

Result<std::shared_ptr<StreamState>> StreamState::create(DeviceState& device, bool keep_device,
                                                         bool alone) {
  auto stream = std::make_shared<StreamState>(device);
  if (keep_device) stream->keep = device.shared_from_this();
  if (Status status = stream->ring.open(device.heap); !status) return status.error();
  stream->descriptors.open(device);
  if (!alone) stream->lane = device.queue.take_lane();
  return stream;
}

StreamState::~StreamState() {
  if (last_value) (void)device.queue.wait(last_value);
  retire();
  printf.collect(printed);
  if (keep)
    print_calls(device, printed);  // the synchronous stream's calls were printed by their launch
  if (queries) device.vk.DestroyQueryPool(device.handle, queries, nullptr);
}

Result<std::shared_ptr<StreamState>> synchronous_stream(DeviceState& device) {
  std::lock_guard lock(device.synchronous_mutex);
  if (!device.synchronous) {
    auto stream = StreamState::create(device, false, true);
    if (!stream) return stream.error();
    device.synchronous = std::move(*stream);
  }
  return device.synchronous;
}

Result<std::uint64_t> StreamState::end(Queue::Recording&& recording, When when) {
  auto value = device.queue.end(std::move(recording), when);
  if (value) {
    last_value = *value;
    after.clear();
  }
  return value;
}

std::uint64_t StreamState::over_bus(std::uint64_t bytes, bool inside) const {
  return inside && device.info.kind == DeviceKind::discrete ? bytes / kTimesBus : bytes;
}

unsigned StreamState::lane_of(std::uint64_t bytes) {
  return bytes <= kBriefCopy ? brief_lane() : lane;
}

const std::vector<std::uint64_t>& StreamState::before() {
  std::erase_if(after, [&](std::uint64_t each) { return device.queue.known_over(each); });
  before_ = after;
  before_.push_back(last_value);
  return before_;
}

void StreamState::wait_for(StreamState& other) {
  std::vector<std::uint64_t> values;
  {
    std::lock_guard lock(other.mutex);
    values = other.after;
    values.push_back(other.lane == Queue::kAlone ? device.queue.submitted() : other.last_value);
  }
  std::lock_guard lock(mutex);
  after.insert(after.end(), values.begin(), values.end());
}

bool StreamState::is_over() {
  for (const std::uint64_t each : before()) {
    (void)device.queue.flush(each);
    if (!device.queue.reached(each)) return false;
  }
  retire();
  return pending.empty();
}

Status StreamState::make_room(const LaunchPlan& plan) {
  if (descriptors.full()) {
    if (Status status = wait_all(); !status) return status;
    descriptors.clear();
  }
  const std::uint64_t slab_bytes = plan.vulkan.slab_bytes;
  if (slab_bytes > slab.size() || (slab_bytes && !slab)) {
    auto memory = device.heap.allocate(MemoryKind::device, slab_bytes);
    if (!memory) return memory.error();
    slab = std::move(*memory);
  }
  while (std::uint64_t busy = ring.blocked_by(slice_bytes(plan))) {
    if (Status status = device.queue.wait(std::min(busy, last_value)); !status) return status;
    retire();
  }
  return {};
}

Result<LaunchPlace> StreamState::place(const LaunchPlan& plan, bool with_sets) {
  auto place = with_sets ? allocate_and_bind(plan, ring, printf, descriptors)
                         : allocate_slice(plan, ring, printf);
  if (!place)
    ring.cancel();
  else if (plan.vulkan.slab_bytes)
    place->slab_address = slab.address();
  return place;
}

Pending& StreamState::pend(LaunchPlan&& plan, const LaunchPlace& place, std::uint64_t value,
                           const std::shared_ptr<Outcome>& outcome) {
  if (!plan.first_block) {
    std::lock_guard lock(device.statistics_mutex);
    device.statistics.launches += plan.facts->config.repeat;
  }
  if (outcome) {
    outcome->timing.prepare_ms = plan.prepare_ms;
    const ThreadModel asked = plan.variant->key.threads;
    outcome->timing.threads = asked == ThreadModel::direct ? plan.variant->info.threads : asked;
    outcome->timing.sampled_textures =
        static_cast<std::uint32_t>(plan.vulkan.textures.size()) + plan.vulkan.table_textures;
  }
  Pending& launch = pending.emplace_back();
  launch.value = value;
  launch.began = std::chrono::steady_clock::now();
  launch.params = {place.slice.mapped, plan.params.size()};
  launch.facts = std::move(plan.facts);
  launch.variant = std::move(plan.variant);
  launch.pipeline = std::move(plan.vulkan.pipeline);
  launch.keep = std::move(plan.keep);
  launch.sanitized = std::move(plan.sanitized);
  for (auto& array : plan.mirrored) launch.keep.push_back(array);
  launch.trap = place.slice.trap;
  launch.outcome = outcome;
  return launch;
}

Status StreamState::transfer(std::uint64_t bytes,
                             const std::function<void(VkCommandBuffer)>& record,
                             std::vector<std::shared_ptr<const void>> keeps,
                             std::function<void()> finish) {
  return transfer(bytes, lane_of(bytes), Work::any, record, std::move(keeps), std::move(finish));
}

Status StreamState::transfer(std::uint64_t bytes, unsigned in_lane, Work kind,
                             const std::function<void(VkCommandBuffer)>& record,
                             std::vector<std::shared_ptr<const void>> keeps,
                             std::function<void()> finish) {
  retire();
  const Takes takes = bytes <= kBriefCopy   ? Takes::little
                      : bytes <= kShortCopy ? Takes::more
                                            : Takes::much;
  auto recording = begin(kind, in_lane, takes);
  if (!recording) return recording.error();
  record(recording->commands);
  *recording->bound = {};
  auto value = end(std::move(*recording), takes == Takes::much ? When::now : When::together);
  if (!value) return value.error();
  Pending copy;
  copy.value = *value;
  copy.keep = std::move(keeps);
  copy.finish = std::move(finish);
  pending.push_back(std::move(copy));
  return {};
}

namespace {

LaunchTime& time_of(const Pending& done) {
  const LaunchConfig& config = done.facts->config;
  return done.facts->kernel->tier.time_of(volume(config.grid) * config.repeat);
}

}  // namespace

void StreamState::retire() {
  if (pending.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  while (!pending.empty() && device.queue.reached(pending.front().value)) {
    Pending done = std::move(pending.front());
    pending.pop_front();
    std::optional<Error> failure;
    if (device.queue.lost()) {
      failure = vulkan_error(VK_ERROR_DEVICE_LOST, "QueueSubmit");
    } else if (done.trap) {
      std::uint32_t count = 0;
      std::memcpy(&count, done.trap, 4);
      if (count) {
        std::uint32_t record[abi::kTrapWords];
        std::memcpy(record, done.trap, sizeof record);
        TrapReport report = make_report(*done.facts->module, *done.facts->kernel, *done.variant,
                                        record, done.params);
        if (done.sanitized) note_trap(*done.facts->module, *done.sanitized, report);
        failure = trap_error(std::move(report));
      }
      if (done.sanitized)
        read_fault_log(*done.facts->module, *done.facts->kernel, *done.variant, *done.sanitized);
      // Other launches of this stream may still be printing.
      if (done.variant->info.uses_printf && done.outcome && pending.empty())
        printf.collect(printed);
    }
    if (done.check && !failure) failure = done.check(*this);
    if (done.facts) ring.release(done.value);
    if (done.finish && !failure) done.finish();
    if (done.query >= 0) --timed;
    if (done.query >= 0 && !device.queue.lost()) {
      std::uint64_t ticks[2] = {};
      VkResult result = device.vk.GetQueryPoolResults(
          device.handle, queries, static_cast<std::uint32_t>(done.query), 2, sizeof ticks, ticks, 8,
          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
      if (result == VK_SUCCESS) {
        const double took = static_cast<double>(ticks[1] - ticks[0]) *
                            device.traits.properties.limits.timestampPeriod * 1e-3;
        time_of(done).note(static_cast<float>(took));
        if (done.outcome)
          done.outcome->timing.device_ms =
              std::max(done.outcome->timing.device_ms, 0.0) + took / 1e3;
      }
    } else if (done.pipeline && !measures()) {
      // With the wait for its end, however late that was, or for those of later ones.
      const std::chrono::duration<float, std::micro> took = now - done.began;
      LaunchTime& time = time_of(done);
      const float known = time.known();
      if (pending.empty() && known >= 0)
        time.note(std::min(took.count(), 1.25f * known));
      else
        time.note_at_most(took.count());
    }
    if (done.outcome) {
      done.outcome->error = std::move(failure);
      done.outcome->done = true;
    } else if (failure && !error) {
      error = std::move(failure);
    }
  }
}

Status StreamState::wait_all() {
  Status status = last_value ? device.queue.wait(last_value) : Status();
  for (std::size_t i = 0; status && i < after.size(); ++i) status = device.queue.wait(after[i]);
  retire();
  printf.collect(printed);
  return status;
}

}  // namespace ptx2spv::runtime
