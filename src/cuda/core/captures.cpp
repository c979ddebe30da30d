// Captures: streams whose work becomes a graph. A call that cannot be part of one, or that would
// wait for what has not begun, makes the capture fail; it ends with that error.
#include <algorithm>
#include <deque>
#include <unordered_set>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

namespace {

constexpr int kGlobal = 0, kRelaxed = 2;  // between them: of the own thread alone

std::atomic<int> g_captures{0};
thread_local int g_mode = kGlobal;

/// The captures that go on.
struct Captures {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> all;
};
Captures& captures() {
  static auto* list = new Captures;
  return *list;
}

/// Makes those fail that `matches`; false: there is none.
template <class F>
bool break_captures(F&& matches) {
  bool any = false;
  std::lock_guard lock(captures().mutex);
  for (const auto& each : captures().all)
    if (matches(*each)) each->invalid = any = true;
  return any;
}

void forget_capture(const std::shared_ptr<Capture>& ended) {
  {
    std::lock_guard lock(captures().mutex);
    std::erase(captures().all, ended);
  }
  --g_captures;
}

/// Whether a blocking stream of the context captures: the legacy stream would wait for it.
bool blocking_capture(const Capture& capture, const ContextObject& context) {
  return capture.blocking && capture.origin->context == &context;
}

}  // namespace

bool anyone_captures() { return g_captures.load(std::memory_order_relaxed) != 0; }

CUresult break_capture(StreamObject& stream, CUresult code) {
  std::lock_guard lock(stream.mutex);
  if (stream.capture) stream.capture->invalid = true;
  return code;
}

void abandon_capture(StreamObject& stream) {
  std::shared_ptr<Capture> ended;
  {
    std::lock_guard lock(stream.mutex);
    if (!stream.capture || stream.capture->origin != &stream) return;
    ended = std::move(stream.capture);
    stream.capture = nullptr;
    stream.tail.clear();
  }
  forget_capture(ended);
  for (const auto& each : tables().streams.all()) {
    std::lock_guard lock(each->mutex);
    if (each->capture != ended) continue;
    each->capture = nullptr;
    each->tail.clear();
  }
}

CUresult begin_work(StreamObject& stream, bool& captured) {
  captured = false;
  if (!anyone_captures()) return eSuccess;
  ContextObject& context = *stream.context;
  if (&stream == context.legacy.get()) {
    if (break_captures([&](const Capture& each) { return blocking_capture(each, context); }))
      return fail(eStreamCaptureImplicit, "the legacy stream would wait for a stream's capture");
    return eSuccess;
  }
  captured = capturing(stream);
  return eSuccess;
}

CUresult begin_wait(StreamObject& stream) {
  if (!anyone_captures()) return eSuccess;
  if (capturing(stream))
    return break_capture(stream, fail(eStreamCaptureUnsupported, "the stream captures"));
  bool captured = false;
  if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
  return begin_unsafe_call();
}

CUresult begin_wait(ContextObject& context) {
  if (!anyone_captures()) return eSuccess;
  if (break_captures([&](const Capture& each) { return each.origin->context == &context; }))
    return fail(eStreamCaptureUnsupported, "a stream of the device captures");
  return eSuccess;
}

CUresult begin_unsafe_call() {
  if (!anyone_captures() || g_mode == kRelaxed) return eSuccess;
  const auto own = std::this_thread::get_id();
  const bool any = break_captures([&](const Capture& each) {
    if (each.thread == own) return each.mode != kRelaxed;
    return each.mode == kGlobal && g_mode == kGlobal;
  });
  return any ? fail(eStreamCaptureUnsupported, "the call is not allowed while a stream captures")
             : eSuccess;
}

CUresult exchange_capture_mode(int* mode) {
  if (!mode || *mode < kGlobal || *mode > kRelaxed)
    return fail(eInvalidValue, "no such mode of capture");
  std::swap(*mode, g_mode);
  return eSuccess;
}

CUresult capture_info(StreamObject& stream, CaptureInfo& info) {
  info = {};
  ContextObject& context = *stream.context;
  if (anyone_captures() && &stream == context.legacy.get()) {
    std::lock_guard lock(captures().mutex);
    for (const auto& each : captures().all)
      if (blocking_capture(*each, context))
        return fail(eStreamCaptureImplicit, "a stream captures that the legacy one waits for");
  }
  std::lock_guard lock(stream.mutex);
  const auto& current = stream.capture;
  info.nodes = stream.tail.data();
  info.count = stream.tail.size();
  if (!current) return eSuccess;
  info.status = current->invalid ? 2 : 1;
  info.id = current->id;
  info.graph = current->graph.get();
  if (!tables().graphs.has(info.graph)) tables().graphs.add(current->graph);
  return eSuccess;
}

