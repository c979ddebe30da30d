// Threads of the processor that launches share.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace ptx2spv::interpreter {

/// Processors that the calling thread may run on.
unsigned processors();

/// They wait for the next launch: beginning and joining fifteen takes longer than many launches do.
class Workers {
 public:
  /// What a thread does, and others too once it is shared. They are done with it when this is gone;
  /// `work` in one alone must do.
  class Job {
   public:
    explicit Job(std::function<void()> work) : work_(std::move(work)) {}
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    /// Lets up to so many other threads do it; once at most.
    void share(unsigned more);

   private:
    friend Workers;
    const std::function<void()> work_;
    Workers* workers_ = nullptr;         ///< that it is shared with
    unsigned wanted_ = 0, running_ = 0;  ///< threads
  };

 private:
  /// Those of this process: a child has none of its parent's.
  static Workers& get();
  void begin_threads();
  void serve();

  std::mutex mutex_;
  std::condition_variable more_, done_;
  std::deque<Job*> jobs_;  ///< that want more threads
  unsigned idle_ = 0;
  pid_t process_ = 0;
};

}  // namespace ptx2spv::interpreter
