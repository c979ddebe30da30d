#include "src/cuda/core/backlog.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <thread>

#include "src/executor/executor.hpp"

namespace ptx2spv::cuda {

/// The work of one stream that is kept. Everything is under Backlogs::mutex.
struct Backlog {
  struct Entry {
    Work work;
    std::vector<Ticket> before;  ///< work of other streams
  };
  const ContextObject* context = nullptr;
  bool legacy = false, blocking = false;
  std::deque<Entry> entries;
  std::uint64_t given = 0, done = 0;  ///< entries since the stream was made
  bool busy() const { return done != given; }
};

namespace {

struct Backlogs {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<Backlog>> busy;
  unsigned working = 0;  ///< threads that may be using devices
  bool stopped = false;  ///< none may any more
  std::list<std::thread> threads, ended;
};
Backlogs& backlogs() {
  static auto* all = new Backlogs;
  return *all;
}
/// Of Backlogs::busy, for who need not look further.
std::atomic<std::size_t> g_busy{0};

thread_local bool t_worker = false, t_host = false;
thread_local unsigned t_synchronous = 0;

bool is_over(const Ticket& ticket) { return ticket.backlog->done >= ticket.number; }

bool waits_for(const Backlog& own, const Backlog& other) {
  if (own.context != other.context) return false;
  return own.legacy ? other.blocking : own.blocking && other.legacy;
}

// The functions below want Backlogs::mutex.

Backlog& backlog_of(StreamObject& stream) {
  if (!stream.backlog) {
    stream.backlog = std::make_shared<Backlog>();
    stream.backlog->context = stream.context;
    stream.backlog->legacy = stream.context->legacy.get() == &stream;
    stream.backlog->blocking = !stream.backlog->legacy && !(stream.flags & kStreamNonBlocking);
  }
  return *stream.backlog;
}

/// What the stream's next work comes after: of other streams, and with `own` of itself.
std::vector<Ticket> tickets_before(StreamObject& stream, bool own) {
  std::vector<Ticket> before;
  const Backlog& mine = backlog_of(stream);
  for (const auto& each : backlogs().busy)
    if (each.get() == &mine ? own : waits_for(mine, *each)) before.push_back({each, each->given});
  return before;
}

using OwnThread = std::list<std::thread>::iterator;
void work_off(std::shared_ptr<StreamObject> stream, std::shared_ptr<Backlog> backlog,
              OwnThread thread);

/// Drivers have destructors for threads that used them: none of these may run while the process's
/// end takes the driver away. What is joined here needs no lock of ours any more.
void join_ended() {
  for (std::thread& each : backlogs().ended) each.join();
  backlogs().ended.clear();
}

Ticket defer(StreamObject& stream, Work work, std::vector<Ticket> before) {
  Backlog& backlog = backlog_of(stream);
  const bool idle = !backlog.busy();
  backlog.entries.push_back({std::move(work), std::move(before)});
  const Ticket ticket{stream.backlog, ++backlog.given};
  if (idle) {
    backlogs().busy.push_back(stream.backlog);
    g_busy.store(backlogs().busy.size());
    join_ended();
    const OwnThread thread = backlogs().threads.emplace(backlogs().threads.end());
    *thread = std::thread(work_off, stream.shared_from_this(), stream.backlog, thread);
  }
  return ticket;
}

// Until here.

/// A failure of work that nobody waits for: a launch that trapped has set it already.
void remember(ContextObject& context, CUresult code) {
  int none = 0;
  if (code != eSuccess) context.sticky.compare_exchange_strong(none, code);
}

/// What a stream has kept, one after another; the thread ends when nothing is left.
void work_off(std::shared_ptr<StreamObject> stream, std::shared_ptr<Backlog> backlog,
              OwnThread thread) {
  t_worker = true;
  runtime::let_launches_wait();
  Backlogs& all = backlogs();
  ContextObject& context = *stream->context;
  std::unique_lock lock(all.mutex);
  while (!backlog->entries.empty()) {
    Backlog::Entry entry = std::move(backlog->entries.front());
    backlog->entries.pop_front();
    all.changed.wait(lock, [&] { return std::ranges::all_of(entry.before, is_over); });
    if (!all.stopped && context.sticky.load() == 0) {
      ++all.working;
      lock.unlock();
      remember(context, entry.work());
      entry = {};
      lock.lock();
      --all.working;
    }
    ++backlog->done;
    all.changed.notify_all();
  }
  std::erase(all.busy, backlog);
  g_busy.store(all.busy.size());
  ++all.working;
  lock.unlock();
  stream.reset();
  backlog.reset();
  lock.lock();
  --all.working;
  all.changed.notify_all();
  // A process that ends takes this thread away, too.
  all.changed.wait(lock, [&] { return !all.stopped; });
  all.ended.splice(all.ended.end(), all.threads, thread);
}

bool nobody_waits() { return t_worker || g_busy.load() == 0; }

/// Waits for the tickets that `which` gives.
template <class F>
void wait_for(F&& which) {
  if (nobody_waits()) return;
  std::unique_lock lock(backlogs().mutex);
  const std::vector<Ticket> tickets = which();
  backlogs().changed.wait(lock, [&] { return std::ranges::all_of(tickets, is_over); });
}

}  // namespace

bool is_held_up(const StreamObject& stream) {
  if (nobody_waits()) return false;
  std::lock_guard lock(backlogs().mutex);
  return !tickets_before(const_cast<StreamObject&>(stream), true).empty();
}

CUresult in_order(StreamObject& stream, Work work) {
  if (!nobody_waits()) {
    std::lock_guard lock(backlogs().mutex);
    if (!tickets_before(stream, true).empty()) {
      defer(stream, std::move(work), tickets_before(stream, false));
      return eSuccess;
    }
  }
  return work();
}

CUresult in_own_thread(StreamObject& stream, Work work) {
  if (t_worker) return work();
  std::lock_guard lock(backlogs().mutex);
  defer(stream, std::move(work), tickets_before(stream, false));
  return eSuccess;
}

void await_room(StreamObject& stream) {
  constexpr std::size_t kMost = 1024;
  if (nobody_waits()) return;
  Backlogs& all = backlogs();
  std::unique_lock lock(all.mutex);
  const Backlog& own = backlog_of(stream);
  all.changed.wait(lock, [&] { return own.entries.size() < kMost || all.stopped; });
}

bool defer_record(StreamObject& stream, EventObject& event) {
  auto recorded = tables().events.find(&event);
  if (nobody_waits() || !recorded) {
    std::lock_guard lock(event.mutex);
    event.kept = {};
    return false;
  }
  // Recording again while this is kept puts another ticket in its place.
  const auto number = std::make_shared<std::uint64_t>(0);
  const auto own = stream.shared_from_this();
  std::scoped_lock lock(backlogs().mutex, event.mutex);
  event.kept = {};
  if (tickets_before(stream, true).empty()) return false;
  event.kept = defer(
      stream,
      [own, recorded, number] {
        {
          std::lock_guard held(recorded->mutex);
          if (recorded->kept.backlog != own->backlog || recorded->kept.number != *number)
            return eSuccess;
        }
        return record_event(*own, *recorded);
      },
      tickets_before(stream, false));
  *number = event.kept.number;
  event.capture = nullptr;
  event.nodes.clear();
  return true;
}

bool defer_wait(StreamObject& stream, EventObject& event) {
  if (nobody_waits()) return false;
  std::scoped_lock lock(backlogs().mutex, event.mutex);
  if (!event.kept.backlog || is_over(event.kept)) return false;
  std::vector<Ticket> before = tickets_before(stream, false);
  before.push_back(event.kept);
  const auto own = stream.shared_from_this();
  const auto recorded = tables().events.find(&event);
  defer(
      stream, [own, recorded] { return recorded ? wait_event(*own, *recorded) : eSuccess; },
      std::move(before));
  return true;
}

bool is_kept(EventObject& event) {
  if (nobody_waits()) return false;
  std::scoped_lock lock(backlogs().mutex, event.mutex);
  return event.kept.backlog && !is_over(event.kept);
}

void drain(const StreamObject& stream) {
  wait_for([&] { return tickets_before(const_cast<StreamObject&>(stream), true); });
}

void drain(const ContextObject& context) {
  wait_for([&] {
    std::vector<Ticket> tickets;
    for (const auto& each : backlogs().busy)
      if (each->context == &context) tickets.push_back({each, each->given});
    return tickets;
  });
}

void drain(EventObject& event) {
  Ticket ticket;
  {
    std::lock_guard lock(event.mutex);
    ticket = event.kept;
  }
  if (ticket.backlog) wait_for([&] { return std::vector<Ticket>{ticket}; });
}

CUresult settle_before_host(StreamObject& stream) {
  const bool legacy = stream.context->legacy.get() == &stream;
  return legacy ? settle(*stream.context) : settle(stream);
}

void call_host(CUhostFn function, void* data) {
  Backlogs& all = backlogs();
  {
    std::lock_guard lock(all.mutex);
    --all.working;
    all.changed.notify_all();
  }
  t_host = true;
  function(data);
  t_host = false;
  std::unique_lock lock(all.mutex);
  // A process that ends has no use for what follows, and takes this thread away.
  all.changed.wait(lock, [&] { return !all.stopped; });
  ++all.working;
}

bool in_host_function() { return t_host; }

void stop_backlogs() {
  if (t_worker) return;  // a host function ends the process
  Backlogs& all = backlogs();
  std::unique_lock lock(all.mutex);
  all.stopped = true;
  runtime::stop_waiting_launches();
  all.changed.wait(lock, [&] { return all.working == 0; });
  join_ended();
}

Synchronous::Synchronous() { ++t_synchronous; }
Synchronous::~Synchronous() { --t_synchronous; }
bool synchronous() { return t_synchronous != 0; }

}  // namespace ptx2spv::cuda
