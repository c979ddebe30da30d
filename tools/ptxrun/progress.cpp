#include "tools/ptxrun/progress.hpp"

#include <cstdio>

namespace ptx2spv::tools {

Progress::Progress(bool on, std::size_t launches) : launches_(launches) {
  if (on) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  if (thread_.joinable()) thread_.join();
  clear();
}

void Progress::finished(std::size_t launches) {
  std::lock_guard lock(mutex_);
  finished_ = launches;
}

void Progress::clear() {
  std::lock_guard lock(mutex_);
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  for (int seconds = 1;; ++seconds) {
    if (ended_.wait_until(lock, start_ + std::chrono::seconds(seconds), [&] { return end_; }))
      return;
    shown_ = true;
    std::fprintf(stderr, "\r\x1b[K%zu of %zu launches, %d s", finished_, launches_, seconds);
    std::fflush(stderr);
  }
}

}  // namespace ptx2spv::tools
