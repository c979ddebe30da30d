#include "translator/backend/host/workers.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>

namespace ptx2spv::interpreter {

namespace {

/// A scope whose new threads leave the program's signals to the program's threads. They keep faults
/// of their own, and the samples of profilers.
class NoSignals {
 public:
  NoSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
      sigdelset(&blocked, own);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

unsigned processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return static_cast<unsigned>(CPU_COUNT(&allowed));
  return std::max(std::thread::hardware_concurrency(), 1u);
}

Workers& Workers::get() {
  // No mutex, which a thread might hold while another one forks. Threads wait in them when the
  // process ends, so they stay.
  static std::atomic<Workers*> all{nullptr};
  Workers* workers = all;
  while (!workers || workers->process_ != getpid()) {
    auto made = std::make_unique<Workers>();
    made->process_ = getpid();
    if (all.compare_exchange_strong(workers, made.get())) return *made.release();
  }
  return *workers;
}

void Workers::Job::share(unsigned more) {
  if (more == 0) return;
  Workers& workers = get();
  const std::lock_guard lock(workers.mutex_);
  workers.jobs_.push_back(this);
  workers_ = &workers;
  wanted_ = more;
  workers.begin_threads();
  if (more == 1)
    workers.more_.notify_one();
  else
    workers.more_.notify_all();
}

Workers::Job::~Job() {
  if (!workers_) return;
  std::unique_lock lock(workers_->mutex_);
  std::erase(workers_->jobs_, this);
  workers_->done_.wait(lock, [this] { return running_ == 0; });
}

/// As many as the jobs want, or as there can be.
void Workers::begin_threads() {
  std::size_t wanted = 0;
  for (const Job* each : jobs_) wanted += each->wanted_;
  if (idle_ >= wanted) return;
  const NoSignals scope;
  try {
    for (; idle_ < wanted; ++idle_) std::thread([this] { serve(); }).detach();
  } catch (const std::exception&) {
    // Of the system, or of memory.
  }
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return !jobs_.empty(); });
    Job& job = *jobs_.front();
    if (--job.wanted_ == 0) jobs_.pop_front();
    ++job.running_;
    --idle_;
    lock.unlock();
    job.work_();
    lock.lock();
    ++idle_;
    if (--job.running_ == 0) done_.notify_all();
  }
}

}  // namespace ptx2spv::interpreter
