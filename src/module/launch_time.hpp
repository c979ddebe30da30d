// What launches of a kernel take. Any sample may be far too long: the first launch finds a device
// that sleeps, and others have its units, or the processor, meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace ptx2spv::runtime {

/// Thread-safe. Times are microseconds.
class LaunchTime {
 public:
  /// The median of the last samples, of two the lesser; negative: there is none.
  float known() const { return known_.load(std::memory_order_relaxed); }

  /// Counts a launch. The result: whether it should be measured, since no sample was taken for as
  /// long as those agree, or for `most` launches.
  bool wants_sample(std::uint32_t most) {
    const std::uint32_t since = launches_.fetch_add(1, std::memory_order_relaxed) + 1;
    return since >= std::min(apart_.load(std::memory_order_relaxed), most);
  }
  /// Whether all that were wanted for long could not be taken.
  bool overdue() const { return launches_.load(std::memory_order_relaxed) >= 2 * kMostApart; }
  /// A launch that is measured was recorded.
  void measuring() { launches_.store(0, std::memory_order_relaxed); }

  void note(float took) {
    const std::lock_guard lock(mutex_);
    samples_[noted_++ % samples_.size()] = took;
    const std::size_t count = std::min<std::size_t>(noted_, samples_.size());
    std::array<float, kSamples> sorted = samples_;
    std::sort(sorted.begin(), sorted.begin() + count);
    const float old = known(), now = sorted[(count - 1) / 2];
    known_.store(now, std::memory_order_relaxed);
    const bool agrees = now <= 2 * old && old <= 2 * now && took <= 2 * now && now <= 2 * took;
    const std::uint32_t apart = apart_.load(std::memory_order_relaxed);
    if (!agrees)
      apart_.store(std::max(apart / 2, 1u), std::memory_order_relaxed);
    else if (count == samples_.size())
      apart_.store(std::min(2 * apart, kMostApart), std::memory_order_relaxed);
  }

  /// A launch took no longer than that, perhaps far less.
  void note_at_most(float bound) {
    const std::lock_guard lock(mutex_);
    if (noted_ && known() <= bound) return;
    noted_ = 1;
    samples_[0] = bound;
    known_.store(bound, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kSamples = 5;
  static constexpr std::uint32_t kMostApart = 32;

  std::mutex mutex_;
  std::array<float, kSamples> samples_{};  ///< the last ones
  std::size_t noted_ = 0;
  std::atomic<float> known_{-1};
  std::atomic<std::uint32_t> launches_{0}, apart_{1};  ///< since a measured one; between two
};

}  // namespace ptx2spv::runtime
