// Streams and events. The device's queue lets the legacy stream's work come after all that was
// given before it, and before all that is given later.
#include <algorithm>
#include <unordered_set>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/core.hpp"
#include "src/cuda/core/graph.hpp"
#include "src/cuda/core/of_thread.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv::cuda {

namespace {

thread_local int g_per_thread = 0;

/// The streams of a thread, one for each context it used. They end with the thread.
struct ThreadStreams {
  std::map<std::uint64_t, std::shared_ptr<StreamObject>> by_context;
};

std::shared_ptr<StreamObject> thread_stream(ContextObject& context) {
  auto& stream = of_thread<ThreadStreams>().by_context[context.id];
  if (!stream) {
    stream = std::make_shared<StreamObject>();
    stream->context = &context;
    stream->builtin = true;
    stream->id = next_id();
  }
  return stream;
}

}  // namespace

namespace {

/// Handles of streams that were destroyed: CUDA has another answer for them than for what never was
/// one. A handle that is given out again leaves.
struct Destroyed {
  std::mutex mutex;
  std::unordered_set<const StreamObject*> handles;
};
Destroyed& destroyed() {
  static auto* list = new Destroyed;
  return *list;
}

}  // namespace

PerThread::PerThread() { ++g_per_thread; }
PerThread::~PerThread() { --g_per_thread; }

CUresult create_stream(ContextObject& context, unsigned flags, int priority, CUstream& made) {
  if (flags & ~kStreamNonBlocking) return fail(eInvalidValue, "unknown flags of a stream");
  auto stream = std::make_shared<StreamObject>();
  stream->context = &context;
  stream->flags = flags;
  stream->priority = std::clamp(priority, 0, 0);
  stream->id = next_id();
  made = tables().streams.add(std::move(stream));
  std::lock_guard lock(destroyed().mutex);
  destroyed().handles.erase(made);
  return eSuccess;
}

CUresult destroy_stream(CUstream handle) {
  auto stream = tables().streams.take(handle);
  if (!stream) return fail(eInvalidResourceHandle, "no such stream");
  abandon_capture(*stream);
  // Its work goes on; whoever waits for the device is told how that ends.
  std::lock_guard lock(destroyed().mutex);
  destroyed().handles.insert(handle);
  return eSuccess;
}

bool is_builtin(CUstream handle) { return reinterpret_cast<std::uintptr_t>(handle) <= 2; }

CUresult find_stream(ContextObject* context, CUstream handle,
                     std::shared_ptr<StreamObject>& found) {
  if (is_builtin(handle)) {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    if (!context) return fail(eDeviceUninitialized, "no context is current on this thread");
    const bool of_thread = number == 2 || (number == 0 && g_per_thread);
    found = of_thread ? thread_stream(*context) : context->legacy;
    return eSuccess;
  }
  found = tables().streams.find(handle);
  if (!found) {
    if (!context) return fail(eDeviceUninitialized, "no such stream, and no context is current");
    std::lock_guard lock(destroyed().mutex);
    return destroyed().handles.count(handle) ? fail(eContextIsDestroyed, "the stream is destroyed")
                                             : fail(eInvalidResourceHandle, "no such stream");
  }
  if (!found->context->alive) return fail(eContextIsDestroyed, "the stream's context is destroyed");
  return static_cast<CUresult>(found->context->sticky.load(std::memory_order_relaxed));
}

CUresult open_stream(StreamObject& stream, Stream*& opened) {
  std::lock_guard lock(stream.mutex);
  if (!stream.stream) {
    auto made = runtime::StreamState::create(*stream.context->gpu().state(), true,
                                             stream.context->legacy.get() == &stream);
    if (!made) return report(made.error());
    stream.stream.emplace(std::move(*made));
  }
  opened = &*stream.stream;
  return eSuccess;
}

void mark_dirty(const std::shared_ptr<StreamObject>& stream) {
  finish_at_exit();
  ContextObject& context = *stream->context;
  std::lock_guard lock(context.mutex);
  if (std::find(context.dirty.begin(), context.dirty.end(), stream) == context.dirty.end())
    context.dirty.push_back(stream);
}