CUresult capture_status(StreamObject& stream, int& status) {
  CaptureInfo info;
  CUresult code = capture_info(stream, info);
  status = info.status;
  return code;
}

namespace {

/// A copy behind host functions. Page-locked memory is read and written when its turn comes, other
/// memory of the host before the call returns.
CUresult defer_copy(ContextObject& context, StreamObject& stream, const CUDA_MEMCPY3D_PEER& what) {
  HostSides sides;
  if (CUresult code = host_sides(what, sides); code != eSuccess) return code;
  if (sides.both || sides.pageable_target || (sides.any && synchronous())) {
    drain(stream);
    return copy(context, what);
  }
  if (!sides.pageable_source)
    return in_order(stream, [&stream, what] { return copy_in_turn(stream, what); });
  const auto held = std::make_shared<std::vector<std::byte>>();
  const CUDA_MEMCPY3D_PEER from_held = hold_source(what, *held);
  return in_order(stream, [&context, held, from_held] { return copy(context, from_held); });
}

}  // namespace

CUresult copy_in_turn(StreamObject& stream, const CUDA_MEMCPY3D_PEER& c) {
  bool given = false;
  const CUresult code = copy(stream, c, given);
  return given || code != eSuccess ? code : copy(*stream.context, c);
}

CUresult copy_in(ContextObject& context, StreamObject& stream, const CUDA_MEMCPY3D_PEER& what) {
  bool captured = false;
  if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
  if (!captured) {
    if (is_held_up(stream)) return defer_copy(context, stream, what);
    bool given = false;
    if (CUresult code = copy(stream, what, given); given || code != eSuccess) return code;
    HostSides sides;
    if (!is_running(context) || host_sides(what, sides) != eSuccess) return copy(context, what);
    // The host waits for kernels only where it has to do with the bytes.
    if (sides.both || sides.pageable_source || sides.pageable_target ||
        (sides.any && synchronous()))
      return copy(context, what);
    return in_own_thread(stream, [&context, what] { return copy(context, what); });
  }
  if (CUresult code = check_copy(what); code != eSuccess) return code;
  return capture(stream, Operation{CopyOperation{what}});
}

CUresult fill_in(ContextObject& context, StreamObject& stream, const CUDA_MEMSET_NODE_PARAMS& set) {
  bool captured = false;
  if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
  if (captured) return capture(stream, Operation{MemsetOperation{set}});
  if (is_held_up(stream)) {
    if (CUresult code = check_fill(set); code != eSuccess) return code;
    return in_order(stream, [&stream, set] { return set_in_turn(stream, set); });
  }
  bool given = false;
  if (CUresult code = set_memory(stream, set, given); given || code != eSuccess) return code;
  if (!is_running(context)) return set_memory(context, set);
  return in_own_thread(stream, [&context, set] { return set_memory(context, set); });
}

bool capturing(StreamObject& stream) {
  if (!anyone_captures()) return false;
  std::lock_guard lock(stream.mutex);
  return stream.capture != nullptr;
}

CUresult capture(StreamObject& stream, Operation operation) {
  std::lock_guard lock(stream.mutex);
  if (!stream.capture) return fail(eIllegalState, "the stream is not capturing");
  if (stream.capture->invalid) return fail(eStreamCaptureInvalidated, "the capture failed before");
  GraphNodeObject* node = nullptr;
  if (CUresult code = add_node(*stream.capture->graph, std::move(operation), stream.tail, node);
      code != eSuccess)
    return code;
  stream.tail = {node};
  return eSuccess;
}

CUresult record(StreamObject& stream, EventObject& event) {
  if (event.context != stream.context)
    return fail(eInvalidResourceHandle, "the event and the stream are of different contexts");
  bool captured = false;
  if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
  if (!captured) return defer_record(stream, event) ? eSuccess : record_event(stream, event);
  std::scoped_lock lock(stream.mutex, event.mutex);
  event.capture = stream.capture;
  event.nodes = stream.tail;
  return eSuccess;
}

