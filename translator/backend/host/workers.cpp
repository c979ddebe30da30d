#include "translator/backend/host/workers.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>

namespace ptx2spv::interpreter {

Workers& Workers::get() {
  static std::mutex mutex;
  static pid_t process = 0;
  // Its threads wait in it when the process ends, so it stays.
  static Workers* workers = nullptr;
  const std::lock_guard lock(mutex);
  if (process != getpid()) {
    process = getpid();
    workers = new Workers;
  }
  return *workers;
}

void Workers::run(unsigned more, const std::function<void()>& work) {
  Job job{work, more, 0};
  if (more != 0) {
    const std::lock_guard lock(mutex_);
    std::size_t wanted = 0;
    jobs_.push_back(&job);
    for (const Job* each : jobs_) wanted += each->wanted;
    try {
      for (; idle_ < wanted; ++idle_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      // Fewer do it too.
    }
    if (more == 1)
      more_.notify_one();
    else
      more_.notify_all();
  }
  work();
  std::unique_lock lock(mutex_);
  std::erase(jobs_, &job);
  done_.wait(lock, [&] { return job.running == 0; });
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return !jobs_.empty(); });
    Job& job = *jobs_.front();
    if (--job.wanted == 0) jobs_.pop_front();
    ++job.running;
    --idle_;
    lock.unlock();
    job.work();
    lock.lock();
    ++idle_;
    if (--job.running == 0) done_.notify_all();
  }
}

}  // namespace ptx2spv::interpreter
