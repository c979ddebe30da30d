// What LLVM calls of other libraries, changed for the end of the process.
#pragma once

#include <atomic>
#include <cstdint>

namespace ptx2spv::interpreter::llvm {

/// From here on, static objects that the functions of a library, opened by dlopen, make are not
/// destroyed when the process ends: a thread may be using them. Those there already still are.
/// Threads may be left while they are in it, too.
void hook(void* library);

/// What becomes of a thread that compiles when the process ends.
struct Leaving {
  enum State : std::uint8_t { runs, left, over };
  std::atomic<bool> asked{false};
  std::atomic<State> state{runs};  ///< notified
};

/// While it lives, the thread stands still for ever where LLVM next moves memory, once it is asked.
/// It holds no lock of ours or of the allocator's then, and its stack keeps what it allocated.
class MayBeLeft {
 public:
  MayBeLeft();
  ~MayBeLeft();
  MayBeLeft(const MayBeLeft&) = delete;
  MayBeLeft& operator=(const MayBeLeft&) = delete;
  /// Whom this thread obeys; of threads without one, nothing is changed.
  static void obey(Leaving& leaving);
  /// As where LLVM moves memory, for who waits.
  static void obey_now();
};

}  // namespace ptx2spv::interpreter::llvm