CUresult wait(StreamObject& stream, EventObject& event) {
  std::shared_ptr<Capture> other;
  std::vector<GraphNodeObject*> nodes;
  {
    std::lock_guard lock(event.mutex);
    other = event.capture;
    nodes = event.nodes;
  }
  if (!other) {
    bool captured = false;
    if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
    if (!captured) return defer_wait(stream, event) ? eSuccess : wait_event(stream, event);
    return break_capture(
        stream, fail(eStreamCaptureIsolation, "a capture would wait for work outside of it"));
  }
  std::lock_guard lock(stream.mutex);
  if (stream.capture && stream.capture != other)
    return fail(eStreamCaptureMerge, "two captures would become one");
  // The stream joins the capture that the event belongs to.
  stream.capture = other;
  if (!(stream.flags & kStreamNonBlocking)) other->blocking = true;
  for (GraphNodeObject* each : nodes)
    if (std::find(stream.tail.begin(), stream.tail.end(), each) == stream.tail.end())
      stream.tail.push_back(each);
  return eSuccess;
}

CUresult record_external(StreamObject& stream, EventObject& event) {
  if (!capturing(stream)) return fail(eIllegalState, "an external event is a capture's");
  return capture(stream, Operation{RecordOperation{&event}});
}

CUresult wait_external(StreamObject& stream, EventObject& event) {
  if (!capturing(stream)) return fail(eIllegalState, "an external event is a capture's");
  return capture(stream, Operation{WaitOperation{&event}});
}

CUresult begin_capture(const std::shared_ptr<StreamObject>& stream, int mode,
                       std::shared_ptr<GraphObject> into,
                       std::span<GraphNodeObject* const> before) {
  if (mode < 0 || mode > 2) return fail(eInvalidValue, "no such mode of capture");
  if (stream->builtin && stream == stream->context->legacy)
    return fail(eStreamCaptureUnsupported, "the legacy stream cannot be captured");
  std::lock_guard lock(stream->mutex);
  if (stream->capture) return fail(eIllegalState, "the stream is capturing already");
  auto made = std::make_shared<Capture>();
  made->graph = into ? std::move(into) : std::make_shared<GraphObject>();
  made->origin = stream.get();
  made->id = next_id();
  made->mode = mode;
  made->thread = std::this_thread::get_id();
  made->blocking = !(stream->flags & kStreamNonBlocking);
  {
    std::lock_guard all(captures().mutex);
    captures().all.push_back(made);
  }
  stream->capture = std::move(made);
  stream->tail.assign(before.begin(), before.end());
  ++g_captures;
  return eSuccess;
}

CUresult end_capture(StreamObject& stream, CUgraph* made) {
  if (made) *made = nullptr;
  std::shared_ptr<Capture> ended;
  std::vector<GraphNodeObject*> tail;
  {
    std::lock_guard lock(stream.mutex);
    if (!stream.capture) return fail(eIllegalState, "the stream is not capturing");
    if (stream.capture->origin != &stream)
      return fail(eStreamCaptureUnmatched, "the capture began in another stream");
    ended = std::move(stream.capture);
    stream.capture = nullptr;
    tail.swap(stream.tail);
  }
  forget_capture(ended);
  // Work of other streams that nobody joined again is lost to who waits for the graph's end.
  bool unjoined = false;
  for (GraphNodeObject* each : ended->replaced)
    if (find_node(each)) tail.push_back(each);
  std::unordered_set<const GraphNodeObject*> reached(tail.begin(), tail.end());
  std::deque<const GraphNodeObject*> open(tail.begin(), tail.end());
  while (!open.empty()) {
    const GraphNodeObject* node = open.front();
    open.pop_front();
    for (const GraphNodeObject* each : node->before)
      if (reached.insert(each).second) open.push_back(each);
  }
  for (const auto& each : tables().streams.all()) {
    std::lock_guard lock(each->mutex);
    if (each->capture != ended) continue;
    for (const GraphNodeObject* node : each->tail) unjoined = unjoined || !reached.count(node);
    each->capture = nullptr;
    each->tail.clear();
  }
  if (ended->invalid) return fail(eStreamCaptureInvalidated, "the capture failed before");
  if (unjoined) return fail(eStreamCaptureUnjoined, "work of another stream was not joined");
  if (!made) return eSuccess;
  *made = ended->graph.get();
  if (!tables().graphs.has(*made)) tables().graphs.add(ended->graph);
  return eSuccess;
}

}  // namespace ptx2spv::cuda
