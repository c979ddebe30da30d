// What each thread has of its own. Destructors and handlers of the program make calls when C++ has
// destroyed the objects of the thread that ends the process.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace ptx2spv::cuda {

/// The calling thread's T. It goes with the thread; that of the main one, whose end is the
/// process's, stays.
template <class T>
T& of_thread() {
  static thread_local T* own = nullptr;
  struct End {
    ~End() {
      if (::syscall(SYS_gettid) != ::getpid()) delete std::exchange(own, nullptr);
    }
  };
  static thread_local End end;
  if (!own) own = new T;
  return *own;
}

}  // namespace ptx2spv::cuda
