// The public functions of Stream and Event.
#include <fmt/format.h>

#include <cstring>
#include <mutex>

#include "src/array/buffer.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv::runtime {

struct EventState {
  EventState() = default;
  EventState(const EventState&) = delete;
  EventState& operator=(const EventState&) = delete;
  ~EventState() {
    if (!query) return;
    if (value) (void)device->queue.wait(value);
    device->vk.DestroyQueryPool(device->handle, query, nullptr);
  }
  std::shared_ptr<DeviceState> device;
  mutable std::mutex mutex;
  VkQueryPool query = VK_NULL_HANDLE;
  std::uint64_t value = 0;  ///< 0: never recorded
};

Result<Event> create_event(const Device& device, bool timed) {
  auto event = std::make_shared<EventState>();
  event->device = device.state();
  VkQueryPoolCreateInfo create{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  create.queryType = VK_QUERY_TYPE_TIMESTAMP;
  create.queryCount = 1;
  if (timed && event->device->traits.timestamp_bits) {
    VkResult result =
        event->device->vk.CreateQueryPool(event->device->handle, &create, nullptr, &event->query);
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateQueryPool");
  }
  return Event(std::move(event));
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

namespace {

Status check(const StreamState& stream, const Buffer& buffer, std::uint64_t offset,
             std::uint64_t bytes) {
  if (buffer.state()->device.get() != &stream.device)
    return bad_argument("the buffer and the stream belong to different devices");
  if (offset > buffer.size() || bytes > buffer.size() - offset)
    return bad_argument("{} bytes at {} do not lie in a buffer of {} bytes", bytes, offset,
                        buffer.size());
  return {};
}

/// Copies over the bus that take longer than a change of lanes have lanes of their own.
unsigned lane_of_copy(StreamState& stream, const BufferBase& from, const BufferBase& to,
                      std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = 1 << 20;
  if (bytes < kLeast || (!from.mapped && !to.mapped)) return stream.lane_of(bytes);
  return stream.device.queue.copy_lane(!from.mapped, stream.lane);
}

}  // namespace

Result<Stream> Stream::create(const Device& device) {
  auto stream = StreamState::create(*device.state(), true, false);
  if (!stream) return stream.error();
  return Stream(std::move(*stream));
}

Status Stream::upload(const Buffer& buffer, std::uint64_t offset,
                      std::span<const std::byte> bytes) {
  if (Status status = check(*state_, buffer, offset, bytes.size()); !status) return status;
  if (bytes.empty()) return {};
  if (!buffer.state()->buffer) return Buffer(buffer).upload(offset, bytes);
  DeviceState& device = state_->device;
  auto staging = device.heap.allocate(MemoryKind::visible, bytes.size());
  if (!staging) return staging.error();
  auto memory = std::make_shared<Memory>(std::move(*staging));
  std::memcpy(memory->mapped(), bytes.data(), bytes.size());
  const BufferState& to = *buffer.state();
  to.written(offset, bytes.size());
  VkBufferCopy copy{memory->offset(), to.offset + offset, bytes.size()};
  std::lock_guard lock(state_->mutex);
  return state_->transfer(bytes.size(),
                          [&](VkCommandBuffer commands) {
                            device.vk.CmdCopyBuffer(commands, memory->buffer(), to.buffer, 1,
                                                    &copy);
                          },
                          {memory, buffer.state()}, {});
}

Status Stream::download(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> bytes) {
  if (Status status = check(*state_, buffer, offset, bytes.size()); !status) return status;
  if (bytes.empty()) return {};
  if (!buffer.state()->buffer) return buffer.download(offset, bytes);
  DeviceState& device = state_->device;
  auto staging = device.heap.allocate(MemoryKind::readback, bytes.size());
  if (!staging) return staging.error();
  auto memory = std::make_shared<Memory>(std::move(*staging));
  const BufferState& from = *buffer.state();
  VkBufferCopy copy{from.offset + offset, memory->offset(), bytes.size()};
  std::lock_guard lock(state_->mutex);
  return state_->transfer(
      bytes.size(),
      [&](VkCommandBuffer commands) {
        device.vk.CmdCopyBuffer(commands, from.buffer, memory->buffer(), 1, &copy);
      },
      {memory, buffer.state()},
      [bytes, raw = memory.get()] { std::memcpy(bytes.data(), raw->mapped(), bytes.size()); });
}

Status Stream::copy(const Buffer& from, std::uint64_t from_offset, const Buffer& to,
                    std::uint64_t to_offset, std::uint64_t bytes) {
  Region region;
  region.offset = to_offset;
  region.row_bytes = bytes;
  return copy_rows(*state_, from, from_offset, to, region);
}

Status runtime::copy_rows(StreamState& stream, const Buffer& from, std::uint64_t from_offset,
                          const Buffer& to, const Region& region) {
  if (Status status = ptx2spv::check(stream, to, 0, 0); !status) return status;
  const BufferState &source = *from.state(), &target = *to.state();
  if (!source.buffer || !target.buffer) return Buffer(to).copy_from(from, from_offset, region);
  const auto rows = resolve_copy(source, from_offset, target, region);
  if (!rows) return rows.error();
  if (!rows->row_bytes) return {};
  const BufferBase one = source.base(), other = target.base();
  const std::uint64_t bytes =
      stream.over_bus(rows->row_bytes * rows->rows * rows->slices, !one.mapped && !other.mapped);
  const bool by_kernel = work_of_rows(stream.device, one, other, *rows) == Work::kernel;
  std::lock_guard lock(stream.mutex);
  const unsigned lane = by_kernel ? stream.lane_of(bytes) : lane_of_copy(stream, one, other, bytes);
  return stream.transfer(bytes, lane, by_kernel ? Work::kernel : Work::copy,
                         [&](VkCommandBuffer commands) {
                           record_rows(stream.device, commands, one, source.offset + from_offset,
                                       other, *rows);
                         },
                         {from.state(), to.state()}, {});
}

Status Stream::fill(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes,
                    std::uint32_t word) {
  if (Status status = check(*state_, buffer, offset, bytes); !status) return status;
  if (offset % 4 || bytes % 4)
    return bad_argument("a stream fills whole words: offset and bytes are multiples of 4");
  Region region;
  region.offset = offset;
  region.row_bytes = bytes;
  return fill_rows(*state_, buffer, region, word);
}

Status runtime::fill_rows(StreamState& stream, const Buffer& buffer, const Region& region,
                          std::uint32_t word) {
  const BufferState& to = *buffer.state();
  const auto rows = resolve_fill(to, region);
  if (!rows) return rows.error();
  if (!rows->row_bytes) return {};
  const BufferBase base = to.base();
  if (!base.buffer || !fills_by_commands(stream.device, base, *rows))
    return fill_rows(stream.device, base, *rows, word);
  const std::uint64_t bytes =
      stream.over_bus(rows->row_bytes * rows->rows * rows->slices, !base.mapped);
  std::lock_guard lock(stream.mutex);
  return stream.transfer(
      bytes, stream.lane_of(bytes), work_of_fill(stream.device, base, *rows),
      [&](VkCommandBuffer commands) { record_fill(stream.device, commands, base, *rows, word); },
      {buffer.state()}, {});
}

Status Stream::record(const Event& event) {
  EventState& state = *event.state();
  if (state.device.get() != &state_->device)
    return bad_argument("the event and the stream belong to different devices");
  std::lock_guard lock(state_->mutex);
  state_->retire();
  std::lock_guard event_lock(state.mutex);
  // There is one timestamp, and that of the last recording stays, whichever stream's that is.
  if (state.query && state.value) state_->wait_for(state.value);
  auto recording = state_->begin(Work::none, state_->brief_lane());
  if (!recording) return recording.error();
  if (state.query) {
    state_->device.vk.CmdResetQueryPool(recording->commands, state.query, 0, 1);
    state_->device.vk.CmdWriteTimestamp(recording->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                        state.query, 0);
  }
  auto value = state_->end(std::move(*recording), When::noticed);
  if (!value) return value.error();
  state.value = *value;
  Pending pending;
  pending.value = *value;
  pending.keep.push_back(event.state());
  state_->pending.push_back(std::move(pending));
  return {};
}

Status Stream::wait(const Event& event) {
  if (event.state()->device.get() != &state_->device)
    return bad_argument("the event and the stream belong to different devices");
  std::uint64_t value = 0;
  {
    std::lock_guard lock(event.state()->mutex);
    value = event.state()->value;
  }
  std::lock_guard lock(state_->mutex);
  if (value) state_->wait_for(value);
  return {};
}

bool Stream::idle() const {
  // Who has it for long runs a launch.
  std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) return false;
  return state_->is_over();
}

Status Stream::synchronize() {
  std::vector<std::byte> printed;
  std::optional<Error> error;
  Status status;
  {
    std::lock_guard lock(state_->mutex);
    status = state_->wait_all();
    printed.swap(state_->printed);
    error.swap(state_->error);
  }
  print_calls(state_->device, printed);
  if (!status) return status;
  return error ? Status(std::move(*error)) : Status();
}

Result<Event> Event::create(const Device& device) { return runtime::create_event(device, true); }

bool Event::recorded() const {
  std::lock_guard lock(state_->mutex);
  return state_->value != 0;
}

bool Event::done() const {
  std::lock_guard lock(state_->mutex);
  if (!state_->value) return false;
  Queue& queue = state_->device->queue;
  (void)queue.flush(state_->value);
  return queue.reached(state_->value);
}

Status Event::wait() const {
  std::uint64_t value = 0;
  {
    std::lock_guard lock(state_->mutex);
    value = state_->value;
  }
  return value ? state_->device->queue.wait(value) : Status();
}

Result<double> Event::since(const Event& start) const {
  DeviceState& device = *state_->device;
  if (start.state_->device != state_->device)
    return bad_argument("the events belong to different devices");
  if (!done() || !start.done()) return bad_argument("an event is not done, or was never recorded");
  if (device.queue.lost()) return vulkan_error(VK_ERROR_DEVICE_LOST, "GetQueryPoolResults");
  std::uint64_t ticks[2] = {};
  const Event* events[2] = {&start, this};
  for (int i = 0; i < 2; ++i) {
    EventState& each = *events[i]->state_;
    std::lock_guard lock(each.mutex);
    if (!each.query)
      return make_error(ErrorCode::unsupported,
                        device.info.name + " has no timestamps, or the event takes none");
    VkResult result =
        device.vk.GetQueryPoolResults(device.handle, each.query, 0, 1, 8, &ticks[i], 8,
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (result != VK_SUCCESS) return vulkan_error(result, "GetQueryPoolResults");
  }
  return static_cast<double>(static_cast<std::int64_t>(ticks[1] - ticks[0])) *
         device.traits.properties.limits.timestampPeriod * 1e-6;
}

}  // namespace ptx2spv
