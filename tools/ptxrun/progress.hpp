// What a terminal shows while launches run: how many are over, and for how long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace ptx2spv::tools {

/// A line on standard error that is written again each second, from the first second on.
class Progress {
 public:
  /// `on`: standard error is a terminal, and its reader wants to know.
  Progress(bool on, std::size_t launches);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void finished(std::size_t launches);
  /// Takes the line away, before other text is written. It comes back a second later.
  void clear();

 private:
  void run();

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;  ///< everything below
  std::condition_variable ended_;
  const std::size_t launches_;
  std::size_t finished_ = 0;
  bool shown_ = false, end_ = false;
  std::thread thread_;  ///< none where the line is off
};

}  // namespace ptx2spv::tools