CUresult stick(ContextObject& context, const Error& error) {
  const CUresult code = report(error);
  int none = 0;
  context.sticky.compare_exchange_strong(none, code);
  return static_cast<CUresult>(context.sticky.load());
}

namespace {

CUresult finish(StreamObject& stream) {
  Stream* opened = nullptr;
  {
    std::lock_guard lock(stream.mutex);
    if (!stream.stream) return eSuccess;
    opened = &*stream.stream;
  }
  Status status = opened->synchronize();
  return status ? eSuccess : stick(*stream.context, status.error());
}

}  // namespace

CUresult synchronize(StreamObject& stream) {
  drain(stream);
  const bool legacy = stream.context->legacy.get() == &stream;
  return legacy ? settle(*stream.context) : settle(stream);
}

CUresult settle(StreamObject& stream) {
  ContextObject& context = *stream.context;
  {
    std::lock_guard lock(context.mutex);
    std::erase_if(context.dirty, [&](const auto& each) { return each.get() == &stream; });
  }
  if (CUresult code = finish(stream); code != eSuccess) return code;
  return static_cast<CUresult>(context.sticky.load());
}

CUresult collect(ContextObject& context) {
  std::vector<std::shared_ptr<StreamObject>> dirty;
  {
    std::lock_guard lock(context.mutex);
    dirty.swap(context.dirty);
  }
  for (const auto& each : dirty) {
    // A kernel of it may wait for this thread.
    if (is_held_up(*each))
      mark_dirty(each);
    else
      (void)finish(*each);
  }
  return static_cast<CUresult>(context.sticky.load());
}

CUresult synchronize(ContextObject& context) {
  drain(context);
  return settle(context);
}

CUresult settle(ContextObject& context) {
  // The queue alone: kernels that the host runs are kept (drain), and one of a stream that does not
  // block may wait for this thread.
  runtime::Queue& queue = context.gpu().state()->queue;
  if (Status status = queue.wait(queue.submitted()); !status) return stick(context, status.error());
  return collect(context);
}

CUresult query(StreamObject& stream) {
  if (is_held_up(stream)) return eNotReady;
  Stream* opened = nullptr;
  {
    std::lock_guard lock(stream.mutex);
    if (stream.stream) opened = &*stream.stream;
  }
  if (opened && !opened->idle()) return eNotReady;
  return settle(stream);
}

bool is_running(ContextObject& context) {
  std::lock_guard lock(context.mutex);
  return std::ranges::any_of(
      context.dirty, [](const auto& each) { return each->stream && !each->stream->idle(); });
}

CUresult create_event(ContextObject& context, unsigned flags, CUevent& made) {
  if (flags & ~7u) return fail(eInvalidValue, "unknown flags of an event");
  if ((flags & kEventInterprocess) && !(flags & kEventDisableTiming))
    return fail(eInvalidValue, "an event for other processes has no timing");
  auto event = std::make_shared<EventObject>();
  event->context = &context;
  event->flags = flags;
  made = tables().events.add(std::move(event));
  return eSuccess;
}

CUresult record_event(StreamObject& stream, EventObject& event) {
  if (event.context->device != stream.context->device)
    return fail(eInvalidResourceHandle, "the event and the stream are of different devices");
  Stream* opened = nullptr;
  if (CUresult code = open_stream(stream, opened); code != eSuccess) return code;
  std::lock_guard lock(event.mutex);
  if (!event.event) {
    auto made = runtime::create_event(stream.context->gpu(), !(event.flags & kEventDisableTiming));
    if (!made) return report(made.error());
    event.event = std::move(*made);
  }
  event.capture = nullptr;
  event.nodes.clear();
  Status status = opened->record(*event.event);
  return status ? eSuccess : report(status.error());
}

