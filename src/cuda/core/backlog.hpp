// Work queued behind unfinished host functions and long launches. These run in the stream's own
// thread, so that they may wait for later actions of the program, and the program need not wait for
// them; the work behind them waits until they are over, in the stream's order.
#pragma once

#include <functional>

#include "src/cuda/core/core.hpp"

namespace ptx2spv::cuda {

using Work = std::function<CUresult()>;

/// Whether work of the stream has to be kept: behind a host function of its own, or of a stream
/// that it waits for. The legacy stream and blocking ones wait for each other.
bool is_held_up(const StreamObject& stream);
/// Runs `work` now, or keeps it where the stream is held up. What it returns then becomes the
/// context's sticky error.
CUresult in_order(StreamObject& stream, Work work);
/// Keeps `work`, which may take long, for the stream's own thread.
CUresult in_own_thread(StreamObject& stream, Work work);
/// Waits until the stream keeps few enough pieces of work for another launch, as NVIDIA's driver
/// does where its queue is full.
void await_room(StreamObject& stream);
/// Keeps the recording of an event, or a wait for one whose recording is kept; false: the stream is
/// not held up, or the event is recorded.
bool defer_record(StreamObject& stream, EventObject& event);
bool defer_wait(StreamObject& stream, EventObject& event);
/// Whether the event's recording is kept still.
bool is_kept(EventObject& event);

/// Waits until what is kept now is over. Not in the streams' own threads, which it would wait for.
void drain(const StreamObject& stream);
void drain(const ContextObject& context);
void drain(EventObject& event);

/// What comes before a host function is over: of the legacy stream, all of the device's work.
CUresult settle_before_host(StreamObject& stream);
/// Calls a host function in a stream's thread: the process may end meanwhile.
void call_host(CUhostFn function, void* data);
/// Whether the calling thread is in a host function, where CUDA allows no calls.
bool in_host_function();
/// Nothing that is kept reaches devices any more: the process ends.
void stop_backlogs();

/// A scope of a call that is over when it returns.
class Synchronous {
 public:
  Synchronous();
  ~Synchronous();
  Synchronous(const Synchronous&) = delete;
  Synchronous& operator=(const Synchronous&) = delete;
};
bool synchronous();

}  // namespace ptx2spv::cuda
