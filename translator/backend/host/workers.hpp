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
  /// Does `work` here, and at the same time in up to `more` other threads. All are done with it on
  /// return; `work` in one alone must do.
  static void run(unsigned more, const std::function<void()>& work);

 private:
  struct Job {
    const std::function<void()>& work;
    unsigned wanted = 0, running = 0;  ///< threads
  };
  class Sharing;

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