CUresult wait_event(StreamObject& stream, EventObject& event) {
  std::optional<Event> recorded;
  ContextObject* other = event.context;
  {
    std::lock_guard lock(event.mutex);
    recorded = event.event;
  }
  if (!recorded) return eSuccess;
  Status status;
  if (other->device == stream.context->device) {
    Stream* opened = nullptr;
    if (CUresult code = open_stream(stream, opened); code != eSuccess) return code;
    status = opened->wait(*recorded);
  } else {
    // The queue of another device knows nothing of this event: the host waits for it.
    status = recorded->wait();
  }
  return status ? eSuccess : report(status.error());
}

CUresult come_after(StreamObject& stream, StreamObject& other) {
  Stream *opened = nullptr, *before = nullptr;
  if (CUresult code = open_stream(stream, opened); code != eSuccess) return code;
  if (CUresult code = open_stream(other, before); code != eSuccess) return code;
  opened->state()->wait_for(*before->state());
  return eSuccess;
}

namespace {

/// Nobody can ask for what is not run; the capture fails.
CUresult captured_event(EventObject& event) {
  event.capture->invalid = true;
  return fail(eCapturedEvent, "the event was recorded in a capture");
}

}  // namespace

CUresult query_event(EventObject& event) {
  const bool kept = is_kept(event);
  std::lock_guard lock(event.mutex);
  if (event.capture) return captured_event(event);
  if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
  if (kept) return eNotReady;
  if (!event.event || !event.event->recorded()) return eSuccess;
  return event.event->done() ? eSuccess : eNotReady;
}

CUresult synchronize_event(EventObject& event) {
  std::optional<Event> recorded;
  {
    std::lock_guard lock(event.mutex);
    if (event.capture) return captured_event(event);
    if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
  }
  drain(event);
  {
    std::lock_guard lock(event.mutex);
    recorded = event.event;
  }
  if (!recorded || !recorded->recorded()) return eSuccess;
  if (Status status = recorded->wait(); !status) return stick(*event.context, status.error());
  // Work that came before the event may have trapped, or printed.
  ContextObject& context = *event.context;
  std::vector<std::shared_ptr<StreamObject>> idle;
  {
    std::lock_guard lock(context.mutex);
    std::erase_if(context.dirty, [&](const auto& each) {
      if (!each->stream->idle()) return false;
      idle.push_back(each);
      return true;
    });
  }
  for (const auto& each : idle) (void)finish(*each);
  return static_cast<CUresult>(context.sticky.load());
}

CUresult wait_for(StreamObject& stream) {
  const CUresult code = synchronize(stream);
  shrink_pools(*stream.context, &stream);
  return code;
}

CUresult wait_for(ContextObject& context) {
  const CUresult code = synchronize(context);
  shrink_pools(context, nullptr);
  return code;
}

CUresult wait_for_event(EventObject& event) {
  const CUresult code = synchronize_event(event);
  shrink_pools(*event.context, nullptr);
  return code;
}

CUresult elapsed(EventObject& start, EventObject& end, float& milliseconds) {
  if (start.context != end.context)
    return fail(eInvalidResourceHandle, "the events are of different contexts");
  if ((start.flags | end.flags) & kEventDisableTiming)
    return fail(eInvalidResourceHandle, "an event was made without timing");
  if (is_kept(start) || is_kept(end)) {
    for (EventObject* each : {&start, &end}) {
      const bool kept = is_kept(*each);
      std::lock_guard lock(each->mutex);
      if (!kept && !each->event) return fail(eInvalidResourceHandle, "an event was never recorded");
    }
    return eNotReady;
  }
  if (&start == &end) {
    if (CUresult code = query_event(start); code != eSuccess) return code;
    milliseconds = 0;
    return start.event ? eSuccess : fail(eInvalidResourceHandle, "the event was never recorded");
  }
  std::scoped_lock lock(start.mutex, end.mutex);
  if (!start.event || !end.event || !start.event->recorded() || !end.event->recorded())
    return fail(eInvalidResourceHandle, "an event was never recorded");
  if (!start.event->done() || !end.event->done()) return eNotReady;
  auto took = end.event->since(*start.event);
  if (!took) return report(took.error());
  milliseconds = static_cast<float>(*took);
  return eSuccess;
}

}  // namespace ptx2spv::cuda
